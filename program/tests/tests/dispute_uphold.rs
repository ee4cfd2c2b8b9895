use gantry_market::constants::FLAG_BAD_OUTPUT;
use gantry_market::errors::MarketError;
use gantry_market::events::DisputeResolved;
use gantry_market::state::{Credits, Fault, Lease, Node, Provider, DISPUTE_BAD_OUTPUT};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Actor, Deal, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

/// A lease of which ten minutes were paid, disputed; the one keeper agrees with the customer.
fn upheld() -> (Testbed, Deal, Actor) {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(600);
    w.settle(&deal, 1, 600);
    w.ok(ix::dispute_open(&w, &deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&deal.customer.key]);
    w.ok(ix::dispute_vote(&deal.keeper, &deal.lease, 1), &[&deal.keeper.key]);
    let payer = w.actor();
    (w, deal, payer)
}

#[test]
fn it_opens_a_fault_and_gives_the_deposit_back() {
    let (mut w, deal, payer) = upheld();
    let before: Credits = w.read(&deal.customer.credits());
    let meta = w.ok(ix::dispute_uphold(&w, &payer.wallet(), &deal.lease), &[&payer.key]);
    let (dispute, lease) = (pda::dispute(&deal.lease), deal.lease);
    assert_emitted(
        &meta,
        &DisputeResolved {
            dispute,
            lease,
            upheld: 1,
            deposit_lost: 0,
            upheld_weight: w.params.min_bond,
            rejected_weight: 0,
        },
    );
    let after: Credits = w.read(&deal.customer.credits());
    assert_eq!((after.balance, after.reserved), (before.balance, before.reserved - 5_000_000));
    let at = pda::fault(&deal.machine.node, &lease, w.period());
    let fault: Fault = w.read(&at);
    // Half of the stake that the machine's two GPUs need; 0.333333 USDC are worth 0.333333 tokens.
    assert_eq!((fault.amount, fault.harm), (10_000_000_000, 333_333_000));
    assert_eq!((fault.customer, fault.finder), (deal.customer.wallet(), deal.keeper.wallet()));
    assert_eq!((fault.flags, fault.applicable_at), (FLAG_BAD_OUTPUT, w.now() + 300));
    assert!(!w.exists(&dispute));
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.pending_faults, node.disputes_lost, node.dispute_lost_at), (1, 1, w.now()));
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).pending_faults, 1);
    assert_eq!(w.read::<Lease>(&lease).pending_faults, 1);

    // The rest is the way of every fault.
    w.warp(300);
    let apply = ix::slash_apply(&w, &at, Some(deal.customer.stake), deal.keeper.stake);
    w.ok(apply, &[]);
    assert_eq!(w.read::<Lease>(&lease).pending_faults, 0);
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).slashed_total, 10_000_000_000);
}

#[test]
fn only_what_two_thirds_upheld() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(1);
    w.ok(ix::dispute_open(&w, &deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&deal.customer.key]);
    let payer = w.actor();
    let uphold = ix::dispute_uphold(&w, &payer.wallet(), &deal.lease);
    w.refused(uphold.clone(), &[&payer.key], MarketError::DisputeNotUpheld);
    w.ok(ix::dispute_vote(&deal.keeper, &deal.lease, 0), &[&deal.keeper.key]);
    w.refused(uphold, &[&payer.key], MarketError::DisputeNotUpheld);
}

#[test]
fn under_the_running_period() {
    let (mut w, deal, payer) = upheld();
    for period in [w.period() - 1, w.period() + 1] {
        let uphold = ix::dispute_uphold_at(&w, &payer.wallet(), &deal.lease, period);
        w.refused(uphold, &[&payer.key], MarketError::WrongPeriod);
    }
}

#[test]
fn the_customer_may_pay_for_it() {
    let (mut w, deal, _) = upheld();
    let customer = deal.customer.wallet();
    w.ok(ix::dispute_uphold(&w, &customer, &deal.lease), &[&deal.customer.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, deal, payer) = upheld();
    let good = ix::dispute_uphold(&w, &payer.wallet(), &deal.lease);
    w.refused(unsigned(good.clone(), &payer.wallet()), &[], InstructionError::MissingRequiredSignature);
    let key = [&payer.key];
    let (credits, provider, node) = (deal.customer.credits(), deal.provider.provider(), deal.machine.node);
    for at in [pda::market(), credits, provider, node, deal.lease, pda::dispute(&deal.lease)] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &key, &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let stranger = w.customer(10_000_000);
    let other = w.provider(20_000_000_000);
    let machine = w.machine(&other, 1);
    let lease = w.twin(&deal.lease);
    let fault = pda::fault(&node, &deal.lease, w.period());
    let cases: [(&str, Address, Address, Code); 6] = [
        ("credits", credits, stranger.credits(), MarketError::WrongAccount.into()),
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("node", node, machine.node, MarketError::WrongAccount.into()),
        ("lease", deal.lease, lease, MarketError::WrongAccount.into()),
        ("rent", deal.customer.wallet(), stranger.wallet(), MarketError::WrongAccount.into()),
        ("address", fault, pda::dispute(&node), InstructionError::InvalidSeeds.into()),
    ];
    w.refuses_swaps(&good, &key, &cases);
}
