//! Measured figures: shares come from leaves, and only machines of their class, with what is asked for, are awarded.

use gantry_market::constants::FLAG_SLOW;
use gantry_market::state::{
    Fault, GpuModel, Leaf, Lease, Market, Node, Order, Statement, NODE_HIBERNATED, NODE_SUSPENDED,
};
use solana_address::Address;

use super::reports::leaf;
use super::{must, Act, Verdict};
use crate::pda;

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Node>() {
        if let Some((before, after)) = change.both() {
            noted(act, market, &change.at, before, after)?;
        }
    }
    for change in act.changes::<Lease>() {
        if let Some(lease) = change.created() {
            awarded(act, &change.at, lease)?;
        }
    }
    for change in act.changes::<Fault>() {
        let slow = |fault: &Fault| fault.flags & FLAG_SLOW != 0;
        if change.created().is_some_and(slow) {
            must!(act.name == "fault_open", "figures of leaves make a machine slow", "{}", change.at);
        }
        let voided = change.before.is_some_and(slow) && !change.after.is_some_and(slow);
        if voided && act.name == "slash_appeal" {
            let node = act.ledger.get::<Node>(&change.either().node);
            let shown = node.is_some_and(|node| act.verified.iter().any(|(_, text)| shows(node, text)));
            must!(shown, "only figures speak against a slow machine's fault", "{}", change.at);
        }
    }
    Ok(())
}

/// The share of what the node's terms ask for, by the definition.
fn share(node: &Node, operations: u32, bandwidth: u32) -> u16 {
    let part = |figure: u32, asked: u32| match asked {
        0 => 10_000,
        asked => (u128::from(figure) * 10_000 / u128::from(asked)).min(10_000),
    };
    let lesser = part(operations, node.min_operations).min(part(bandwidth, node.min_bandwidth));
    lesser.try_into().expect("at most the whole")
}

fn calibrated(node: &Node) -> bool {
    (node.min_operations, node.min_bandwidth) != (0, 0)
}

/// In how many measured periods in a row a slow machine reaches too little.
fn slow_periods(market: &Market) -> u8 {
    if market.params.allow_simulated == 0 {
        16
    } else {
        6
    }
}

fn shares(node: &Node) -> &[u16] {
    &node.shares[..usize::from(node.shares_len)]
}

/// Whether a statement is one of work that passed with enough.
fn shows(node: &Node, text: &[u8]) -> bool {
    let statement = <[u8; 144]>::try_from(text).ok().and_then(|text| Statement::parse(&text).ok());
    statement.is_some_and(|said| {
        said.kind == 3 && said.passed && share(node, said.first_figure, said.second_figure) >= 7_000
    })
}

fn noted(act: &Act, market: &Market, at: &Address, before: &Node, after: &Node) -> Verdict {
    let told = leaf(act, market);
    if shares(before) != shares(after) || before.shares_len != after.shares_len {
        match &told {
            Some(leaf) => shared(act, market, at, before, after, leaf)?,
            None => {
                let forgets = matches!(act.name, "node_accept_terms" | "node_update");
                must!(forgets && shares(after).is_empty(), "shares come from reports", "{}: {at}", act.name);
            }
        }
    }
    let sum: u64 = shares(after).iter().map(|share| u64::from(*share)).sum();
    let enough = after.shares_len > 0 && sum >= 7_000 * u64::from(after.shares_len);
    must!(after.class_since == 0 || enough, "a machine is of its class by its shares", "{}: {at}", act.name);
    must!(after.slow_periods < slow_periods(market), "a slow machine has its fault", "{}: {at}", act.name);
    let asleep = matches!(after.status, NODE_HIBERNATED | NODE_SUSPENDED);
    must!(!asleep || after.class_since == 0, "who is asleep is measured again", "{}: {at}", act.name);
    if after.class_since != before.class_since && after.class_since != 0 {
        let measured = told.as_ref().is_some_and(|leaf| leaf.operations != 0);
        must!(measured && after.class_since == act.now, "a leaf shows the class", "{}: {at}", act.name);
    }
    if let Some(leaf) = told.filter(|leaf| leaf.operations == 0 && leaf.period > before.last_report_period) {
        let length = i64::from(market.params.period_secs);
        let start = leaf.period as i64 * length;
        let free = before.availability.free_throughout(start, start + length) == Some(before.spec.gpus);
        let owed = calibrated(before) && free && start >= before.terms_at.max(before.mended_at);
        must!(!owed || after.class_since == 0, "who is free is measured", "{}: {at}", act.name);
    }
    let terms = |node: &Node| (node.min_operations, node.min_bandwidth, node.terms_at);
    let waits = terms(before) == terms(after) || before.pending_node_faults == 0;
    must!(waits, "terms wait for a fault of the machine", "{}: {at}", act.name);
    Ok(())
}

/// A leaf gives one share, the newest; small ones in a row, of which there are as many as the market wants, are the fault's.
fn shared(act: &Act, market: &Market, at: &Address, before: &Node, after: &Node, leaf: &Leaf) -> Verdict {
    let measured = leaf.operations != 0 && calibrated(before);
    must!(measured, "what was not measured has no share", "{}: {at}", act.name);
    let mut all = vec![share(before, leaf.operations, leaf.bandwidth)];
    all.extend(shares(before));
    all.truncate(6);
    if shares(after).is_empty() {
        let slow = before.slow_periods + 1 == slow_periods(market) && all.iter().all(|share| *share < 7_000);
        must!(slow && act.name == "fault_open", "small shares in a row are one fault", "{}: {at}", act.name);
        let fault = pda::fault(at, &Address::default(), leaf.period);
        let flagged = act.after::<Fault>(&fault).is_some_and(|fault| fault.flags & FLAG_SLOW != 0);
        must!(flagged, "a slow machine has its fault", "{}: {at}", act.name);
    } else {
        must!(shares(after) == all, "a leaf gives the share of its figures", "{}: {at}", act.name);
        let row = if all[0] < 7_000 { before.slow_periods + 1 } else { 0 };
        must!(after.slow_periods == row, "small shares in a row are counted", "{}: {at}", act.name);
    }
    Ok(())
}

fn awarded(act: &Act, at: &Address, lease: &Lease) -> Verdict {
    let Some((node, order)) = act.ledger.get::<Node>(&lease.node).zip(act.ledger.get::<Order>(&lease.order))
    else {
        return Ok(());
    };
    let model = act.ledger.get::<GpuModel>(&pda::gpu_model(node.spec.model));
    let bound = model.is_some_and(|model| (model.min_operations, model.min_bandwidth) != (0, 0));
    must!(!bound || node.class_since != 0, "only machines of their class are awarded", "{at}");
    let asked = &order.requirement;
    let has = node.operations >= asked.min_operations
        && node.bandwidth >= asked.min_bandwidth
        && node.down_mbps >= asked.min_down_mbps
        && node.up_mbps >= asked.min_up_mbps;
    must!(has, "an order gets the figures that it asks for", "{at}");
    let (spec, gpus) = (&node.spec, u64::from(order.gpus_per_node));
    let enough =
        |whole: u32, wanted: u32| u64::from(whole) * gpus >= u64::from(wanted) * u64::from(spec.gpus);
    let has = enough(spec.cpu_cores, asked.min_cpu_cores)
        && enough(spec.ram_mib, asked.min_ram_mib)
        && enough(spec.disk_gib, asked.min_disk_gib)
        && spec.cuda >= asked.min_cuda;
    must!(has, "an order gets the share of the machine that it asks for", "{at}");
    Ok(())
}
