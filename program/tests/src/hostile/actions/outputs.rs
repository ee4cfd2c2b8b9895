use std::collections::BTreeSet;

use gantry_market::state::{
    Lease, Node, Order, LEASE_RUNNING, NODE_ACTIVE, OUTPUT_COMMITTED, OUTPUT_REVEALED, OUTPUT_WANTED,
};
use solana_address::Address;

use crate::hostile::arena::{Arena, KEEPERS};
use crate::hostile::scene::{one, Plan, Scene};
use crate::hostile::trace::Step;
use crate::{ix, pda};

/// Awards of a redundant job to machines that may suit, the starts of all, and often their outputs.
pub fn awards_of(s: &mut Scene, order: &Address, customer: &Address, most: u64) -> Option<Plan> {
    let customer = s.who(customer)?;
    let mut nodes: Vec<(Address, Node)> =
        s.a.book
            .all::<Node>()
            .filter(|(_, node)| node.status == NODE_ACTIVE && node.price <= most && node.free_gpus() > 0)
            .map(|(at, node)| (*at, *node))
            .collect();
    let mut plan = vec![];
    let mut awarded = vec![];
    while awarded.len() < 3 && !nodes.is_empty() {
        let at = s.below(nodes.len());
        let (node, machine) = nodes.swap_remove(at);
        let keeper = s.actor_of(&KEEPERS);
        plan.push(Step::Send(vec![ix::order_award(keeper, customer, order, &machine.provider, &node)]));
        awarded.push((node, machine.node_key));
    }
    for (node, key) in awarded {
        plan.push(Step::Send(vec![ix::lease_start_of(&key, order, &pda::lease(order, &node))]));
    }
    Some(plan)
}

/// All leases of an order.
pub fn leases_of(a: &Arena, order: &Address) -> Vec<Address> {
    a.book.all::<Lease>().filter(|(_, lease)| lease.order == *order).map(|(at, _)| *at).collect()
}

/// Every machine has the same output, or one of its own; a lease's salt is its address.
fn output(s: &mut Scene) -> [u8; 32] {
    if s.once_in(6) {
        [s.below(3) as u8; 32]
    } else {
        [9; 32]
    }
}

/// One machine commits, or all of its job do.
pub fn output_commit(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(10);
    let (at, lease) = s.any_where::<Lease>(|lease| {
        any || (lease.output == OUTPUT_WANTED && lease.status >= LEASE_RUNNING)
    })?;
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
        let state = s.a.book.get::<Lease>(&at)?;
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
        s.a.book
            .all::<Lease>()
            .filter(|(_, lease)| (OUTPUT_WANTED..=OUTPUT_REVEALED).contains(&lease.output))
            .filter(|(_, lease)| lease.status >= LEASE_RUNNING)
            .map(|(_, lease)| lease.order)
            .collect();
    let order = s.one(waiting.into_iter().collect())?;
    s.a.book.get::<Order>(&order)?;
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
