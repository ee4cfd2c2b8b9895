//! What becomes of measured figures: shares of the class, who may be awarded, who is slow, and what owners could try.

use gantry_market::constants::{AWARD_VIEW_SECS, FLAG_SLOW, FLAG_WORK_FAILED};
use gantry_market::errors::MarketError;
use gantry_market::events::{FaultOpened, FaultVoided};
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{
    Fault, Market, Node, Provider, Requirement, FAULT_REPORT, NODE_ACTIVE, NODE_DRAINING, NODE_HIBERNATED,
    NODE_SUSPENDED,
};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::ix::signed;
use gantry_market_tests::leaves::{measured, statement, LeafData, Proof};
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_signer::Signer;

/// What the class reaches: 1,000 × 10⁹ operations and 500 × 10⁶ bytes a second.
const CLASS: (u32, u32) = (1_000, 500);
const STAKE: u64 = 20_000_000_000;

fn calibrated() -> GpuModelArgs {
    GpuModelArgs { min_operations: CLASS.0, min_bandwidth: CLASS.1, ..ix::h100() }
}

/// Figures of this share, by operations; of 0 as few as can be measured.
fn of(share: u32) -> (u32, u32) {
    ((share / 10).max(1), 2 * CLASS.1)
}

/// A market whose one model is calibrated.
struct Scene {
    w: Testbed,
    keeper: Actor,
    provider: Actor,
    customer: Actor,
    nonce: u64,
}

impl Scene {
    fn new() -> Self {
        let mut w = Testbed::new();
        w.model(calibrated());
        let keeper = w.keeper(w.params.min_bond);
        let provider = w.provider(400_000_000_000);
        let customer = w.customer(1_000_000_000);
        Self { w, keeper, provider, customer, nonce: 0 }
    }

    /// A machine of two GPUs, at the beginning of the period after its registration.
    fn with_machine() -> (Self, Machine) {
        let mut s = Self::new();
        let machine = s.machine();
        s.next();
        (s, machine)
    }

    fn machine(&mut self) -> Machine {
        self.w.machine(&self.provider, 2)
    }

    /// The next period begins.
    fn next(&mut self) {
        let period = self.w.period();
        self.w.warp_past_period(period);
    }

    fn leaf(&self, machine: &Machine, (operations, bandwidth): (u32, u32)) -> LeafData {
        let leaf = self.w.good_leaf(machine.node, Address::default(), self.w.period());
        LeafData { operations, bandwidth, ..leaf }
    }

    /// The running period ends with these leaves in its report.
    fn report(&mut self, leaves: &[LeafData]) -> Vec<Proof> {
        self.next();
        self.w.finalise(&self.keeper, leaves)
    }

    /// A period in which the machine had these figures, `(0, 0)` for none.
    fn period(&mut self, machine: &Machine, figures: (u32, u32)) {
        let leaf = self.leaf(machine, figures);
        let proof = self.report(&[leaf]).remove(0);
        self.w.ok(ix::report_apply(&proof), &[]);
    }

    /// Periods of these shares, in which no leaf makes the machine slow.
    fn shares(&mut self, machine: &Machine, shares: &[u32]) {
        for share in shares {
            self.period(machine, of(*share));
        }
    }

    /// A period of this share, which makes the machine slow.
    fn slow(&mut self, machine: &Machine, share: u32) -> Proof {
        let leaf = self.leaf(machine, of(share));
        self.report(&[leaf]).remove(0)
    }

    fn open(&mut self, proof: &Proof) -> Address {
        let open = ix::fault_open_of(&self.w, &self.keeper.wallet(), proof, true);
        self.w.ok(open, &[&self.keeper.key]);
        pda::fault(&proof.leaf.node, &Address::default(), proof.leaf.period)
    }

    fn node(&self, machine: &Machine) -> Node {
        self.w.read(&machine.node)
    }

    fn awards(&mut self, machine: &Machine, requirement: Requirement) -> Result<Address, Code> {
        self.nonce += 1;
        let mut w = self.w.fork();
        let order = w.order(&self.customer, OrderArgs { requirement, ..ix::order_args(self.nonce) });
        let award =
            ix::order_award(&self.keeper, &self.customer, &order, &self.provider.provider(), &machine.node);
        match w.send(&[award], &[&self.keeper.key]) {
            Ok(_) => {
                self.w = w;
                Ok(pda::lease(&order, &machine.node))
            }
            Err(failure) => Err(gantry_market_tests::errors::code_of(&failure)),
        }
    }

    /// Whether it would be awarded now. Nothing is.
    fn sells(&mut self, machine: &Machine) -> bool {
        let before = self.w.fork();
        let result = self.awards(machine, ix::order_args(1).requirement);
        self.w = before;
        match result {
            Ok(_) => true,
            Err(code) => {
                let closed = [MarketError::UnsuitableFigures, MarketError::WrongNodeStatus];
                assert!(closed.into_iter().any(|known| Code::from(known) == code), "{code:?}");
                false
            }
        }
    }

    fn status(&mut self, machine: &Machine, status: u8) {
        let update =
            ix::node_update(&self.provider.wallet(), &self.provider.provider(), &machine.node, 1, status);
        self.w.ok(update, &[&self.provider.key]);
    }

    fn appeal(&self, keeper: &Actor, fault: &Address, text: [u8; 144]) -> [Instruction; 2] {
        [signed(&keeper.key, &text), ix::slash_appeal(&self.w, fault, keeper, text)]
    }
}

#[test]
fn each_measured_period_gives_the_share_of_the_lesser_figure() {
    let (mut s, machine) = Scene::with_machine();
    let figures = [(1_000, 500), (5_000, 400), (650, 5_000), (1_000, 0)];
    for (at, (figures, share)) in figures.into_iter().zip([10_000, 8_000, 6_500, 0]).enumerate() {
        let period = s.w.period();
        s.period(&machine, figures);
        let node = s.node(&machine);
        assert_eq!((node.shares[0], usize::from(node.shares_len)), (share, at + 1));
        assert_eq!((node.operations, node.bandwidth, node.measured_period), (figures.0, figures.1, period));
        assert_eq!(node.figures_at, s.w.now());
    }
    let node = s.node(&machine);
    assert_eq!(node.shares, [0, 6_500, 8_000, 10_000, 0, 0]);
    // Of more than six the oldest goes.
    s.shares(&machine, &[9_000, 9_100, 9_200]);
    assert_eq!(s.node(&machine).shares, [9_200, 9_100, 9_000, 0, 6_500, 8_000]);
    assert_eq!(s.node(&machine).shares_len, 6);
}

#[test]
fn a_machine_of_a_real_market_is_slow_after_sixteen_periods_in_a_row() {
    let (mut s, machine) = Scene::with_machine();
    s.w.alter(&pda::market(), |m: &mut Market| m.params.allow_simulated = 0);
    s.shares(&machine, &[1_000; 15]);
    assert_eq!((s.node(&machine).slow_periods, s.node(&machine).pending_faults), (15, 0));
    // One that is enough ends the row.
    s.shares(&machine, &[7_000]);
    assert_eq!(s.node(&machine).slow_periods, 0);
    s.shares(&machine, &[6_999; 15]);
    assert_eq!((s.node(&machine).slow_periods, s.node(&machine).pending_faults), (15, 0));
    let proof = s.slow(&machine, 6_999);
    s.w.refused(ix::report_apply(&proof), &[], MarketError::LeafCarriesFault);
    let fault = s.open(&proof);
    assert_eq!(s.w.read::<Fault>(&fault).flags, FLAG_SLOW);
    assert_eq!((s.node(&machine).slow_periods, s.node(&machine).shares_len), (0, 0));
}

#[test]
fn the_network_is_taken_over_and_has_no_share() {
    let (mut s, machine) = Scene::with_machine();
    let leaf = LeafData { down_mbps: 900, up_mbps: 300, ..s.leaf(&machine, (0, 0)) };
    let proof = s.report(&[leaf]).remove(0);
    s.w.ok(ix::report_apply(&proof), &[]);
    let node = s.node(&machine);
    assert_eq!((node.down_mbps, node.up_mbps, node.shares_len, node.operations), (900, 300, 0, 0));
    assert_eq!((node.figures_at, node.measured_period), (s.w.now(), 0));
    // What was not measured stays.
    s.shares(&machine, &[10_000]);
    assert_eq!((s.node(&machine).down_mbps, s.node(&machine).up_mbps), (900, 300));
}

#[test]
fn nothing_is_awarded_to_a_machine_that_was_never_measured() {
    let (mut s, machine) = Scene::with_machine();
    let none = ix::order_args(1).requirement;
    let award = s.awards(&machine, none);
    assert_eq!(award, Err(MarketError::UnsuitableFigures.into()));
    s.period(&machine, (0, 0));
    assert!(!s.sells(&machine));
    s.shares(&machine, &[7_000]);
    assert_eq!(s.node(&machine).class_since, s.w.now());
    assert!(s.sells(&machine));
    // A model that is not calibrated holds nobody to figures, and has no shares.
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(60);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = w.good_leaf(deal.machine.node, Address::default(), period);
    let proof = w.finalise(&deal.keeper, &[LeafData { operations: 1, bandwidth: 1, ..leaf }]).remove(0);
    w.ok(ix::report_apply(&proof), &[]);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.shares_len, node.operations, node.class_since), (0, 1, 0));
    let order = w.order(&deal.customer, ix::order_args(2));
    w.award(&deal.keeper, &deal.customer, &order, &deal.provider, &deal.machine);
}

#[test]
fn the_mean_of_the_shares_decides_about_awards() {
    for (shares, sells) in [
        (&[6_999][..], false),
        (&[7_000], true),
        (&[10_000, 3_990], false),
        (&[10_000, 4_000], true),
        (&[4_000, 10_000], true),
        (&[10_000, 10_000, 10_000, 10_000, 10_000, 0], true),
        (&[10_000, 10_000, 10_000, 10_000, 0, 0], false),
        // The seventh counts in place of the first.
        (&[0, 10_000, 10_000, 10_000, 10_000, 0, 10_000], true),
    ] {
        let (mut s, machine) = Scene::with_machine();
        s.shares(&machine, shares);
        assert_eq!(s.sells(&machine), sells, "{shares:?}");
        assert_eq!(s.node(&machine).class_since != 0, sells, "{shares:?}");
    }
}

/// A machine that is hot, or busy, or in the hands of keepers that state too little, for a while.
#[test]
fn bad_periods_cost_work_and_no_stake() {
    for shares in [
        &[10_000, 10_000, 10_000, 10_000, 10_000, 0][..],
        &[8_000, 8_000, 8_000, 8_000, 8_000, 0],
        &[0, 0, 0, 0, 0],
        &[0, 0, 0, 0, 0, 7_000, 0, 0, 0, 0, 0],
    ] {
        let (mut s, machine) = Scene::with_machine();
        s.shares(&machine, shares);
        let node = s.node(&machine);
        assert_eq!((node.status, node.pending_faults, node.stake), (NODE_ACTIVE, 0, STAKE), "{shares:?}");
        // It sells again as soon as the mean is back.
        s.shares(&machine, &[10_000; 4]);
        s.shares(&machine, &[10_000]);
        assert!(s.sells(&machine), "{shares:?}");
    }
}

#[test]
fn none_of_six_measured_periods_is_a_fault_that_no_leaf_slips_by() {
    let (mut s, machine) = Scene::with_machine();
    s.shares(&machine, &[10_000]);
    let good = s.w.now();
    s.shares(&machine, &[6_990, 6_990, 3_000, 3_000, 3_000]);
    let node = s.node(&machine);
    assert_eq!((node.good_since, node.class_since), (good, 0));
    let proof = s.slow(&machine, 6_990);
    s.w.refused(ix::report_apply(&proof), &[], MarketError::LeafCarriesFault);
    let lease = ix::fault_open_of(&s.w, &s.keeper.wallet(), &proof, true);
    let meta = s.w.ok(lease, &[&s.keeper.key]);
    let at = pda::fault(&machine.node, &Address::default(), proof.leaf.period);
    let fault: Fault = s.w.read(&at);
    assert_eq!((fault.kind, fault.flags, fault.amount), (FAULT_REPORT, FLAG_SLOW, STAKE));
    assert_eq!((fault.window_from, fault.lease), (good, Address::default()));
    assert!(fault.freezes() && fault.of_node());
    let event = FaultOpened {
        fault: at,
        node: machine.node,
        lease: Address::default(),
        period: proof.leaf.period,
        flags: FLAG_SLOW,
        amount: STAKE,
        window_from: good,
        applicable_at: s.w.now() + 300,
    };
    assert_emitted(&meta, &event);
    let node = s.node(&machine);
    assert_eq!((node.status, node.shares_len, node.class_since), (NODE_SUSPENDED, 0, 0));
    assert_eq!(node.frozen_from, good);
    s.w.refused(ix::report_apply(&proof), &[], MarketError::AlreadyApplied);
    s.w.warp(300);
    s.w.ok(ix::slash_apply(&s.w, &at), &[]);
    assert_eq!(s.w.read::<Provider>(&s.provider.provider()).slashed_total, STAKE);
}

#[test]
fn a_slow_machine_with_another_fault_has_one_fault() {
    let (mut s, machine) = Scene::with_machine();
    s.shares(&machine, &[1_000; 5]);
    let leaf = LeafData { flags: FLAG_WORK_FAILED, ..s.leaf(&machine, of(1_000)) };
    let proof = s.report(&[leaf]).remove(0);
    let fault = s.open(&proof);
    let state: Fault = s.w.read(&fault);
    // The gravest decides.
    assert_eq!((state.flags, state.amount), (FLAG_SLOW | FLAG_WORK_FAILED, STAKE));
    // A statement with enough figures speaks against both, one with too little against neither while the graver stands.
    let little = measured(&machine.node, proof.leaf.period, 3, of(6_990));
    s.w.refused_all(&s.appeal(&s.keeper, &fault, little), &[], MarketError::IrrelevantStatement);
    let text = measured(&machine.node, proof.leaf.period, 3, of(7_000));
    let appeal = s.appeal(&s.keeper, &fault, text);
    let meta = s.w.ok_all(&appeal, &[]);
    assert_emitted(&meta, &FaultVoided { fault, node: machine.node });
}

/// Keepers whose own measurement of the last period shows the class void the fault, a third exactly does not.
#[test]
fn an_appeal_rests_on_figures_of_the_last_period() {
    let mut w = Testbed::new();
    w.model(calibrated());
    let unit = w.params.min_bond;
    let keepers = [4, 3, 3].map(|weight| w.keeper(weight * unit));
    let provider = w.provider(400_000_000_000);
    let machine = w.machine(&provider, 2);
    w.alter(&machine.node, |n: &mut Node| (n.shares, n.shares_len, n.slow_periods) = ([0; 6], 5, 5));
    w.warp(60);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = w.good_leaf(machine.node, Address::default(), period);
    let leaf = LeafData { operations: 100, bandwidth: 500, ..leaf };
    let (root, proofs) = gantry_market_tests::leaves::tree(&[leaf]);
    for keeper in &keepers {
        w.ok(ix::report_vote(keeper, period, root), &[&keeper.key]);
    }
    let open = ix::fault_open_of(&w, &keepers[0].wallet(), &proofs[0], true);
    w.ok(open, &[&keepers[0].key]);
    let fault = pda::fault(&machine.node, &Address::default(), period);
    let node = machine.node;
    let mut failed = measured(&node, period, 3, CLASS);
    failed[57] = 0;
    let other = {
        let mut text = measured(&keepers[0].wallet(), period, 3, CLASS);
        text[8] ^= 1;
        text
    };
    for (what, text) in [
        ("no figures", statement(&node, period, 3, true)),
        ("too few operations", measured(&node, period, 3, (699, 500))),
        ("too little bandwidth", measured(&node, period, 3, (1_000, 349))),
        ("failed", failed),
        ("an inventory", measured(&node, period, 2, CLASS)),
        ("the network", measured(&node, period, 7, CLASS)),
        ("the period before", measured(&node, period - 1, 3, CLASS)),
        ("another machine, elsewhere", other),
    ] {
        println!("{what}");
        let appeal = [signed(&keepers[1].key, &text), ix::slash_appeal(&w, &fault, &keepers[1], text)];
        w.refused_all(&appeal, &[], MarketError::IrrelevantStatement);
    }
    let text = measured(&node, period, 3, (700, 350));
    for (at, open) in [(1, true), (2, false)] {
        let appeal = [signed(&keepers[at].key, &text), ix::slash_appeal(&w, &fault, &keepers[at], text)];
        w.ok_all(&appeal, &[]);
        assert_eq!(w.exists(&fault), open);
    }
    let node: Node = w.read(&machine.node);
    assert_eq!((node.status, node.stake, node.shares_len), (NODE_HIBERNATED, STAKE, 0));
}

/// The appeal is judged by the terms that the fault was found by.
#[test]
fn terms_wait_for_a_fault_and_only_other_thresholds_clear_shares() {
    let (mut s, machine) = Scene::with_machine();
    s.shares(&machine, &[1_000; 5]);
    let proof = s.slow(&machine, 1_000);
    let fault = s.open(&proof);
    s.w.model(GpuModelArgs { min_operations: 500, min_bandwidth: 250, ..ix::h100() });
    let accept = ix::node_accept_terms(&s.w, &machine.key.pubkey(), &machine.node);
    s.w.refused(accept.clone(), &[&machine.key], MarketError::FaultPending);
    s.w.warp(300);
    s.w.ok(ix::slash_apply(&s.w, &fault), &[]);
    s.w.ok(accept, &[&machine.key]);
    assert_eq!(s.node(&machine).min_operations, 500);
    // Terms with the same thresholds leave the machine in its class.
    let (mut s, machine) = Scene::with_machine();
    s.shares(&machine, &[10_000, 9_000]);
    s.w.model(GpuModelArgs { min_stake: 9_000_000_000, ..calibrated() });
    s.w.warp(1);
    let accept = ix::node_accept_terms(&s.w, &machine.key.pubkey(), &machine.node);
    s.w.ok(accept, &[&machine.key]);
    assert_eq!(s.node(&machine).shares_len, 2);
    assert!(s.sells(&machine));
    // Others clear them: the machine is measured by them before it is awarded anything.
    s.w.warp(1);
    s.w.model(GpuModelArgs { min_operations: 500, ..calibrated() });
    s.w.warp(1);
    let accept = ix::node_accept_terms(&s.w, &machine.key.pubkey(), &machine.node);
    s.w.ok(accept.clone(), &[&machine.key]);
    assert_eq!((s.node(&machine).shares_len, s.node(&machine).class_since), (0, 0));
    assert!(!s.sells(&machine));
    // What was measured in the period of the change was measured by the terms before, or may have been.
    s.shares(&machine, &[10_000]);
    assert_eq!(s.node(&machine).shares_len, 0);
    s.shares(&machine, &[10_000]);
    assert!(s.sells(&machine));
    // Accepting again is nothing that an owner can do.
    s.w.refused(accept, &[&machine.key], MarketError::AlreadyApplied);
}

/// Refusing is a failed check; hanging gives no statement, and so no figures. Neither sells anything.
#[test]
fn who_is_free_and_not_measured_is_awarded_nothing_until_it_is() {
    let (mut s, machine) = Scene::with_machine();
    s.shares(&machine, &[10_000; 6]);
    assert!(s.sells(&machine));
    s.period(&machine, (0, 0));
    let node = s.node(&machine);
    assert_eq!((node.class_since, node.shares_len, node.pending_faults), (0, 6, 0));
    assert!(!s.sells(&machine));
    s.period(&machine, (0, 0));
    assert!(!s.sells(&machine));
    s.shares(&machine, &[9_000]);
    assert!(s.sells(&machine));
}

/// A machine with a lease is not measured: its figures stand until it has been free for a whole period.
#[test]
fn a_lease_excuses_from_being_measured() {
    let (mut s, machine) = Scene::with_machine();
    s.shares(&machine, &[10_000]);
    let lease = s.awards(&machine, ix::order_args(1).requirement).expect("suits");
    s.w.ok(ix::lease_start(&s.w, &lease, [3; 32]), &[&machine.key]);
    for _ in 0..4 {
        s.period(&machine, (0, 0));
        assert!(s.sells(&machine), "it has another GPU");
    }
    s.w.warp(20);
    let end = ix::lease_end(&s.w, &s.customer.wallet(), &lease, 0);
    s.w.ok(end, &[&s.customer.key]);
    // It was not free all the time.
    s.period(&machine, (0, 0));
    assert!(s.sells(&machine));
    s.period(&machine, (0, 0));
    assert!(!s.sells(&machine));
}

/// Everyone's leaves are applied in each period.
#[test]
fn figures_cost_few_compute_units() {
    let (mut s, machine) = Scene::with_machine();
    s.shares(&machine, &[9_000; 6]);
    let leaf = s.leaf(&machine, (0, 0));
    let mut units = vec![];
    for (operations, bandwidth) in [(0, 0), (900, 500)] {
        let mut w = s.w.fork();
        w.warp_past_period(leaf.period);
        let proof = w.finalise(&s.keeper, &[LeafData { operations, bandwidth, ..leaf }]).remove(0);
        units.push(w.ok(ix::report_apply(&proof), &[]).compute_units_consumed);
    }
    println!("{units:?} compute units");
    assert!(units.into_iter().max().is_some_and(|most| most <= 3_500), "dear figures");
}

/// A leaf that comes late says nothing about whether the machine is measured now; its share counts.
#[test]
fn a_late_leaf_counts_and_replaces_nothing() {
    let (mut s, machine) = Scene::with_machine();
    s.shares(&machine, &[10_000, 10_000]);
    let late = s.leaf(&machine, of(1_000));
    let late = s.report(&[late]).remove(0);
    let newest = s.leaf(&machine, of(9_000));
    let newest = s.report(&[newest]).remove(0);
    s.w.ok(ix::report_apply(&newest), &[]);
    assert!(s.sells(&machine));
    s.w.ok(ix::report_apply(&late), &[]);
    let node = s.node(&machine);
    assert_eq!((node.operations, node.measured_period), (900, newest.leaf.period));
    // Whoever holds a bad leaf back does not lose it: the mean of 1, 9, 10 and 10 is enough, with one more it is not.
    assert_eq!((&node.shares[..4], node.shares_len), (&[1_000, 9_000, 10_000, 10_000][..], 4));
    assert!(s.sells(&machine));
    let late = s.leaf(&machine, (0, 0));
    let late = s.report(&[late]).remove(0);
    s.shares(&machine, &[10_000]);
    s.w.ok(ix::report_apply(&late), &[]);
    assert!(s.sells(&machine), "a period without figures that was overtaken");
}

/// Six nodes run at the same instants on one GPU: each has a sixth, none is ever awarded, and all lose their stake.
#[test]
fn six_nodes_that_share_a_gpu_sell_nothing_and_lose_their_stake() {
    let mut s = Scene::new();
    let machines: Vec<Machine> = (0..6).map(|_| s.machine()).collect();
    s.next();
    for round in 0..6 {
        let leaves: Vec<LeafData> = machines.iter().map(|m| s.leaf(m, of(1_660))).collect();
        let proofs = s.report(&leaves);
        for (machine, proof) in machines.iter().zip(&proofs) {
            if round < 5 {
                s.w.ok(ix::report_apply(proof), &[]);
            } else {
                s.open(proof);
            }
            assert!(!s.sells(machine));
        }
    }
    for machine in &machines {
        assert_eq!(s.node(machine).reserved_stake, STAKE);
    }
}

/// They take turns instead: whoever was measured last sells, and that is one at a time.
#[test]
fn nodes_that_take_turns_with_a_gpu_sell_one_at_a_time() {
    let mut s = Scene::new();
    let machines: Vec<Machine> = (0..3).map(|_| s.machine()).collect();
    s.next();
    for round in 0..9 {
        let turn = round % 3;
        let figures = |at: usize| if at == turn { of(10_000) } else { (0, 0) };
        let leaves: Vec<LeafData> =
            machines.iter().enumerate().map(|(at, m)| s.leaf(m, figures(at))).collect();
        for proof in s.report(&leaves) {
            s.w.ok(ix::report_apply(&proof), &[]);
        }
        let selling: Vec<bool> = machines.iter().map(|m| s.sells(m)).collect();
        assert_eq!(selling.iter().filter(|sells| **sells).count(), 1, "{selling:?}");
        assert!(selling[turn]);
    }
}

/// Asleep a machine is not measured: whoever sleeps while its GPU is shown as another's is measured before it sells.
#[test]
fn who_was_asleep_is_measured_before_it_sells() {
    let (mut s, machine) = Scene::with_machine();
    s.shares(&machine, &[10_000; 2]);
    let measured_last = s.leaf(&machine, of(10_000));
    let proof = s.report(&[measured_last]).remove(0);
    s.status(&machine, NODE_HIBERNATED);
    // A leaf of before it slept, applied while it sleeps and when it is awake.
    s.w.ok(ix::report_apply(&proof), &[]);
    assert_eq!(s.node(&machine).class_since, 0);
    let asleep = s.leaf(&machine, of(10_000));
    let proof = s.report(&[asleep]).remove(0);
    for (at, status) in [NODE_DRAINING, NODE_ACTIVE].into_iter().enumerate() {
        s.status(&machine, status);
        assert!(!s.sells(&machine));
        if at == 0 {
            s.w.ok(ix::report_apply(&proof), &[]);
            assert_eq!(s.node(&machine).class_since, 0);
        }
    }
    // One of after it woke.
    s.shares(&machine, &[10_000]);
    assert!(s.sells(&machine));
    // Nor does a drained machine that was measured lose its class.
    s.status(&machine, NODE_DRAINING);
    s.shares(&machine, &[9_000]);
    s.status(&machine, NODE_ACTIVE);
    assert!(s.sells(&machine));
}

/// The new node has nothing of the old one's record, and the old one's stake stays for the cool-down.
#[test]
fn closing_and_registering_again_gains_nothing() {
    let (mut s, machine) = Scene::with_machine();
    s.shares(&machine, &[1_000; 5]);
    s.w.ok(ix::node_retire(&s.provider, &machine.node), &[&s.provider.key]);
    let close = ix::node_close(&s.provider, &machine.key.pubkey(), 2);
    s.w.refused(close.clone(), &[&s.provider.key], MarketError::TooEarly);
    // The sixth period's leaf still makes it slow.
    let mut gone = s.w.fork();
    let leaf = s.leaf(&machine, of(1_000));
    let proof = s.report(&[leaf]).remove(0);
    let fault = s.open(&proof);
    assert_eq!(s.w.read::<Fault>(&fault).amount, STAKE);
    // Without it the machine is back after the cool-down, and nobody has measured it.
    let waits = i64::from(gone.params.unstake_cooldown_secs);
    gone.warp(waits);
    gone.ok(close, &[&s.provider.key]);
    let register = ix::node_register(&s.provider, &machine.key.pubkey(), ix::spec(2), 1_000_000);
    gone.ok(register, &[&s.provider.key, &machine.key]);
    s.w = gone;
    assert_eq!((s.node(&machine).shares_len, s.node(&machine).class_since), (0, 0));
    assert!(!s.sells(&machine));
}

/// What it was slashed for does not count again.
#[test]
fn a_mended_machine_starts_again() {
    let (mut s, machine) = Scene::with_machine();
    s.shares(&machine, &[1_000; 5]);
    let proof = s.slow(&machine, 1_000);
    let fault = s.open(&proof);
    // A leaf of the same cause, which was final later.
    let leaf = s.leaf(&machine, of(1_000));
    let rest = s.report(&[leaf]).remove(0);
    s.w.warp(300);
    s.w.ok(ix::slash_apply(&s.w, &fault), &[]);
    let mut early = s.w.fork();
    early.ok(ix::report_apply(&rest), &[]);
    assert_eq!(early.read::<Node>(&machine.node).shares_len, 1);
    s.status(&machine, NODE_ACTIVE);
    s.w.ok(ix::report_apply(&rest), &[]);
    assert_eq!(s.node(&machine).shares_len, 0);
    assert!(!s.sells(&machine));
    s.next();
    s.shares(&machine, &[10_000]);
    assert!(s.sells(&machine));
    // Nor does what was noted before the mending.
    s.w = early;
    s.status(&machine, NODE_ACTIVE);
    assert_eq!(s.node(&machine).shares_len, 0);
}

#[test]
fn orders_ask_for_figures() {
    let (mut s, machine) = Scene::with_machine();
    let leaf = LeafData { down_mbps: 900, up_mbps: 300, ..s.leaf(&machine, (1_200, 600)) };
    let proof = s.report(&[leaf]).remove(0);
    s.w.ok(ix::report_apply(&proof), &[]);
    let none = ix::order_args(1).requirement;
    let most = Requirement {
        models: ix::models(&[]),
        min_tflops_x10: 0,
        min_operations: 1_200,
        min_bandwidth: 600,
        min_down_mbps: 900,
        min_up_mbps: 300,
        ..none
    };
    for requirement in [
        Requirement { min_operations: 1_201, ..most },
        Requirement { min_bandwidth: 601, ..most },
        Requirement { min_down_mbps: 901, ..most },
        Requirement { min_up_mbps: 301, ..most },
    ] {
        assert_eq!(s.awards(&machine, requirement), Err(MarketError::UnsuitableFigures.into()));
    }
    assert!(s.awards(&machine, most).is_ok());
    // An order that names neither model nor speed asks for nothing.
    let vague = Requirement { models: ix::models(&[]), min_tflops_x10: 0, ..none };
    let order = ix::order_create(&s.customer, OrderArgs { requirement: vague, ..ix::order_args(99) });
    s.w.refused(order, &[&s.customer.key], MarketError::InvalidRequirement);
}

/// A keeper that awards a dearer node is not punished for one that came to its class, or to its figures, later.
#[test]
fn a_better_ask_has_its_class_and_its_figures_from_before() {
    let none = ix::order_args(1).requirement;
    for (requirement, asks) in [(none, false), (Requirement { min_operations: 900, ..none }, true)] {
        for (late, proves) in [(None, true), (Some("class"), false), (Some("figures"), !asks)] {
            let mut s = Scene::new();
            let cheap = s.w.machine_of(&s.provider, ix::spec(2), 1_000_000);
            let dear = s.w.machine_of(&s.provider, ix::spec(2), 3_000_000);
            s.next();
            let leaves: Vec<LeafData> = [&cheap, &dear].map(|m| s.leaf(m, of(10_000))).into();
            for proof in s.report(&leaves) {
                s.w.ok(ix::report_apply(&proof), &[]);
            }
            s.w.warp(AWARD_VIEW_SECS + 1);
            let since = s.w.now() - AWARD_VIEW_SECS;
            s.w.alter(&cheap.node, |n: &mut Node| match late {
                Some("class") => n.class_since = since,
                Some(_) => n.figures_at = since,
                None => (n.class_since, n.figures_at) = (since - 1, since - 1),
            });
            s.nonce += 1;
            let order = s.w.order(&s.customer, OrderArgs { requirement, ..ix::order_args(s.nonce) });
            let lease = s.w.award(&s.keeper, &s.customer, &order, &s.provider, &dear);
            let finder = s.w.actor();
            let proof = ix::prove_better_ask(&s.w, &finder, &lease, &cheap.node);
            match proves {
                true => drop(s.w.ok(proof, &[&finder.key])),
                false => s.w.refused(proof, &[&finder.key], MarketError::NotBetter),
            }
        }
    }
}
