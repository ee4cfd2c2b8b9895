//! Sealed orders: who may win, by which bids, and that the winner pays by the best bid that lost.

use gantry_market::constants::{
    AUCTION_SECS_MAX, AUCTION_SECS_MIN, MODE_INSTANT, MODE_SEALED, REVEAL_SECS_MAX, REVEAL_SECS_MIN,
};
use gantry_market::math::bid::{beats, commitment, commitment_message, Standing};
use gantry_market::math::reputation::reputation_bps;
use gantry_market::math::score::score;
use gantry_market::state::{
    Auction, GpuModel, Lease, Market, Node, Order, NODE_ACTIVE, ORDER_LAPSED, ORDER_OPEN,
};
use gantry_market::ID;
use solana_address::Address;

use super::{must, Act, Change, Verdict};

/// A bid as an award shows it.
struct Shown {
    price: u64,
    salt: [u8; 32],
}

/// The instruction's two bids and its root of all bids.
fn shown(act: &Act) -> Option<(Shown, Shown, [u8; 32])> {
    let data: [u8; 112] = act.instruction.data.get(8..120)?.try_into().ok()?;
    let bid = |at: usize| Shown {
        price: u64::from_le_bytes(data[at..at + 8].try_into().expect("eight bytes")),
        salt: data[at + 8..at + 40].try_into().expect("32 bytes"),
    };
    Some((bid(0), bid(40), data[80..].try_into().expect("32 bytes")))
}

pub fn check(act: &Act, market: &Market) -> Verdict {
    for change in act.changes::<Auction>() {
        if let Some(auction) = change.created() {
            opened(act, market, &change, auction)?;
        }
        if let Some((before, after)) = change.both() {
            awarded(act, market, &change, before, after)?;
        }
        if let Some(auction) = change.closed() {
            let over = act.now > auction.reveal_until.max(auction.challenge_until);
            let idle = auction.awarded_at != 0 || act.ledger.get::<Order>(&auction.order).is_none();
            must!(over && idle, "an auction stays while it may matter", "{}", change.at);
        }
    }
    for change in act.changes::<Order>() {
        let Some((before, after)) = change.both() else { continue };
        let terms = |order: &Order| (order.mode, order.auction_close, order.award_deadline);
        if terms(before) == terms(after) {
            continue;
        }
        let opens = before.status == ORDER_OPEN
            && act.changes::<Auction>().any(|auction| auction.created().is_some());
        let anew = after.award_deadline == act.now + i64::from(market.params.award_deadline_secs);
        let reopens = (before.status, after.status) == (ORDER_LAPSED, ORDER_OPEN)
            && (after.mode, after.auction_close) == (MODE_INSTANT, 0);
        let lapses = after.status == ORDER_LAPSED
            && (before.mode, before.auction_close) == (after.mode, after.auction_close);
        let known = opens || (anew && (reopens || lapses));
        must!(known, "an order's times change with its auction", "{}: {}", act.name, change.at);
    }
    if act.name == "order_cancel" {
        for order in act.changes::<Order>().filter_map(|change| change.closed()) {
            let bids =
                order.status == ORDER_OPEN && order.auction_close != 0 && act.now >= order.auction_close;
            must!(!bids, "nobody leaves with a look at the bids", "{}", order.auction_close);
            let drawn = order.status == ORDER_OPEN && order.redundant == 1 && act.now > order.created_at;
            must!(!drawn, "nobody leaves with a look at the draw", "{}", order.created_at);
        }
    }
    Ok(())
}

fn opened(act: &Act, market: &Market, change: &Change<Auction>, auction: &Auction) -> Verdict {
    let at = change.at;
    let order = act.ledger.get::<Order>(&auction.order).zip(act.after::<Order>(&auction.order));
    must!(order.is_some(), "an auction is of an order", "{at}");
    let (before, order) = order.expect("just checked");
    let fit = before.mode == MODE_SEALED && before.status == ORDER_OPEN && before.nodes_awarded == 0;
    must!(fit && act.now <= before.award_deadline, "an open sealed order is auctioned", "{at}");
    must!(act.customer_acts(&order.customer), "the customer opens its auction", "{at}");
    must!(market.paused & 1 == 0, "no orders while paused", "{at}");
    let commits =
        (i64::from(AUCTION_SECS_MIN)..=i64::from(AUCTION_SECS_MAX)).contains(&(auction.close_at - act.now));
    let reveals = auction.reveal_until - auction.close_at;
    let reveals = (i64::from(REVEAL_SECS_MIN)..=i64::from(REVEAL_SECS_MAX)).contains(&reveals);
    must!(commits && reveals, "bids have their time", "{at}");
    let due = auction.reveal_until + i64::from(market.params.award_deadline_secs);
    let times = (order.auction_close, order.award_deadline) == (auction.close_at, due);
    must!(times, "keepers have time to award after the reveals", "{at}: {}", order.award_deadline);
    must!(auction.awarded_at == 0 && auction.winner_count == 0, "an auction begins without winners", "{at}");
    Ok(())
}

fn awarded(
    act: &Act,
    market: &Market,
    change: &Change<Auction>,
    before: &Auction,
    after: &Auction,
) -> Verdict {
    let at = change.at;
    let fixed = (before.order, before.rent_payer, before.close_at, before.reveal_until)
        == (after.order, after.rent_payer, after.close_at, after.reveal_until);
    must!(fixed && act.name == "auction_award", "an auction's terms stay", "{}: {at}", act.name);
    let lease = act.changes::<Lease>().find_map(|change| change.created());
    let order = act.ledger.get::<Order>(&before.order);
    let Some(((lease, order), (bid, losing, root))) = lease.zip(order).zip(shown(act)) else {
        must!(false, "an award makes a lease", "{at}");
        return Ok(());
    };
    must!(order.auction_close == before.close_at, "an award is of the order's own auction", "{at}");
    must!(act.now > before.reveal_until, "reveals have their time", "{at}: {}", act.now);
    must!(act.signed(&lease.rent_payer), "who awards has signed", "{at}");
    let own = lease.keeper == after.keeper;
    must!(own == (lease.of_first_keeper == 1), "a lease knows who stops its auction", "{at}");
    if !own {
        // Another keeper goes on, and says by it that the first one did not.
        let half = before.reveal_until + (order.award_deadline - before.reveal_until) / 2;
        must!(
            before.winner_count > 0 && act.now > half,
            "the first keeper has its time",
            "{at}: {}",
            act.now
        );
        let marked = act.after::<Order>(&before.order).is_some_and(|order| order.stopped == 1);
        must!(marked, "who stops an auction earns nothing by it", "{at}");
    }
    if before.winner_count == 0 {
        let due = act.now + i64::from(market.params.challenge_secs);
        let times = (after.awarded_at, after.challenge_until) == (act.now, due);
        must!(times && after.bids_root == root, "the first award fixes the bids", "{at}");
    } else {
        let bar = |auction: &Auction| (auction.bar_node, auction.bar_score, auction.bar_reputation_bps);
        let kept = (before.keeper, before.bids_root, before.awarded_at, before.challenge_until)
            == (after.keeper, after.bids_root, after.awarded_at, after.challenge_until);
        must!(
            kept && root == before.bids_root && (!own || bar(before) == bar(after)),
            "the first award fixes the bids",
            "{at}"
        );
    }
    let count = usize::from(before.winner_count);
    let won = usize::from(after.winner_count) == count + 1
        && after.winners[..count] == before.winners[..count]
        && after.winners.get(count) == Some(&lease.node)
        && !before.winners[..count].contains(&lease.node);
    must!(won, "an award adds one winner", "{at}");
    let winner = standing(act, market, before, &lease.node, &bid)?;
    must!(
        (1..=order.max_price).contains(&bid.price),
        "a bid is within the order's maximum",
        "{at}: {}",
        bid.price
    );
    let named = act.instruction.accounts[9].pubkey;
    let bar = match before.winner_count {
        0 if named == ID => None,
        0 => {
            suits(act, order, &named)?;
            must!((1..=order.max_price).contains(&losing.price), "a losing bid could have won", "{at}");
            Some(standing(act, market, before, &named, &losing)?)
        }
        _ if own => before.bar(),
        // Who completes an auction names it anew, and the worse of the two stands.
        _ if named == ID => None,
        _ => {
            let shown = standing(act, market, before, &named, &losing)?;
            before.bar().map(|held| match held.node != named && beats(&before.order, &held, &shown) {
                true => shown,
                false => held,
            })
        }
    };
    must!(after.bar() == bar, "the best losing bid is what its node signed", "{at}");
    let price = lease.price;
    must!(bid.price <= price && price <= order.max_price, "a winner gets its bid at least", "{at}: {price}");
    let Some(bar) = bar else {
        must!(price == order.max_price, "without losers the maximum is the next best offer", "{at}: {price}");
        return Ok(());
    };
    must!(bar.node != winner.node, "nobody sets its own price", "{at}");
    must!(beats(&before.order, &winner, &bar), "a winner stands before the losers", "{at}");
    let end = order.latest_end().expect("fits");
    let guarantee =
        act.ledger.get::<Node>(&winner.node).map_or(0, |node| node.record(act.now).guarantee.bps_until(end));
    let fits =
        |price: u64| score(price, winner.reputation_bps, guarantee).is_ok_and(|score| score <= bar.score);
    let most = fits(price) && (price == order.max_price || !fits(price + 1));
    must!(most, "the price is that of the best losing bid", "{at}: {price} for {}", bar.score);
    Ok(())
}

/// Where a bid stands, when its node signed it for this auction.
fn standing(
    act: &Act,
    market: &Market,
    auction: &Auction,
    at: &Address,
    bid: &Shown,
) -> Result<Standing, super::Violation> {
    let node = act.ledger.get::<Node>(at);
    must!(node.is_some(), "a bid is of a node", "{at}");
    let node = node.expect("just checked");
    let hidden = commitment(&market.domain, &auction.order, at, auction.close_at, bid.price, &bid.salt);
    let signed = act.verified(&node.node_key, &commitment_message(&hidden));
    must!(signed, "a bid is signed for this auction", "{at}");
    let reputation_bps = reputation_bps(node, act.now);
    let end = act.ledger.get::<Order>(&auction.order).and_then(|order| order.latest_end().ok());
    let guarantee = node.record(act.now).guarantee.bps_until(end.unwrap_or(i64::MAX));
    Ok(Standing {
        score: score(bid.price, reputation_bps, guarantee).unwrap_or(u64::MAX),
        reputation_bps,
        node: *at,
    })
}

/// The losing node could have had the order as well.
fn suits(act: &Act, order: &Order, at: &Address) -> Verdict {
    let fit = act.ledger.get::<Node>(at).is_some_and(|node| {
        let model = act.ledger.all::<GpuModel>().find(|(_, model)| model.id == node.spec.model);
        let site = &node.spec.site;
        let end = order.latest_end().expect("fits");
        let suits = model.is_some_and(|(_, model)| {
            let record = &node.record(act.now);
            let gpus = order.gpus_per_node;
            order.requirement.satisfied_by(node, model, gpus, site, record, act.now, end).is_ok()
        });
        suits && node.status == NODE_ACTIVE
    });
    must!(fit, "a losing bid could have won", "{at}");
    Ok(())
}
