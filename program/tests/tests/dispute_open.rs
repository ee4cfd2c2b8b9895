use gantry_market::errors::MarketError;
use gantry_market::events::DisputeOpened;
use gantry_market::state::{
    Credits, Dispute, Lease, Node, Params, Provider, DISPUTE_BAD_OUTPUT, DISPUTE_NOT_DELIVERED,
};
use gantry_market_tests::attempts::ALREADY_IN_USE;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::testbed::test_params;
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

#[test]
fn it_holds_a_deposit_the_lease_and_the_node() {
    let mut w = Testbed::new();
    let deal = w.running();
    let reserved = w.read::<Credits>(&deal.customer.credits()).reserved;
    let open = ix::dispute_open(&w, &deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]);
    let meta = w.ok(open, &[&deal.customer.key]);
    let (dispute, closes_at) = (pda::dispute(&deal.lease), w.now() + 300);
    let (lease, kind) = (deal.lease, DISPUTE_BAD_OUTPUT);
    // Half of the stake of one of the machine's two GPUs, and four times what 5 USDC cost in five minutes.
    let (amount, deposit) = (5_000_000_000, 39);
    assert_emitted(
        &meta,
        &DisputeOpened { dispute, lease, kind, evidence_hash: [7; 32], deposit, amount, closes_at },
    );
    let state: Dispute = w.read(&dispute);
    assert_eq!((state.lease, state.node, state.customer), (lease, deal.machine.node, deal.customer.wallet()));
    assert_eq!((state.opened_at, state.total_weight), (w.now(), w.params.min_bond));
    assert_eq!(w.read::<Credits>(&deal.customer.credits()).reserved, reserved + deposit);
    assert_eq!(w.read::<Lease>(&lease).pending_faults, 1);
    assert_eq!(w.read::<Node>(&deal.machine.node).pending_faults, 1);
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).pending_faults, 0);
    let terms = (state.amount, state.stake_price, state.appeal_secs, state.quorum_bps, state.finder_bps);
    assert_eq!(terms, (amount, 1_000_000, 300, 6_667, 1_000));
}

/// Finding R 15.
#[test]
fn the_deposit_is_a_tenth_of_what_was_settled_up_to_its_cap() {
    for (paid_secs, deposit) in [(0, 39), (600, 33_333), (3_600, 200_000)] {
        let mut w = Testbed::new();
        let deal = w.running();
        w.warp(3_600);
        if paid_secs > 0 {
            w.settle(&deal, 1, paid_secs);
        }
        w.ok(ix::dispute_open(&w, &deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&deal.customer.key]);
        assert_eq!(w.read::<Dispute>(&pda::dispute(&deal.lease)).deposit, deposit);
    }
    let mut w = Testbed::with(Params { dispute_deposit: 150_000, ..test_params() });
    let deal = w.running();
    w.warp(3_600);
    w.settle(&deal, 1, 3_600);
    w.ok(ix::dispute_open(&w, &deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&deal.customer.key]);
    assert_eq!(w.read::<Dispute>(&pda::dispute(&deal.lease)).deposit, 150_000);
}

#[test]
fn once_a_lease() {
    let mut w = Testbed::new();
    let deal = w.running();
    let open = ix::dispute_open(&w, &deal.lease, DISPUTE_NOT_DELIVERED, [7; 32]);
    w.ok(open.clone(), &[&deal.customer.key]);
    w.refused(open.clone(), &[&deal.customer.key], ALREADY_IN_USE);
    w.warp(300);
    w.ok(ix::dispute_resolve(&w, &deal.lease), &[]);
    w.refused(open, &[&deal.customer.key], MarketError::AlreadyDisputed);
}

#[test]
fn also_after_the_end_and_not_before_the_start() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let open = |w: &Testbed| ix::dispute_open(w, &deal.lease, DISPUTE_NOT_DELIVERED, [7; 32]);
    w.refused(open(&w), &[&deal.customer.key], MarketError::WrongLeaseStatus);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.ok(open(&w), &[&deal.customer.key]);
    let close = ix::lease_close(&w, &deal.customer.wallet(), &deal.lease);
    w.warp(100_000);
    w.refused(close, &[&deal.customer.key], MarketError::FaultPending);
}

#[test]
fn of_a_known_kind_and_with_the_deposit() {
    let mut w = Testbed::new();
    let deal = w.running();
    for kind in [0, 3, 255] {
        let open = ix::dispute_open(&w, &deal.lease, kind, [7; 32]);
        w.refused(open, &[&deal.customer.key], MarketError::UnknownDispute);
    }
    let free = w.read::<Credits>(&deal.customer.credits()).free().expect("sound");
    w.ok(ix::credits_withdraw(&deal.customer, free - 38), &[&deal.customer.key]);
    let open = ix::dispute_open(&w, &deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]);
    w.refused(open, &[&deal.customer.key], MarketError::InsufficientFunds);
}

/// Finding C 6.
#[test]
fn a_dispute_does_not_hold_stake_that_no_node_needs() {
    let mut w = Testbed::new();
    let deal = w.running();
    let provider = &deal.provider;
    w.ok(ix::provider_stake(&w, provider, 7_000_000_000), &[&provider.key]);
    w.ok(ix::provider_request_unstake(provider, 7_000_000_000), &[&provider.key]);
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    w.ok(ix::dispute_open(&w, &deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&deal.customer.key]);
    w.ok(ix::provider_withdraw_stake(provider), &[&provider.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut w = Testbed::new();
    let deal = w.running();
    let stranger = w.customer(10_000_000);
    let good = ix::dispute_open(&w, &deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]);
    let key = [&deal.customer.key];
    w.refused(
        unsigned(good.clone(), &deal.customer.wallet()),
        &[],
        InstructionError::MissingRequiredSignature,
    );
    let mut by_stranger = good.clone();
    by_stranger.accounts[0].pubkey = stranger.wallet();
    w.refused(by_stranger, &[&stranger.key], MarketError::Unauthorised);
    let node = deal.machine.node;
    for at in [pda::market(), deal.customer.credits(), node, deal.lease] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &key, &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let other = w.provider(20_000_000_000);
    let machine = w.machine(&other, 1);
    let cases: [(&str, Address, Address, Code); 3] = [
        ("credits", deal.customer.credits(), stranger.credits(), MarketError::WrongAccount.into()),
        ("node", node, machine.node, MarketError::WrongAccount.into()),
        ("address", pda::dispute(&deal.lease), pda::dispute(&node), InstructionError::InvalidSeeds.into()),
    ];
    w.refuses_swaps(&good, &key, &cases);
}
