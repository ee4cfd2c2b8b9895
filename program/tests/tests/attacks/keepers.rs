//! Attacks by keepers, and with their votes.

use gantry_market::constants::{FLAG_OFFLINE, FLAG_WORK_FAILED, IDLE_REPORTS, MAX_KEEPERS};
use gantry_market::errors::MarketError;
use gantry_market::state::{Keeper, Provider};
use gantry_market_tests::ix::signed;
use gantry_market_tests::leaves::{statement, tree, LeafData};
use gantry_market_tests::measure::{Measured, PROCESSORS};
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Actor, Deal, Testbed};
use solana_address::Address;

use super::money::{wealth, Usd};
use super::slashes::{bad_leaf, found_out};
use super::Row;

/// Finding C 6.
pub fn a_late_copy_of_the_final_root() -> Row {
    let play = |copies: bool| {
        let mut w = Testbed::new();
        let unit = w.params.min_bond;
        let (honest, late) = (w.keeper(9 * unit), w.keeper(unit));
        let deal = w.swept();
        let period = w.voted(&[&honest, &deal.keeper]);
        w.warp(55);
        if copies {
            w.ok(ix::report_vote(&late, period, [5; 32]), &[&late.key]);
        }
        w.warp_past_period(period + 1);
        w.ok(ix::rewards_accrue(&w, period), &[]);
        let _refused = w.send(&[ix::rewards_claim(&late, Some(period))], &[]);
        wealth(&w, &[&late])
    };
    Row {
        source: "C 6c",
        attack: "An idle keeper copies the final root 55 seconds after it became final, and claims its share",
        instead: "does not vote",
        before: "a full share",
        profit: Usd(play(true) - play(false)),
        assumption: "",
    }
}

/// Finding C 6.
pub fn unpaid_leases_hold_the_keepers_rent() -> Row {
    let mut w = Testbed::new();
    let deal = w.running();
    let before = wealth(&w, &[&deal.customer]);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.set_now(deal.state(&w).challenge_until + 1);
    let stranger = w.actor();
    let rent = w.lamports(&deal.keeper.wallet());
    // Before the time to rate it is over.
    w.ok(ix::lease_close(&w, &stranger.wallet(), &deal.lease), &[&stranger.key]);
    assert!(w.lamports(&deal.keeper.wallet()) > rent, "the keeper has its rent back");
    Row {
        source: "C 6d",
        attack: "A customer orders, ends and leaves leases that paid nothing, so that the keeper's rent stays in them",
        instead: "no order",
        before: "0, and the rent stayed for the time to rate",
        profit: Usd(wealth(&w, &[&deal.customer]) - before),
        assumption: "",
    }
}

/// Finding C 6.
pub fn a_rivals_reserve_is_activated() -> Row {
    let mut w = Testbed::new();
    let (own, reserve) = (w.keeper(w.params.min_bond), w.pending_keeper(4_000_000_000));
    let before = wealth(&w, &[&own]);
    w.warp(i64::from(w.params.keeper_activation_secs));
    let activate = unsigned(ix::keeper_activate(&reserve), &reserve.wallet());
    assert!(w.send(&[activate], &[&own.key]).is_err());
    assert_eq!(w.market().total_weight, w.params.min_bond);
    Row {
        source: "C 6k",
        attack: "Somebody activates an operator that is not running, so that the quorum needs its votes",
        instead: "nothing",
        before: "0, and four fifths of the weight did not vote",
        profit: Usd(wealth(&w, &[&own]) - before),
        assumption: "",
    }
}

/// Finding P 21.
pub fn pending_bonds_take_all_places_of_keepers() -> Row {
    let mut w = Testbed::new();
    let owned: Vec<Actor> = (0..MAX_KEEPERS).map(|_| w.pending_keeper(w.params.min_bond)).collect();
    let before = wealth(&w, &[&owned[0]]);
    // Who only bonds takes no place.
    let honest: Vec<Actor> = (0..6).map(|_| w.keeper(100 * w.params.min_bond)).collect();
    assert_eq!(w.market().keeper_count, 6);
    // Who takes a place and does not vote loses it to who does.
    let (last, others) = owned.split_last().expect("there are some");
    for keeper in &others[..usize::from(MAX_KEEPERS) - honest.len()] {
        w.ok(ix::keeper_activate(keeper), &[&keeper.key]);
    }
    w.refused(ix::keeper_activate(last), &[&last.key], MarketError::TooManyKeepers);
    let voters: Vec<&Actor> = honest.iter().collect();
    for _ in 0..=IDLE_REPORTS {
        w.voted(&voters);
    }
    let late = w.pending_keeper(w.params.min_bond);
    w.warp(i64::from(w.params.keeper_activation_secs));
    w.refused(ix::keeper_activate(&late), &[&late.key], MarketError::TooManyKeepers);
    w.ok(ix::keeper_suspend(&owned[0].keeper()), &[]);
    w.ok(ix::keeper_activate(&late), &[&late.key]);
    Row {
        source: "P 21",
        attack: "Somebody registers 256 keepers with the least bond, so that nobody else finds a place",
        instead: "nothing",
        before: "0, and a bond a hundred times as large stayed out",
        profit: Usd(wealth(&w, &[&owned[0]]) - before),
        assumption: "256 keepers that vote take all places: each of them works, and answers with its bond",
    }
}

/// A report that is final for longer than an appeal takes.
/// Finding C 5.
pub fn the_fault_is_opened_when_the_appeal_would_be_over() -> Row {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(60);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = bad_leaf(&w, deal.machine.node, Address::default(), period, FLAG_WORK_FAILED);
    let proof = w.finalise(&deal.keeper, &[leaf]).remove(0);
    let (opener, before) = (w.actor(), w.read::<Provider>(&deal.provider.provider()).stake);
    let had = wealth(&w, &[&opener]);
    w.warp(400);
    w.ok(ix::fault_open(&w, &opener.wallet(), &proof), &[&opener.key]);
    let fault = ix::fault_of(&proof);
    assert!(w.send(&[ix::slash_apply(&w, &fault)], &[]).is_err());
    // The keepers that know better have the whole window.
    w.warp(299);
    let text = statement(&deal.machine.node, period, 3, true);
    let appeal = ix::slash_appeal(&w, &fault, &deal.keeper, text);
    w.ok_all(&[signed(&deal.keeper.key, &text), appeal], &[]);
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).stake, before);
    Row {
        source: "C 5c",
        attack: "A rival opens a wrong fault late, when the time to appeal is over, and applies it at once",
        instead: "nothing",
        before: "0, and the node lost 2 of 20",
        profit: Usd(wealth(&w, &[&opener]) - had),
        assumption: "",
    }
}

/// Keepers of weights 4, 3 and 3; the provider of the node owns one of the latter.
fn committee() -> (Testbed, [Actor; 3], Deal) {
    let mut w = Testbed::new();
    let unit = w.params.min_bond;
    let keepers = [4, 3, 3].map(|weight| w.keeper(weight * unit));
    let deal = w.awarded();
    w.ok(ix::keeper_request_exit(&deal.keeper), &[&deal.keeper.key]);
    w.warp(60);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    (w, keepers, deal)
}

/// Finding R 6.
pub fn a_third_voids_the_fault_of_its_own_node() -> Row {
    let (mut w, keepers, deal) = committee();
    let own = [&deal.provider, &keepers[2]];
    let before = wealth(&w, &own);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = bad_leaf(&w, deal.machine.node, Address::default(), period, FLAG_WORK_FAILED);
    let (root, proofs) = tree(&[leaf]);
    w.ok(ix::report_vote(&keepers[2], period, [6; 32]), &[&keepers[2].key]);
    for keeper in &keepers[..2] {
        w.ok(ix::report_vote(keeper, period, root), &[&keeper.key]);
    }
    w.ok(ix::fault_open(&w, &keepers[0].wallet(), &proofs[0]), &[&keepers[0].key]);
    let (fault, text) = (ix::fault_of(&proofs[0]), statement(&deal.machine.node, period, 3, true));
    let appeal = ix::slash_appeal(&w, &fault, &keepers[2], text);
    w.ok_all(&[signed(&keepers[2].key, &text), appeal], &[]);
    w.warp(300);
    w.ok(ix::slash_apply(&w, &fault), &[]);
    Row {
        source: "R 6",
        attack: "A cheat's owner has less than a third of the weight: it votes for another root and appeals against the \
                 fault of its node",
        instead: "no fraud",
        before: "−2",
        profit: Usd(wealth(&w, &own) - before),
        assumption: "the owner has less than a third of the weight",
    }
}

/// The whole committee says that a rival's node failed.
/// Finding R 7.
pub fn a_coalition_reports_a_rival() -> Row {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(60);
    let before = wealth(&w, &[&deal.keeper]);
    let fault = found_out(&mut w, &deal.keeper, deal.machine.node, Address::default(), FLAG_WORK_FAILED);
    w.warp(300);
    w.ok(ix::slash_apply(&w, &fault), &[]);
    Row {
        source: "R 7",
        attack: "Keepers report an honest rival's node for the finder's part",
        instead: "nothing",
        before: "+0.2",
        profit: Usd(wealth(&w, &[&deal.keeper]) - before),
        assumption: "the owner has less than two thirds of the weight, or gains less by the rival's absence than by its \
                     own good name",
    }
}

/// Two machines of different owners; the one's network is cut for a period.
/// Finding R 13.
pub fn a_rivals_network_is_cut() -> Row {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(60);
    let rival = deal.provider.again();
    let attacker = [&deal.keeper, &deal.customer];
    let (had, stake) = (wealth(&w, &attacker), w.read::<Provider>(&rival.provider()).stake);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = bad_leaf(&w, deal.machine.node, deal.lease, period, FLAG_OFFLINE);
    let proof = w.finalise(&deal.keeper, &[LeafData { downtime_secs: 60, ..leaf }]).remove(0);
    w.ok(ix::fault_open(&w, &deal.keeper.wallet(), &proof), &[&deal.keeper.key]);
    let fault = ix::fault_of(&proof);
    w.warp(300);
    w.ok(ix::slash_apply(&w, &fault), &[]);
    w.ok(ix::slash_compensate(&w, &fault, &deal.lease), &[]);
    let lost = stake - w.read::<Provider>(&rival.provider()).stake;
    assert!(lost <= 2_000_000_000, "an hour of the lease at most");
    Row {
        source: "R 13",
        attack: "Somebody cuts a rival's network for a period, and collects as keeper that opens the fault and as customer",
        instead: "nothing",
        before: "+0.133333, and the rival lost 1 of 20",
        profit: Usd(wealth(&w, &attacker) - had),
        assumption: "what the rival's absence brings is below the cost of the attack; it costs the rival an hour of its \
                     lease at most",
    }
}

/// Somebody has the key of another's node, signs a wrong measurement with it and proves it.
/// Finding C 6.
pub fn a_stolen_node_key_is_turned_into_a_finders_part() -> Row {
    let mut w = Testbed::new();
    let deal = w.running();
    let thief = w.actor();
    w.warp(60);
    let before = wealth(&w, &[&thief]);
    for place in [(5, 5), (6, 6)] {
        let measured = Measured::new(deal.machine.node, w.period(), PROCESSORS, place, 3);
        let open = ix::signed_fraud_proof_commitment(&thief.wallet(), &deal.machine.key, &measured);
        if w.send(&open, &[&thief.key]).is_err() {
            continue;
        }
        w.ok(ix::fraud_proof_leaf(&thief.wallet(), &measured), &[&thief.key]);
        let proof = ix::prove_wrong_cell(&w, &thief, &deal.machine.node, &measured.siblings().1);
        let _once = w.send(&[proof], &[&thief.key]);
        let fault = pda::work_fault(&deal.machine.node, &thief.wallet(), measured.period);
        let _applied = w.send(&[ix::slash_apply(&w, &fault)], &[]);
    }
    Row {
        source: "C 6j",
        attack: "A thief of a node's key signs a wrong measurement with it, and proves it twice, for a finder's part of the \
                 slash (half of 20 of stake)",
        instead: "nothing",
        before: "+2: one for each period",
        profit: Usd(wealth(&w, &[&thief]) - before),
        assumption: "what the rival's absence brings is below the cost of stealing its node's key",
    }
}

/// Finding P 27: an operator's key has signed for one keeper, and signs for its own now.
pub fn a_former_signer_is_named_again() -> Row {
    let mut w = Testbed::new();
    let mut old = w.keeper(4_000_000_000);
    let operator = w.hot_key();
    let before = wealth(&w, &[&old]);
    let agreed = ix::keeper_rotation(&w, &old, &operator);
    w.ok_all(&agreed, &[&old.key]);
    old.hot = Some(operator);
    w.set_now(w.read::<Keeper>(&old.keeper()).signer_until);
    w.ok(ix::keeper_set_signer(&old, &old.wallet()), &[&old.key]);
    w.set_now(w.read::<Keeper>(&old.keeper()).signer_until);
    w.refused_all(&agreed, &[&old.key], MarketError::TooLate);
    // A keeper that leaves and comes back has no use for it either.
    w.ok(ix::keeper_request_exit(&old), &[&old.key]);
    w.warp(i64::from(w.params.keeper_exit_secs));
    w.ok(ix::keeper_withdraw(&old), &[&old.key]);
    let again = ix::keeper_register(&w, &old, 4_000_000_000);
    w.refused_all(&[agreed[0].clone(), again], &[&old.key], MarketError::TooLate);
    let profit = Usd(wealth(&w, &[&old]) - before);
    Row {
        source: "P 27",
        attack: "A keeper names a key again that has signed for another keeper since, with the consent of the first time, so that \
                 what it signs counts for both",
        instead: "asks for a new consent",
        before: "0: it was named",
        profit,
        assumption: "",
    }
}
