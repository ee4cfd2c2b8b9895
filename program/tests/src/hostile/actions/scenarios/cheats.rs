//! What an owner of several wallets would try: to carry its stake or bond out through a slash of its own, to get work
//! for nothing.

use gantry_market::constants::{
    AWARD_VIEW_SECS, FLAG_DEVICE_CHANGED, FLAG_EVIDENCE_FAILED, FLAG_OFFLINE, FLAG_WORK_FAILED,
};
use gantry_market::state::{Fault, Lease, Node, Order, Params, FAULT_REPORT, LEASE_RUNNING};
use solana_address::Address;

use super::outputs::{all_commit, all_start, Part};
use super::{market, offered, recovered, reported, usable, voters, Job};
use crate::hostile::actions::leases_of;
use crate::hostile::harness::{CUSTOMERS, KEEPERS, PROVIDERS};
use crate::hostile::owners::OWNERS;
use crate::hostile::scenario::Scenario;
use crate::hostile::scene::{Plan, Scene};
use crate::hostile::trace::Step;
use crate::ix::signed;
use crate::leaves::{statement, tree, LeafData};
use crate::{ix, pda};

/// One of an owner's wallets among those that play a part, or any of them.
fn wallet(s: &mut Scene, owner: &[usize], parts: &[usize]) -> usize {
    let able: Vec<usize> = owner.iter().copied().filter(|at| parts.contains(at)).collect();
    s.one(able).unwrap_or(owner[0])
}

/// A keeper awards its own customer's order to the dearer one of two nodes, and its owner proves it itself.
pub fn carried_out(s: &mut Scene) -> Option<Scenario> {
    let mut scenario = Scenario::default().then(recovered);
    let owner = OWNERS[s.below(2)];
    for _ in 0..2 {
        let (who, keeper) = (wallet(s, owner, &CUSTOMERS), wallet(s, owner, &KEEPERS));
        let finder = owner[s.below(owner.len())];
        scenario = scenario.then(move |s| self_proven(s, who, keeper, finder));
    }
    Some(scenario)
}

fn self_proven(s: &mut Scene, who: usize, keeper: usize, finder: usize) -> Option<Plan> {
    let mut nodes: Vec<(Address, Node)> =
        s.a.ledger.all::<Node>().filter(|(_, node)| usable(s, node)).map(|(at, node)| (*at, *node)).collect();
    if nodes.len() < 2 {
        return None;
    }
    let at = s.below(nodes.len());
    let (cheap, better) = nodes.swap_remove(at);
    let (dear, _) = s.one(nodes)?;
    let job = Job::of(s, who, dear)?;
    let mut plan = vec![offered(s, &cheap, 1)?, offered(s, &dear, job.args.max_price)?];
    plan.push(Step::Warp(2 + AWARD_VIEW_SECS));
    plan.extend(job.ordered(s)?);
    let (keeper, customer) = (&s.a.actors[keeper], &s.a.actors[who]);
    let provider = s.a.ledger.get::<Node>(&dear)?.provider;
    plan.push(Step::Send(vec![ix::order_award(keeper, customer, &job.order, &provider, &dear)]));
    let award = (&job.order, &job.lease, &keeper.wallet());
    let prove = ix::prove_better_ask_of(&s.a.w, &s.a.actors[finder], award, (&cheap, &better));
    plan.push(Step::Send(vec![prove]));
    Some(plan)
}

/// The time to contest an award is over; then a change of parameters prolongs it, and the award is contested.
pub fn retold(s: &mut Scene) -> Option<Scenario> {
    let now = market(s)?.params;
    let longer = Params { challenge_secs: now.keeper_exit_secs, ..now };
    if now.challenge_secs >= 600 || longer.challenge_secs <= now.challenge_secs || now.timelock_secs > 3_600 {
        return None;
    }
    let owner = OWNERS[s.below(2)];
    let (who, keeper) = (CUSTOMERS[s.below(CUSTOMERS.len())], KEEPERS[s.below(KEEPERS.len())]);
    let finder = owner[s.below(owner.len())];
    Some(
        Scenario::default()
            .then(recovered)
            .then(move |s| Some(vec![Step::Send(vec![ix::market_propose_params(&s.a.w, longer)])]))
            .then(move |_| Some(vec![Step::Warp(1 + i64::from(now.timelock_secs))]))
            .then(move |s| {
                let mut plan = self_proven(s, who, keeper, finder)?;
                let proof = plan.pop()?;
                plan.push(Step::Warp(1 + i64::from(now.challenge_secs)));
                plan.push(Step::Send(vec![ix::market_apply_params()]));
                plan.push(proof);
                Some(plan)
            }),
    )
}

/// A node with two customers, one of whom may be its owner's, is found out. Whoever opens the fault first, and with
/// whichever leaf: each customer gets the same.
pub fn shared(s: &mut Scene) -> Option<Scenario> {
    let (scenario, [victim, _]) = two_customers(s)?;
    Some(scenario.then(move |s| applied(s, &victim.node)))
}

/// The same, and the next report finds the machine out again. The cause has been charged, so that the second fault takes
/// nothing: whichever is applied and claimed first, each customer gets the same.
pub fn repeated(s: &mut Scene) -> Option<Scenario> {
    let (scenario, jobs) = two_customers(s)?;
    Some(scenario.then(move |s| found_out_again(s, &jobs[0])).then(move |s| applied_in_any_order(s, &jobs)))
}

/// Both leases are paid for a while, then the node's fault is opened.
fn two_customers(s: &mut Scene) -> Option<(Scenario, [Job; 2])> {
    let owner = OWNERS[s.below(2)];
    let other = wallet(s, owner, &CUSTOMERS);
    let provider = s.a.actors[wallet(s, owner, &PROVIDERS)].provider();
    let any = s.once_in(4);
    let roomy = |node: &Node| usable(s, node) && node.free_gpus() >= 2 && (any || node.provider == provider);
    let roomy: Vec<Address> =
        s.a.ledger.all::<Node>().filter(|(_, node)| roomy(node)).map(|(at, _)| *at).collect();
    let node = s.one(roomy)?;
    let victim = Job::of(s, 0, node)?;
    let mut own = Job::of(s, other, node)?;
    // At a price that nobody else would pay.
    (own.args.max_price, own.args.duration_secs) = (4_000_000_000, 300);
    let (paid, turned) = (10 + s.below(20) as u32, s.once_in(2));
    let scenario = Scenario::default()
        .then(recovered)
        // The period in which it registered says nothing about it.
        .then(|s| Some(vec![Step::Warp(i64::from(market(s)?.params.period_secs))]))
        .then(move |s| Some(vec![offered(s, &node, 3_000_000)?]))
        .then(move |s| victim.ordered(s))
        .then(move |s| victim.started(s))
        .then(move |s| Some(vec![offered(s, &node, 4_000_000_000)?]))
        .then(move |s| own.ordered(s))
        .then(move |s| own.started(s))
        .then(move |s| Some(vec![offered(s, &node, 3_000_000)?, Step::Warp(40)]))
        .then(move |s| receipted(s, &victim, paid))
        .then(move |s| found_out(s, [victim, own], turned));
    Some((scenario, [victim, own]))
}

/// Both sides sign for seconds.
pub(super) fn receipted(s: &mut Scene, job: &Job, seconds: u32) -> Option<Plan> {
    let lease = *s.a.ledger.get::<Lease>(&job.lease).filter(|lease| lease.status == LEASE_RUNNING)?;
    let (node, customer) = (s.key(&lease.node_key)?, s.key(&lease.customer)?);
    let receipt = ix::receipt(&s.a.w, &job.lease, node, customer, lease.receipt_sequence + 1, seconds);
    Some(vec![Step::Send(receipt)])
}

/// A final report with a leaf for each lease and one for the node alone, and all ways to open the fault.
fn found_out(s: &mut Scene, [victim, own]: [Job; 2], turned: bool) -> Option<Plan> {
    let node = s.a.ledger.get::<Lease>(&victim.lease)?.node;
    s.a.ledger.get::<Lease>(&own.lease)?;
    let period = s.a.w.period();
    let flags = [FLAG_WORK_FAILED, FLAG_EVIDENCE_FAILED, FLAG_DEVICE_CHANGED][s.below(3)];
    let leaf = |s: &Scene, lease, flags, downtime_secs| LeafData {
        flags,
        checks_passed: 0,
        downtime_secs,
        verified_secs: 0,
        ..s.a.w.good_leaf(node, lease, period)
    };
    let leaves = [
        leaf(s, victim.lease, flags, 0),
        leaf(s, own.lease, flags | FLAG_OFFLINE, 50),
        leaf(s, Address::default(), flags, 0),
    ];
    let mut plan = reported(s, period, &leaves, &[])?;
    let (_, proofs) = tree(&leaves);
    let senders: Vec<Address> = (0..3).map(|_| s.actor().wallet()).collect();
    let way = |order: [usize; 3]| -> Vec<Step> {
        let open = |(at, leaf): (usize, usize)| {
            Step::Send(vec![ix::fault_open(&s.a.w, &senders[at], &proofs[leaf])])
        };
        order.into_iter().enumerate().map(open).collect()
    };
    let mut ways = vec![way([1, 0, 2]), way([0, 1, 2]), way([2, 1, 0])];
    if turned {
        ways.reverse();
    }
    plan.push(Step::Either(ways));
    Some(plan)
}

/// A further final report, of the node alone.
fn found_out_again(s: &mut Scene, job: &Job) -> Option<Plan> {
    s.a.ledger.get::<Lease>(&job.lease)?;
    let period = s.a.w.period();
    let good = s.a.w.good_leaf(job.node, Address::default(), period);
    reported(s, period, &[LeafData { flags: FLAG_WORK_FAILED, checks_passed: 0, ..good }], &[0])
}

/// All faults of a node are applied, and its leases compensated: in one order or in the other.
fn applied_in_any_order(s: &mut Scene, jobs: &[Job; 2]) -> Option<Plan> {
    let node = jobs[0].node;
    let mut faults: Vec<(Address, i64)> =
        s.a.ledger
            .all::<Fault>()
            .filter(|(_, fault)| fault.node == node)
            .map(|(at, fault)| (*at, fault.applicable_at))
            .collect();
    let wait = faults.iter().map(|(_, at)| at - s.a.now()).max()?;
    // Somebody may have closed one of them since.
    let leases: Vec<Address> =
        jobs.iter().map(|job| job.lease).filter(|at| s.a.ledger.get::<Lease>(at).is_some()).collect();
    let payer = s.actor().wallet();
    let way = |faults: &[(Address, i64)]| -> Vec<Step> {
        let apply = faults.iter().map(|(at, _)| ix::slash_apply_by(&s.a.w, &payer, at));
        let claim = faults.iter().flat_map(|(at, _)| {
            leases.iter().map(|lease| ix::slash_compensate_by(&s.a.w, &payer, at, lease))
        });
        apply.chain(claim).map(|instruction| Step::Send(vec![instruction])).collect()
    };
    let mut ways = vec![way(&faults)];
    faults.reverse();
    ways.push(way(&faults));
    Some(vec![Step::Warp(wait.max(1)), Step::Either(ways)])
}

/// A fault of a node, against which one keeper speaks after the other, some of them twice, some for their owner.
pub fn appealed(s: &mut Scene) -> Option<Scenario> {
    let job = Job::any(s)?;
    let speaks = 1 + s.below(4);
    let mut scenario = job
        .begins()
        .then(|s| Some(vec![Step::Warp(i64::from(market(s)?.params.period_secs))]))
        .then(move |s| accused(s, &job));
    for _ in 0..speaks {
        scenario = scenario.then(move |s| speaks_against(s, &job.node));
    }
    Some(scenario.then_if(speaks > 2, move |s| applied(s, &job.node)))
}

/// A machine is found to have cheated, for which all of its stake is reserved; then its GPU dies.
pub fn dead(s: &mut Scene) -> Option<Scenario> {
    let job = Job::any(s)?;
    Some(
        job.begins()
            .then(|s| Some(vec![Step::Warp(i64::from(market(s)?.params.period_secs))]))
            .then(move |s| accused_of(s, &job, FLAG_EVIDENCE_FAILED))
            .then(move |s| {
                let key = s.a.ledger.get::<Node>(&job.node)?.node_key;
                Some(vec![Step::Send(vec![ix::node_report_dead(&s.a.w, &key, &job.node)])])
            })
            .then(move |s| applied(s, &job.node)),
    )
}

/// A final report says that the machine has failed a check, and the fault is opened.
fn accused(s: &mut Scene, job: &Job) -> Option<Plan> {
    let flags = [FLAG_WORK_FAILED, FLAG_EVIDENCE_FAILED][s.below(2)];
    accused_of(s, job, flags)
}

pub(super) fn accused_of(s: &mut Scene, job: &Job, flags: u16) -> Option<Plan> {
    s.a.ledger.get::<Lease>(&job.lease)?;
    let period = s.a.w.period();
    let good = s.a.w.good_leaf(job.node, Address::default(), period);
    let leaf = LeafData { flags, checks_passed: 0, ..good };
    reported(s, period, &[leaf], &[0])
}

pub(super) fn speaks_against(s: &mut Scene, node: &Address) -> Option<Plan> {
    let of_machine = |fault: &Fault| fault.node == *node && fault.kind == FAULT_REPORT;
    let fault = s.a.ledger.all::<Fault>().find(|(_, fault)| of_machine(fault)).map(|(at, f)| (*at, *f));
    let (at, fault) = fault?;
    let all = voters(s, fault.voters_before);
    let (wallet, _) = s.one(all)?;
    let keeper = s.who(&wallet)?;
    let kind = if fault.flags & FLAG_WORK_FAILED != 0 { 3 } else { 4 };
    let text = statement(&fault.node, fault.period, kind, true);
    let appeal = ix::slash_appeal(&s.a.w, &at, keeper, text);
    let mut plan = vec![Step::Send(vec![signed(&keeper.key, &text), appeal])];
    if s.once_in(4) {
        plan.extend(plan.clone());
    }
    Some(plan)
}

/// The faults of a node, when their time has come.
pub(super) fn applied(s: &mut Scene, node: &Address) -> Option<Plan> {
    let faults: Vec<(Address, Fault)> =
        s.a.ledger
            .all::<Fault>()
            .filter(|(_, fault)| fault.node == *node)
            .map(|(at, fault)| (*at, *fault))
            .collect();
    let wait = faults.iter().map(|(_, fault)| fault.applicable_at - s.a.now()).max()?;
    let mut plan = vec![Step::Warp(wait.max(1))];
    for (at, _) in faults {
        let payer = s.actor().wallet();
        plan.push(Step::Send(vec![ix::slash_apply_by(&s.a.w, &payer, &at)]));
        let mut leases: Vec<Address> =
            s.a.ledger.all::<Lease>().filter(|(_, lease)| lease.node == *node).map(|(at, _)| *at).collect();
        if s.once_in(2) {
            leases.reverse();
        }
        for lease in leases {
            let payer = s.actor().wallet();
            plan.push(Step::Send(vec![ix::slash_compensate_by(&s.a.w, &payer, &at, &lease)]));
        }
    }
    Some(plan)
}

/// The same job on three nodes, with reports that say they worked.
fn redundant(s: &mut Scene) -> Option<(Job, Vec<Part>)> {
    let mut job = Job::any(s)?;
    (job.args.nodes, job.args.redundant) = (3, 1);
    (job.args.run_to_completion, job.args.no_migration, job.args.duration_secs) = (1, 1, 120);
    let mut nodes: Vec<(Address, Address)> =
        s.a.ledger
            .all::<Node>()
            .filter(|(_, node)| usable(s, node))
            .map(|(at, node)| (*at, node.node_key))
            .collect();
    let mut parts: Vec<Part> = vec![];
    while parts.len() < 3 && !nodes.is_empty() {
        let at = s.below(nodes.len());
        let (node, key) = nodes.swap_remove(at);
        parts.push((pda::lease(&job.order, &node), node, key, [9; 32]));
    }
    (parts.len() == 3).then_some((job, parts))
}

/// One of three machines never shows what it committed to. The others' work is accepted in the end, and the customer
/// closes the leases in the same transaction.
pub fn withheld(s: &mut Scene) -> Option<Scenario> {
    let (job, parts) = redundant(s)?;
    let [awarded, committed, worked, shown, left] = [(); 5].map(|()| parts.clone());
    Some(
        Scenario::default()
            .then(recovered)
            .then(move |s| job.ordered(s))
            .then(move |s| all_start(s, &job, &awarded))
            .then(move |_| Some(all_commit(&job, &committed)))
            .then(move |s| worked_for(s, &worked))
            .then(move |s| Some(some_show(s, &job, &shown)))
            .then(move |s| taken_unpaid(s, &job, &left)),
    )
}

/// A final report says that each machine worked for a while.
fn worked_for(s: &mut Scene, parts: &[Part]) -> Option<Plan> {
    let period = s.a.w.period();
    let leaves: Vec<LeafData> = parts
        .iter()
        .map(|(lease, node, _, _)| LeafData { verified_secs: 20, ..s.a.w.good_leaf(*node, *lease, period) })
        .collect();
    reported(s, period, &leaves, &[0, 1, 2])
}

/// All but the first.
fn some_show(_: &mut Scene, job: &Job, parts: &[Part]) -> Plan {
    let show = |(lease, _, key, output): &Part| {
        Step::Send(vec![ix::output_reveal_of(key, &job.order, lease, *output, lease.to_bytes())])
    };
    parts[1..].iter().map(show).collect()
}

/// Every deadline passes; then the comparison and the ends of the leases come at once.
fn taken_unpaid(s: &mut Scene, job: &Job, parts: &[Part]) -> Option<Plan> {
    let params = market(s)?.params;
    let settle = i64::from(params.settle_deadline_secs().ok()?);
    let wait = i64::from(params.start_deadline_secs + job.args.duration_secs) + 3 * settle;
    s.a.ledger.get::<Order>(&job.order)?;
    let leases = leases_of(s.a, &job.order);
    let customer = s.a.actors[job.who].wallet();
    let mut plan = vec![Step::Warp(wait)];
    for lease in &leases {
        plan.push(Step::Send(vec![ix::lease_end(&s.a.w, &customer, lease, 0)]));
    }
    plan.push(Step::Warp(3 * settle));
    let mut all = vec![ix::output_resolve(&job.order, &leases)];
    let shown = parts[1..].iter().filter(|(lease, ..)| leases.contains(lease));
    all.extend(shown.map(|(lease, ..)| ix::lease_close(&s.a.w, &customer, lease)));
    plan.push(Step::Send(all));
    Some(plan)
}

/// One of three machines does not start. The customer opens the order again and has the others' outputs compared.
pub fn reopened(s: &mut Scene) -> Option<Scenario> {
    let (mut job, parts) = redundant(s)?;
    job.args.duration_secs = 600;
    let [awarded, aborted] = [(); 2].map(|()| parts.clone());
    Some(
        Scenario::default()
            .then(recovered)
            .then(move |s| job.ordered(s))
            .then(move |s| {
                let mut plan = all_start(s, &job, &awarded)?;
                plan.pop();
                Some(plan)
            })
            .then(move |s| {
                let wait = 1 + i64::from(market(s)?.params.start_deadline_secs);
                s.a.ledger.get::<Lease>(&aborted[2].0)?;
                let abort = ix::lease_abort(&s.a.w, &aborted[2].0);
                Some(vec![Step::Warp(wait), Step::Send(vec![abort])])
            })
            .then(move |s| {
                s.a.ledger.get::<Order>(&job.order)?;
                let who = &s.a.actors[job.who];
                let mut plan = super::funded(s, job.who, 20_000_000);
                plan.push(Step::Send(vec![ix::order_reopen(who, &job.order)]));
                plan.push(Step::Send(vec![ix::output_resolve(&job.order, &leases_of(s.a, &job.order))]));
                Some(plan)
            }),
    )
}
