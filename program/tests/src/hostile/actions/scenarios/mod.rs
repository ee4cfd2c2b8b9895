//! Stories: what they share is a cast that can play, a job that runs, and reports that become final.

pub mod cheats;
mod claims;
mod disputes;
mod guarantees;
mod measured;
mod moves;
mod outputs;
mod returns;
mod rules;
mod sessions;
mod votes;

use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::math::pricing::cost;
use gantry_market::state::{
    Credits, Keeper, Market, Node, Provider, KEEPER_ACTIVE, KEEPER_PENDING, NODE_ACTIVE, NODE_RETIRED,
    NODE_SUSPENDED,
};
use solana_address::Address;
use solana_signer::Signer;

use super::customers::free_nonce;
use super::repair::short;
use crate::hostile::harness::{CUSTOMERS, KEEPERS, MACHINES, PROVIDERS, TWINS};
use crate::hostile::scenario::Scenario;
use crate::hostile::scene::{Plan, Scene};
use crate::hostile::trace::Step;
use crate::leaves::{tree, LeafData};
use crate::testbed::key;
use crate::{ix, pda};

/// Every scenario, each as likely as the others.
pub const SCENARIOS: &[fn(&mut Scene) -> Option<Scenario>] = &[
    rules::restored,
    disputes::decided,
    disputes::decided,
    disputes::decided,
    moves::moved,
    moves::moved,
    outputs::compared,
    sessions::replaced,
    guarantees::settled,
    guarantees::settled,
    guarantees::settled,
    guarantees::hidden,
    claims::taken,
    claims::taken,
    claims::overtaken,
    votes::split,
    votes::split,
    votes::split,
    votes::late,
    cheats::carried_out,
    cheats::shared,
    cheats::repeated,
    cheats::dead,
    cheats::withheld,
    cheats::reopened,
    cheats::retold,
    cheats::appealed,
    cheats::appealed,
    measured::slow,
    measured::missed,
    returns::reborn,
    returns::awake,
    returns::disputed,
    returns::disputed,
    returns::unclaimed,
    returns::parted,
];

/// The market as it is.
fn market(s: &Scene) -> Option<Market> {
    s.a.ledger.get::<Market>(&pda::market()).copied()
}

/// Whether a node could work once its owner wants it to.
fn usable(s: &Scene, node: &Node) -> bool {
    let stuck = node.status == NODE_SUSPENDED && node.pending_faults > 0;
    !stuck
        && node.status != NODE_RETIRED
        && node.free_gpus() > 0
        && node.claims_missing == 0
        && node.spec.simulated == 0
        && s.a.ledger.get::<Provider>(&node.provider).is_some()
}

/// What everyone would do who wants to go on: open the market, cover machines with stake, put them on offer; those who
/// left come back.
fn recovered(s: &mut Scene) -> Option<Plan> {
    let market = market(s)?;
    let mut plan = vec![];
    if market.paused != 0 {
        plan.push(Step::Send(vec![ix::market_pause(&market.authority, 0)]));
    }
    for at in KEEPERS {
        let who = &s.a.actors[at];
        match s.a.ledger.get::<Keeper>(&who.keeper()).map(|keeper| keeper.status) {
            None => plan.push(Step::Send(vec![ix::keeper_register(&s.a.w, who, 3 * market.params.min_bond)])),
            Some(KEEPER_PENDING) => plan.push(Step::Send(vec![ix::keeper_activate(who)])),
            Some(_) => {}
        }
    }
    for at in PROVIDERS {
        let who = &s.a.actors[at];
        if s.a.ledger.get::<Provider>(&who.provider()).is_none() {
            plan.push(Step::Send(vec![ix::provider_register(&s.a.w, who)]));
            continue;
        }
        let short = short(s.a, &who.provider());
        if short > 0 {
            plan.push(Step::Send(vec![ix::provider_stake(&s.a.w, who, short)]));
        }
    }
    for (number, machine) in MACHINES.iter().enumerate() {
        if TWINS.iter().all(|(twin, _)| *twin != machine.1) && s.once_in(2) {
            plan.extend(joined(s, number, machine.1).unwrap_or_default());
        }
    }
    let nodes: Vec<(Address, Node)> = s.a.ledger.all::<Node>().map(|(at, node)| (*at, *node)).collect();
    for (at, node) in nodes {
        let out = node.status != NODE_ACTIVE || node.price > 3_000_000 || !node.covered();
        if out && usable(s, &node) {
            let price = 1 + s.r.below(2_000_000);
            plan.extend(offered(s, &at, price));
        }
    }
    plan.extend(measured_again(s).unwrap_or_default());
    Some(plan)
}

/// Machines that are not of their class are measured well in the running period.
fn measured_again(s: &mut Scene) -> Option<Plan> {
    let period = s.a.w.period();
    let out = |node: &Node| (node.min_operations > 0 || node.min_bandwidth > 0) && node.class_since == 0;
    let well = |(at, node): (&Address, &Node)| LeafData {
        operations: node.min_operations.max(1),
        bandwidth: node.min_bandwidth,
        ..s.a.w.good_leaf(*at, Address::default(), period)
    };
    let leaves: Vec<LeafData> = s.a.ledger.all::<Node>().filter(|(_, node)| out(node)).map(well).collect();
    let all: Vec<usize> = (0..leaves.len()).collect();
    all.first()?;
    reported(s, period, &leaves, &all)
}

/// A machine is registered, with stake for it and with the devices of a machine, unless it is there.
fn joined(s: &mut Scene, number: usize, of: u64) -> Option<Plan> {
    let (owner, machine, gpus) = MACHINES[number];
    let (who, machine) = (&s.a.actors[owner], key(machine).pubkey());
    if s.a.ledger.held(&pda::node(&who.provider(), &machine)).is_some() {
        return Some(vec![]);
    }
    let state = s.a.ledger.get::<Provider>(&who.provider())?;
    let needed = state.locked_stake.checked_add(ix::h100().min_stake * u64::from(gpus))?;
    let mut plan = vec![];
    if state.stake < needed {
        plan.push(Step::Send(vec![ix::provider_stake(&s.a.w, who, needed - state.stake)]));
    }
    let devices = ix::devices(&key(of).pubkey(), gpus);
    let price = 1 + s.r.below(2_000_000);
    plan.push(Step::Send(vec![ix::node_register_with(who, &machine, ix::spec(gpus), price, devices)]));
    Some(plan)
}

/// The owner puts a node on offer.
fn offered(s: &Scene, node: &Address, price: u64) -> Option<Step> {
    let state = s.a.ledger.get::<Node>(node)?;
    let owner = s.a.ledger.get::<Provider>(&state.provider)?.wallet;
    Some(Step::Send(vec![ix::node_offer(&owner, node, state, price, NODE_ACTIVE)]))
}

/// A customer's work on one machine.
#[derive(Clone, Copy)]
struct Job {
    /// The customer's number among the actors.
    who: usize,
    args: OrderArgs,
    order: Address,
    node: Address,
    lease: Address,
}

impl Job {
    /// For a customer and a node that may be had.
    fn any(s: &mut Scene) -> Option<Self> {
        let all: Vec<Address> =
            s.a.ledger.all::<Node>().filter(|(_, node)| usable(s, node)).map(|(at, _)| *at).collect();
        let node = s.one(all)?;
        Self::on(s, node)
    }

    fn on(s: &mut Scene, node: Address) -> Option<Self> {
        let who = CUSTOMERS[s.below(CUSTOMERS.len())];
        Self::of(s, who, node)
    }

    /// For this customer.
    fn of(s: &mut Scene, who: usize, node: Address) -> Option<Self> {
        let wallet = s.a.actors[who].wallet();
        let nonce = free_nonce(s, &wallet)?;
        let args = OrderArgs {
            max_price: 6_000_000,
            duration_secs: 300 + s.below(600) as u32,
            run_to_completion: s.below(2) as u8,
            ..ix::order_args(nonce)
        };
        let order = pda::order(&wallet, nonce);
        Some(Self { who, args, order, node, lease: pda::lease(&order, &node) })
    }

    /// The order, with money enough.
    fn ordered(&self, s: &mut Scene) -> Option<Plan> {
        let who = &s.a.actors[self.who];
        let whole = cost(self.args.max_price, self.args.gpus_per_node, self.args.duration_secs).ok()?;
        let mut plan = funded(s, self.who, whole.saturating_mul(u64::from(self.args.nodes)));
        plan.push(Step::Send(vec![ix::order_create(who, self.args)]));
        Some(plan)
    }

    /// The award, at the node's ask.
    fn awarded(&self, s: &mut Scene) -> Option<Plan> {
        let keeper = s.actor_of(&KEEPERS);
        let state = s.a.ledger.get::<Node>(&self.node)?;
        let customer = &s.a.actors[self.who];
        let award = ix::order_award(keeper, customer, &self.order, &state.provider, &self.node);
        Some(vec![Step::Send(vec![award])])
    }

    /// The award and the start.
    fn started(&self, s: &mut Scene) -> Option<Plan> {
        let mut plan = self.awarded(s)?;
        let key = s.a.ledger.get::<Node>(&self.node)?.node_key;
        plan.push(Step::Send(vec![ix::lease_start_of(&key, &self.order, &self.lease)]));
        Some(plan)
    }

    /// A scenario that begins with this job at work.
    fn begins(self) -> Scenario {
        Scenario::default().then(recovered).then(move |s| self.ordered(s)).then(move |s| self.started(s))
    }
}

/// A deposit where a customer has less than this free.
fn funded(s: &Scene, who: usize, free: u64) -> Plan {
    let who = &s.a.actors[who];
    let credits = s.a.ledger.get::<Credits>(&who.credits());
    let has = credits.map_or(0, |credits| credits.balance.saturating_sub(credits.reserved));
    if has >= free {
        return vec![];
    }
    vec![Step::Send(vec![ix::credits_deposit(&s.a.w, who, free - has)])]
}

/// Everyone who votes, with what they weigh, if they were active before a time.
fn voters(s: &Scene, before: i64) -> Vec<(Address, u64)> {
    s.a.ledger
        .all::<Keeper>()
        .filter(|(_, keeper)| keeper.status == KEEPER_ACTIVE && keeper.active_since < before)
        .map(|(_, keeper)| (keeper.wallet, keeper.weight))
        .collect()
}

/// The end of a period, and a report about it on which all agree: every leaf is applied, or opens its fault.
fn reported(s: &mut Scene, period: u64, leaves: &[LeafData], applied: &[usize]) -> Option<Plan> {
    let length = market(s)?.params.period_secs;
    let end = (period as i64 + 1) * i64::from(length);
    let (root, proofs) = tree(leaves);
    let mut plan = vec![];
    if s.a.now() < end {
        plan.push(Step::Warp(end - s.a.now()));
    }
    for (wallet, _) in voters(s, end) {
        let keeper = s.who(&wallet)?;
        plan.push(Step::Send(vec![ix::report_vote(keeper, period, root)]));
    }
    for at in applied {
        let proof = proofs.get(*at)?;
        s.a.ledger.get::<Node>(&proof.leaf.node)?;
        let payer = s.actor().wallet();
        plan.push(Step::Send(vec![if proof.leaf.flags == 0 {
            ix::report_apply(proof)
        } else {
            ix::fault_open(&s.a.w, &payer, proof)
        }]));
    }
    s.memory.proofs.extend(proofs);
    Some(plan)
}
