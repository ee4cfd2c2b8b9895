//! What all accounts together must say: sums, counters, bits, addresses.

use std::collections::BTreeMap;

use gantry_market::state::{
    Auction, Credits, DeviceClaim, Dispute, Fault, FraudProof, GpuModel, Keeper, Lease, Market, Node, Order,
    Outage, Payout, Provider, Report, Rewards, FAULT_DISPUTE, FAULT_GUARANTEE, FAULT_OUTAGE, FAULT_PENDING,
    FAULT_WORK, KEEPER_ACTIVE, LEASE_AWARDED, LEASE_ENDED, LEASE_FAILED, LEASE_RUNNING, NO_PLACE, ORDER_OPEN,
};
use solana_address::Address;

use super::{must, Verdict};
use crate::hostile::entity::Token;
use crate::hostile::ledger::Ledger;
use crate::pda;

/// What leases, orders and faults add up to for others.
#[derive(Default)]
struct Sums {
    reserved: BTreeMap<Address, u128>,
    leases: BTreeMap<Address, u32>,
    orders: BTreeMap<Address, u32>,
    live: BTreeMap<Address, u32>,
    masks: BTreeMap<Address, (u16, u32)>,
    faults: BTreeMap<Address, u32>,
    claims: BTreeMap<Address, u32>,
    nodes: BTreeMap<Address, (u32, u128)>,
}

fn sums(ledger: &Ledger) -> Result<Sums, super::Violation> {
    let mut sums = Sums::default();
    for (at, lease) in ledger.all::<Lease>() {
        *sums.reserved.entry(lease.customer).or_default() += u128::from(lease.reserved);
        *sums.leases.entry(lease.customer).or_default() += 1;
        *sums.leases.entry(lease.order).or_default() += 1;
        if lease.status < LEASE_ENDED {
            *sums.live.entry(lease.provider).or_default() += 1;
            let (mask, count) = sums.masks.entry(lease.node).or_default();
            must!(*mask & lease.gpu_mask == 0, "a GPU is in one live lease", "{at}");
            (*mask, *count) = (*mask | lease.gpu_mask, *count + 1);
        }
    }
    for (_, order) in ledger.all::<Order>() {
        *sums.reserved.entry(order.customer).or_default() += u128::from(order.reserved);
        *sums.orders.entry(order.customer).or_default() += 1;
    }
    for (_, fault) in ledger.all::<Fault>() {
        // The lease waits until it is compensated.
        let pending = fault.status == FAULT_PENDING;
        let subjects =
            [(fault.provider, pending), (fault.node, pending), (fault.lease, fault.compensated == 0)];
        for (subject, _) in subjects.into_iter().filter(|(_, held)| *held) {
            *sums.faults.entry(subject).or_default() += 1;
        }
    }
    for (at, dispute) in ledger.all::<Dispute>() {
        *sums.reserved.entry(dispute.customer).or_default() += u128::from(dispute.deposit);
        must!(ledger.get::<Lease>(&dispute.lease).is_some(), "a disputed lease stays", "{at}");
        // A dispute is of its lease and node; the provider's other stake is free.
        for subject in [dispute.node, dispute.lease] {
            *sums.faults.entry(subject).or_default() += 1;
        }
    }
    for (_, claim) in ledger.all::<DeviceClaim>().filter(|(_, claim)| claim.key == 0) {
        *sums.claims.entry(claim.node).or_default() += 1;
    }
    for (_, node) in ledger.all::<Node>() {
        let (count, stake) = sums.nodes.entry(node.provider).or_default();
        (*count, *stake) = (*count + 1, *stake + u128::from(node.stake));
    }
    Ok(sums)
}

fn of<T: Copy + Default>(map: &BTreeMap<Address, T>, at: &Address) -> T {
    map.get(at).copied().unwrap_or_default()
}

fn tokens(ledger: &Ledger, at: &Address) -> u64 {
    ledger.get::<Token>(at).map_or(0, |token| token.amount)
}

pub fn check(ledger: &Ledger, now: i64) -> Verdict {
    let Some(market) = ledger.get::<Market>(&pda::market()) else { return Ok(()) };
    let sums = sums(ledger)?;
    for (at, credits) in ledger.all::<Credits>() {
        let vault = tokens(ledger, &pda::credits_vault(at));
        must!(
            vault >= credits.balance,
            "the vault holds the balance",
            "{at}: {vault} of {}",
            credits.balance
        );
        must!(credits.balance >= credits.reserved, "the balance covers what is reserved", "{at}");
        let held = of(&sums.reserved, &credits.customer);
        must!(
            u128::from(credits.reserved) == held,
            "orders and leases hold what is reserved",
            "{at}: {} and {held}",
            credits.reserved
        );
        let counts = (of(&sums.orders, &credits.customer), of(&sums.leases, &credits.customer));
        must!(
            (credits.live_orders, credits.live_leases) == counts,
            "a customer's counters",
            "{at}: {counts:?}"
        );
    }
    for (at, provider) in ledger.all::<Provider>() {
        let vault = u128::from(tokens(ledger, &pda::stake_vault(at)));
        let held = u128::from(provider.stake) + u128::from(provider.unstaking);
        must!(vault >= held, "the vault holds the stake", "{at}: {vault} of {held}");
        let (nodes, committed) = of(&sums.nodes, at);
        let counts = (
            provider.node_count,
            u128::from(provider.locked_stake),
            provider.live_leases,
            provider.pending_faults,
        );
        let want = (nodes, committed, of(&sums.live, at), of(&sums.faults, at));
        must!(counts == want, "a provider's counters", "{at}: {counts:?}, want {want:?}");
    }
    for (at, node) in ledger.all::<Node>() {
        must!(node.reserved_stake <= node.stake, "faults hold what the node has", "{at}");
        let want = of(&sums.masks, at);
        must!(
            (node.gpu_mask, u32::from(node.live_leases)) == want,
            "GPU bits are those of live leases",
            "{at}"
        );
        must!(u32::from(node.pending_faults) == of(&sums.faults, at), "a node's faults", "{at}");
        let claims = of(&sums.claims, at) + u32::from(node.claims_missing);
        must!(claims == u32::from(node.spec.gpus), "each GPU is claimed once", "{at}");
        must!(node.invariant().is_ok(), "a node is sound", "{at}");
        must!(*at == pda::node(&node.provider, &node.node_key), "accounts lie where they derive", "{at}");
    }
    for (at, lease) in ledger.all::<Lease>() {
        leases(ledger, at, lease, now, of(&sums.faults, at))?;
    }
    for (at, order) in ledger.all::<Order>() {
        must!(order.invariant().is_ok(), "an order is sound", "{at}");
        must!(order.status == ORDER_OPEN || order.reserved == 0, "only open orders hold money", "{at}");
        must!(u32::from(order.live_leases) == of(&sums.leases, at), "an order's leases", "{at}");
        must!(*at == pda::order(&order.customer, order.nonce), "accounts lie where they derive", "{at}");
    }
    keepers(ledger, market)?;
    rewards(ledger, market)?;
    addresses(ledger)
}

fn leases(ledger: &Ledger, at: &Address, lease: &Lease, now: i64, faults: u32) -> Verdict {
    let paid = lease.owed(lease.paid_secs).ok();
    must!(paid == Some(lease.paid), "what is paid is what was owed", "{at}: {} and {paid:?}", lease.paid);
    let fee = lease.fee_total().unwrap_or(u64::MAX);
    must!(lease.reserved >= fee, "the fee is still there", "{at}");
    must!(lease.paid_secs <= lease.billable_secs(now), "paid time has passed", "{at}");
    must!(u32::from(lease.pending_faults) == faults, "a lease's faults", "{at}");
    // One that moved lies where its failed one and its node say, and the failed one may be closed.
    let awarded = *at == pda::lease(&lease.order, &lease.node);
    must!(awarded == (lease.continues == 0), "accounts lie where they derive", "{at}");
    must!((LEASE_AWARDED..=LEASE_ENDED).contains(&lease.status), "a lease has a status", "{at}");
    must!(ledger.get::<Order>(&lease.order).is_some(), "a lease has its order", "{at}");
    let node = ledger.get::<Node>(&lease.node);
    must!(lease.status == LEASE_ENDED || node.is_some(), "a live lease has its node", "{at}");
    // All that was set aside is paid, or still there.
    let held = u128::from(lease.reserved) + lease.provider_total().map_or(u128::MAX / 2, u128::from);
    let funded = match lease.status {
        LEASE_AWARDED => Some(lease.duration_secs),
        LEASE_RUNNING | LEASE_FAILED => u32::try_from(lease.funded_until - lease.started_at).ok(),
        _ => None,
    };
    if let Some(funded) = funded {
        let whole = lease.owed(funded).map_or(u128::MAX, u128::from);
        // One whose price fell keeps the rest until it ends, and a short one what its machine's wait might cost.
        let waits =
            ledger.get::<Order>(&lease.order).is_some_and(|order| lease.duration_secs < order.start_secs);
        let holds = held == whole || ((lease.repriced == 1 || waits) && held > whole);
        must!(holds, "a live lease holds what it may owe", "{at}: {held} of {whole}");
    } else {
        let most = lease.owed(lease.billable_secs(lease.ended_at)).map_or(u128::MAX, u128::from);
        must!(held >= most, "an ended lease holds what it may owe", "{at}: {held} of {most}");
    }
    Ok(())
}

fn keepers(ledger: &Ledger, market: &Market) -> Verdict {
    let (mut weight, mut places) = (0u128, std::collections::BTreeSet::new());
    for (at, keeper) in ledger.all::<Keeper>() {
        weight += u128::from(keeper.weight);
        if keeper.status == KEEPER_ACTIVE {
            let taken = market.keeper_slots[usize::from(keeper.index) / 8] & (1 << (keeper.index % 8)) != 0;
            must!(taken && places.insert(keeper.index), "who votes has a place of its own", "{at}");
        } else {
            must!(keeper.index == NO_PLACE, "who does not vote takes no place", "{at}: {}", keeper.index);
        }
        must!(tokens(ledger, &pda::stake_vault(at)) >= keeper.bond, "the vault holds the bond", "{at}");
        must!(keeper.weight <= keeper.bond, "weight is bonded", "{at}");
        let votes = keeper.status == KEEPER_ACTIVE || keeper.weight == 0;
        must!(
            votes,
            "who is not active weighs nothing",
            "{at}: {} of status {}",
            keeper.weight,
            keeper.status
        );
        must!(*at == pda::keeper(&keeper.wallet), "accounts lie where they derive", "{at}");
    }
    must!(
        u128::from(market.total_weight) == weight,
        "the total is all keepers' weight",
        "{} and {weight}",
        market.total_weight
    );
    must!(market.keeper_count as usize == places.len(), "keepers are counted", "{}", market.keeper_count);
    Ok(())
}

/// The one vault holds what everyone is owed from it, and each part is owed to somebody.
fn rewards(ledger: &Ledger, market: &Market) -> Verdict {
    let Some(found) = ledger.get::<Rewards>(&pda::rewards()) else { return Ok(()) };
    let held: u128 =
        [found.pending, found.earned, found.allocated, found.buy_back].into_iter().map(u128::from).sum();
    let vault = tokens(ledger, &market.fee_vault);
    must!(u128::from(vault) >= held, "the fee vault holds what is owed", "{vault} of {held}");
    let earned: u128 = ledger.all::<Keeper>().map(|(_, keeper)| u128::from(keeper.earned)).sum();
    must!(
        u128::from(found.earned) == earned,
        "keepers have earned what waits",
        "{} and {earned}",
        found.earned
    );
    let waits: u128 = ledger.all::<Payout>().map(|(_, payout)| u128::from(payout.amount)).sum();
    let owed = waits + ledger.all::<Fault>().map(|(_, fault)| u128::from(fault.pool_left)).sum::<u128>();
    must!(u128::from(found.payouts) == owed, "payouts are what waits", "{} and {owed}", found.payouts);
    let vault = tokens(ledger, &found.payout_vault);
    must!(vault >= found.payouts, "the payout vault holds what is owed", "{vault} of {owed}");
    let left: u128 = ledger.all::<Report>().map(|(_, report)| u128::from(report.reward_left)).sum();
    must!(
        u128::from(found.allocated) == left,
        "reports hold what is allocated",
        "{} and {left}",
        found.allocated
    );
    Ok(())
}

/// No account of the program lies anywhere but where its content says.
fn addresses(ledger: &Ledger) -> Verdict {
    for (at, found) in ledger.all::<Credits>() {
        must!(*at == pda::credits(&found.customer), "accounts lie where they derive", "{at}");
    }
    for (at, found) in ledger.all::<Provider>() {
        must!(*at == pda::provider(&found.wallet), "accounts lie where they derive", "{at}");
    }
    for (at, found) in ledger.all::<DeviceClaim>() {
        let derived = if found.key == 1 { pda::gpu_key } else { pda::device };
        must!(*at == derived(&found.device), "accounts lie where they derive", "{at}");
        let lives = found.key == 1 || ledger.get::<Node>(&found.node).is_some();
        must!(lives, "a claim is of a node", "{at}");
    }
    for (at, found) in ledger.all::<Report>() {
        must!(*at == pda::report(found.period), "accounts lie where they derive", "{at}");
    }
    for (at, found) in ledger.all::<Fault>() {
        let derived = match found.kind {
            FAULT_DISPUTE => pda::dispute_fault(&found.lease),
            FAULT_WORK => pda::work_fault(&found.node, &found.rent_payer, found.period),
            FAULT_OUTAGE => pda::outage_fault(&found.lease),
            FAULT_GUARANTEE => pda::guarantee_fault(&found.node, found.window_until),
            _ => pda::fault(&found.node, &found.lease, found.period),
        };
        must!(*at == derived, "accounts lie where they derive", "{at}");
        must!(found.invariant().is_ok(), "a fault is sound", "{at}");
    }
    for (at, found) in ledger.all::<Dispute>() {
        must!(*at == pda::dispute(&found.lease), "accounts lie where they derive", "{at}");
    }
    for (at, found) in ledger.all::<FraudProof>() {
        must!(*at == pda::fraud_proof(&found.node, &found.finder), "accounts lie where they derive", "{at}");
    }
    for (at, found) in ledger.all::<Auction>() {
        must!(*at == pda::auction(&found.order), "accounts lie where they derive", "{at}");
        must!(found.invariant().is_ok(), "an auction is sound", "{at}");
    }
    for (at, found) in ledger.all::<Outage>() {
        must!(*at == pda::outage(&found.node), "accounts lie where they derive", "{at}");
        must!(found.invariant().is_ok(), "an outage is sound", "{at}");
    }
    for (at, found) in ledger.all::<Payout>() {
        must!(
            *at == pda::payout(&found.beneficiary, &found.source),
            "accounts lie where they derive",
            "{at}"
        );
        must!(found.amount > 0, "a payout pays", "{at}");
    }
    for (at, _) in ledger.all::<Rewards>() {
        must!(*at == pda::rewards(), "accounts lie where they derive", "{at}");
    }
    for (at, found) in ledger.all::<GpuModel>() {
        must!(*at == pda::gpu_model(found.id), "accounts lie where they derive", "{at}");
    }
    for (at, _) in ledger.all::<Market>() {
        must!(*at == pda::market(), "accounts lie where they derive", "{at}");
    }
    Ok(())
}
