use gantry_market::constants::{FLAG_OFFLINE, FLAG_WORK_FAILED};
use gantry_market::errors::MarketError;
use gantry_market::events::GuaranteeResolved;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{
    Fault, Lease, Market, Node, Provider, FAULT_APPLIED, FAULT_GUARANTEE, NODE_ACTIVE, NODE_HIBERNATED,
    NODE_RETIRED, NODE_SUSPENDED,
};
use gantry_market_tests::actors::{START_LAMPORTS, START_STAKE};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::ix::signed;
use gantry_market_tests::leaves::{statement, LeafData};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

const STAKE: u64 = 10_000_000_000;
/// Two periods for the last leaf, then the appeal window.
const WAIT: i64 = 120 + 300;

/// A machine that is committed to 95 % for twenty periods, at the end of the period before.
struct Case {
    w: Testbed,
    keeper: Actor,
    provider: Actor,
    machine: Machine,
    finder: Actor,
    first: u64,
    until: i64,
}

fn committed() -> Case {
    let mut w = Testbed::quick();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(STAKE);
    let machine = w.machine(&provider, 1);
    let finder = w.actor();
    let first = w.period() + 1;
    let until = ((first + 20) * 60) as i64;
    w.ok(ix::node_guarantee(&provider, &machine.node, until, 9_500), &[&provider.key]);
    w.warp_past_period(first - 1);
    Case { w, keeper, provider, machine, finder, first, until }
}

impl Case {
    fn node(&self) -> Node {
        self.w.read(&self.machine.node)
    }

    /// Lets the n-th period end and applies a leaf with so many seconds up.
    fn period(&mut self, n: u64, up_secs: u32) {
        let proof = self.leaf(n, up_secs, 0);
        self.w.ok(ix::report_apply(&proof), &[]);
    }

    fn leaf(&mut self, n: u64, up_secs: u32, flags: u16) -> gantry_market_tests::leaves::Proof {
        let good = self.w.good_leaf(self.machine.node, Address::default(), self.first + n);
        if self.w.period() <= self.first + n {
            self.w.warp_past_period(self.first + n);
        }
        self.w.finalise(&self.keeper, &[LeafData { up_secs, flags, ..good }]).remove(0)
    }

    /// A fault of the machine in the n-th period.
    fn fault(&mut self, n: u64) -> Address {
        let proof = self.leaf(n, 60, FLAG_WORK_FAILED);
        self.w.ok(ix::fault_open(&self.w, &self.keeper.wallet(), &proof), &[&self.keeper.key]);
        pda::fault(&self.machine.node, &Address::default(), self.first + n)
    }

    fn settlement(&self) -> Instruction {
        ix::guarantee_resolve(&self.w, &self.finder, &self.machine.node)
    }

    /// Resolves it and applies its fault, if it was broken.
    fn settle(&mut self) {
        self.w.set_now(self.w.now().max(self.until + WAIT));
        let settle = self.settlement();
        self.w.ok(settle, &[&self.finder.key]);
        if self.w.exists(&self.broken()) {
            self.apply();
        }
    }

    /// Where the fault of it lies, if it was broken.
    fn broken(&self) -> Address {
        pda::guarantee_fault(&self.machine.node, self.until)
    }

    fn apply(&mut self) {
        let apply = ix::slash_apply(&self.w, &self.broken());
        self.w.ok(apply, &[]);
    }

    /// What the event says of it, when so many of the seconds counted were up.
    fn resolved(&self, up_secs: u64, counted_secs: u64, fault: Address) -> GuaranteeResolved {
        GuaranteeResolved {
            node: self.machine.node,
            provider: self.provider.provider(),
            fault,
            since: (self.first * 60) as i64,
            until: self.until,
            guarantee_bps: 9_500,
            up_secs,
            counted_secs,
        }
    }

    fn refused(&mut self, code: MarketError) {
        let settle = self.settlement();
        self.w.refused(settle, &[&self.finder.key], code);
    }

    fn stake(&self) -> u64 {
        self.w.read::<Provider>(&self.provider.provider()).stake
    }
}

#[test]
fn a_promise_that_was_kept_costs_nothing() {
    let mut c = committed();
    // 19 of 20 periods are 95 %.
    for n in 0..20 {
        c.period(n, if n == 7 { 0 } else { 60 });
    }
    assert_eq!((c.node().guarantee_up_secs, c.node().guarantee_counted_secs), (19 * 60, 20 * 60));
    c.w.set_now(c.until + WAIT - 1);
    c.refused(MarketError::TooEarly);
    c.w.warp(1);
    let (now, before) = (c.w.now(), c.node());
    let meta = c.w.ok(c.settlement(), &[&c.finder.key]);
    assert_emitted(&meta, &c.resolved(1_140, 1_200, Address::default()));
    assert_eq!((c.stake(), c.w.tokens(&c.finder.stake)), (STAKE, START_STAKE));
    assert!(!c.w.exists(&c.broken()));
    assert_eq!(c.w.lamports(&c.finder.wallet()), START_LAMPORTS);
    let node = c.node();
    assert_eq!((node.guaranteed_until, node.guaranteed_since, node.guarantee_bps), (0, 0, 0));
    assert_eq!((node.guarantee_up_secs, node.guarantee_counted_secs), (0, 0));
    assert_eq!((node.record_since, node.previous_guarantee), (now, before.record(now).guarantee));
    c.refused(MarketError::NotGuaranteed);
    // And again from the start.
    let until = c.w.now() + 1_000;
    c.w.ok(ix::node_guarantee(&c.provider, &c.machine.node, until, 9_000), &[&c.provider.key]);
}

#[test]
fn a_promise_that_was_broken_costs_stake() {
    let mut c = committed();
    for n in 0..20 {
        c.period(n, if n == 7 { 0 } else { 60 - u32::from(n == 8) });
    }
    let supply = c.w.supply(&c.w.stake_mint);
    c.w.set_now(c.until + WAIT);
    let meta = c.w.ok(c.settlement(), &[&c.finder.key]);
    assert_emitted(&meta, &c.resolved(1_139, 1_200, c.broken()));
    // A tenth of the required stake waits for whoever applies the fault; nothing is left to appeal.
    let fault: Fault = c.w.read(&c.broken());
    assert_eq!((fault.kind, fault.flags, fault.amount), (FAULT_GUARANTEE, 0, 1_000_000_000));
    assert_eq!((fault.window_from, fault.window_until), ((c.first * 60) as i64, c.until));
    assert_eq!((fault.applicable_at, fault.gpus), (c.w.now(), 1));
    let (keeper, node) = (c.keeper.again(), c.machine.node);
    let passed = statement(&node, fault.period, 3, true);
    let appeal = ix::slash_appeal(&c.w, &c.broken(), &keeper, passed);
    c.w.refused_all(&[signed(&keeper.key, &passed), appeal], &[], MarketError::AppealWindowClosed);
    c.apply();
    assert_eq!(c.stake(), STAKE - 1_000_000_000);
    assert_eq!(c.w.tokens(&c.provider.provider_vault()), STAKE - 1_000_000_000);
    assert_eq!(c.w.supply(&c.w.stake_mint), supply - 600_000_000);
    c.refused(MarketError::NotGuaranteed);
    assert_eq!((c.node().status, c.node().convicted, c.node().frozen_from), (NODE_ACTIVE, 0, 0));
    // Nobody is the finder of what reports say, and nobody had a lease: what is left is burned.
    let fault: Fault = c.w.read(&c.broken());
    assert_eq!((fault.status, fault.pool), (FAULT_APPLIED, 400_000_000));
    c.w.set_now(fault.claims_until);
    c.w.ok(ix::slash_close(&c.w, &c.broken()), &[]);
    assert_eq!(c.w.supply(&c.w.stake_mint), supply - 1_000_000_000);
    assert_eq!(c.w.tokens(&c.finder.stake), START_STAKE);
    assert_eq!(c.w.lamports(&c.finder.wallet()), START_LAMPORTS);
}

/// The terms are those of the guarantee; a higher slash needs the provider's word again.
#[test]
fn later_terms_do_not_count() {
    let mut c = committed();
    let payout_secs = c.w.params.unstake_cooldown_secs;
    c.w.alter(&pda::market(), |m: &mut Market| {
        m.params.slash_guarantee_bps = 10_000;
        m.params.stake_price = 1;
        m.params.settle_deadline_periods = 7;
        m.params.appeal_secs = 3_000;
        m.params.unstake_cooldown_secs = 9_000;
    });
    c.period(0, 0);
    c.settle();
    assert_eq!(c.stake(), STAKE - 1_000_000_000);
    let fault: Fault = c.w.read(&c.broken());
    assert_eq!((fault.stake_price, fault.payout_secs), (c.w.params.stake_price, payout_secs));
    assert_eq!(fault.claims_until - c.w.now(), 2 * 120);
}

/// Finding R 4.
#[test]
fn no_more_than_the_node_has() {
    let mut c = committed();
    c.period(0, 0);
    c.w.alter(&c.machine.node, |n: &mut Node| n.stake = 300);
    let has = |p: &mut Provider| (p.stake, p.locked_stake, p.unstaking) = (500, 300, 200);
    c.w.alter(&c.provider.provider(), has);
    c.settle();
    let provider: Provider = c.w.read(&c.provider.provider());
    assert_eq!((provider.stake, provider.unstaking, provider.slashed_total), (200, 200, 300));
}

#[test]
fn leases_that_are_open_count_with_what_they_have_paid() {
    let mut c = committed();
    let customer = c.w.customer(100_000_000);
    let order = c.w.order(&customer, ix::order_args(1));
    let lease = c.w.award(&c.keeper, &customer, &order, &c.provider, &c.machine);
    c.w.ok(ix::lease_start(&c.w, &lease, [3; 32]), &[&c.machine.key]);
    c.w.warp(30);
    c.w.ok_all(&ix::receipt(&c.w, &lease, &c.machine.key, &customer.key, 1, 30), &[]);
    assert_eq!((c.node().open_leases, c.node().guarantee_open), (1, 1));
    // As if the 30 seconds had cost 40 USDC.
    c.w.alter(&c.machine.node, |n: &mut Node| n.guarantee_stake_price = 416);
    c.period(0, 0);
    c.w.set_now(c.until + WAIT);
    c.refused(MarketError::MissingAccount);
    let resolve =
        |c: &Case, leases: &[Address]| ix::guarantee_resolve_of(&c.w, &c.finder, &c.machine.node, leases);
    let twice = resolve(&c, &[lease, lease]);
    c.w.refused(twice, &[&c.finder.key], MarketError::WrongAccount);
    // One that was awarded later does not stand in for it.
    let mut other = c.w.fork();
    other.alter(&lease, |l: &mut Lease| l.awarded_at = c.until);
    other.refused(resolve(&c, &[lease]), &[&c.finder.key], MarketError::WrongAccount);
    let paid = c.w.read::<Lease>(&lease).paid;
    // What keepers say and nobody has settled counts as well: its provider could wait.
    let mut claimed = c.w.fork();
    claimed.alter(&lease, |l: &mut Lease| l.verified_secs = 40);
    claimed.ok(resolve(&c, &[lease]), &[&c.finder.key]);
    let owed = claimed.read::<Lease>(&lease).owed(40).expect("it fits");
    assert!(owed > paid);
    assert_eq!(claimed.read::<Fault>(&c.broken()).amount, owed / 8 * 1_000_000_000 / 416);
    c.w.ok(resolve(&c, &[lease]), &[&c.finder.key]);
    let fault: Fault = c.w.read(&c.broken());
    assert_eq!(fault.amount, paid / 8 * 1_000_000_000 / 416);
    assert!(fault.amount > STAKE / 10);
    assert_eq!((c.node().open_leases, c.node().guarantee_open), (1, 0));
    c.apply();
    c.w.ok(ix::slash_compensate(&c.w, &c.broken(), &lease), &[]);
}

/// Finding P 15: strangers make leases, and a transaction has room for some.
#[test]
fn leases_of_a_broken_guarantee_are_counted_over_several_calls() {
    let mut c = committed();
    let customer = c.w.customer(100_000_000);
    let mut leases = vec![];
    for nonce in 1..=3 {
        let order = c.w.order(&customer, OrderArgs { duration_secs: 10, ..ix::order_args(nonce) });
        let lease = c.w.award(&c.keeper, &customer, &order, &c.provider, &c.machine);
        c.w.ok(ix::lease_start(&c.w, &lease, [3; 32]), &[&c.machine.key]);
        c.w.warp(10);
        c.w.ok_all(&ix::receipt(&c.w, &lease, &c.machine.key, &customer.key, 1, 10), &[]);
        c.w.ok(ix::lease_end(&c.w, &customer.wallet(), &lease, 0), &[&customer.key]);
        leases.push(lease);
    }
    let paid: u64 = leases.iter().map(|lease| c.w.read::<Lease>(lease).paid).sum();
    // As if the 30 seconds had cost 40 USDC.
    c.w.alter(&c.machine.node, |n: &mut Node| n.guarantee_stake_price = 416);
    c.period(0, 0);
    c.w.set_now(c.until + WAIT);
    let resolve =
        |c: &Case, leases: &[Address]| ix::guarantee_resolve_of(&c.w, &c.finder, &c.machine.node, leases);
    let mut whole = c.w.fork();
    whole.ok(resolve(&c, &leases), &[&c.finder.key]);
    let amount = whole.read::<Fault>(&c.broken()).amount;
    assert_eq!(amount, paid / 8 * 1_000_000_000 / 416);
    assert!(amount > STAKE / 10 && amount < STAKE);
    c.w.ok(resolve(&c, &leases[..1]), &[&c.finder.key]);
    assert_eq!((c.node().guarantee_open, c.node().guaranteed_until), (2, c.until));
    assert!(!c.w.exists(&c.broken()));
    c.w.refused(resolve(&c, &leases[..1]), &[&c.finder.key], MarketError::WrongAccount);
    c.refused(MarketError::MissingAccount);
    // One that closes meanwhile counts as well, and the one that was counted does not count again.
    for lease in &leases[..2] {
        c.w.ok(ix::lease_close(&c.w, &customer.wallet(), lease), &[&customer.key]);
    }
    assert_eq!(c.node().guarantee_open, 1);
    c.w.ok(resolve(&c, &leases[2..]), &[&c.finder.key]);
    assert_eq!(c.w.read::<Fault>(&c.broken()).amount, amount);
    assert_eq!((c.node().guarantee_open, c.node().open_leases), (0, 1));
}

#[test]
fn leases_of_before_and_after_a_guarantee_are_told_apart() {
    let mut c = committed();
    let customer = c.w.customer(100_000_000);
    let order = c.w.order(&customer, OrderArgs { duration_secs: 60, ..ix::order_args(1) });
    let lease = c.w.award(&c.keeper, &customer, &order, &c.provider, &c.machine);
    c.w.warp(i64::from(c.w.params.start_deadline_secs) + 1);
    c.w.ok(ix::lease_abort(&c.w, &lease), &[]);
    assert_eq!((c.node().open_leases, c.node().guarantee_open), (0, 0));
    // After its end.
    c.w.set_now(c.until);
    let order = c.w.order(&customer, ix::order_args(2));
    c.w.award(&c.keeper, &customer, &order, &c.provider, &c.machine);
    assert_eq!((c.node().open_leases, c.node().guarantee_open), (1, 0));
    // A new guarantee counts those that are there.
    c.settle();
    let until = c.w.now() + 1_000;
    c.w.ok(ix::node_guarantee(&c.provider, &c.machine.node, until, 9_000), &[&c.provider.key]);
    assert_eq!((c.node().open_leases, c.node().guarantee_open), (1, 1));
}

/// Periods without a final report, or without a leaf of this node, speak neither for nor against it.
#[test]
fn what_nobody_reported_does_not_count() {
    let mut c = committed();
    c.settle();
    assert_eq!(c.stake(), STAKE);
    let mut c = committed();
    c.period(3, 57);
    c.settle();
    assert_eq!(c.stake(), STAKE);
    let mut c = committed();
    c.period(3, 56);
    c.settle();
    assert_eq!(c.stake(), STAKE - 1_000_000_000);
}

#[test]
fn only_whole_periods_within_count_and_each_once() {
    let mut w = Testbed::quick();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(STAKE);
    let machine = w.machine(&provider, 1);
    w.warp_past_period(w.period());
    // Begins in the middle of a period and ends in the middle of another.
    w.warp(30);
    let (begun, until) = (w.period(), w.now() + 690);
    w.ok(ix::node_guarantee(&provider, &machine.node, until, 9_900), &[&provider.key]);
    let last = until as u64 / 60 - 1;
    for period in begun..=last + 1 {
        w.warp_past_period(period);
        let leaf = LeafData { up_secs: 50, ..w.good_leaf(machine.node, Address::default(), period) };
        let proof = w.finalise(&keeper, &[leaf]).remove(0);
        w.ok(ix::report_apply(&proof), &[]);
        w.refused(ix::report_apply(&proof), &[], MarketError::AlreadyApplied);
        let node: Node = w.read(&machine.node);
        let whole = period.min(last) - begun;
        assert_eq!(
            (node.guarantee_up_secs, node.guarantee_counted_secs),
            (50 * whole, 60 * whole),
            "{period}"
        );
    }
}

/// Late leaves count as long as the chain takes them.
#[test]
fn leaves_count_in_any_order() {
    let mut c = committed();
    let late = c.leaf(0, 10, 0);
    c.period(1, 60);
    c.w.ok(ix::report_apply(&late), &[]);
    assert_eq!((c.node().guarantee_up_secs, c.node().guarantee_counted_secs), (70, 120));
    // After the end too.
    let last = c.leaf(19, 0, 0);
    c.w.set_now(c.until + 100);
    c.w.ok(ix::report_apply(&last), &[]);
    assert_eq!((c.node().guarantee_up_secs, c.node().guarantee_counted_secs), (70, 180));
}

/// A fault that costs stake anyway, of a lease, counts like any other leaf.
#[test]
fn a_leaf_that_opens_a_fault_counts() {
    let mut c = committed();
    c.fault(0);
    assert_eq!((c.node().guarantee_up_secs, c.node().guarantee_counted_secs), (60, 60));
    assert_eq!((c.node().status, c.node().suspended_at), (NODE_SUSPENDED, c.w.now()));
    assert_ne!(FLAG_OFFLINE & FLAG_WORK_FAILED, FLAG_WORK_FAILED);
}

/// Nobody checks a suspended machine, so the time counts without a report. A fault that was applied is its own.
#[test]
fn suspended_time_is_down_time() {
    let mut c = committed();
    let fault = c.fault(0);
    let suspended_at = c.w.now();
    // Reports of the time after it add nothing.
    c.period(1, 60);
    assert_eq!(c.node().guarantee_counted_secs, 60);
    c.w.warp(i64::from(c.w.params.appeal_secs));
    c.w.ok(ix::slash_apply(&c.w, &fault), &[]);
    assert_eq!((c.node().status, c.node().convicted), (NODE_SUSPENDED, 1));
    c.w.warp(10);
    let back = |status| {
        let wallet = c.provider.wallet();
        ix::node_update(&wallet, &c.provider.provider(), &c.machine.node, 2_000_000, status)
    };
    let (sleep, wake) = (back(NODE_HIBERNATED), back(NODE_ACTIVE));
    c.w.refused(sleep, &[&c.provider.key], MarketError::GuaranteeRunning);
    c.w.ok(ix::provider_stake(&c.w, &c.provider, 1_000_000_000), &[&c.provider.key]);
    c.w.ok(wake, &[&c.provider.key]);
    let away = (c.w.now() - suspended_at) as u64;
    assert_eq!((c.node().guarantee_up_secs, c.node().guarantee_counted_secs), (60, 60 + away));
    assert_eq!((c.node().status, c.node().convicted), (NODE_ACTIVE, 0));
    let before = c.stake();
    c.settle();
    assert_eq!(c.stake(), before - 1_000_000_000);
}

/// Staying suspended until the end is no way out.
#[test]
fn suspended_to_the_end() {
    let mut c = committed();
    for n in 0..10 {
        c.period(n, 60);
    }
    let fault = c.fault(10);
    let from = c.w.now();
    c.w.set_now(c.until + WAIT);
    // The fault may still be voided.
    c.refused(MarketError::FaultPending);
    c.w.ok(ix::slash_apply(&c.w, &fault), &[]);
    let counted = 11 * 60 + (c.until - from) as u64;
    let meta = c.w.ok(c.settlement(), &[&c.finder.key]);
    assert_emitted(&meta, &c.resolved(11 * 60, counted, c.broken()));
    // What the settled one counted is not in the next.
    assert_eq!((c.node().status, c.node().guarantee_counted_secs), (NODE_SUSPENDED, 0));
}

/// What keepers take back costs nothing: the time is forgiven, and the node is where it was.
#[test]
fn a_voided_fault_is_forgiven() {
    let mut c = committed();
    let fault = c.fault(0);
    let (keeper, node) = (c.keeper.again(), c.machine.node);
    c.w.warp(200);
    let passed = statement(&node, c.first, 3, true);
    let appeal = ix::slash_appeal(&c.w, &fault, &keeper, passed);
    c.w.ok_all(&[signed(&keeper.key, &passed), appeal], &[]);
    assert_eq!((c.node().status, c.node().available_since), (NODE_ACTIVE, c.w.now()));
    assert_eq!((c.node().guarantee_up_secs, c.node().guarantee_counted_secs), (60, 60));
    c.settle();
    assert_eq!(c.stake(), STAKE);
}

/// An earlier fault that was applied is not undone by a later one that is voided.
#[test]
fn a_voided_fault_frees_nobody_from_another() {
    let mut c = committed();
    let (first, second) = (c.fault(0), c.fault(1));
    c.w.set_now(c.w.read::<gantry_market::state::Fault>(&first).applicable_at);
    c.w.ok(ix::slash_apply(&c.w, &first), &[]);
    let (keeper, node) = (c.keeper.again(), c.machine.node);
    let passed = statement(&node, c.first + 1, 3, true);
    let appeal = ix::slash_appeal(&c.w, &second, &keeper, passed);
    c.w.ok_all(&[signed(&keeper.key, &passed), appeal], &[]);
    assert_eq!((c.node().status, c.node().pending_faults), (NODE_SUSPENDED, 0));
    // The agent alone cannot wake it.
    let wake =
        ix::node_update(&c.machine.key.pubkey(), &c.provider.provider(), &node, 2_000_000, NODE_ACTIVE);
    c.w.refused(wake, &[&c.machine.key], MarketError::Unauthorised);
}

#[test]
fn the_end_of_it_lets_the_provider_go() {
    let mut c = committed();
    let retire = ix::node_retire(&c.provider, &c.machine.node);
    c.w.set_now(c.until);
    c.w.refused(retire.clone(), &[&c.provider.key], MarketError::GuaranteeRunning);
    // The provider may settle its own, and a pause stops nobody.
    c.w.pause();
    c.w.set_now(c.until + WAIT);
    let own = ix::guarantee_resolve(&c.w, &c.provider, &c.machine.node);
    c.w.ok(own, &[&c.provider.key]);
    c.w.ok(retire, &[&c.provider.key]);
    assert_eq!(c.node().status, NODE_RETIRED);
    c.w.warp(i64::from(c.w.params.unstake_cooldown_secs));
    c.w.ok(ix::node_close(&c.provider, &c.machine.key.pubkey(), 1), &[&c.provider.key]);
    c.w.ok(ix::provider_request_unstake(&c.provider, STAKE), &[&c.provider.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut c = committed();
    c.period(0, 0);
    let other = c.w.provider(20_000_000_000);
    let others = c.w.machine(&other, 1);
    let until = c.until;
    c.w.ok(ix::node_guarantee(&other, &others.node, until, 9_500), &[&other.key]);
    c.w.set_now(until + WAIT);
    let good = c.settlement();
    let w = &mut c.w;
    let silent = unsigned(good.clone(), &c.finder.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let provider = c.provider.provider();
    for at in [pda::market(), c.machine.node, provider] {
        let fake = w.forged(&at);
        let case = [("program", at, fake, InstructionError::IllegalOwner.into())];
        w.refuses_swaps(&good, &[&c.finder.key], &case);
    }
    let broken = pda::guarantee_fault(&c.machine.node, until);
    let elsewhere = pda::guarantee_fault(&c.machine.node, until + 1);
    let cases: [(_, _, _, Code); 3] = [
        ("node", c.machine.node, others.node, MarketError::WrongAccount.into()),
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("fault", broken, elsewhere, MarketError::WrongAccount.into()),
    ];
    for (what, from, to, code) in cases {
        println!("{what}");
        w.refused(swap(good.clone(), &from, &to), &[&c.finder.key], code);
    }
    w.ok(good, &[&c.finder.key]);
    assert_ne!(NODE_HIBERNATED, NODE_RETIRED);
}
