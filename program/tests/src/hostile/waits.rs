//! Nobody waits for what another controls (docs/adr/0043): a party that has waited for as long as the market says
//! continues without help. After each wait this is tried on copies.

use gantry_market::constants::MODE_INSTANT;
use gantry_market::state::{
    Fault, Lease, Node, Order, Provider, FAULT_DISPUTE, FAULT_PENDING, LEASE_AWARDED, NODE_ACTIVE,
    NODE_HIBERNATED, NODE_SUSPENDED, ORDER_OPEN,
};
use solana_address::Address;
use solana_instruction::Instruction;

use super::harness::Harness;
use super::rules::{must, Verdict, Violation};
use super::trace::Step;
use crate::ix;

/// Seconds that the machines of an order wait for the parts of others, and for each part one more.
const FOR_THE_REST: i64 = 30;

pub fn nobody_waits(a: &mut Harness) -> Verdict {
    for (at, expire) in parts(a) {
        must!(goes(a, expire)?, "machines wait half a minute for the rest of an order", "{at}");
    }
    for (at, offer) in mended(a) {
        must!(goes(a, offer)?, "nothing but its own faults keeps a machine away", "{at}");
    }
    Ok(())
}

/// Whether an instruction succeeds now.
fn goes(a: &mut Harness, instruction: Instruction) -> Result<bool, Violation> {
    let mut copy = a.fork();
    let went = copy.apply(&Step::Send(vec![instruction]));
    a.stats.add(&copy.stats);
    went
}

/// Orders of which some machines have a part and wait for the rest, as they were first ordered.
fn parts(a: &Harness) -> Vec<(Address, Instruction)> {
    let mut found = vec![];
    for (at, order) in a.ledger.all::<Order>() {
        let some = order.nodes_awarded > 0 && order.nodes_awarded < order.nodes_wanted;
        let free = order.mode == MODE_INSTANT && order.redundant == 0 && order.auction_close == 0;
        let opened = order.award_deadline - i64::from(a.w.params.award_deadline_secs);
        if order.status != ORDER_OPEN || !some || !free || order.created_at < opened {
            continue;
        }
        let leases = a.ledger.all::<Lease>().map(|(_, lease)| lease).filter(|lease| lease.order == *at);
        let first = leases.filter(|lease| lease.status == LEASE_AWARDED).map(|lease| lease.awarded_at).min();
        let most = FOR_THE_REST + i64::from(order.nodes_awarded);
        let customer = a.actors.iter().find(|actor| actor.wallet() == order.customer);
        if let (Some(first), Some(customer)) = (first, customer) {
            if a.now() > first + most {
                let mut expire = ix::order_expire(customer, at);
                expire.accounts[2].pubkey = order.rent_payer;
                found.push((*at, expire));
            }
        }
    }
    found
}

/// Suspended machines of which no fault is open and that no lease needs: their owners bring them back. Disputes and
/// customers have no say in it.
fn mended(a: &Harness) -> Vec<(Address, Instruction)> {
    let mut found = vec![];
    for (at, node) in a.ledger.all::<Node>().filter(|(_, node)| node.status == NODE_SUSPENDED) {
        let accused = a.ledger.all::<Fault>().any(|(_, fault)| {
            fault.node == *at && fault.status == FAULT_PENDING && fault.kind != FAULT_DISPUTE
        });
        // What a conviction takes is settled first, and a guarantee asks for a whole machine.
        let bound = a.now() < node.guaranteed_until;
        let left = |lease: &Lease| lease.node == *at && (lease.cut == 0 || node.recut == 1);
        let busy = node.convicted_from != 0 && a.ledger.all::<Lease>().any(|(_, lease)| left(lease));
        let whole = a.now() >= node.dead_until && node.covered();
        if accused || busy || (bound && !whole) {
            continue;
        }
        if let Some(provider) = a.ledger.get::<Provider>(&node.provider) {
            let status = if bound { NODE_ACTIVE } else { NODE_HIBERNATED };
            found.push((*at, ix::node_offer(&provider.wallet, at, node, node.price.max(1), status)));
        }
    }
    found
}
