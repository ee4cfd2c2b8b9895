//! Stories about sealed orders: whole auctions in which one thing is wrong.

use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::Node;
use solana_address::Address;
use solana_instruction::Instruction;

use super::customers::free_nonce;
use super::repair::{customer, keeper, machines};
use crate::hostile::harness::Harness;
use crate::hostile::scene::{Plan, Scene, SealedBid};
use crate::hostile::trace::Step;
use crate::ix::Offer;
use crate::{ix, pda, Actor};

/// What the award of a sealed order names, besides its bids.
pub struct Sealed<'a> {
    pub order: Address,
    pub customer: Address,
    pub close_at: i64,
    pub keeper: &'a Actor,
}

/// A machine's bid, signed by itself.
pub fn offer(a: &Harness, (node, price, salt): SealedBid) -> Option<Offer<'_>> {
    let state = a.ledger.get::<Node>(&node)?;
    Some(Offer { node, state, key: a.keys.get(&state.node_key)?, price, salt })
}

/// The signatures over two bids, and the award of one of them at the price that the other sets.
pub fn award(sealed: &Sealed, bid: &Offer, losing: Option<&Offer>, root: [u8; 32]) -> Vec<Instruction> {
    let Sealed { order, customer, close_at, keeper } = sealed;
    let mut all: Vec<Instruction> = losing.iter().map(|losing| losing.check(order, *close_at)).collect();
    all.push(bid.check(order, *close_at));
    all.push(ix::auction_award_of(keeper, order, customer, bid, losing, root));
    all
}

/// A sealed order of some machines, up to the moment when its bids are revealed.
struct Scenario<'a> {
    sealed: Sealed<'a>,
    who: &'a Actor,
    create: Instruction,
    open: Instruction,
    wait: i64,
    /// Bids, the lowest price first: as many as win, and one more.
    bids: Vec<Offer<'a>>,
    root: [u8; 32],
}

fn begin<'a>(s: &mut Scene<'a>, fit: &[Address]) -> Option<Scenario<'a>> {
    let (a, nodes) = (s.a, fit.len() as u8 - 1);
    let who = customer(s, 500_000);
    let nonce = free_nonce(s, &who.wallet())?;
    let args = OrderArgs {
        nodes,
        gpus_per_node: 1,
        duration_secs: 30 + s.below(120) as u32,
        max_price: 6_000_000,
        ..ix::sealed_args(nonce)
    };
    let (commit, reveal) = (5 + s.below(10) as u32, 5 + s.below(10) as u32);
    let order = pda::order(&who.wallet(), nonce);
    let mut bids = vec![];
    for (at, node) in fit.iter().enumerate() {
        // Far enough apart that no reputation makes up for it.
        let price = 1_000_000 + 2_000_000 * at as u64 + s.r.below(50_000);
        bids.push(offer(a, (*node, price, s.r.bytes()))?);
    }
    let keeper = keeper(s);
    let close_at = a.now() + i64::from(commit);
    Some(Scenario {
        sealed: Sealed { order, customer: who.wallet(), close_at, keeper },
        who,
        create: ix::order_create(who, args),
        open: ix::auction_open(who, &order, commit, reveal),
        wait: i64::from(commit + reveal) + 1,
        bids,
        root: s.r.bytes(),
    })
}

/// One of the scenarios, or what they miss.
pub fn scenario(s: &mut Scene) -> Option<Plan> {
    type Play = fn(&mut Scene, Scenario) -> Option<Plan>;
    // Two winners are the rarest: whenever there are machines for them, that scenario is as likely as all others.
    let least = if s.once_in(3) { 3 } else { 2 };
    match machines(s, 3, least) {
        Ok(mut fit) => {
            let tell: Play = if fit.len() == 3 && s.once_in(2) {
                two_keepers
            } else {
                fit.truncate(2);
                [unsigned, worse_wins, earlier_life, at_the_ask][s.below(4)]
            };
            let auction_setup = begin(s, &fit)?;
            let order = auction_setup.sealed.order;
            let keys = auction_setup.bids.iter().map(|bid| (bid.node, bid.state.node_key)).collect();
            let mut plan = tell(s, auction_setup)?;
            if let Some((node, key)) = s.one(keys).filter(|_| s.once_in(2)) {
                plan.push(Step::Send(vec![ix::lease_start_of(&key, &order, &pda::lease(&order, &node))]));
            }
            Some(plan)
        }
        Err(repair) => Some(repair),
    }
}

/// The best losing bid is not what its node signed for this auction.
fn unsigned(s: &mut Scene, auction_setup: Scenario) -> Option<Plan> {
    let (bid, losing) = (&auction_setup.bids[0], &auction_setup.bids[1]);
    let mut shown = *losing;
    let mut close_at = auction_setup.sealed.close_at;
    match s.below(4) {
        0 => shown.key = &s.actor().key,
        1 => shown.key = bid.key,
        2 => shown.price += 1,
        _ => close_at -= 1,
    }
    let mut all = award(&auction_setup.sealed, bid, Some(losing), auction_setup.root);
    all[0] = shown.check(&auction_setup.sealed.order, close_at);
    Some(vec![
        Step::Send(vec![auction_setup.create, auction_setup.open]),
        Step::Warp(auction_setup.wait),
        Step::Send(all),
    ])
}

/// The dearer bid wins, and the lower one is named as the best that lost.
fn worse_wins(_: &mut Scene, auction_setup: Scenario) -> Option<Plan> {
    let all = award(
        &auction_setup.sealed,
        &auction_setup.bids[1],
        Some(&auction_setup.bids[0]),
        auction_setup.root,
    );
    Some(vec![
        Step::Send(vec![auction_setup.create, auction_setup.open]),
        Step::Warp(auction_setup.wait),
        Step::Send(all),
    ])
}

/// The order is taken back and placed again under its number while its auction is still there; then the bids for the
/// first are shown.
fn earlier_life(s: &mut Scene, mut auction_setup: Scenario) -> Option<Plan> {
    let order = auction_setup.sealed.order;
    let mut plan = vec![
        Step::Send(vec![auction_setup.create.clone(), auction_setup.open.clone()]),
        Step::Send(vec![ix::order_cancel(auction_setup.who, &order)]),
        Step::Warp(auction_setup.wait),
        Step::Send(vec![auction_setup.create]),
    ];
    if s.once_in(4) {
        // As it should be: the old auction is closed, a new one opened, and new bids are shown.
        plan.push(Step::Send(vec![ix::auction_close(&order, &auction_setup.who.wallet())]));
        plan.push(Step::Send(vec![auction_setup.open]));
        plan.push(Step::Warp(auction_setup.wait));
        auction_setup.sealed.close_at += auction_setup.wait;
    }
    plan.push(Step::Send(award(
        &auction_setup.sealed,
        &auction_setup.bids[0],
        Some(&auction_setup.bids[1]),
        auction_setup.root,
    )));
    Some(plan)
}

/// Two machines win, by the awards of two keepers.
fn two_keepers(s: &mut Scene, auction_setup: Scenario) -> Option<Plan> {
    let (first, second, lost) = (&auction_setup.bids[0], &auction_setup.bids[1], &auction_setup.bids[2]);
    let mut other = Sealed { keeper: keeper(s), ..auction_setup.sealed };
    if other.keeper.wallet() == auction_setup.sealed.keeper.wallet() {
        other.keeper = keeper(s);
    }
    let mut after = award(&other, second, None, auction_setup.root);
    if s.once_in(4) {
        // It names another best losing bid, which means nothing by then.
        after = award(&other, second, Some(lost), auction_setup.root);
    }
    let mut plan = vec![
        Step::Send(vec![auction_setup.create, auction_setup.open]),
        Step::Warp(auction_setup.wait),
        Step::Send(award(&auction_setup.sealed, first, Some(lost), auction_setup.root)),
    ];
    if s.once_in(2) {
        // The first one has its time: half of what there is.
        plan.push(Step::Warp(1 + s.r.below(60) as i64));
    }
    plan.push(Step::Send(after));
    Some(plan)
}

/// A keeper awards a sealed order at what a node asks of everyone.
fn at_the_ask(s: &mut Scene, auction_setup: Scenario) -> Option<Plan> {
    let Offer { node, state, .. } = auction_setup.bids[0];
    let Sealed { order, keeper, .. } = auction_setup.sealed;
    let mut plan = vec![Step::Send(vec![auction_setup.create, auction_setup.open])];
    if s.once_in(2) {
        plan.push(Step::Warp(auction_setup.wait));
    }
    plan.push(Step::Send(vec![ix::order_award(keeper, auction_setup.who, &order, &state.provider, &node)]));
    Some(plan)
}
