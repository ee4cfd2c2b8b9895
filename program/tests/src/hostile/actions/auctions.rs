use gantry_market::constants::MODE_SEALED;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::math::bid::{beats, Standing};
use gantry_market::math::reputation::reputation_bps;
use gantry_market::math::score::score;
use gantry_market::state::{Auction, Node, Order, ORDER_OPEN};
use solana_address::Address;

use super::customers::{by_someone, free_nonce};
use crate::hostile::harness::{CUSTOMERS, KEEPERS};
use crate::hostile::scene::{one, Plan, Scene, Wanted};
use crate::hostile::trace::Step;
use crate::ix::Offer;
use crate::{ix, pda, Actor};

/// What an award of a sealed order needs to know.
struct Sale<'a> {
    order: Address,
    customer: Address,
    most: u64,
    gpus: u8,
    nodes: u8,
    close_at: i64,
    /// The latest end of its leases.
    end: i64,
    /// The keeper that made the first award, and the bids that it named.
    keeper: Option<&'a Actor>,
    root: Option<[u8; 32]>,
}

/// A sealed order with its auction in one transaction, often waited for and awarded at once; or the auction of an order
/// that has none.
pub fn auction_open(s: &mut Scene) -> Option<Plan> {
    if s.once_in(2) {
        return super::sealed::scenario(s);
    }
    let (commit, reveal) = match s.below(12) {
        0 => (s.r.u32(), s.r.u32()),
        1 => (4, 4),
        _ => (5 + s.below(30) as u32, 5 + s.below(30) as u32),
    };
    let again = s.once_in(20);
    let now = s.a.now();
    let waits = |order: &Order| order.auction_close == 0 && order.award_deadline >= now;
    let bare = |order: &Order| order.mode == MODE_SEALED && (again || waits(order));
    if let Some((at, order)) = s.any_where::<Order>(bare).filter(|_| again || s.once_in(2)) {
        let who = s.who(&order.customer)?;
        let open = by_someone(s, ix::auction_open(who, &at, commit, reveal), &order.customer);
        return one(open);
    }
    let who = s.actor_of(&CUSTOMERS);
    let nonce = free_nonce(s, &who.wallet())?;
    let args = OrderArgs {
        nodes: [1, 1, 1, 2, 2, 3][s.below(6)],
        gpus_per_node: 1,
        duration_secs: 30 + s.below(300) as u32,
        max_price: 1_000_000 + s.r.below(4_000_000),
        run_to_completion: s.below(2) as u8,
        no_migration: u8::from(s.once_in(4)),
        ..ix::sealed_args(nonce)
    };
    let order = pda::order(&who.wallet(), nonce);
    let create = by_someone(s, ix::order_create(who, args), &who.wallet());
    let mut open = ix::auction_open(who, &order, commit, reveal);
    open.accounts[0] = create.accounts[0].clone();
    if s.once_in(6) {
        return Some(vec![Step::Send(vec![create]), Step::Send(vec![open])]);
    }
    let mut plan = vec![Step::Send(vec![create, open])];
    if s.once_in(4) {
        return Some(plan);
    }
    let close_at = s.a.now() + i64::from(commit);
    s.memory.closes.entry(order).or_default().push(close_at);
    let sale = Sale {
        order,
        customer: who.wallet(),
        most: args.max_price,
        gpus: args.gpus_per_node,
        nodes: args.nodes,
        close_at,
        end: close_at + i64::from(reveal) + i64::from(args.duration_secs) + deadlines(s),
        keeper: None,
        root: None,
    };
    plan.push(Step::Warp(i64::from(commit.min(60)) + i64::from(reveal.min(60)) + 1));
    plan.extend(awards(s, &sale)?);
    Some(plan)
}

/// Seconds for awards, and then for the start.
pub fn deadlines(s: &Scene) -> i64 {
    let params = &s.a.w.params;
    i64::from(params.award_deadline_secs) + i64::from(params.start_deadline_secs)
}

/// The rest of an auction that is over, or one that is not.
pub fn auction_award(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(12);
    let open: Vec<(Auction, Order, Address)> =
        s.a.ledger
            .all::<Auction>()
            .filter_map(|(_, auction)| {
                let order = s.a.ledger.get::<Order>(&auction.order)?;
                let waits = order.status == ORDER_OPEN && order.award_deadline >= s.a.now();
                (any || waits).then_some((*auction, *order, auction.order))
            })
            .collect();
    let (auction, order, at) = s.one(open)?;
    let sale = Sale {
        order: at,
        customer: order.customer,
        most: order.max_price,
        gpus: order.gpus_per_node,
        nodes: order.nodes_wanted.saturating_sub(order.nodes_awarded),
        close_at: auction.close_at,
        end: order.latest_end().ok()?,
        keeper: s.who(&auction.keeper),
        root: (auction.winner_count > 0).then_some(auction.bids_root),
    };
    let mut plan = vec![];
    if auction.winner_count > 0 && s.once_in(3) {
        // Another keeper may go on once half of the time is over.
        let half = auction.completable_after(order.award_deadline);
        plan.push(Step::Warp((half - s.a.now() + s.r.below(3) as i64).clamp(0, 120)));
    }
    if s.a.now() <= auction.reveal_until && !s.once_in(4) {
        plan.push(Step::Warp((auction.reveal_until - s.a.now() + 1).min(120)));
    }
    plan.extend(awards(s, &sale)?);
    Some(plan)
}

/// Bids of machines that may suit, the best first.
fn offers<'a>(s: &mut Scene<'a>, sale: &Sale) -> Vec<Offer<'a>> {
    let (a, now) = (s.a, s.a.now());
    // The ask means nothing here.
    let wanted = Wanted { most: u64::MAX, gpus: sale.gpus, simulated: 0 };
    let mut nodes: Vec<(Address, &Node)> = a
        .ledger
        .all::<Node>()
        .filter(|(_, node)| Scene::fits(a, node, &wanted))
        .map(|(at, node)| (*at, node))
        .collect();
    let mut found = vec![];
    while found.len() <= usize::from(sale.nodes) && !nodes.is_empty() {
        let (node, state) = nodes.swap_remove(s.below(nodes.len()));
        let Some(key) = s.key(&state.node_key) else { continue };
        // Now and then two bid the same.
        let price = if s.once_in(8) { 1_000_000 } else { 1 + s.r.below(sale.most.max(1)) };
        found.push(Offer { node, state, key, price, salt: s.r.bytes() });
    }
    let place = |offer: &Offer| {
        let reputation_bps = reputation_bps(offer.state, now);
        let guarantee = offer.state.record(now).guarantee.bps_until(sale.end);
        let score = score(offer.price, reputation_bps, guarantee).unwrap_or(u64::MAX);
        Standing { score, reputation_bps, node: offer.node }
    };
    found.sort_by(|one, other| {
        beats(&sale.order, &place(other), &place(one)).cmp(&beats(&sale.order, &place(one), &place(other)))
    });
    found
}

/// Awards to the winning bids, with the best losing one; now and then by a keeper that cheats.
fn awards(s: &mut Scene, sale: &Sale) -> Option<Plan> {
    let mut bids = offers(s, sale);
    if s.once_in(5) && bids.len() > 1 {
        bids.reverse();
    }
    let usual = s.actor_of(&KEEPERS);
    let keeper = if s.once_in(4) { usual } else { sale.keeper.unwrap_or(usual) };
    let mut losing = bids.get(usize::from(sale.nodes)).copied();
    if s.once_in(6) || losing.is_none() {
        // Every bid wins, or a winner sets its own price.
        losing = bids.first().copied().filter(|_| s.once_in(8));
    }
    if s.once_in(8) {
        // The same machine bids again as a stranger to itself would.
        let price = 1 + s.r.below(sale.most.max(1));
        losing = bids.last().map(|bid| Offer { price, ..*bid });
    }
    bids.truncate(usize::from(sale.nodes.min(3)));
    let other = s.r.bytes();
    let root = if s.once_in(8) { other } else { sale.root.unwrap_or(other) };
    let mut plan = vec![];
    for mut bid in bids {
        match s.below(30) {
            0 => bid.price = sale.most.saturating_add(1),
            1 => bid.price = 0,
            _ => {}
        }
        plan.push(award(s, sale, keeper, &bid, losing.as_ref(), root));
        if !s.once_in(3) {
            let lease = pda::lease(&sale.order, &bid.node);
            plan.push(Step::Send(vec![ix::lease_start_of(&bid.state.node_key, &sale.order, &lease)]));
        }
    }
    // An order of several machines starts when all are awarded.
    plan.sort_by_key(|step| step.instructions() == 1);
    if s.once_in(5) {
        let (at, node) = s.any::<Node>()?;
        let customer = s.who(&sale.customer)?;
        plan.push(Step::Send(vec![ix::order_award(keeper, customer, &sale.order, &node.provider, &at)]));
    }
    Some(plan)
}

fn award(
    s: &mut Scene,
    sale: &Sale,
    keeper: &Actor,
    bid: &Offer,
    losing: Option<&Offer>,
    root: [u8; 32],
) -> Step {
    let mut close_at = sale.close_at;
    if s.once_in(16) {
        // What was signed for an earlier life of the order, or for none.
        let earlier = s.memory.closes.get(&sale.order).cloned().unwrap_or_default();
        close_at = s.one(earlier).unwrap_or(close_at + 1);
    }
    let (mut shown, mut claimed) = (*bid, losing.copied());
    match s.below(24) {
        // What is shown is not what was signed.
        0 => shown.price = shown.price.saturating_sub(1).max(1),
        1 => shown.salt[0] ^= 1,
        2 => shown.key = &s.actor().key,
        3 => claimed.iter_mut().for_each(|bid| bid.price = bid.price.saturating_add(1)),
        4 => claimed.iter_mut().for_each(|bid| bid.key = &keeper.key),
        _ => {}
    }
    let mut all: Vec<_> = claimed.iter().map(|losing| losing.check(&sale.order, close_at)).collect();
    all.push(shown.check(&sale.order, close_at));
    all.push(ix::auction_award_of(keeper, &sale.order, &sale.customer, bid, losing, root));
    Step::Send(all)
}

pub fn auction_close(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(4);
    let (now, ledger) = (s.a.now(), &s.a.ledger);
    let (_, auction) = s.any_where::<Auction>(|auction| {
        let over = now > auction.reveal_until.max(auction.challenge_until);
        any || (over && (auction.awarded_at != 0 || ledger.get::<Order>(&auction.order).is_none()))
    })?;
    one(ix::auction_close(&auction.order, &auction.rent_payer))
}
