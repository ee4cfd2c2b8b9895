use gantry_market::constants::FLAG_BAD_OUTPUT;
use gantry_market::errors::MarketError;
use gantry_market::events::DisputeResolved;
use gantry_market::math::reputation::reputation_bps;
use gantry_market::state::{
    Credits, Dispute, Fault, Keeper, Lease, Market, Node, Payout, Provider, Rewards, DISPUTE_BAD_OUTPUT,
    FAULT_DISPUTE,
};
use gantry_market_tests::actors::START_STAKE;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::ix::signed;
use gantry_market_tests::leaves::{statement, LeafData};
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Actor, Deal, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

/// A lease of which ten minutes were paid, disputed; the one keeper agrees with the customer.
pub(crate) fn upheld() -> (Testbed, Deal, Actor) {
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
    let opened_at = w.read::<Dispute>(&pda::dispute(&deal.lease)).opened_at;
    let meta = w.ok(ix::dispute_uphold(&w, &payer.wallet(), &deal.lease), &[&payer.key]);
    let (dispute, lease) = (pda::dispute(&deal.lease), deal.lease);
    assert_emitted(
        &meta,
        &DisputeResolved {
            dispute,
            lease,
            upheld: 1,
            to_provider: 0,
            to_buy_back: 0,
            upheld_weight: w.params.min_bond,
            rejected_weight: 0,
        },
    );
    let after: Credits = w.read(&deal.customer.credits());
    assert_eq!((after.balance, after.reserved), (before.balance, before.reserved - 33_333));
    let at = pda::dispute_fault(&lease);
    let fault: Fault = w.read(&at);
    // Half of the stake that one of the machine's two GPUs needs.
    assert_eq!((fault.amount, fault.finder), (5_000_000_000, deal.customer.wallet()));
    let started = w.read::<Lease>(&lease).started_at;
    assert_eq!((fault.window_from, fault.window_until), (started, w.now()));
    assert_eq!((fault.kind, fault.voters_before), (FAULT_DISPUTE, opened_at));
    assert_eq!((fault.flags, fault.applicable_at), (FLAG_BAD_OUTPUT, w.now() + 300));
    assert!(!w.exists(&dispute));
    let node: Node = w.read(&deal.machine.node);
    // It is lost when the slash is applied: until then it can be appealed.
    assert_eq!((node.pending_faults, node.disputes_lost, node.dispute_lost_at), (1, 0, 0));
    assert_eq!((node.reserved_stake, node.pending_node_faults), (5_000_000_000, 0));
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).pending_faults, 1);
    assert_eq!(w.read::<Lease>(&lease).pending_faults, 1);

    // The rest is the way of every fault.
    w.warp(300);
    w.ok(ix::slash_apply(&w, &at), &[]);
    w.ok(ix::slash_compensate(&w, &at, &lease), &[]);
    // A tenth to the finder, and what was paid: one payout, as both are the customer.
    let payout: Payout = w.read(&pda::payout(&deal.customer.wallet(), &at));
    assert_eq!(payout.amount, 500_000_000 + 333_333_000);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.disputes_lost, node.dispute_lost_at, node.reserved_stake), (1, w.now(), 0));
    assert_eq!(w.read::<Lease>(&lease).pending_faults, 0);
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).slashed_total, 5_000_000_000);
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
fn the_customer_may_pay_for_it() {
    let (mut w, deal, _) = upheld();
    let customer = deal.customer.wallet();
    w.ok(ix::dispute_uphold(&w, &customer, &deal.lease), &[&deal.customer.key]);
}

/// A statement of this machine's outputs for the disputed lease.
pub(crate) fn output_statement(w: &Testbed, deal: &Deal, passed: bool) -> [u8; 144] {
    let mut text = statement(&deal.machine.node, w.period(), 6, passed);
    text[72..80].copy_from_slice(&w.now().to_le_bytes());
    text[80..112].copy_from_slice(deal.lease.as_ref());
    text
}

#[test]
fn a_keeper_activated_after_the_vote_does_not_void_an_upheld_dispute() {
    let (mut w, deal, payer) = upheld();
    // Five times the weight of all who voted.
    let late = w.keeper(5 * w.params.min_bond);
    w.ok(ix::dispute_uphold(&w, &payer.wallet(), &deal.lease), &[&payer.key]);
    let (fault, text) = (pda::dispute_fault(&deal.lease), output_statement(&w, &deal, true));
    let appeal = [signed(&late.key, &text), ix::slash_appeal(&w, &fault, &late, text)];
    w.refused_all(&appeal, &[], MarketError::KeeperNotActive);
}

/// Finding R 15.
#[test]
fn keepers_that_could_vote_void_an_upheld_dispute_by_statements_about_its_output() {
    let (mut w, deal, payer) = upheld();
    w.ok(ix::dispute_uphold(&w, &payer.wallet(), &deal.lease), &[&payer.key]);
    let fault = pda::dispute_fault(&deal.lease);
    // Later, in another period, with what it has learned since.
    w.warp(120);
    let refused = |w: &mut Testbed, text: [u8; 144], error: MarketError| {
        let appeal = [signed(&deal.keeper.key, &text), ix::slash_appeal(w, &fault, &deal.keeper, text)];
        w.refused_all(&appeal, &[], error);
    };
    let good = output_statement(&w, &deal, true);
    let irrelevant = MarketError::IrrelevantStatement;
    let failed = output_statement(&w, &deal, false);
    refused(&mut w, failed, irrelevant);
    let mut other = good;
    other[80..112].copy_from_slice(deal.machine.node.as_ref());
    refused(&mut w, other, irrelevant);
    let mut other = good;
    other[16..48].copy_from_slice(deal.lease.as_ref());
    refused(&mut w, other, irrelevant);
    let mut liveness = good;
    liveness[56] = 1;
    refused(&mut w, liveness, irrelevant);
    // What it said before the customer complained was said without the complaint.
    let mut early = good;
    let opened = w.read::<Fault>(&fault).voters_before;
    early[72..80].copy_from_slice(&(opened - 1).to_le_bytes());
    refused(&mut w, early, irrelevant);
    let appeal = [signed(&deal.keeper.key, &good), ix::slash_appeal(&w, &fault, &deal.keeper, good)];
    w.ok_all(&appeal, &[]);
    assert!(!w.exists(&fault));
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.pending_faults, node.disputes_lost, node.dispute_bps), (0, 0, 0));
    let provider: Provider = w.read(&deal.provider.provider());
    assert_eq!((provider.pending_faults, provider.disputes_lost), (0, 0));
}

#[test]
fn a_lost_dispute_follows_the_provider_to_its_next_node() {
    let (mut w, deal, payer) = upheld();
    w.ok(ix::dispute_uphold(&w, &payer.wallet(), &deal.lease), &[&payer.key]);
    w.warp(300);
    let at = pda::dispute_fault(&deal.lease);
    w.ok(ix::slash_apply(&w, &at), &[]);
    let lost_at = w.now();
    w.ok(ix::provider_stake(&w, &deal.provider, 50_000_000_000), &[&deal.provider.key]);
    let next = w.machine(&deal.provider, 1);
    let node: Node = w.read(&next.node);
    assert_eq!((node.disputes_lost, node.dispute_bps, node.dispute_lost_at), (1, 2_000, lost_at));
}

#[test]
fn the_terms_are_those_of_the_opening() {
    let (mut w, deal, payer) = upheld();
    w.alter(&pda::market(), |m: &mut Market| {
        (m.params.appeal_secs, m.params.quorum_bps, m.params.stake_price) = (500, 10_000, 1);
        (m.params.finder_bps, m.params.dispute_deposit) = (0, 1);
    });
    w.ok(ix::dispute_uphold(&w, &payer.wallet(), &deal.lease), &[&payer.key]);
    let fault: Fault = w.read(&pda::dispute_fault(&deal.lease));
    assert_eq!((fault.amount, fault.stake_price), (5_000_000_000, 1_000_000));
    assert_eq!((fault.applicable_at, fault.finder_bps), (w.now() + 300, 1_000));
}

/// Finding R 15.
#[test]
fn a_keeper_earns_nothing_by_the_side_it_takes() {
    for uphold in [0, 1] {
        let mut w = Testbed::new();
        let deal = w.running();
        w.warp(1);
        w.ok(ix::dispute_open(&w, &deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&deal.customer.key]);
        w.ok(ix::dispute_vote(&deal.keeper, &deal.lease, uphold), &[&deal.keeper.key]);
        if uphold == 1 {
            w.ok(ix::dispute_uphold(&w, &deal.customer.wallet(), &deal.lease), &[&deal.customer.key]);
            w.warp(300);
            let at = pda::dispute_fault(&deal.lease);
            w.ok(ix::slash_apply(&w, &at), &[]);
        } else {
            w.ok(ix::dispute_resolve(&w, &deal.lease), &[]);
        }
        let keeper: Keeper = w.read(&deal.keeper.keeper());
        let had = START_STAKE - w.params.min_bond;
        assert_eq!((w.tokens(&deal.keeper.stake), keeper.earned), (had, 0));
        let rewards: Rewards = w.read(&pda::rewards());
        assert_eq!((rewards.pending, rewards.allocated), (0, 0), "no pool that keepers share grew");
    }
}

#[test]
fn the_fault_of_a_report_takes_no_address_from_that_of_a_dispute() {
    let (mut w, deal, payer) = upheld();
    let period = w.period();
    w.ok(ix::dispute_uphold(&w, &payer.wallet(), &deal.lease), &[&payer.key]);
    w.warp_past_period(period);
    let leaf = LeafData { flags: FLAG_BAD_OUTPUT, ..w.good_leaf(deal.machine.node, deal.lease, period) };
    let proof = w.finalise(&deal.keeper, &[leaf]).remove(0);
    w.ok(ix::fault_open(&w, &deal.keeper.wallet(), &proof), &[&deal.keeper.key]);
}

#[test]
fn a_lost_dispute_lowers_the_reputation() {
    let (mut w, deal, payer) = upheld();
    w.ok(ix::dispute_uphold(&w, &payer.wallet(), &deal.lease), &[&payer.key]);
    let at = pda::dispute_fault(&deal.lease);
    w.warp(300);
    let before = reputation_bps(&w.read(&deal.machine.node), w.now());
    w.ok(ix::slash_apply(&w, &at), &[]);
    let after = reputation_bps(&w.read(&deal.machine.node), w.now());
    assert_eq!(after, before - 2_000);
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
    let fault = pda::dispute_fault(&deal.lease);
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
