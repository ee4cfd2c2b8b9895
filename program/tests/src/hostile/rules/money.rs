//! Payment tokens: where they come from and where they may go.

use std::collections::BTreeMap;

use gantry_market::math::pricing::cost;
use gantry_market::state::{
    Credits, Dispute, Keeper, Lease, Market, Node, Order, Provider, ORDER_AWARDED, ORDER_EXPIRED,
    ORDER_LAPSED, OUTPUT_REJECTED,
};
use solana_address::Address;

use super::disputes::lost_deposit;
use super::{must, Act, Moved, Verdict};
use crate::hostile::entity::{Entity, Held, Token};
use crate::pda;

pub fn amount(token: Option<&Token>) -> i128 {
    token.map_or(0, |token| i128::from(token.amount))
}

/// Whether a token account can move.
pub fn is_open(act: &Act, at: &Address) -> bool {
    act.ledger.get::<Token>(at).is_some_and(|token| !token.frozen)
}

/// What a lease has paid its provider so far.
fn provider_total(lease: Option<&Lease>) -> i128 {
    lease.map_or(0, |lease| lease.provider_total().map(i128::from).unwrap_or(i128::MIN / 4))
}

pub fn check(act: &Act, market: &Market) -> Verdict {
    conserved(act)?;
    owners_signed(act, market)?;
    credits(act, market)?;
    session_keys(act)?;
    orders(act, market)
}

fn supply(held: &Option<Held>) -> Option<i128> {
    match held.as_ref().map(|held| &held.entity) {
        Some(Entity::Mint { supply }) => Some(i128::from(*supply)),
        _ => None,
    }
}

/// Tokens move, they do not appear; what is gone from accounts is gone from the mint's supply.
fn conserved(act: &Act) -> Verdict {
    let mut sums: BTreeMap<Address, i128> = BTreeMap::new();
    for change in act.changes::<Token>() {
        *sums.entry(change.either().mint).or_default() += amount(change.after) - amount(change.before);
    }
    for Moved { at, before, after } in &act.moved {
        if let (Some(before), Some(after)) = (supply(before), supply(after)) {
            must!(after <= before, "tokens are not minted", "{}: {before} to {after}", act.name);
            *sums.entry(*at).or_default() += before - after;
        }
    }
    for (mint, sum) in sums {
        must!(sum == 0, "tokens are conserved", "{}: mint {mint} is off by {sum}", act.name);
    }
    Ok(())
}

/// Whoever's own tokens leave has signed.
fn owners_signed(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Token>() {
        let Some(before) = change.before else { continue };
        let loses = amount(change.after) < amount(Some(before));
        let of_market = before.owner == pda::market()
            || act.ledger.get::<Credits>(&before.owner).is_some()
            || act.ledger.get::<Provider>(&before.owner).is_some()
            || act.ledger.get::<Keeper>(&before.owner).is_some();
        if !of_market {
            let lent = act.name == "rewards_buy_back" && act.signed(&before.delegate);
            let allowed = !loses || act.signed(&before.owner) || lent;
            must!(
                allowed,
                "whose tokens leave has signed",
                "{}: {} of {}",
                act.name,
                change.at,
                before.owner
            );
        }
        if let Some(after) = change.after {
            let same =
                (after.owner, after.mint, after.delegate) == (before.owner, before.mint, before.delegate);
            must!(same, "token accounts keep their owner", "{}: {}", act.name, change.at);
        }
        if change.at == market.fee_vault {
            let shares = matches!(act.name, "rewards_claim" | "rewards_accrue" | "rewards_buy_back");
            must!(!loses || shares, "fees wait in their vault", "{}", act.name);
        }
    }
    Ok(())
}

/// A customer's money pays its leases' providers, the fee and work whose output lost, or goes back to the customer; nothing else.
fn credits(act: &Act, market: &Market) -> Verdict {
    // What each account of payment tokens outside credits vaults is due.
    let mut due: BTreeMap<Address, i128> = BTreeMap::new();
    let mut vaults = vec![];
    for change in act.changes::<Credits>() {
        let customer = change.either().customer;
        let vault = pda::credits_vault(&change.at);
        vaults.push(vault);
        let balance = |credits: Option<&Credits>| credits.map_or(0, |found| i128::from(found.balance));
        let out = balance(change.before) - balance(change.after);
        let mut explained = 0;
        for lease in act.changes::<Lease>().filter(|lease| lease.either().customer == customer) {
            if let Some(closed) = lease.closed().filter(|_| act.name == "lease_decline") {
                let charge = declined(act, closed);
                *due.entry(market.fee_vault).or_default() += charge;
                explained += charge;
                continue;
            }
            if let Some(closed) = lease.closed() {
                // What the issuer has frozen nobody waits for.
                let open = is_open(act, &vault) && is_open(act, &market.fee_vault);
                let fee = if open {
                    closed.fee_total().map_or(i128::MAX / 4, i128::from) + lost(act, closed)
                } else {
                    0
                };
                explained += fee;
                *due.entry(market.fee_vault).or_default() += fee;
                continue;
            }
            let paid = provider_total(lease.after) - provider_total(lease.before);
            must!(paid >= 0, "pay is never taken back", "{}: {}", act.name, lease.at);
            if let Some(provider) = act.ledger.get::<Provider>(&lease.either().provider) {
                *due.entry(provider.payout).or_default() += paid;
            }
            explained += paid;
        }
        for dispute in act.changes::<Dispute>().filter_map(|dispute| dispute.closed()) {
            if dispute.customer == customer {
                let (provider, buy_back) = lost_deposit(act, dispute);
                let lease = act.ledger.get::<Lease>(&dispute.lease);
                let owner = lease.and_then(|lease| act.ledger.get::<Provider>(&lease.provider));
                if let Some(owner) = owner {
                    *due.entry(owner.payout).or_default() += provider;
                }
                *due.entry(market.fee_vault).or_default() += buy_back;
                explained += provider + buy_back;
            }
        }
        let rest = out - explained;
        must!(
            rest == 0 || act.signed(&customer),
            "credits leave only as pay, fee, or by the customer",
            "{}: {rest} of {customer} are not explained",
            act.name
        );
        let lost = amount(act.ledger.get::<Token>(&vault)) - amount(act.after::<Token>(&vault));
        match change.closed() {
            None => {
                must!(lost == out, "the credits vault moves with the balance", "{}: {out}, {lost}", act.name)
            }
            Some(closed) => {
                let idle = closed.reserved == 0 && closed.live_orders == 0 && closed.live_leases == 0;
                must!(
                    idle && act.signed(&customer),
                    "credits in use stay open",
                    "{}: {}",
                    act.name,
                    change.at
                );
            }
        }
    }
    for change in act.changes::<Token>().filter(|change| change.either().mint == market.payment_mint) {
        if vaults.contains(&change.at) {
            continue;
        }
        let owner = change.either().owner;
        // What leaves the fee vault, and to whom, is in the rules about rewards.
        if matches!(act.name, "rewards_claim" | "rewards_accrue" | "rewards_buy_back") {
            continue;
        }
        let stray = act.ledger.get::<Credits>(&owner).is_some();
        must!(!stray, "a vault moves with its credits", "{}: {}", act.name, change.at);
        let gained = amount(change.after) - amount(change.before);
        let due = due.remove(&change.at).unwrap_or(0);
        must!(
            gained == due || act.signed(&owner),
            "payment tokens go where they are due",
            "{}: {} gained {gained}, was due {due}",
            act.name,
            change.at
        );
    }
    let missing: Vec<_> = due.iter().filter(|(_, amount)| **amount != 0).collect();
    must!(missing.is_empty(), "what is due arrives", "{}: {missing:?}", act.name);
    Ok(())
}

/// What a customer pays for the time that it kept a machine whose node then declines: nothing where a vault is frozen.
fn declined(act: &Act, lease: &Lease) -> i128 {
    let vault = pda::credits_vault(&pda::credits(&lease.customer));
    let frozen = [vault, pda::fee_vault()]
        .iter()
        .any(|at| act.ledger.get::<Token>(at).is_none_or(|token| token.frozen));
    let most = act.ledger.get::<Order>(&lease.order).map_or(0, |order| i64::from(order.start_secs));
    let secs = u32::try_from((act.now - lease.awarded_at).clamp(0, most)).unwrap_or(0);
    let worth = cost(lease.price, lease.gpus, secs).unwrap_or(u64::MAX);
    if frozen {
        0
    } else {
        i128::from(worth.min(lease.reserved))
    }
}

/// What the work of a lease was worth whose output lost, up to where its node's conviction ends it.
fn lost(act: &Act, lease: &Lease) -> i128 {
    if lease.output != OUTPUT_REJECTED {
        return 0;
    }
    let mut lease = *lease;
    let from = act.ledger.get::<Node>(&lease.node).map_or(0, |node| node.convicted_from);
    if from != 0 {
        let paid_until = lease.paid_until().unwrap_or(i64::MAX);
        let over = if lease.ended_at == 0 { act.now.min(lease.funded_until) } else { lease.ended_at };
        lease.ended_at = over.min(from.max(paid_until));
    }
    let shown = lease.receipt_secs.max(lease.verified_secs).min(lease.billable_secs(act.now));
    lease.owed(shown).map_or(i128::MAX / 4, i128::from)
}

/// Session keys are named by the customer alone, and reserve within their caps.
fn session_keys(act: &Act) -> Verdict {
    for change in act.changes::<Credits>() {
        let Some((before, after)) = change.both() else { continue };
        let by_customer = act.signed(&before.customer);
        for (old, new) in before.session_keys.iter().zip(&after.session_keys) {
            let same = (old.key, old.cap, old.expiry, old.since) == (new.key, new.cap, new.expiry, new.since);
            must!(same || by_customer, "the customer names session keys", "{}: {}", act.name, change.at);
            if same && new.spent > old.spent {
                let may = act.signed(&new.key) && act.now < new.expiry;
                must!(
                    may && new.spent <= new.cap,
                    "a session key keeps to its cap",
                    "{} of {}",
                    new.spent,
                    new.cap
                );
            }
            if same && new.spent < old.spent {
                let placed = act.changes::<Order>().any(|order| order.either().created_at > old.since)
                    || act.changes::<Lease>().any(|lease| {
                        let order = act.ledger.get::<Order>(&lease.either().order);
                        order.is_some_and(|order| order.created_at > old.since)
                    });
                must!(
                    placed,
                    "a session key gets back what it reserved itself",
                    "{}: {}",
                    act.name,
                    change.at
                );
            }
        }
        if after.reserved > before.reserved && !by_customer && act.name != "lease_migrate" {
            let spent =
                |credits: &Credits| credits.session_keys.iter().map(|k| u128::from(k.spent)).sum::<u128>();
            let (reserved, spent) =
                (after.reserved - before.reserved, spent(after).checked_sub(spent(before)));
            let counted = spent == Some(u128::from(reserved));
            must!(counted, "what a session key reserves counts", "{}: {reserved}, {spent:?}", act.name);
        }
    }
    Ok(())
}

/// What an order holds is its price at most; it is the customer who sets it aside; its terms stay.
fn orders(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Order>() {
        if let Some(order) = change.created() {
            let secs = order.duration_secs.max(order.start_secs);
            let each = cost(order.max_price, order.gpus_per_node, secs).unwrap_or(u64::MAX);
            let whole = u128::from(each) * u128::from(order.nodes_wanted);
            must!(u128::from(order.reserved) == whole, "an order holds what it costs", "{}", change.at);
            must!(act.customer_acts(&order.customer), "the customer signs its order", "{}", change.at);
            must!(market.paused & 1 == 0, "no orders while paused", "{}", change.at);
        }
        if let Some(order) = change.closed() {
            let with_lease =
                act.changes::<Lease>().any(|lease| lease.closed().is_some_and(|l| l.order == change.at));
            let over = with_lease || act.customer_acts(&order.customer) || act.now > closes(order);
            must!(over, "an order closes when its time is over", "{}", change.at);
            must!(order.live_leases == u8::from(with_lease), "an order with leases stays", "{}", change.at);
        }
        if let Some((before, after)) = change.both() {
            let same =
                (before.customer, before.rent_payer, before.nonce, before.max_price, before.created_at)
                    == (after.customer, after.rent_payer, after.nonce, after.max_price, after.created_at)
                    && (before.duration_secs, before.nodes_wanted, before.gpus_per_node)
                        == (after.duration_secs, after.nodes_wanted, after.gpus_per_node)
                    && bytemuck::bytes_of(&before.requirement) == bytemuck::bytes_of(&after.requirement)
                    && before.image_digest == after.image_digest;
            must!(same, "an order's terms stay", "{}: {}", act.name, change.at);
            if before.status != after.status && after.status == ORDER_EXPIRED {
                must!(act.now > closes(before), "an order expires at its deadline", "{}", change.at);
            }
            let by = parts_by(before, after, act.now);
            must!(after.parts_by == by, "each part gives the others a second", "{}: {}", act.name, change.at);
        }
    }
    Ok(())
}

/// Until when an order waits.
fn closes(order: &Order) -> i64 {
    if order.parts_by > 0 && order.parts_by < order.award_deadline {
        order.parts_by
    } else {
        order.award_deadline
    }
}

/// When an order with some of its parts is over, after a change of it.
fn parts_by(before: &Order, after: &Order, now: i64) -> i64 {
    let settled = after.redundant == 1 || after.auction_close != 0;
    if settled || matches!(after.status, ORDER_AWARDED | ORDER_LAPSED) {
        0
    } else if after.nodes_awarded <= before.nodes_awarded {
        before.parts_by
    } else if before.parts_by == 0 {
        now + 31
    } else {
        before.parts_by + 1
    }
}
