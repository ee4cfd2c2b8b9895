use std::collections::BTreeSet;

use gantry_market::state::{
    Lease, Node, Order, LEASE_RUNNING, OUTPUT_COMMITTED, OUTPUT_REVEALED, OUTPUT_WANTED, OUTPUT_WITHHELD,
};
use solana_address::Address;

use crate::hostile::harness::{Harness, KEEPERS};
use crate::hostile::scene::{one, Plan, Scene, Wanted};
use crate::hostile::trace::Step;
use crate::{ix, pda};

/// Awards of a redundant job to machines that may suit, the starts of all, and often their outputs.
pub fn awards_of(
    s: &mut Scene,
    order: &Address,
    customer: &Address,
    wanted: &Wanted,
    count: u8,
) -> Option<Plan> {
    let customer = s.who(customer)?;
    let mut nodes: Vec<(Address, Node)> =
        s.a.ledger
            .all::<Node>()
            .filter(|(_, node)| Scene::fits(s.a, node, wanted))
            .map(|(at, node)| (*at, *node))
            .collect();
    let count = usize::from(count);
    if nodes.len() < count {
        return Some(vec![]);
    }
    let mut plan = vec![];
    let mut awarded = vec![];
    while awarded.len() < count && !nodes.is_empty() {
        let at = s.below(nodes.len());
        let (node, machine) = nodes.swap_remove(at);
        let keeper = s.actor_of(&KEEPERS);
        plan.push(Step::Send(vec![ix::order_award(keeper, customer, order, &machine.provider, &node)]));
        awarded.push((node, machine.node_key));
    }
    let leases: Vec<(Address, Address)> =
        awarded.iter().map(|(node, key)| (pda::lease(order, node), *key)).collect();
    for (lease, key) in &leases {
        plan.push(Step::Send(vec![ix::lease_start_of(key, order, lease)]));
    }
    if s.once_in(2) {
        plan.extend(compared(s, order, &leases));
    }
    Some(plan)
}

/// All leases of an order.
pub fn leases_of(a: &Harness, order: &Address) -> Vec<Address> {
    a.ledger.all::<Lease>().filter(|(_, lease)| lease.order == *order).map(|(at, _)| *at).collect()
}

/// Every machine has the same output, or one of its own; a lease's salt is its address.
fn output(s: &mut Scene) -> [u8; 32] {
    if s.once_in(6) {
        [s.below(3) as u8; 32]
    } else {
        [9; 32]
    }
}

/// The whole comparison at once: every machine commits, shows, and somebody counts.
fn compared(s: &mut Scene, order: &Address, leases: &[(Address, Address)]) -> Plan {
    let shown: Vec<[u8; 32]> = leases.iter().map(|_| [s.below(2) as u8; 32]).collect();
    let mut plan = vec![];
    for ((lease, key), shown) in leases.iter().zip(&shown) {
        let commitment = ix::output_commitment(lease, shown, &lease.to_bytes());
        plan.push(Step::Send(vec![ix::output_commit_of(key, order, lease, commitment)]));
    }
    for ((lease, key), shown) in leases.iter().zip(&shown) {
        if s.once_in(4) {
            // Another output than it committed to; the right one follows.
            let wrong = ix::output_reveal_of(key, order, lease, [7; 32], lease.to_bytes());
            plan.push(Step::Send(vec![wrong]));
        }
        plan.push(Step::Send(vec![ix::output_reveal_of(key, order, lease, *shown, lease.to_bytes())]));
    }
    let all: Vec<Address> = leases.iter().map(|(lease, _)| *lease).collect();
    plan.push(Step::Send(vec![ix::output_resolve(order, &all)]));
    plan
}

/// One machine commits, or all of its job do.
pub fn output_commit(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(10);
    let waits = |lease: &Lease| lease.output == OUTPUT_WANTED && lease.status >= LEASE_RUNNING;
    let Some((at, lease)) = s.any_where::<Lease>(|lease| any || waits(lease)) else {
        return super::customers::redundant_order(s);
    };
    let leases = if s.once_in(2) { vec![at] } else { leases_of(s.a, &lease.order) };
    let mut plan = vec![];
    for at in leases {
        let commitment = ix::output_commitment(&at, &output(s), &at.to_bytes());
        plan.push(Step::Send(vec![ix::output_commit(&s.a.w, &at, commitment)]));
    }
    Some(plan)
}

/// The output that fits the commitment, or another.
pub fn output_reveal(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(10);
    let (at, lease) = s.any_where::<Lease>(|lease| any || lease.output == OUTPUT_COMMITTED)?;
    let leases = if s.once_in(2) { vec![at] } else { leases_of(s.a, &lease.order) };
    let mut plan = vec![];
    for at in leases {
        let state = s.a.ledger.get::<Lease>(&at)?;
        let fits = [[0; 32], [1; 32], [2; 32], [9; 32]]
            .into_iter()
            .find(|output| ix::output_commitment(&at, output, &at.to_bytes()) == state.output_hash);
        let shown = if s.once_in(12) { output(s) } else { fits.unwrap_or([9; 32]) };
        plan.push(Step::Send(vec![ix::output_reveal(&s.a.w, &at, shown, at.to_bytes())]));
    }
    Some(plan)
}

/// Of all leases; now and then one is left out, doubled, or of another order.
pub fn output_resolve(s: &mut Scene) -> Option<Plan> {
    let waiting: BTreeSet<Address> =
        s.a.ledger
            .all::<Lease>()
            .filter(|(_, lease)| (OUTPUT_WANTED..=OUTPUT_REVEALED).contains(&lease.output))
            .filter(|(_, lease)| lease.status >= LEASE_RUNNING)
            .map(|(_, lease)| lease.order)
            .collect();
    let order = s.one(waiting.into_iter().collect())?;
    s.a.ledger.get::<Order>(&order)?;
    let mut leases = leases_of(s.a, &order);
    match s.below(12) {
        0 => drop(leases.pop()),
        1 => leases.extend(leases.first().copied()),
        2 => leases = leases.iter().map(|_| leases[0]).collect(),
        3 => {
            let (other, _) = s.any::<Lease>()?;
            leases.pop();
            leases.push(other);
        }
        _ => {}
    }
    one(ix::output_resolve(&order, &leases))
}

/// Of a lease whose output was withheld, or of any.
pub fn output_forfeit(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(6);
    let (at, _) = s.any_where::<Lease>(|lease| any || lease.output == OUTPUT_WITHHELD)?;
    one(ix::output_forfeit(&s.a.w, &at))
}
