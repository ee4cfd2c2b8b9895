//! Attacks by one owner of several wallets: each is played on the program, and what the owner has afterwards is compared
//! with what it would have had otherwise. docs/reports/attacks.md is written from the rows (see `page`).
//!
//! Each attack is a function that plays it and returns its row. `played` makes a test of each, and the list of all.

mod awards;
mod bonds;
mod disputes;
mod governance;
mod griefing;
mod guarantees;
mod harm;
mod keepers;
mod money;
mod outages;
mod page;
mod redundant;
mod reputation;
mod rewards;
mod slashes;

use money::Usd;

/// One attack: what it is, against what it is measured, and what it brought.
pub struct Row {
    /// The finding or the rule that names it, as in docs/findings.md.
    pub source: &'static str,
    pub attack: &'static str,
    /// What the same owner does instead, honestly or without preparing for it.
    pub instead: &'static str,
    /// What was measured on the program as it was.
    pub before: &'static str,
    /// What the owner has more by the attack.
    pub profit: Usd,
    /// What must hold outside the program for that figure, or what bounds an attack that pays; empty for nothing.
    pub assumption: &'static str,
}

/// Where the attack is one on a rule that was not there.
const NEW_RULE: &str = "no such rule";
/// Where it worked, and nobody counted the money.
const SEEN: &str = "it worked; no figure";

/// Declares the attacks: a test of each, which fails when the owner gains, and a list of all for the page.
macro_rules! played {
    (lose { $($lose:ident :: $loses:ident,)* } pay { $($pay:ident :: $pays:ident,)* }) => {
        $(#[test]
        fn $loses() {
            let row = $lose::$loses();
            assert!(row.profit.0 <= 0, "{}: {} pays {}", row.source, row.attack, row.profit);
        })*
        $(/// An attack that is known to pay: when it does so no longer, it belongs to the others.
        #[test]
        fn $pays() {
            let row = $pay::$pays();
            assert!(row.profit.0 > 0, "{}: {} does not pay any more", row.source, row.attack);
        })*
        fn all() -> (Vec<Row>, Vec<Row>) {
            (vec![$($lose::$loses()),*], vec![$($pay::$pays()),*])
        }
    };
}

played! {
    lose {
        awards::a_keeper_stops_and_its_other_keeper_goes_on,
        awards::a_dear_losing_bid_is_named,
        awards::a_bid_that_should_win_is_named_as_the_losing_one,
        awards::an_own_customer_has_its_price_lowered,
        awards::an_order_over_two_nodes_goes_to_own_dear_ones,
        awards::ground_addresses_shield_own_dear_nodes,
        griefing::a_job_that_no_machine_runs_holds_sixteen_of_them,
        griefing::a_decoy_declines_all_that_it_is_awarded,
        griefing::a_decoy_never_starts_and_keepers_must_not_pass_it_over,
        griefing::one_bond_reprices_sixty_leases,
        griefing::a_leaf_about_an_earlier_lease_fails_the_new_one,
        bonds::a_keeper_carries_its_bond_out_through_its_customer,
        bonds::a_bond_leaves_through_many_finders_and_two_kinds_of_proof,
        bonds::an_own_dear_node_is_favoured,
        bonds::a_small_proof_shields_from_a_large_one,
        bonds::unhealthy_after_the_order_excuses_the_award,
        slashes::own_customers_take_the_victims_pool,
        slashes::the_finder_strips_the_victim,
        slashes::a_sham_lease_at_an_invented_price,
        slashes::receipts_are_held_back,
        slashes::a_small_fault_shields_from_a_large_one,
        slashes::nodes_share_one_stake,
        slashes::the_node_leaves_before_it_is_found_out,
        slashes::one_large_lease_instead_of_eight,
        slashes::one_payment_is_made_good_twice,
        slashes::much_harm_leaves_the_finder_nothing,
        slashes::a_cheat_that_failed_its_check_reports_a_death,
        slashes::a_cheat_that_is_drawn_reports_a_death,
        slashes::a_cheat_reports_a_death_before_any_draw,
        redundant::one_reveal_is_withheld,
        redundant::the_order_is_reopened,
        redundant::two_nodes_of_one_owner_outvote_the_third,
        redundant::half_of_the_nodes_show_another_output,
        redundant::a_majority_is_the_customers_own,
        disputes::a_reserve_keeper_voids_an_upheld_dispute,
        disputes::a_dispute_keeps_a_report_from_its_fault,
        disputes::a_dispute_without_a_reason,
        disputes::a_dispute_that_own_keepers_leave_undecided,
        disputes::a_verdict_is_sold_for_the_voters_pay,
        keepers::a_late_copy_of_the_final_root,
        keepers::unpaid_leases_hold_the_keepers_rent,
        keepers::a_rivals_reserve_is_activated,
        keepers::pending_bonds_take_all_places_of_keepers,
        keepers::a_stolen_node_key_is_turned_into_a_finders_part,
        keepers::the_fault_is_opened_when_the_appeal_would_be_over,
        keepers::a_third_voids_the_fault_of_its_own_node,
        keepers::a_coalition_reports_a_rival,
        keepers::a_rivals_network_is_cut,
        keepers::a_former_signer_is_named_again,
        outages::a_provider_falls_silent_instead_of_ending_a_lease,
        outages::a_provider_falls_silent_for_seconds_and_not_for_a_period,
        outages::two_thirds_move_a_lease_to_their_own_node,
        outages::a_keeper_votes_twice_and_again_after_the_window,
        outages::a_keeper_leaves_so_that_two_thirds_are_enough,
        outages::votes_are_used_after_the_node_has_answered,
        outages::a_failed_lease_moves_to_an_own_dear_node,
        reputation::unpaid_leases_buy_reputation,
        reputation::a_sleeping_node_grows_old,
        reputation::a_provider_with_a_lost_dispute_starts_afresh,
        reputation::an_unhealthy_machine_goes_on_selling,
        reputation::wash_trading_for_emission,
        guarantees::a_voided_fault_breaks_a_rivals_guarantee,
        guarantees::a_guarantee_is_given_and_not_kept,
        guarantees::own_customers_are_compensated_for_a_broken_guarantee,
        guarantees::a_guarantee_earns_more_than_the_stake_covers,
        guarantees::the_lease_is_kept_open_until_the_guarantee_is_resolved,
        guarantees::a_broken_guarantee_hides_what_it_earned,
        guarantees::sham_leases_keep_a_guarantee_from_its_resolution,
        guarantees::a_guarantee_that_ends_soon_wins_a_long_order,
        governance::a_change_of_parameters_makes_an_award_unjust,
        governance::the_authority_outdates_an_appeal,
        governance::the_authority_slashes_by_its_models_and_parameters,
        governance::one_proposal_lifts_every_floor,
        rewards::dust_runs_the_buy_backs_clock_down,
        rewards::a_weight_grows_between_the_vote_and_the_claim,
        rewards::emission_waits_for_better_parameters,
    }
    pay {
    }
}
