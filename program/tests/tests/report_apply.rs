use gantry_market::constants::{
    DAY, FLAG_BAD_OUTPUT, FLAG_EVIDENCE_FAILED, FLAG_OFFLINE, FLAG_UNHEALTHY, FLAG_WORK_FAILED,
    FULL_AGE_DAYS, MAX_PROOF,
};
use gantry_market::errors::MarketError;
use gantry_market::events::{LeafApplied, LeaseFailed};
use gantry_market::state::{Lease, Node, LEASE_ENDED, LEASE_FAILED, LEASE_RUNNING};
use gantry_market::ID;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::leaves::{merkle, LeafData, Proof};
use gantry_market_tests::{ix, pda, Actor, Change, Deal, Machine, Testbed};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

/// A running lease at the end of its first period, which it was up for. The node was registered before.
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

/// A machine without lease, at the end of a period.
fn idle() -> (Testbed, Actor, Actor, Machine, LeafData) {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(40_000_000_000);
    let machine = w.machine(&provider, 1);
    w.warp(60);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = w.good_leaf(machine.node, Address::default(), period);
    (w, keeper, provider, machine, leaf)
}

/// Makes a report of the one leaf and returns its proof.
fn only(w: &mut Testbed, keeper: &Actor, leaf: LeafData) -> Proof {
    w.finalise(keeper, &[leaf]).remove(0)
}

#[test]
fn a_good_period_counts_for_node_and_lease() {
    let (mut w, deal, leaf) = ready();
    let leaf = LeafData {
        checks_passed: 4,
        checks_total: 5,
        tier: 2,
        operations: 9_000,
        bandwidth: 800,
        up_secs: 30,
        verified_secs: 50,
        downtime_secs: 10,
        evidence_hash: [6; 32],
        ..leaf
    };
    let proof = only(&mut w, &deal.keeper, leaf);
    let meta = w.ok(ix::report_apply(&proof), &[]);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.last_report_period, node.checks_passed, node.checks_total), (leaf.period, 4, 5));
    assert_eq!((node.tier, node.operations, node.evidence_hash), (2, 9_000, [6; 32]));
    assert_eq!((node.uptime_bps, node.downtime_secs), (9_921, 10));
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.last_report_period, lease.verified_secs, lease.downtime_secs), (leaf.period, 50, 10));
    assert_eq!((lease.status, lease.paid_secs), (LEASE_RUNNING, 0));
    assert_emitted(
        &meta,
        &LeafApplied {
            node: deal.machine.node,
            lease: deal.lease,
            period: leaf.period,
            flags: 0,
            verified_secs: 50,
            downtime_secs: 10,
        },
    );
}

#[test]
fn what_was_not_measured_stays() {
    let (mut w, keeper, _, machine, leaf) = idle();
    w.alter(&machine.node, |n: &mut Node| (n.operations, n.evidence_hash) = (7, [7; 32]));
    let proof = only(&mut w, &keeper, leaf);
    w.ok(ix::report_apply(&proof), &[]);
    let node: Node = w.read(&machine.node);
    assert_eq!((node.operations, node.evidence_hash), (7, [7; 32]));
}

#[test]
fn simulated_gpus_stay_at_tier_zero() {
    let (mut w, keeper, _, machine, leaf) = idle();
    w.alter(&machine.node, |n: &mut Node| (n.spec.simulated, n.tier) = (1, 0));
    let proof = only(&mut w, &keeper, LeafData { tier: 3, evidence_hash: [6; 32], ..leaf });
    w.ok(ix::report_apply(&proof), &[]);
    assert_eq!(w.read::<Node>(&machine.node).tier, 0);
}

#[test]
fn every_leaf_of_a_tree_has_a_proof() {
    for count in [1, 2, 3, 5, 8, 13] {
        let (mut w, keeper, _, machine, leaf) = idle();
        for at in 0..count {
            let period = leaf.period + at as u64;
            w.warp_past_period(period);
            let mut leaves: Vec<LeafData> = (0..count)
                .map(|i| LeafData { node: Address::new_from_array([i as u8 + 1; 32]), period, ..leaf })
                .collect();
            leaves[at] = LeafData { period, ..leaf };
            let proofs = w.finalise(&keeper, &leaves);
            w.ok(ix::report_apply(&proofs[at]), &[]);
        }
        assert_eq!(w.read::<Node>(&machine.node).checks_total, 5 * count as u64);
    }
}

#[test]
fn a_leaf_applies_once() {
    let (mut w, deal, leaf) = ready();
    let proof = only(&mut w, &deal.keeper, leaf);
    w.ok(ix::report_apply(&proof), &[]);
    w.refused(ix::report_apply(&proof), &[], MarketError::AlreadyApplied);
    w.warp(1_000);
    w.refused(ix::report_apply(&proof), &[], MarketError::AlreadyApplied);
    assert_eq!(deal.state(&w).verified_secs, 60);
    assert_eq!(w.read::<Node>(&deal.machine.node).checks_total, 5);
}

#[test]
fn leaves_apply_in_any_order_within_the_window() {
    let (mut w, deal, leaf) = ready();
    let mut proofs = vec![];
    for period in leaf.period..leaf.period + 33 {
        w.warp_past_period(period);
        proofs.push(only(&mut w, &deal.keeper, LeafData { period, ..leaf }));
    }
    w.ok(ix::report_apply(&proofs[32]), &[]);
    w.refused(ix::report_apply(&proofs[0]), &[], MarketError::AlreadyApplied);
    for at in [1, 31, 16] {
        w.ok(ix::report_apply(&proofs[at]), &[]);
        w.refused(ix::report_apply(&proofs[at]), &[], MarketError::AlreadyApplied);
    }
    assert_eq!(deal.state(&w).verified_secs, 4 * 60);
    assert_eq!(w.read::<Node>(&deal.machine.node).checks_total, 20);
}

#[test]
fn a_late_leaf_does_not_bring_an_old_tier_back() {
    let (mut w, keeper, _, machine, leaf) = idle();
    let old = LeafData { tier: 3, operations: 9_000, evidence_hash: [3; 32], ..leaf };
    let late = only(&mut w, &keeper, old);
    let period = leaf.period + 1;
    w.warp_past_period(period);
    let new = LeafData { tier: 1, operations: 10, evidence_hash: [1; 32], period, ..leaf };
    let newest = only(&mut w, &keeper, new);
    for proof in [newest, late] {
        w.ok(ix::report_apply(&proof), &[]);
        let node: Node = w.read(&machine.node);
        assert_eq!((node.tier, node.operations, node.evidence_hash), (1, 10, [1; 32]));
    }
    assert_eq!(w.read::<Node>(&machine.node).checks_total, 10, "its checks count");
}

#[test]
fn a_report_of_a_time_before_its_start_does_not_concern_a_lease() {
    // Another lease had the same address, or keepers are mistaken: time that this lease did not have is not paid.
    let (mut w, deal, leaf) = ready();
    let before = LeafData { period: leaf.period - 1, ..leaf };
    w.alter(&deal.machine.node, |n: &mut Node| {
        (n.last_report_period, n.report_window) = (before.period - 1, u32::MAX);
    });
    let proofs = [before, leaf].map(|leaf| only(&mut w, &deal.keeper, leaf));
    w.ok(ix::report_apply(&proofs[0]), &[]);
    assert_eq!(w.read::<Node>(&deal.machine.node).checks_total, 5, "of the node it speaks");
    assert_eq!(deal.state(&w).verified_secs, 0);
    w.refused(ix::report_apply(&proofs[0]), &[], MarketError::AlreadyApplied);
    w.ok(ix::report_apply(&proofs[1]), &[]);
    assert_eq!(deal.state(&w).verified_secs, 60);
}

#[test]
fn two_leases_of_a_node_count_for_the_node_once() {
    let mut w = Testbed::new();
    let deal = w.running();
    let order = w.order(&deal.customer, ix::order_args(2));
    let second = w.award(&deal.keeper, &deal.customer, &order, &deal.provider, &deal.machine);
    w.warp(60);
    w.ok(ix::lease_start(&w, &second, [3; 32]), &[&deal.machine.key]);
    let period = w.period();
    w.warp_past_period(period);
    let node = deal.machine.node;
    let leaves = [Address::default(), deal.lease, second].map(|lease| w.good_leaf(node, lease, period));
    let proofs = w.finalise(&deal.keeper, &leaves);
    for at in [2, 1] {
        w.ok(ix::report_apply(&proofs[at]), &[]);
    }
    w.refused(ix::report_apply(&proofs[0]), &[], MarketError::AlreadyApplied);
    assert_eq!(w.read::<Node>(&node).checks_total, 5);
    for lease in [deal.lease, second] {
        assert_eq!(w.read::<Lease>(&lease).verified_secs, 60);
    }
}

/// The instruction as it is sent once the lease is closed: its address in the next place.
fn with_closed(mut instruction: Instruction, lease: &Address) -> Instruction {
    instruction.accounts[3] = AccountMeta::new_readonly(ID, false);
    instruction.accounts[4] = AccountMeta::new_readonly(*lease, false);
    instruction
}

#[test]
fn a_leaf_of_a_closed_lease_still_speaks_of_its_node() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(60);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    let period = w.period();
    w.warp(59);
    w.settle(&deal, 1, 59);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.warp_past_period(period);
    let leaf = w.good_leaf(deal.machine.node, deal.lease, period);
    let good = with_closed(ix::report_apply(&Proof { leaf, path: 0, siblings: vec![] }), &deal.lease);
    only(&mut w, &deal.keeper, leaf);
    w.refused(good.clone(), &[], MarketError::WrongAccount);
    w.ok(ix::lease_close(&w, &deal.customer.wallet(), &deal.lease), &[&deal.customer.key]);
    let gone = ix::report_apply(&Proof { leaf, path: 0, siblings: vec![] });
    w.refused(gone, &[], InstructionError::AccountDataTooSmall);
    let elsewhere = w.fresh_address();
    w.refuses_swaps(&good, &[], &[("closed lease", deal.lease, elsewhere, MarketError::WrongAccount.into())]);
    w.ok(good.clone(), &[]);
    assert_eq!(w.read::<Node>(&deal.machine.node).checks_total, 5);
    w.refused(good, &[], MarketError::AlreadyApplied);
}

#[test]
fn a_closed_lease_hides_no_fault_of_its_node() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(60);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    let period = w.period();
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.ok(ix::lease_close(&w, &deal.customer.wallet(), &deal.lease), &[&deal.customer.key]);
    w.warp_past_period(period);
    let leaf = LeafData { flags: FLAG_EVIDENCE_FAILED, ..w.good_leaf(deal.machine.node, deal.lease, period) };
    let proof = only(&mut w, &deal.keeper, leaf);
    let apply = with_closed(ix::report_apply(&proof), &deal.lease);
    w.refused(apply, &[], MarketError::LeafCarriesFault);
}

#[test]
fn a_lease_that_was_gone_too_long_fails_with_its_fault_only() {
    let (mut w, deal, leaf) = ready();
    let gone = LeafData { flags: FLAG_OFFLINE, verified_secs: 30, downtime_secs: 21, up_secs: 30, ..leaf };
    let proof = only(&mut w, &deal.keeper, gone);
    w.refused(ix::report_apply(&proof), &[], MarketError::LeafCarriesFault);
    assert_eq!(deal.state(&w).status, LEASE_RUNNING);
}

#[test]
fn a_short_gap_is_within_the_grace() {
    let (mut w, deal, leaf) = ready();
    let gap = LeafData { flags: FLAG_OFFLINE, verified_secs: 40, downtime_secs: 20, ..leaf };
    let proof = only(&mut w, &deal.keeper, gap);
    w.ok(ix::report_apply(&proof), &[]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.status, lease.downtime_secs, lease.billable_secs(w.now())), (LEASE_RUNNING, 20, 40));
}

#[test]
fn time_that_is_paid_for_is_not_taken_back() {
    let (mut w, deal, leaf) = ready();
    w.settle(&deal, 1, 55);
    let gap = LeafData { verified_secs: 40, downtime_secs: 20, ..leaf };
    let proof = only(&mut w, &deal.keeper, gap);
    w.ok(ix::report_apply(&proof), &[]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.downtime_secs, lease.paid_secs, lease.billable_secs(w.now())), (5, 55, 55));
}

#[test]
fn a_leaf_about_the_node_alone_may_say_that_it_was_offline() {
    let (mut w, keeper, _, machine, leaf) = idle();
    let flags = FLAG_OFFLINE | FLAG_UNHEALTHY;
    let proof = only(&mut w, &keeper, LeafData { flags, up_secs: 0, checks_passed: 0, ..leaf });
    w.ok(ix::report_apply(&proof), &[]);
    assert_eq!(w.read::<Node>(&machine.node).uptime_bps, 9_843);
}

#[test]
fn a_fault_does_not_slip_by() {
    for flags in [FLAG_WORK_FAILED, FLAG_EVIDENCE_FAILED, FLAG_BAD_OUTPUT, FLAG_BAD_OUTPUT | FLAG_UNHEALTHY] {
        let (mut w, deal, leaf) = ready();
        let leaf = LeafData { flags, ..leaf };
        w.alter(&deal.machine.node, |n: &mut Node| n.last_report_period = leaf.period - 1);
        let proof = only(&mut w, &deal.keeper, leaf);
        w.refused(ix::report_apply(&proof), &[], MarketError::LeafCarriesFault);
    }
}

#[test]
fn an_ended_lease_still_learns_of_its_last_period() {
    let (mut w, deal, leaf) = ready();
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    let proof = only(&mut w, &deal.keeper, leaf);
    w.ok(ix::report_apply(&proof), &[]);
    w.ok(ix::lease_settle_report(&w, &deal.lease), &[]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.status, lease.paid_secs), (LEASE_ENDED, 60));
    w.ok(ix::lease_close(&w, &deal.customer.wallet(), &deal.lease), &[&deal.customer.key]);
}

#[test]
fn the_report_must_be_final() {
    let mut w = Testbed::new();
    let deal = w.running();
    let rival = w.keeper(w.params.min_bond * 2);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = w.good_leaf(deal.machine.node, deal.lease, period);
    let proof = only(&mut w, &deal.keeper, leaf);
    w.refused(ix::report_apply(&proof), &[], MarketError::ReportNotFinal);
    w.ok(ix::report_vote(&rival, period, [9; 32]), &[&rival.key]);
    w.refused(ix::report_apply(&proof), &[], MarketError::ReportNotFinal);
}

#[test]
fn a_proof_leads_to_the_root_by_one_way_only() {
    let (mut w, deal, leaf) = ready();
    let others: Vec<LeafData> =
        (1..5).map(|i| LeafData { node: Address::new_from_array([i; 32]), ..leaf }).collect();
    let leaves = [&[leaf], &others[..]].concat();
    let proof = w.finalise(&deal.keeper, &leaves).remove(0);
    let cases: [(&str, Change<Proof>); 9] = [
        ("path", |p| p.path ^= 1),
        ("sibling", |p| p.siblings[1][0] ^= 1),
        ("shorter", |p| p.siblings.truncate(2)),
        ("longer", |p| p.siblings.push([0; 32])),
        ("deeper than allowed", |p| p.siblings = vec![[0; 32]; MAX_PROOF + 1]),
        ("order", |p| p.siblings.swap(0, 1)),
        ("seconds", |p| p.leaf.verified_secs = 59),
        ("flags", |p| p.leaf.flags = 1),
        ("empty", |p| p.siblings.clear()),
    ];
    for (what, change) in cases {
        println!("wrong {what}");
        let mut wrong = proof.clone();
        change(&mut wrong);
        w.refused(ix::report_apply(&wrong), &[], MarketError::InvalidProof);
    }
    w.ok(ix::report_apply(&proof), &[]);
}

#[test]
fn an_inner_node_is_not_a_leaf() {
    // A tree over records of which one is what two leaves hash to: the tags of leaf and inner node differ.
    let (mut w, deal, leaf) = ready();
    let record = leaf.bytes();
    let (root, ways) = merkle(&[&record]);
    assert!(ways[0].1.is_empty());
    let vote = ix::report_vote(&deal.keeper, leaf.period, root);
    w.ok(vote, &[&deal.keeper.key]);
    let proof = Proof { leaf, path: 0, siblings: vec![root] };
    w.refused(ix::report_apply(&proof), &[], MarketError::InvalidProof);
    let proof = Proof { leaf, path: 0xffff_fff0, siblings: vec![] };
    w.ok(ix::report_apply(&proof), &[]);
}

#[test]
fn a_leaf_that_makes_no_sense_is_refused_even_from_a_final_report() {
    let cases: [(&str, Change<LeafData>); 9] = [
        ("another period", |l| l.period -= 1),
        ("more passed than checked", |l| l.checks_passed = 6),
        ("tier", |l| l.tier = 4),
        ("unknown flag", |l| l.flags = 128),
        ("up longer than the period", |l| l.up_secs = 61),
        ("more seconds than the period", |l| l.downtime_secs = 1),
        ("seconds that wrap", |l| l.downtime_secs = u32::MAX),
        ("verified without lease", |l| l.lease = Address::default()),
        ("downtime without lease", |l| {
            (l.lease, l.verified_secs, l.downtime_secs) = (Address::default(), 0, 1)
        }),
    ];
    for (what, change) in cases {
        println!("{what}");
        let (mut w, deal, leaf) = ready();
        let (period, mut wrong) = (leaf.period, leaf);
        change(&mut wrong);
        let record = wrong.bytes();
        let (root, _) = merkle(&[&record]);
        w.ok(ix::report_vote(&deal.keeper, period, root), &[&deal.keeper.key]);
        let mut apply = ix::report_apply(&Proof { leaf: wrong, path: 0, siblings: vec![] });
        apply.accounts[1].pubkey = pda::report(period);
        w.refused(apply, &[], MarketError::InvalidLeaf);
    }
}

#[test]
fn reserved_bytes_are_zero() {
    for at in [45, 160, 175] {
        let (mut w, deal, leaf) = ready();
        let mut record = leaf.bytes();
        record[at] = 1;
        let (root, _) = merkle(&[&record]);
        w.ok(ix::report_vote(&deal.keeper, leaf.period, root), &[&deal.keeper.key]);
        let mut apply = ix::report_apply(&Proof { leaf, path: 0, siblings: vec![] });
        // Discriminator, then the leaf.
        apply.data[8 + at] = 1;
        w.refused(apply, &[], MarketError::InvalidLeaf);
    }
}

#[test]
fn a_leaf_applies_to_the_node_and_lease_that_it_names() {
    let (mut w, deal, leaf) = ready();
    let order = w.order(&deal.customer, ix::order_args(2));
    let waiting = w.award(&deal.keeper, &deal.customer, &order, &deal.provider, &deal.machine);
    let other = w.provider(10_000_000_000);
    let others = w.machine(&other, 1);
    let unstarted = w.good_leaf(deal.machine.node, waiting, leaf.period);
    let proofs = w.finalise(&deal.keeper, &[leaf, unstarted]);
    let good = ix::report_apply(&proofs[0]);
    w.refused(ix::report_apply(&proofs[1]), &[], MarketError::InvalidLeaf);
    let mut bare = proofs[0].clone();
    bare.leaf.lease = Address::default();
    let without: Instruction = Instruction { data: good.data.clone(), ..ix::report_apply(&bare) };
    w.refused(without, &[], MarketError::MissingAccount);
    let (node, lease) = (w.forged(&deal.machine.node), w.forged(&deal.lease));
    let (report, market) = (w.forged(&pda::report(leaf.period)), w.forged(&pda::market()));
    let twin = w.twin(&deal.lease);
    let cases: [(_, _, _, Code); 8] = [
        ("node", deal.machine.node, others.node, MarketError::InvalidLeaf.into()),
        ("node's program", deal.machine.node, node, InstructionError::IllegalOwner.into()),
        ("lease", deal.lease, waiting, MarketError::InvalidLeaf.into()),
        ("lease's address", deal.lease, twin, MarketError::InvalidLeaf.into()),
        ("lease's program", deal.lease, lease, InstructionError::IllegalOwner.into()),
        ("report's program", pda::report(leaf.period), report, InstructionError::IllegalOwner.into()),
        ("market's program", pda::market(), market, InstructionError::IllegalOwner.into()),
        (
            "report's type",
            pda::report(leaf.period),
            pda::gpu_model(1),
            InstructionError::AccountDataTooSmall.into(),
        ),
    ];
    w.refuses_swaps(&good, &[], &cases);
    w.ok(good, &[]);
}

#[test]
fn reports_of_a_former_life_of_the_address_do_not_concern_a_node() {
    let (mut w, keeper, owner, machine, leaf) = idle();
    let proof = only(&mut w, &keeper, leaf);
    // Closed and registered again at the same address.
    w.ok(ix::node_retire(&owner, &machine.node), &[&owner.key]);
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    w.ok(ix::node_close(&owner, &machine.key.pubkey(), 1), &[&owner.key]);
    let again = ix::node_register(&owner, &machine.key.pubkey(), ix::spec(1), 5);
    w.ok(again, &[&owner.key, &machine.key]);
    w.refused(ix::report_apply(&proof), &[], MarketError::AlreadyApplied);
    // Not even the period in which it came back, of which it spent a part as another.
    let period = w.period();
    w.warp_past_period(period);
    let proof = only(&mut w, &keeper, LeafData { period, ..leaf });
    w.refused(ix::report_apply(&proof), &[], MarketError::AlreadyApplied);
    w.warp_past_period(period + 1);
    let proof = only(&mut w, &keeper, LeafData { period: period + 1, ..leaf });
    w.ok(ix::report_apply(&proof), &[]);
    assert_eq!(w.read::<Node>(&machine.node).checks_total, 5);
}

#[test]
fn a_paused_market_still_applies() {
    let (mut w, deal, leaf) = ready();
    let proof = only(&mut w, &deal.keeper, leaf);
    w.pause();
    w.ok(ix::report_apply(&proof), &[]);
}

#[test]
fn receipts_that_ran_ahead_do_not_stop_a_lease_from_failing() {
    // The node was gone in the first period, came back, and its customer signed for time in the second before the first
    // one's report was applied.
    let (mut w, deal, leaf) = ready();
    w.warp(50);
    w.settle(&deal, 1, 100);
    let gone = LeafData { flags: FLAG_OFFLINE, verified_secs: 0, downtime_secs: 60, up_secs: 0, ..leaf };
    let proof = only(&mut w, &deal.keeper, gone);
    let meta = w.ok(ix::fault_open(&w, &deal.keeper.wallet(), &proof), &[&deal.keeper.key]);
    let lease: Lease = deal.state(&w);
    // What is paid stays paid; no second beyond it will be.
    let started = lease.started_at;
    assert_eq!((lease.status, lease.ended_at, lease.paid_secs), (LEASE_FAILED, started + 100, 100));
    assert_eq!((lease.downtime_secs, lease.billable_secs(w.now())), (0, 100));
    assert_emitted(&meta, &LeaseFailed { lease: deal.lease, period: leaf.period, ended_at: started + 100 });
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
}

/// A keeper, a machine without lease, and a final leaf of its period with these flags, applied.
fn said(w: &mut Testbed, keeper: &Actor, leaf: LeafData, flags: u16) -> u64 {
    let period = w.period();
    w.warp_past_period(period);
    let proof = only(w, keeper, LeafData { period, flags, ..leaf });
    w.ok(ix::report_apply(&proof), &[]);
    period
}

#[test]
fn an_unhealthy_machine_gets_no_new_orders_for_two_periods() {
    let (mut w, keeper, provider, machine, leaf) = idle();
    let customer = w.customer(100_000_000);
    let before = w.order(&customer, ix::order_args(1));
    w.warp(1);
    let period = said(&mut w, &keeper, leaf, FLAG_UNHEALTHY);
    let node: Node = w.read(&machine.node);
    let end = ((period + 1) * u64::from(w.params.period_secs)) as i64;
    assert_eq!((node.unhealthy.since, node.unhealthy.until), (w.now(), end + 120));
    let after = w.order(&customer, ix::order_args(2));
    let award = |order| ix::order_award(&keeper, &customer, order, &provider.provider(), &machine.node);
    w.refused(award(&after), &[&keeper.key], MarketError::NodeUnhealthy);
    // Whoever holds the leaf back until an order comes takes that order from nobody.
    let earlier = award(&before);
    w.alter(&before, |o: &mut gantry_market::state::Order| o.award_deadline = i64::MAX / 2);
    w.alter(&after, |o: &mut gantry_market::state::Order| o.award_deadline = i64::MAX / 2);
    w.set_now(end + 119);
    w.refused(award(&after), &[&keeper.key], MarketError::NodeUnhealthy);
    w.ok(earlier, &[&keeper.key]);
    w.alter(&machine.node, |n: &mut Node| {
        (n.gpu_mask, n.live_leases) = (0, 0);
        n.availability = gantry_market::state::Availability::starting(1, n.registered_at);
    });
    w.set_now(end + 120);
    w.ok(award(&after), &[&keeper.key]);
}

#[test]
fn a_later_leaf_without_it_ends_it_and_a_leaf_with_it_extends_it() {
    let (mut w, keeper, _, machine, leaf) = idle();
    said(&mut w, &keeper, leaf, FLAG_UNHEALTHY);
    let first: Node = w.read(&machine.node);
    said(&mut w, &keeper, leaf, FLAG_UNHEALTHY);
    let second: Node = w.read(&machine.node);
    assert_eq!(second.unhealthy.since, first.unhealthy.since);
    assert_eq!(second.unhealthy.until, first.unhealthy.until + 60);
    said(&mut w, &keeper, leaf, 0);
    let well: Node = w.read(&machine.node);
    assert_eq!((well.unhealthy.since, well.unhealthy.until), (first.unhealthy.since, w.now()));
    said(&mut w, &keeper, leaf, FLAG_UNHEALTHY);
    let again: Node = w.read(&machine.node);
    assert_eq!((again.unhealthy.since, again.unhealthy.former_until), (w.now(), well.unhealthy.until));
}

#[test]
fn a_period_as_an_unhealthy_machine_counts_half_as_up() {
    let (mut w, keeper, _, machine, leaf) = idle();
    said(&mut w, &keeper, LeafData { up_secs: 60, ..leaf }, FLAG_UNHEALTHY);
    // (63 × 10,000 + 5,000) / 64
    assert_eq!(w.read::<Node>(&machine.node).uptime_bps, 9_921);
}

/// Finding P 22.
#[test]
fn only_good_periods_make_a_machine_older() {
    let up = |change: fn(&mut LeafData), flags| {
        let (mut w, keeper, _, machine, mut leaf) = idle();
        leaf.up_secs = 40;
        change(&mut leaf);
        said(&mut w, &keeper, leaf, flags);
        let node: Node = w.read(&machine.node);
        (node.up_secs, node.record(w.now()).score.checked)
    };
    assert_eq!(up(|_| (), 0), (40, 1));
    assert_eq!(up(|_| (), FLAG_UNHEALTHY), (20, 1));
    assert_eq!(up(|leaf| leaf.checks_passed = 0, 0), (0, 1));
    assert_eq!(up(|leaf| (leaf.checks_passed, leaf.checks_total) = (0, 0), 0), (0, 0));
    let (mut w, _, _, machine, _) = idle();
    w.alter(&machine.node, |n: &mut Node| {
        (n.up_secs, n.checks_total) = (u64::from(FULL_AGE_DAYS) * DAY - 1, 1)
    });
    let days = |w: &Testbed| w.read::<Node>(&machine.node).record(w.now()).score.days;
    assert_eq!(days(&w), 179);
    w.alter(&machine.node, |n: &mut Node| n.up_secs = u64::MAX);
    assert_eq!(days(&w), 180);
}

#[test]
fn a_leaf_about_what_had_the_address_before_counts_for_the_node_alone() {
    for (after, counts) in [(0, false), (-1, true)] {
        let (mut w, deal, leaf) = ready();
        let end = w.now();
        w.alter(&deal.lease, |l: &mut Lease| l.started_at = end + after);
        let leaf = LeafData { flags: FLAG_OFFLINE, verified_secs: 0, downtime_secs: 1, up_secs: 0, ..leaf };
        let proof = only(&mut w, &deal.keeper, leaf);
        w.warp(10);
        w.ok(ix::report_apply(&proof), &[]);
        let lease: Lease = deal.state(&w);
        assert_eq!((lease.last_report_period == leaf.period, lease.downtime_secs == 1), (counts, counts));
        assert_eq!(w.read::<Node>(&deal.machine.node).last_report_period, leaf.period);
    }
}
