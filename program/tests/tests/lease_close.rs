use gantry_market::errors::MarketError;
use gantry_market::events::{LeaseClosed, OrderClosed};
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{
    Credits, Keeper, Lease, Market, Node, Order, Params, Provider, Rewards, LEASE_FAILED, ORDER_AWARDED,
    ORDER_LAPSED, OUTPUT_COMMITTED, OUTPUT_REJECTED, OUTPUT_REVEALED, OUTPUT_WANTED,
};
use gantry_market::ID;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::testbed::test_params;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Actor, Deal, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

/// A lease that ran for ten minutes, `paid` seconds of them paid, and was ended by its customer.
fn ended(paid: u32) -> (Testbed, Deal) {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(600);
    if paid > 0 {
        w.settle(&deal, 1, paid);
    }
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    (w, deal)
}

fn close(w: &Testbed, deal: &Deal, by: &Actor) -> Instruction {
    ix::lease_close(w, &by.wallet(), &deal.lease)
}

#[test]
fn fee_rest_and_rent_go_their_ways() {
    let (mut w, deal) = ended(600);
    let (lease_rent, order_rent) = (w.lamports(&deal.lease), w.lamports(&deal.order));
    let (keeper, customer) = (w.lamports(&deal.keeper.wallet()), w.lamports(&deal.customer.wallet()));
    let meta = w.ok(close(&w, &deal, &deal.customer), &[&deal.customer.key]);
    assert_emitted(
        &meta,
        &LeaseClosed {
            lease: deal.lease,
            fee: 39_999,
            award: 3_999,
            lost: 0,
            released: 0,
            paid: 333_333,
            paid_secs: 600,
        },
    );
    assert_emitted(&meta, &OrderClosed { order: deal.order });
    assert!(!w.exists(&deal.lease) && !w.exists(&deal.order));
    assert_eq!(w.lamports(&deal.keeper.wallet()), keeper + lease_rent);
    assert_eq!(w.lamports(&deal.customer.wallet()), customer + order_rent);
    assert_eq!(w.tokens(&pda::fee_vault()), 39_999);
    let credits: Credits = w.read(&deal.customer.credits());
    assert_eq!((credits.balance, credits.reserved), (100_000_000 - 333_333, 0));
    assert_eq!((credits.live_leases, credits.live_orders), (0, 0));
    assert_eq!(w.tokens(&deal.customer.credits_vault()), credits.balance);
    w.ok(ix::credits_close(&deal.customer), &[&deal.customer.key]);
}

#[test]
fn the_unpaid_tail_waits_for_the_settle_deadline_and_goes_back() {
    let (mut w, deal) = ended(300);
    w.warp(120);
    w.refused(close(&w, &deal, &deal.customer), &[&deal.customer.key], MarketError::Unsettled);
    w.warp(1);
    let meta = w.ok(close(&w, &deal, &deal.customer), &[&deal.customer.key]);
    // Of the ten minutes that could be owed five were paid.
    assert_emitted(
        &meta,
        &LeaseClosed {
            lease: deal.lease,
            fee: 19_999,
            award: 1_999,
            lost: 0,
            released: 166_667,
            paid: 166_666,
            paid_secs: 300,
        },
    );
    let credits: Credits = w.read(&deal.customer.credits());
    assert_eq!((credits.balance, credits.reserved), (100_000_000 - 166_666, 0));
}

#[test]
fn the_report_of_the_last_period_settles_the_tail() {
    let (mut w, deal) = ended(300);
    // The lease started at the first second of a period and so ended at a boundary: the period before is its last.
    let last = w.period() - 1;
    w.alter(&deal.lease, |l: &mut Lease| l.last_report_period = last - 1);
    w.refused(close(&w, &deal, &deal.customer), &[&deal.customer.key], MarketError::Unsettled);
    w.alter(&deal.lease, |l: &mut Lease| l.last_report_period = last);
    w.ok(close(&w, &deal, &deal.customer), &[&deal.customer.key]);
    assert_eq!(w.read::<Credits>(&deal.customer.credits()).balance, 100_000_000 - 166_666);
}

#[test]
fn an_end_within_a_period_waits_for_its_report() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(601);
    w.settle(&deal, 1, 300);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    let last = w.period();
    w.warp_past_period(last);
    w.alter(&deal.lease, |l: &mut Lease| l.last_report_period = last - 1);
    w.refused(close(&w, &deal, &deal.customer), &[&deal.customer.key], MarketError::Unsettled);
    w.alter(&deal.lease, |l: &mut Lease| l.last_report_period = last);
    w.ok(close(&w, &deal, &deal.customer), &[&deal.customer.key]);
}

#[test]
fn its_address_stays_taken_until_the_period_in_which_it_was_at_work_is_over() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(601);
    w.settle(&deal, 1, 601);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    let end = w.now() - 1 + 60;
    for (second, closes) in [(w.now(), false), (end - 1, false), (end, true)] {
        w.set_now(second);
        let close = close(&w, &deal, &deal.customer);
        if closes {
            w.ok(close, &[&deal.customer.key]);
        } else {
            w.refused(close, &[&deal.customer.key], MarketError::TooEarly);
        }
    }
}

#[test]
fn what_a_conviction_cut_was_at_work_until_its_own_end() {
    let (mut w, deal) = ended(600);
    // Its machine was convicted from five minutes on; it ended in the second that runs.
    let now = w.now();
    w.alter(&deal.lease, |l: &mut Lease| l.occupied_until = now + 1);
    w.refused(close(&w, &deal, &deal.customer), &[&deal.customer.key], MarketError::TooEarly);
    w.warp_to_next_period();
    w.ok(close(&w, &deal, &deal.customer), &[&deal.customer.key]);
}

#[test]
fn a_report_that_is_missing_before_the_last_one_keeps_the_tail_until_the_deadline() {
    let (mut w, deal) = ended(300);
    let last = w.period() - 1;
    // The last leaf was applied and the one before it was not: its seconds may still come.
    w.alter(&deal.lease, |l: &mut Lease| (l.last_report_period, l.report_window) = (last, !2));
    w.refused(close(&w, &deal, &deal.customer), &[&deal.customer.key], MarketError::Unsettled);
    w.alter(&deal.lease, |l: &mut Lease| l.report_window = u32::MAX);
    w.ok(close(&w, &deal, &deal.customer), &[&deal.customer.key]);
}

#[test]
fn claims_that_are_not_paid_out_block_the_close_for_as_long_again() {
    let (mut w, deal) = ended(300);
    let last = w.period();
    w.alter(&deal.lease, |l: &mut Lease| (l.verified_secs, l.last_report_period) = (500, last));
    w.warp(240);
    w.refused(close(&w, &deal, &deal.customer), &[&deal.customer.key], MarketError::Unsettled);
    w.warp(1);
    w.ok(close(&w, &deal, &deal.customer), &[&deal.customer.key]);
}

#[test]
fn a_claim_that_is_paid_out_in_time_is_paid() {
    let (mut w, deal) = ended(300);
    let last = w.period();
    w.alter(&deal.lease, |l: &mut Lease| (l.verified_secs, l.last_report_period) = (500, last));
    w.ok(ix::lease_settle_report(&w, &deal.lease), &[]);
    w.ok(close(&w, &deal, &deal.customer), &[&deal.customer.key]);
    assert_eq!(w.tokens(&pda::fee_vault()), 33_333);
}

#[test]
fn only_the_customer_closes_before_the_time_to_rate_is_over() {
    let (mut w, deal) = ended(600);
    let stranger = w.actor();
    w.warp(599);
    w.refused(close(&w, &deal, &stranger), &[&stranger.key], MarketError::TooEarly);
    w.refused(close(&w, &deal, &deal.provider), &[&deal.provider.key], MarketError::TooEarly);
    w.warp(1);
    w.ok(close(&w, &deal, &stranger), &[&stranger.key]);
}

#[test]
fn anyone_closes_a_lease_that_is_rated() {
    let (mut w, deal) = ended(600);
    let stranger = w.actor();
    w.ok(ix::lease_rate(&w, &deal.lease, 3), &[&deal.customer.key]);
    w.ok(close(&w, &deal, &stranger), &[&stranger.key]);
}

#[test]
fn a_pending_fault_holds_it() {
    let (mut w, deal) = ended(600);
    w.alter(&deal.lease, |l: &mut Lease| l.pending_faults = 1);
    w.warp(100_000);
    w.refused(close(&w, &deal, &deal.customer), &[&deal.customer.key], MarketError::FaultPending);
}

#[test]
fn only_a_lease_that_is_over() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.refused(close(&w, &deal, &deal.customer), &[&deal.customer.key], MarketError::WrongLeaseStatus);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    w.warp(100_000);
    w.refused(close(&w, &deal, &deal.customer), &[&deal.customer.key], MarketError::WrongLeaseStatus);
    w.alter(&deal.lease, |l: &mut Lease| (l.status, l.ended_at) = (LEASE_FAILED, l.funded_until));
    w.refused(close(&w, &deal, &deal.customer), &[&deal.customer.key], MarketError::WrongLeaseStatus);
}

#[test]
fn an_order_closes_with_its_last_lease() {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(40_000_000_000);
    let machines = [w.machine(&provider, 1), w.machine(&provider, 1)];
    let customer = w.customer(100_000_000);
    let order = w.order(&customer, OrderArgs { nodes: 2, ..ix::order_args(1) });
    let leases = [0, 1].map(|i| w.award(&keeper, &customer, &order, &provider, &machines[i]));
    for (lease, machine) in leases.iter().zip(&machines) {
        w.ok(ix::lease_start(&w, lease, [3; 32]), &[&machine.key]);
    }
    for lease in &leases {
        w.ok(ix::lease_end(&w, &customer.wallet(), lease, 0), &[&customer.key]);
    }
    w.warp(w.params.period_secs as i64);
    w.ok(ix::lease_close(&w, &customer.wallet(), &leases[0]), &[&customer.key]);
    let state: Order = w.read(&order);
    assert_eq!((state.status, state.live_leases), (ORDER_AWARDED, 1));
    assert_eq!(w.read::<Credits>(&customer.credits()).live_orders, 1);
    w.ok(ix::lease_close(&w, &customer.wallet(), &leases[1]), &[&customer.key]);
    assert!(!w.exists(&order));
    assert_eq!(w.read::<Credits>(&customer.credits()).live_orders, 0);
}

#[test]
fn a_lapsed_order_outlives_its_last_lease_until_someone_closes_it() {
    let (mut w, deal) = ended(600);
    w.alter(&deal.order, |o: &mut Order| o.status = ORDER_LAPSED);
    w.ok(close(&w, &deal, &deal.customer), &[&deal.customer.key]);
    assert!(w.exists(&deal.order) && !w.exists(&deal.lease));
    assert_eq!(w.read::<Credits>(&deal.customer.credits()).live_orders, 1);
    w.ok(ix::order_cancel(&deal.customer, &deal.order), &[&deal.customer.key]);
    w.ok(ix::credits_close(&deal.customer), &[&deal.customer.key]);
}

#[test]
fn a_keepers_own_lease_closes_too() {
    // Rent of order and lease go to one wallet, which also signs.
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    w.ok(ix::credits_deposit(&w, &keeper, 100_000_000), &[&keeper.key]);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 1);
    let before = w.lamports(&keeper.wallet());
    let order = w.order(&keeper, ix::order_args(1));
    let lease = w.award(&keeper, &keeper, &order, &provider, &machine);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
    w.ok(ix::lease_end(&w, &keeper.wallet(), &lease, 0), &[&keeper.key]);
    w.ok(ix::lease_close(&w, &keeper.wallet(), &lease), &[&keeper.key]);
    assert_eq!(w.lamports(&keeper.wallet()), before);
}

#[test]
fn the_keeper_that_awarded_earns_its_part_of_the_fee() {
    let (mut w, deal) = ended(600);
    w.ok(close(&w, &deal, &deal.customer), &[&deal.customer.key]);
    assert_eq!(w.read::<Keeper>(&deal.keeper.keeper()).earned, 3_999);
    let rewards: Rewards = w.read(&pda::rewards());
    assert_eq!((rewards.earned, rewards.pending), (3_999, 36_000));
}

#[test]
fn the_part_of_a_keeper_that_is_gone_goes_to_the_others() {
    let (mut w, deal) = ended(600);
    w.ok(ix::keeper_request_exit(&deal.keeper), &[&deal.keeper.key]);
    w.warp(10_000);
    w.ok(ix::keeper_withdraw(&deal.keeper), &[&deal.keeper.key]);
    let good = close(&w, &deal, &deal.customer);
    let stranger = w.fresh_address();
    let swaps = [("another address", deal.keeper.keeper(), stranger, MarketError::WrongAccount.into())];
    w.refuses_swaps(&good, &[&deal.customer.key], &swaps);
    w.ok(good, &[&deal.customer.key]);
    let rewards: Rewards = w.read(&pda::rewards());
    assert_eq!((rewards.earned, rewards.pending), (0, 39_999));
}

#[test]
fn a_keeper_that_is_there_cannot_be_left_out() {
    let (mut w, deal) = ended(600);
    let other = w.keeper(w.params.min_bond);
    let good = close(&w, &deal, &deal.customer);
    let (key, keeper) = ([&deal.customer.key], deal.keeper.keeper());
    let swaps = [("another keeper", keeper, other.keeper(), MarketError::WrongAccount.into())];
    w.refuses_swaps(&good, &key, &swaps);
    w.refuses_swaps(&good, &key, &[("none", keeper, ID, MarketError::MissingAccount.into())]);
    // As one that is gone: it is not.
    let mut gone = good;
    gone.accounts[8].pubkey = ID;
    gone.accounts[9].pubkey = keeper;
    w.refused(gone, &key, MarketError::WrongAccount);
}

#[test]
fn while_emission_is_on_the_provider_is_wanted() {
    let (mut w, deal) = ended(600);
    let without = close(&w, &deal, &deal.customer);
    w.alter(&pda::market(), |m: &mut Market| m.params.emission_bps = 1_000);
    let key = [&deal.customer.key];
    w.refused(without, &key, MarketError::MissingAccount);
    let good = close(&w, &deal, &deal.customer);
    let other = w.provider(1_000);
    let swaps = [("provider", deal.provider.provider(), other.provider(), MarketError::WrongAccount.into())];
    w.refuses_swaps(&good, &key, &swaps);
    w.ok(good, &key);
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).emission, 3_999_000);
}

#[test]
fn outputs_that_wait_to_be_compared_hold_it() {
    let (mut w, deal) = ended(0);
    w.warp(100_000);
    for state in [OUTPUT_WANTED, OUTPUT_COMMITTED, OUTPUT_REVEALED] {
        w.alter(&deal.lease, |l: &mut Lease| l.output = state);
        let instruction = close(&w, &deal, &deal.customer);
        w.refused(instruction, &[&deal.customer.key], MarketError::WrongOutputState);
    }
    w.alter(&deal.lease, |l: &mut Lease| l.output = OUTPUT_REJECTED);
    w.ok(close(&w, &deal, &deal.customer), &[&deal.customer.key]);
}

#[test]
fn once_only() {
    let (mut w, deal) = ended(600);
    let instruction = close(&w, &deal, &deal.customer);
    w.ok(instruction.clone(), &[&deal.customer.key]);
    w.refused(instruction, &[&deal.customer.key], InstructionError::AccountDataTooSmall);
    assert_eq!(w.tokens(&pda::fee_vault()), 39_999);
}

#[test]
fn a_paused_market_still_closes() {
    let (mut w, deal) = ended(600);
    w.pause();
    w.ok(close(&w, &deal, &deal.customer), &[&deal.customer.key]);
}

#[test]
fn a_vault_that_is_short_closes_nothing() {
    let (mut w, deal) = ended(600);
    w.alter(&deal.customer.credits(), |c: &mut Credits| c.balance += 1);
    let instruction = close(&w, &deal, &deal.customer);
    w.refused(instruction, &[&deal.customer.key], MarketError::InvariantBroken);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, deal) = ended(600);
    let stranger = w.customer(10_000_000);
    let others_order = w.order(&stranger, ix::order_args(1));
    let good = close(&w, &deal, &deal.keeper);
    w.ok(ix::lease_rate(&w, &deal.lease, 3), &[&deal.customer.key]);
    let key = [&deal.keeper.key];
    let mut silent = unsigned(good.clone(), &deal.keeper.wallet());
    silent.accounts[13].is_signer = false;
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let (order, credits, vault) = (deal.order, deal.customer.credits(), deal.customer.credits_vault());
    for at in [pda::market(), order, credits, deal.machine.node, deal.lease] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &key, &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let (twin, fees) = (w.twin(&vault), w.twin(&pda::fee_vault()));
    let cases: [(&str, Address, Address, Code); 8] = [
        ("order", order, others_order, MarketError::WrongAccount.into()),
        ("order's rent", deal.customer.wallet(), stranger.wallet(), MarketError::WrongAccount.into()),
        ("credits", credits, stranger.credits(), MarketError::WrongAccount.into()),
        ("vault", vault, stranger.credits_vault(), InstructionError::InvalidSeeds.into()),
        ("vault's address", vault, twin, InstructionError::InvalidSeeds.into()),
        ("fee vault", pda::fee_vault(), fees, MarketError::WrongAccount.into()),
        ("fee vault of another", pda::fee_vault(), stranger.payment, MarketError::WrongAccount.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps(&good, &key, &cases);
    // The lease's rent goes to the keeper: the fourteenth account, not the first, which is the same wallet.
    let mut greedy = good;
    greedy.accounts[13].pubkey = stranger.wallet();
    w.refused(greedy, &key, MarketError::WrongAccount);
}

#[test]
fn a_lease_that_paid_nothing_waits_for_no_rating() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    let stranger = w.actor();
    // While the award can be contested the lease is the proof of it.
    w.refused(close(&w, &deal, &stranger), &[&stranger.key], MarketError::TooEarly);
    assert!(w.params.challenge_secs < w.params.rating_secs);
    w.warp(i64::from(w.params.challenge_secs) + 1);
    let before = w.lamports(&deal.keeper.wallet());
    w.ok(close(&w, &deal, &stranger), &[&stranger.key]);
    assert!(w.lamports(&deal.keeper.wallet()) > before);
}

/// Finding P 25.
#[test]
fn a_lease_that_paid_for_a_second_waits_for_a_thousand() {
    let mut w = Testbed::with(Params { rating_secs: 604_800, ..test_params() });
    let deal = w.running();
    w.warp(1);
    w.settle(&deal, 1, 1);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    let stranger = w.actor();
    w.warp(999);
    w.refused(close(&w, &deal, &stranger), &[&stranger.key], MarketError::TooEarly);
    w.warp(1);
    w.ok(close(&w, &deal, &stranger), &[&stranger.key]);
}

/// One that paid for ten minutes waits no longer than the market's time to rate.
#[test]
fn the_time_to_rate_ends_with_the_markets() {
    let (mut w, deal) = ended(600);
    let stranger = w.actor();
    w.warp(i64::from(w.params.rating_secs) - 1);
    w.refused(close(&w, &deal, &stranger), &[&stranger.key], MarketError::TooEarly);
    w.warp(1);
    w.ok(close(&w, &deal, &stranger), &[&stranger.key]);
}

/// Finding P 23.
#[test]
fn a_frozen_vault_holds_nobody_elses_stake_rent_or_rest() {
    for vault in [None, Some(pda::fee_vault())] {
        let (mut w, deal) = ended(600);
        let at = vault.unwrap_or(deal.customer.credits_vault());
        w.freeze(&at, true);
        let rent = w.lamports(&deal.lease);
        let keeper = w.lamports(&deal.keeper.wallet());
        let meta = w.ok(close(&w, &deal, &deal.customer), &[&deal.customer.key]);
        // The fee stays with the customer: nobody was paid it.
        let (lease, paid) = (deal.lease, 333_333);
        assert_emitted(
            &meta,
            &LeaseClosed { lease, fee: 0, award: 0, lost: 0, released: 39_999, paid, paid_secs: 600 },
        );
        assert_eq!(w.lamports(&deal.keeper.wallet()), keeper + rent);
        assert_eq!(w.read::<Node>(&deal.machine.node).open_leases, 0);
        assert_eq!(w.read::<Node>(&deal.machine.node).fees_completed, 0);
        let credits: Credits = w.read(&deal.customer.credits());
        assert_eq!((credits.balance, credits.reserved), (100_000_000 - 293_334, 0));
        assert_eq!((credits.live_leases, credits.live_orders), (0, 0));
        assert_eq!(w.tokens(&pda::fee_vault()), 0);
        let rewards: Rewards = w.read(&pda::rewards());
        assert_eq!((rewards.earned, rewards.pending), (0, 0));
        // What is frozen waits for its issuer.
        w.freeze(&at, false);
        w.ok(ix::credits_close(&deal.customer), &[&deal.customer.key]);
        // Provider and keeper leave.
        w.ok(ix::node_retire(&deal.provider, &deal.machine.node), &[&deal.provider.key]);
        w.warp(i64::from(w.params.unstake_cooldown_secs));
        let node_key = deal.machine.key.pubkey();
        w.ok(ix::node_close(&deal.provider, &node_key, 2), &[&deal.provider.key]);
    }
}
