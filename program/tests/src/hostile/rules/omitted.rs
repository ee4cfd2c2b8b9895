//! Bids that a keeper acknowledged and left out: when that is unjust, and what it costs the keeper.

use gantry_market::constants::{AWARD_VIEW_SECS, MODE_SEALED};
use gantry_market::math::bid::{commitment, commitment_message, reveal_ack_message};
use gantry_market::math::reputation::reputation_of;
use gantry_market::math::score::score;
use gantry_market::state::{Auction, GpuModel, Keeper, Lease, Market, Node, Order, NODE_ACTIVE};
use solana_address::Address;

use super::slashes::{repriced, unjust_cut, Cut};
use super::{must, Act, Verdict};
use crate::pda;

/// The bid that a proof shows, and when the keeper is said to have had it.
struct Shown {
    node: Address,
    price: u64,
    salt: [u8; 32],
    received_at: i64,
}

fn shown(act: &Act) -> Option<Shown> {
    let data = act.instruction.data.get(8..56)?;
    Some(Shown {
        node: act.instruction.accounts.get(5)?.pubkey,
        price: u64::from_le_bytes(data[..8].try_into().ok()?),
        salt: data[8..40].try_into().ok()?,
        received_at: i64::from_le_bytes(data[40..].try_into().ok()?),
    })
}

/// The score of the shown bid at its node's worst from before the close until the award; none when the node was not the
/// same all that time, or could not have had the order.
fn score_of(act: &Act, lease: &Lease, order: &Order, bid: &Shown) -> Option<u64> {
    let node = act.ledger.get::<Node>(&bid.node)?;
    let since = order.auction_close - AWARD_VIEW_SECS;
    let (_, model) = act.ledger.all::<GpuModel>().find(|(_, model)| model.id == node.spec.model)?;
    let stood = [node.available_since, node.covered_since, model.since].into_iter().all(|at| at < since);
    let free = node.availability.free_throughout(since, lease.awarded_at);
    let able = node.status == NODE_ACTIVE
        && free.is_some_and(|free| free >= order.gpus_per_node)
        && node.healthy_throughout(since, order.auction_close)
        && node.covered()
        && (1..=order.max_price).contains(&bid.price);
    let record = node.worst_throughout(since, lease.awarded_at).filter(|_| stood && able)?;
    let end = order.latest_end().ok()?;
    let site = &node.spec.site;
    order.requirement.suited_by(node, model, order.gpus_per_node, site, &record, since, end).ok()?;
    let reputation = reputation_of(&record.score, since);
    score(bid.price, reputation, record.guarantee.bps_until(end)).ok()
}

/// What the proof may take from the keeper's bond, and for whom.
pub fn cut_of(act: &Act, market: &Market) -> Option<Cut> {
    let (lease, _) = act.changes::<Lease>().find_map(|change| change.both())?;
    let (order, bid) = (act.ledger.get::<Order>(&lease.order)?, shown(act)?);
    unjust_cut(act, market, lease, (bid.price, score_of(act, lease, order, &bid)?))
}

pub fn check(act: &Act, market: &Market) -> Verdict {
    let change = act.changes::<Lease>().find_map(|change| change.both());
    let Some(((before, after), bid)) = change.zip(shown(act)) else {
        must!(false, "an unjust award is of a lease", "{}", act.name);
        return Ok(());
    };
    must!(before.score != 0, "an award is contested while it can be", "{}", before.order);
    let found =
        act.ledger.get::<Order>(&before.order).zip(act.ledger.get::<Auction>(&pda::auction(&before.order)));
    must!(found.is_some(), "a bid is left out of an auction", "{}", before.order);
    let (order, auction) = found.expect("just checked");
    let own = order.mode == MODE_SEALED
        && order.nodes_wanted == 1
        && (order.auction_close, before.awarded_at) == (auction.close_at, auction.awarded_at)
        && auction.keeper == before.keeper;
    must!(own, "a bid is left out of the auction that made the award", "{}", before.order);
    must!(act.now <= auction.challenge_until, "an award is contested in time", "{}", act.now);
    let hidden = commitment(&market.domain, &before.order, &bid.node, auction.close_at, bid.price, &bid.salt);
    let late = bid.received_at > auction.reveal_until;
    must!(!late, "a reveal counts that came in time", "{} of {}", bid.received_at, auction.reveal_until);
    let ack = reveal_ack_message(&hidden, bid.received_at);
    let acknowledged = act.ledger.get::<Keeper>(&pda::keeper(&before.keeper)).is_some_and(|keeper| {
        [keeper.signer, keeper.former_signer]
            .iter()
            .any(|key| act.verified(key, &ack) && keeper.answers_for(key, act.now))
    });
    must!(acknowledged, "the keeper that awarded acknowledged the bid", "{}", before.keeper);
    let node = act.ledger.get::<Node>(&bid.node);
    let signed = node.is_some_and(|node| act.verified(&node.node_key, &commitment_message(&hidden)));
    must!(signed, "the node signed the bid that was left out", "{}", bid.node);
    let counted = bid.node == before.node || bid.node == auction.bar_node;
    must!(!counted, "whose bid counted was not left out", "{}", bid.node);
    let since = auction.close_at - AWARD_VIEW_SECS;
    if let Some(bar) = auction.bar() {
        let record =
            act.ledger.get::<Node>(&bar.node).and_then(|bar| bar.record_throughout(since, before.awarded_at));
        must!(record.is_some(), "what is compared has not moved", "{}", bar.node);
    }
    let score = score_of(act, before, order, &bid);
    must!(score.is_some(), "what is compared has not moved", "{}", bid.node);
    must!(score == Some(after.score), "a proof keeps the better score", "{score:?}: {}", after.score);
    let lower = score.is_some_and(|score| score < before.score);
    must!(lower, "an award is unjust when an omitted bid scored lower", "{score:?} of {}", before.score);
    repriced(&before.order, before, after, bid.price, act.now)
}
