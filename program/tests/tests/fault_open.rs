use gantry_market::constants::{
    FLAGS_NODE, FLAG_BAD_OUTPUT, FLAG_DEVICE_CHANGED, FLAG_EVIDENCE_FAILED, FLAG_OFFLINE, FLAG_SPEC_MISMATCH,
    FLAG_UNHEALTHY, FLAG_WORK_FAILED,
};
use gantry_market::errors::MarketError;
use gantry_market::events::{FaultOpened, LeaseFailed};
use gantry_market::state::{
    Fault, Lease, Market, Node, Provider, FAULT_PENDING, FAULT_REPORT, LEASE_ENDED, LEASE_FAILED,
    NODE_ACTIVE, NODE_RETIRED, NODE_SUSPENDED,
};
use gantry_market::ID;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::leaves::{LeafData, Proof};
use gantry_market_tests::tokens::token_program;
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Deal, Testbed};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;

/// A lease that started with a period, at that period's end. The node was registered before it.
fn ready() -> (Testbed, Deal, LeafData) {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(60);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = w.good_leaf(deal.machine.node, deal.lease, period);
    (w, deal, leaf)
}

fn offline(leaf: LeafData) -> LeafData {
    LeafData { flags: FLAG_OFFLINE, up_secs: 10, verified_secs: 10, downtime_secs: 50, ..leaf }
}

fn only(w: &mut Testbed, deal: &Deal, leaf: LeafData) -> Proof {
    w.finalise(&deal.keeper, &[leaf]).remove(0)
}

fn open(w: &Testbed, deal: &Deal, proof: &Proof) -> Instruction {
    ix::fault_open(w, &deal.keeper.wallet(), proof)
}

#[test]
fn a_silent_node_fails_its_lease() {
    let (mut w, deal, leaf) = ready();
    let proof = only(&mut w, &deal, offline(leaf));
    w.warp(7);
    let meta = w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
    let end = w.now() - 7;
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.status, lease.ended_at, lease.pending_faults), (LEASE_FAILED, end, 1));
    assert_eq!((lease.verified_secs, lease.downtime_secs), (10, 50));
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.status, node.pending_faults), (NODE_ACTIVE, 1));
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).pending_faults, 1);
    let at = pda::fault(&deal.machine.node, &deal.lease, leaf.period);
    let fault: Fault = w.read(&at);
    assert_eq!((fault.node, fault.provider), (deal.machine.node, deal.provider.provider()));
    // Silence has no finder.
    assert_eq!((fault.lease, fault.finder), (deal.lease, Address::default()));
    assert_eq!((fault.rent_payer, fault.gpus), (deal.keeper.wallet(), 1));
    assert_eq!((fault.kind, fault.status), (FAULT_REPORT, FAULT_PENDING));
    assert_eq!((fault.period, fault.flags, fault.appeal_weight), (leaf.period, FLAG_OFFLINE, 0));
    // The appeal window runs from the opening.
    assert_eq!((fault.opened_at, fault.applicable_at), (w.now(), w.now() + 300));
    assert_eq!((fault.window_from, fault.window_until, fault.voters_before), (end - 60, end, end));
    assert_eq!(fault.total_weight, w.params.min_bond);
    // 5 % of the 10 tokens that one of two GPUs needs; an hour at 2 USDC would be 2 tokens.
    assert_eq!(fault.amount, 500_000_000);
    assert_emitted(&meta, &LeaseFailed { lease: deal.lease, period: leaf.period, ended_at: end });
    assert_emitted(
        &meta,
        &FaultOpened {
            fault: at,
            node: deal.machine.node,
            lease: deal.lease,
            period: leaf.period,
            flags: FLAG_OFFLINE,
            amount: 500_000_000,
            window_from: end - 60,
            applicable_at: end + 307,
        },
    );
}

#[test]
fn bad_output_costs_the_lease_gpus_part_and_covers_what_was_paid() {
    let (mut w, deal, leaf) = ready();
    w.warp(540);
    w.settle(&deal, 1, 600);
    let proof = only(&mut w, &deal, LeafData { flags: FLAG_BAD_OUTPUT, ..leaf });
    let mut rich = w.fork();
    w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
    let at = pda::fault(&deal.machine.node, &deal.lease, leaf.period);
    let fault: Fault = w.read(&at);
    // Half of the 10 tokens that one of the two GPUs needs.
    assert_eq!((fault.amount, fault.flags, fault.gpus), (5_000_000_000, FLAG_BAD_OUTPUT, 1));
    assert_eq!((deal.state(&w).frozen, fault.window_from), (1, deal.state(&w).started_at));
    // Where more was paid, two and a half times of that: 3 USDC at the reference price of 2.50 are 3 tokens.
    rich.alter(&deal.lease, |l: &mut Lease| {
        (l.price, l.paid_secs, l.funded_until) = (9_000_000, 4_320, l.started_at + 10_000);
        (l.paid, l.started_at) = (10_800_000, l.started_at - 5_000);
        l.reserved = 100_000_000;
    });
    rich.ok(open(&rich, &deal, &proof), &[&deal.keeper.key]);
    assert_eq!(rich.read::<Fault>(&at).amount, 7_500_000_000);
}

/// The slash follows the GPUs concerned: eight leases of one GPU cost what one lease of eight costs.
#[test]
fn slashes_scale_with_the_gpus_of_the_lease() {
    let (mut w, deal, leaf) = ready();
    let proof = only(&mut w, &deal, LeafData { flags: FLAG_BAD_OUTPUT, ..leaf });
    let mut whole = w.fork();
    w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
    let at = pda::fault(&deal.machine.node, &deal.lease, leaf.period);
    whole.alter(&deal.lease, |l: &mut Lease| l.gpus = 2);
    whole.ok(open(&whole, &deal, &proof), &[&deal.keeper.key]);
    assert_eq!(whole.read::<Fault>(&at).amount, 2 * w.read::<Fault>(&at).amount);
}

/// Silence costs an hour of the lease at most, and its part of the offline slash at most.
#[test]
fn silence_costs_an_hour_of_the_lease_at_most() {
    for (price, amount) in [(100_000, 100_000_000), (400_000, 400_000_000), (2_000_000_000, 500_000_000)] {
        let (mut w, deal, leaf) = ready();
        w.alter(&deal.lease, |l: &mut Lease| l.price = price);
        let proof = only(&mut w, &deal, offline(leaf));
        w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
        let fault: Fault = w.read(&pda::fault(&deal.machine.node, &deal.lease, leaf.period));
        assert_eq!((fault.amount, fault.finder), (amount, Address::default()), "{price}");
        // What was served is paid all the same.
        assert_eq!(deal.state(&w).frozen, 0);
    }
}

#[test]
fn the_appeal_window_runs_from_the_opening() {
    let (mut w, deal, leaf) = ready();
    let proof = only(&mut w, &deal, offline(leaf));
    // Long after the report became final.
    w.warp(1_000);
    w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
    let fault: Fault = w.read(&pda::fault(&deal.machine.node, &deal.lease, leaf.period));
    assert_eq!((fault.opened_at, fault.applicable_at), (w.now(), w.now() + 300));
}

#[test]
fn the_window_begins_with_the_last_good_period() {
    let (mut w, deal, leaf) = ready();
    let proof = only(&mut w, &deal, leaf);
    w.ok(ix::report_apply(&proof), &[]);
    let good_until = w.now();
    assert_eq!(w.read::<Node>(&deal.machine.node).good_since, good_until);
    // A period without a report, then one with a fault.
    w.warp(60);
    let period = w.period();
    w.warp_past_period(period);
    let bad = LeafData { flags: FLAG_WORK_FAILED, period, ..leaf };
    let proof = only(&mut w, &deal, bad);
    w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
    let fault: Fault = w.read(&ix::fault_of(&proof));
    assert_eq!((fault.window_from, fault.window_until), (good_until, w.now()));
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.frozen_from, node.pending_node_faults), (good_until, 1));
}

#[test]
fn the_gravest_flag_decides_and_flags_of_the_machine_suspend_it() {
    let required = 20_000_000_000;
    let cases = [
        (FLAG_SPEC_MISMATCH, required),
        (FLAG_EVIDENCE_FAILED, required),
        (FLAG_DEVICE_CHANGED, required),
        (FLAG_WORK_FAILED, required / 10),
        (FLAG_WORK_FAILED | FLAG_BAD_OUTPUT, required / 10),
        (FLAG_WORK_FAILED | FLAG_DEVICE_CHANGED | FLAG_UNHEALTHY, required),
    ];
    for (flags, amount) in cases {
        println!("{flags}");
        let (mut w, deal, leaf) = ready();
        let proof = only(&mut w, &deal, LeafData { flags, ..leaf });
        w.refused(ix::report_apply(&proof), &[], MarketError::LeafCarriesFault);
        let early = ix::fault_open_of(&w, &deal.keeper.wallet(), &proof, false);
        w.refused(early, &[&deal.keeper.key], MarketError::LeafCarriesFault);
        w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
        let fault: Fault = w.read(&ix::fault_of(&proof));
        assert_eq!((fault.amount, fault.flags), (amount, flags & FLAGS_NODE));
        assert_eq!(w.read::<Node>(&deal.machine.node).status, NODE_SUSPENDED);
        assert_eq!(deal.state(&w).pending_faults, 0);
    }
}

#[test]
fn a_lease_keeps_the_slash_terms_that_it_was_awarded_under() {
    let (mut w, deal, leaf) = ready();
    w.alter(&pda::market(), |m: &mut Market| {
        (m.params.slash_offline_bps, m.params.slash_bad_work_bps) = (10_000, 10_000);
    });
    let proof = only(&mut w, &deal, offline(leaf));
    w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
    let fault: Fault = w.read(&pda::fault(&deal.machine.node, &deal.lease, leaf.period));
    assert_eq!(fault.amount, 500_000_000);
}

#[test]
fn a_fault_of_the_machine_alone_harms_no_customer() {
    let (mut w, deal, leaf) = ready();
    let alone = LeafData {
        lease: Address::default(),
        verified_secs: 0,
        flags: FLAG_WORK_FAILED | FLAG_OFFLINE,
        ..leaf
    };
    let proof = only(&mut w, &deal, alone);
    w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
    let fault: Fault = w.read(&pda::fault(&deal.machine.node, &Address::default(), leaf.period));
    assert_eq!((fault.lease, fault.finder), (Address::default(), Address::default()));
    // Offline costs stake only where a lease was harmed.
    assert_eq!((fault.flags, fault.amount), (FLAG_WORK_FAILED, 2_000_000_000));
    assert_eq!((fault.gpus, fault.window_from), (2, w.read::<Node>(&deal.machine.node).registered_at));
    assert_eq!(deal.state(&w).pending_faults, 0);
}

#[test]
fn each_lease_of_a_node_has_its_own_fault_and_the_machines_comes_once() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let order = w.order(&deal.customer, ix::order_args(2));
    let second = w.award(&deal.keeper, &deal.customer, &order, &deal.provider, &deal.machine);
    w.warp(60);
    for lease in [deal.lease, second] {
        w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&deal.machine.key]);
    }
    let period = w.period();
    w.warp_past_period(period);
    let node = deal.machine.node;
    let leaves = [deal.lease, second].map(|lease| LeafData {
        flags: FLAG_OFFLINE | FLAG_WORK_FAILED,
        ..offline(w.good_leaf(node, lease, period))
    });
    let proofs = w.finalise(&deal.keeper, &leaves);
    w.ok(open(&w, &deal, &proofs[0]), &[&deal.keeper.key]);
    // The machine's is there, whichever leaf shows it.
    let again = open(&w, &deal, &proofs[1]);
    w.refused(again, &[&deal.keeper.key], gantry_market_tests::attempts::ALREADY_IN_USE);
    for proof in &proofs {
        w.ok(ix::fault_open_of(&w, &deal.keeper.wallet(), proof, false), &[&deal.keeper.key]);
    }
    let [whole, first, other] = [Address::default(), deal.lease, second]
        .map(|lease| w.read::<Fault>(&pda::fault(&node, &lease, period)));
    assert_eq!((whole.flags, whole.amount), (FLAG_WORK_FAILED, 2_000_000_000));
    for fault in [first, other] {
        assert_eq!((fault.flags, fault.amount), (FLAG_OFFLINE, 500_000_000));
    }
    let state: Node = w.read(&node);
    assert_eq!((state.pending_faults, state.pending_node_faults), (3, 1));
    assert_eq!((state.checks_total, state.status), (5, NODE_SUSPENDED));
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).pending_faults, 3);
}

#[test]
fn a_second_leaf_with_only_the_machines_flags_is_a_plain_leaf() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(60);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    let period = w.period();
    w.warp_past_period(period);
    let leaves = [Address::default(), deal.lease]
        .map(|lease| LeafData { flags: FLAG_WORK_FAILED, ..w.good_leaf(deal.machine.node, lease, period) });
    let proofs = w.finalise(&deal.keeper, &leaves);
    w.ok(open(&w, &deal, &proofs[0]), &[&deal.keeper.key]);
    let of_lease = ix::fault_open_of(&w, &deal.keeper.wallet(), &proofs[1], false);
    w.refused(of_lease, &[&deal.keeper.key], MarketError::NoFault);
    w.ok(ix::report_apply(&proofs[1]), &[]);
    assert_eq!(w.read::<Node>(&deal.machine.node).pending_faults, 1);
}

#[test]
fn a_leaf_without_a_fault_opens_none() {
    let (mut w, deal, leaf) = ready();
    let short = LeafData { flags: FLAG_OFFLINE, verified_secs: 40, downtime_secs: 20, ..leaf };
    let proof = only(&mut w, &deal, short);
    w.refused(open(&w, &deal, &proof), &[&deal.keeper.key], MarketError::NoFault);
    assert!(!w.exists(&pda::fault(&deal.machine.node, &deal.lease, leaf.period)));
}

#[test]
fn once_only_and_not_after_it_was_settled_either() {
    let (mut w, deal, leaf) = ready();
    let proof = only(&mut w, &deal, offline(leaf));
    w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
    let again = open(&w, &deal, &proof);
    w.refused(again.clone(), &[&deal.keeper.key], gantry_market_tests::attempts::ALREADY_IN_USE);
    w.warp(300);
    let fault = pda::fault(&deal.machine.node, &deal.lease, leaf.period);
    w.ok(ix::slash_apply(&w, &fault), &[]);
    w.ok(ix::slash_compensate(&w, &fault, &deal.lease), &[]);
    w.warp(240);
    w.ok(ix::slash_close(&w, &fault), &[]);
    w.refused(again, &[&deal.keeper.key], MarketError::AlreadyApplied);
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).stake, 19_500_000_000);
}

#[test]
fn a_leaf_that_was_applied_opens_no_fault() {
    let (mut w, deal, leaf) = ready();
    let proof = only(&mut w, &deal, leaf);
    w.ok(ix::report_apply(&proof), &[]);
    w.refused(open(&w, &deal, &proof), &[&deal.keeper.key], MarketError::AlreadyApplied);
}

#[test]
fn a_node_that_is_leaving_is_still_at_fault() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(60);
    let period = w.period();
    w.warp(200);
    w.ok(ix::lease_abort(&w, &deal.lease), &[]);
    w.ok(ix::node_retire(&deal.provider, &deal.machine.node), &[&deal.provider.key]);
    let leaf =
        LeafData { flags: FLAG_WORK_FAILED, ..w.good_leaf(deal.machine.node, Address::default(), period) };
    let proof = only(&mut w, &deal, leaf);
    w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.status, node.pending_faults), (NODE_RETIRED, 1));
    w.warp(1_000);
    let close = ix::node_close(&deal.provider, &node.node_key, 2);
    w.refused(close, &[&deal.provider.key], MarketError::FaultPending);
}

#[test]
fn a_lease_that_ended_in_the_period_is_still_harmed() {
    let (mut w, deal, leaf) = ready();
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    let proof = only(&mut w, &deal, offline(leaf));
    w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.status, lease.downtime_secs, lease.pending_faults), (LEASE_ENDED, 50, 1));
    let close = ix::lease_close(&w, &deal.customer.wallet(), &deal.lease);
    w.refused(close, &[&deal.customer.key], MarketError::FaultPending);
}

#[test]
fn a_failed_lease_ends_no_later_than_its_funds() {
    let (mut w, deal, leaf) = ready();
    w.alter(&deal.lease, |l: &mut Lease| l.funded_until = l.started_at + 30);
    let proof = only(&mut w, &deal, offline(leaf));
    w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.ended_at, lease.billable_secs(w.now())), (lease.started_at + 30, 0));
}

#[test]
fn the_machines_fault_is_found_through_a_closed_lease() {
    let (mut w, deal, leaf) = ready();
    w.settle(&deal, 1, 60);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    let proof = only(&mut w, &deal, LeafData { flags: FLAG_DEVICE_CHANGED | FLAG_BAD_OUTPUT, ..leaf });
    w.ok(ix::lease_close(&w, &deal.customer.wallet(), &deal.lease), &[&deal.customer.key]);
    w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
    let at = ix::fault_of(&proof);
    let fault: Fault = w.read(&at);
    assert_eq!((fault.flags, fault.amount), (FLAG_DEVICE_CHANGED, 20_000_000_000));
    w.warp(300);
    w.ok(ix::slash_apply(&w, &at), &[]);
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).stake, 0);
}

#[test]
fn a_gift_of_lamports_to_its_address_stops_no_fault() {
    let (mut w, deal, leaf) = ready();
    let proof = only(&mut w, &deal, offline(leaf));
    w.prefund(&pda::fault(&deal.machine.node, &deal.lease, leaf.period));
    w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
}

#[test]
fn a_paused_market_still_finds_fault() {
    let (mut w, deal, leaf) = ready();
    let proof = only(&mut w, &deal, offline(leaf));
    w.pause();
    w.ok(open(&w, &deal, &proof), &[&deal.keeper.key]);
}

#[test]
fn the_leaf_must_be_proven_and_whole() {
    let (mut w, deal, leaf) = ready();
    let rival = w.fresh_address();
    let other = LeafData { node: rival, ..leaf };
    let proofs = w.finalise(&deal.keeper, &[offline(leaf), other]);
    let mut wrong = proofs[0].clone();
    wrong.siblings[0][0] ^= 1;
    w.refused(open(&w, &deal, &wrong), &[&deal.keeper.key], MarketError::InvalidProof);
    let mut graver = proofs[0].clone();
    graver.leaf.flags |= FLAG_SPEC_MISMATCH;
    w.refused(open(&w, &deal, &graver), &[&deal.keeper.key], MarketError::InvalidProof);
    let mut bare = open(&w, &deal, &proofs[0]);
    bare.accounts[6] = AccountMeta::new_readonly(ID, false);
    w.refused(bare, &[&deal.keeper.key], MarketError::InvalidLeaf);
}

#[test]
fn the_report_must_be_final() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.keeper(w.params.min_bond);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = offline(w.good_leaf(deal.machine.node, deal.lease, period));
    let proof = only(&mut w, &deal, leaf);
    w.refused(open(&w, &deal, &proof), &[&deal.keeper.key], MarketError::ReportNotFinal);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, deal, leaf) = ready();
    let other = w.provider(10_000_000_000);
    let others = w.machine(&other, 1);
    let order = w.order(&deal.customer, ix::order_args(2));
    let second = w.award(&deal.keeper, &deal.customer, &order, &deal.provider, &deal.machine);
    let proof = only(&mut w, &deal, offline(leaf));
    let good = open(&w, &deal, &proof);
    let key = [&deal.keeper.key];
    let silent = unsigned(good.clone(), &deal.keeper.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let (node, provider) = (deal.machine.node, deal.provider.provider());
    let fault = pda::fault(&node, &deal.lease, leaf.period);
    for at in [pda::market(), pda::report(leaf.period), provider, node, deal.lease] {
        let fake = w.forged(&at);
        let cases = [("program", at, fake, InstructionError::IllegalOwner.into())];
        w.refuses_swaps(&good, &key, &cases);
    }
    let twin = w.twin(&provider);
    let cases: [(_, _, _, Code); 8] = [
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("provider's address", provider, twin, MarketError::WrongAccount.into()),
        ("node", node, others.node, InstructionError::InvalidSeeds.into()),
        ("lease", deal.lease, second, MarketError::InvalidLeaf.into()),
        ("report", pda::report(leaf.period), pda::gpu_model(1), InstructionError::AccountDataTooSmall.into()),
        (
            "fault",
            fault,
            pda::fault(&node, &Address::default(), leaf.period),
            InstructionError::InvalidSeeds.into(),
        ),
        ("fault's period", fault, pda::fault(&node, &deal.lease, 1), InstructionError::InvalidSeeds.into()),
        (
            "system program",
            ix::system_program(),
            token_program(),
            InstructionError::IncorrectProgramId.into(),
        ),
    ];
    w.refuses_swaps(&good, &key, &cases);
}
