use gantry_market::constants::PRIOR_FEES;
use gantry_market::errors::MarketError;
use gantry_market::events::AuctionAwarded;
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{
    Auction, Credits, Keeper, Lease, Node, Order, KEEPER_EXITING, LEASE_AWARDED, NODE_HIBERNATED,
    ORDER_AWARDED, ORDER_LAPSED, ORDER_OPEN,
};
use gantry_market_tests::attempts::ALREADY_IN_USE;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::ix::{signed, Bid};
use gantry_market_tests::testbed::H100;
use gantry_market_tests::tokens::token_program;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Change, Machine, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

pub(crate) struct Sale {
    pub(crate) w: Testbed,
    pub(crate) keeper: Actor,
    provider: Actor,
    machines: Vec<Machine>,
    customer: Actor,
    order: Address,
}

impl Sale {
    pub(crate) fn bid(&self, machine: usize, price: u64) -> Bid<'_> {
        Bid { machine: &self.machines[machine], price, salt: [machine as u8 + 1; 32] }
    }

    pub(crate) fn award(&self, bid: Bid, losing: Option<Bid>) -> Vec<Instruction> {
        ix::sealed_award(&self.w, &self.keeper, &self.order, bid, losing)
    }

    pub(crate) fn ok(&mut self, award: &[Instruction]) -> litesvm::types::TransactionMetadata {
        self.w.ok_all(award, &[&self.keeper.key])
    }

    fn refused(&mut self, award: &[Instruction], code: impl Into<Code>) {
        self.w.refused_all(award, &[&self.keeper.key], code);
    }

    fn lease(&self, machine: usize) -> Lease {
        self.w.read(&pda::lease(&self.order, &self.machines[machine].node))
    }
}

/// An order at 3 USDC at most whose auction closed after 30 seconds and whose reveals ended after 20 more; four
/// machines of one provider could serve it. The time to award it has come.
fn sale_of(args: OrderArgs) -> Sale {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(80_000_000_000);
    let machines = (0..4).map(|_| w.machine(&provider, 2)).collect();
    let customer = w.customer(100_000_000);
    let order = w.order(&customer, args);
    w.ok(ix::auction_open(&customer, &order, 30, 20), &[&customer.key]);
    w.warp(51);
    Sale { w, keeper, provider, machines, customer, order }
}

fn sale() -> Sale {
    sale_of(ix::sealed_args(1))
}

#[test]
fn the_lowest_bid_wins_and_is_paid_what_the_next_one_asked() {
    let mut s = sale();
    let award = s.award(s.bid(0, 1_000_000), Some(s.bid(1, 1_500_000)));
    let meta = s.ok(&award);
    let lease = s.lease(0);
    // Both have the same reputation, so the second score is the second price.
    assert_eq!((lease.price, lease.reserved, lease.status), (1_500_000, 1_500_000, LEASE_AWARDED));
    assert_eq!(lease.keeper, s.keeper.wallet());
    let auction: Auction = s.w.read(&pda::auction(&s.order));
    assert_eq!((auction.keeper, auction.bids_root), (s.keeper.wallet(), [9; 32]));
    assert_eq!((auction.bar_node, auction.bar_score), (s.machines[1].node, 1_612_500));
    assert_eq!((auction.bar_reputation_bps, auction.winner_count), (8_500, 1));
    assert_eq!(auction.winners[0], s.machines[0].node);
    assert_eq!((auction.awarded_at, auction.challenge_until), (s.w.now(), s.w.now() + 60));
    assert_emitted(
        &meta,
        &AuctionAwarded {
            order: s.order,
            node: s.machines[0].node,
            keeper: s.keeper.wallet(),
            bid: 1_000_000,
            price: 1_500_000,
            score: 1_075_000,
            bar_node: s.machines[1].node,
            bar_score: 1_612_500,
            bids_root: [9; 32],
        },
    );
    let order: Order = s.w.read(&s.order);
    assert_eq!((order.status, order.reserved, order.awarded_at), (ORDER_AWARDED, 0, s.w.now()));
    let credits: Credits = s.w.read(&s.customer.credits());
    assert_eq!((credits.reserved, credits.live_leases), (1_500_000, 1));
    s.w.ok(ix::lease_start(&s.w, &pda::lease(&s.order, &s.machines[0].node), [3; 32]), &[&s.machines[0].key]);
}

#[test]
fn a_lone_bid_is_paid_the_orders_maximum() {
    let mut s = sale();
    let award = s.award(s.bid(0, 1_000_000), None);
    s.ok(&award);
    assert_eq!(s.lease(0).price, 3_000_000);
    assert_eq!(s.w.read::<Auction>(&pda::auction(&s.order)).bar_node, Address::default());
}

#[test]
fn reputation_counts_in_rank_and_in_price() {
    let mut s = sale();
    // Half of the jobs failed: 7,500 instead of 8,500, which makes it 5 % dearer in comparison.
    s.w.alter(&s.machines[1].node, |n: &mut Node| n.fees_failed = PRIOR_FEES);
    let award = s.award(s.bid(1, 1_000_000), Some(s.bid(0, 1_040_000)));
    s.refused(&award, MarketError::BidDoesNotWin);
    let award = s.award(s.bid(0, 1_040_000), Some(s.bid(1, 1_000_000)));
    s.ok(&award);
    // 1,000,000 × 1.125 is the score to beat: 1,125,000 / 1.075, and what rounding down leaves.
    assert_eq!(s.lease(0).price, 1_046_512);
    let mut s = sale();
    s.w.alter(&s.machines[1].node, |n: &mut Node| n.fees_failed = PRIOR_FEES);
    let award = s.award(s.bid(1, 1_000_000), Some(s.bid(0, 2_999_999)));
    s.ok(&award);
    assert!((2_860_000..=3_000_000).contains(&s.lease(1).price), "{}", s.lease(1).price);
}

#[test]
fn never_more_than_the_maximum_and_never_less_than_the_bid() {
    let mut s = sale();
    s.w.alter(&s.machines[1].node, |n: &mut Node| (n.fees_failed, n.uptime_bps) = (9 * PRIOR_FEES, 0));
    let award = s.award(s.bid(0, 2_999_999), Some(s.bid(1, 3_000_000)));
    s.ok(&award);
    assert_eq!(s.lease(0).price, 3_000_000);
    for price in [1, 2, 3, 7, 999_999] {
        let mut s = sale();
        let (first, second) = (s.bid(0, price), s.bid(1, price));
        // Equal bids: one of the two orders is right.
        let award = s.award(first, Some(second));
        let (done, machine) = match s.w.send(&award, &[&s.keeper.key]) {
            Ok(_) => (true, 0),
            Err(_) => (false, 1),
        };
        if !done {
            let award = s.award(s.bid(1, price), Some(s.bid(0, price)));
            s.ok(&award);
        }
        assert!((price..=price + 1).contains(&s.lease(machine).price));
    }
}

#[test]
fn several_nodes_are_paid_by_the_best_bid_that_lost() {
    let mut s = sale_of(OrderArgs { nodes: 2, ..ix::sealed_args(1) });
    let award = s.award(s.bid(0, 1_000_000), Some(s.bid(2, 1_400_000)));
    s.ok(&award);
    // The second winner needs no losing bid, which is fixed; another keeper may not go on.
    let late = s.w.pending_keeper(s.w.params.min_bond);
    s.w.alter(&late.keeper(), |k: &mut Keeper| k.status = 2);
    let other = ix::sealed_award(&s.w, &late, &s.order, s.bid(1, 1_300_000), None);
    s.w.refused_all(&other, &[&late.key], MarketError::Unauthorised);
    let award = s.award(s.bid(3, 1_400_001), None);
    s.refused(&award, MarketError::BidDoesNotWin);
    let award = s.award(s.bid(0, 1_000_000), None);
    s.refused(&award, ALREADY_IN_USE);
    let award = s.award(s.bid(1, 1_300_000), None);
    s.ok(&award);
    assert_eq!((s.lease(0).price, s.lease(1).price), (1_400_000, 1_400_000));
    let auction: Auction = s.w.read(&pda::auction(&s.order));
    assert_eq!((auction.winner_count, auction.winners[1]), (2, s.machines[1].node));
    assert_eq!(s.w.read::<Order>(&s.order).status, ORDER_AWARDED);
}

/// An order for two nodes of which one is awarded, and another keeper.
pub(crate) fn stopped() -> (Sale, Actor) {
    let mut s = sale_of(OrderArgs { nodes: 2, ..ix::sealed_args(1) });
    let other = s.w.pending_keeper(s.w.params.min_bond);
    s.w.alter(&other.keeper(), |k: &mut Keeper| k.status = 2);
    let award = s.award(s.bid(0, 1_000_000), Some(s.bid(2, 1_400_000)));
    s.ok(&award);
    (s, other)
}

/// It is settled who gets it: the second keeper's half of the time to award stays.
#[test]
fn a_part_of_a_sealed_order_does_not_shorten_the_time_to_award_it() {
    let (mut s, _) = stopped();
    assert_eq!(s.w.read::<Order>(&s.order).parts_by, 0);
    s.w.warp(40);
    s.w.refused(ix::order_expire(&s.customer, &s.order), &[], MarketError::TooEarly);
}

impl Sale {
    pub(crate) fn completes(&self, by: &Actor, root: [u8; 32]) -> [Instruction; 3] {
        self.completes_by(by, self.bid(1, 1_300_000), self.bid(2, 1_400_000), root)
    }

    fn completes_by(&self, by: &Actor, bid: Bid, bar: Bid, root: [u8; 32]) -> [Instruction; 3] {
        let award = ix::auction_award(&self.w, by, &self.order, bid, Some(bar), root);
        [bar.check(&self.w, &self.order), bid.check(&self.w, &self.order), award]
    }

    /// Serves both leases for ten minutes and closes them. Returns what the awards have earned their keepers.
    pub(crate) fn earned(&mut self, keepers: [&Actor; 2]) -> [u64; 2] {
        let leases = [0, 1].map(|at| pda::lease(&self.order, &self.machines[at].node));
        for (at, lease) in leases.iter().enumerate() {
            self.w.ok(ix::lease_start(&self.w, lease, [3; 32]), &[&self.machines[at].key]);
        }
        self.w.warp(600);
        for (at, lease) in leases.iter().enumerate() {
            let key = &self.machines[at].key;
            let receipt = ix::receipt(&self.w, lease, key, &self.customer.key, 1, 600);
            self.w.ok_all(&receipt, &[]);
            let wallet = self.customer.wallet();
            self.w.ok(ix::lease_end(&self.w, &wallet, lease, 0), &[&self.customer.key]);
        }
        self.w.warp_to_next_period();
        for lease in &leases {
            let close = ix::lease_close(&self.w, &self.customer.wallet(), lease);
            self.w.ok(close, &[&self.customer.key]);
        }
        keepers.map(|keeper| self.w.read::<Keeper>(&keeper.keeper()).earned)
    }
}

#[test]
fn the_first_keeper_has_half_of_the_time() {
    let (mut s, other) = stopped();
    let auction: Auction = s.w.read(&pda::auction(&s.order));
    let half = auction.reveal_until + i64::from(s.w.params.award_deadline_secs) / 2;
    s.w.set_now(half);
    let completes = s.completes(&other, [9; 32]);
    s.w.refused_all(&completes, &[&other.key], MarketError::Unauthorised);
    s.w.warp(1);
    // Only by the bids of the first award, and by no better bar than it has named.
    let others = s.completes(&other, [8; 32]);
    s.w.refused_all(&others, &[&other.key], MarketError::OtherBids);
    let dear = s.completes_by(&other, s.bid(3, 1_400_001), s.bid(2, 1_400_000), [9; 32]);
    s.w.refused_all(&dear, &[&other.key], MarketError::BidDoesNotWin);
    let dear = s.completes_by(&other, s.bid(1, 1_400_001), s.bid(3, 1_350_000), [9; 32]);
    s.w.refused_all(&dear, &[&other.key], MarketError::BidDoesNotWin);
    assert_eq!(s.w.read::<Order>(&s.order).stopped, 0);
    s.w.ok_all(&completes, &[&other.key]);
    let order: Order = s.w.read(&s.order);
    assert_eq!((order.status, order.stopped), (ORDER_AWARDED, 1));
    let after: Auction = s.w.read(&pda::auction(&s.order));
    assert_eq!((after.keeper, after.awarded_at), (s.keeper.wallet(), auction.awarded_at));
    assert_eq!((s.lease(1).keeper, s.lease(1).price), (other.wallet(), 1_400_000));
    assert_eq!((s.lease(0).of_first_keeper, s.lease(1).of_first_keeper), (1, 0));
}

/// An order for two nodes whose first award names the second best bid as the best losing one, and another keeper.
pub(crate) fn misnamed() -> (Sale, Actor) {
    let mut s = sale_of(OrderArgs { nodes: 2, ..ix::sealed_args(1) });
    let other = s.w.pending_keeper(s.w.params.min_bond);
    s.w.alter(&other.keeper(), |k: &mut Keeper| k.status = 2);
    let award = s.award(s.bid(0, 1_000_000), Some(s.bid(1, 1_300_000)));
    s.ok(&award);
    (s, other)
}

/// Finding P 26.
#[test]
fn a_bid_that_was_named_as_the_best_losing_one_may_win() {
    let (mut s, other) = misnamed();
    s.w.warp(31);
    // Not by the keeper that has named it.
    let own = s.award(s.bid(1, 1_300_000), Some(s.bid(2, 1_400_000)));
    s.refused(&own, MarketError::BidDoesNotWin);
    let own = s.completes(&other, [9; 32]);
    s.w.ok_all(&own, &[&other.key]);
    assert_eq!((s.lease(0).price, s.lease(1).price), (1_300_000, 1_400_000));
    let auction: Auction = s.w.read(&pda::auction(&s.order));
    assert_eq!((auction.bar_node, auction.keeper), (s.machines[2].node, s.keeper.wallet()));
    assert_eq!(s.w.read::<Order>(&s.order).status, ORDER_AWARDED);
    // Where no other bid lost, the maximum is the next best offer.
    let (mut s, other) = misnamed();
    s.w.warp(31);
    let bid = s.bid(1, 1_300_000);
    let none = [bid.check(&s.w, &s.order), ix::auction_award(&s.w, &other, &s.order, bid, None, [9; 32])];
    s.w.ok_all(&none, &[&other.key]);
    assert_eq!(s.lease(1).price, 3_000_000);
    assert!(s.w.read::<Auction>(&pda::auction(&s.order)).bar().is_none());
}

#[test]
fn the_first_keeper_may_go_on_as_long_as_nobody_else_has() {
    let (mut s, other) = stopped();
    s.w.warp(59);
    let others = [
        s.bid(1, 1_300_000).check(&s.w, &s.order),
        ix::auction_award(&s.w, &s.keeper, &s.order, s.bid(1, 1_300_000), None, [8; 32]),
    ];
    s.refused(&others, MarketError::OtherBids);
    let award = s.award(s.bid(1, 1_300_000), None);
    s.ok(&award);
    assert_eq!(s.w.read::<Order>(&s.order).stopped, 0);
    let keeper = s.keeper.again();
    assert_eq!(s.earned([&keeper, &other]), [5_598, 0]);
}

#[test]
fn another_keeper_completes_a_stopped_auction() {
    let (mut s, other) = stopped();
    s.w.warp(31);
    let completes = s.completes(&other, [9; 32]);
    s.w.ok_all(&completes, &[&other.key]);
    // The customer has both its nodes. The first keeper has earned nothing by its award, the other one its own share.
    let keeper = s.keeper.again();
    let bond = s.w.read::<Keeper>(&keeper.keeper()).bond;
    assert_eq!(s.earned([&keeper, &other]), [0, 2_799]);
    // It may have been cut off: its bond stays.
    assert_eq!((s.w.read::<Keeper>(&keeper.keeper()).bond, bond), (s.w.params.min_bond, s.w.params.min_bond));
}

#[test]
fn awards_of_a_reopened_order_are_not_those_of_the_stopped_auction() {
    let (mut s, other) = stopped();
    s.w.warp(31);
    let completes = s.completes(&other, [9; 32]);
    s.w.ok_all(&completes, &[&other.key]);
    // The second node does not start: the order opens again, as an instant one, and the first keeper awards that part.
    s.w.ok(ix::lease_start(&s.w, &pda::lease(&s.order, &s.machines[0].node), [3; 32]), &[&s.machines[0].key]);
    s.w.warp(121);
    s.w.ok(ix::lease_abort(&s.w, &pda::lease(&s.order, &s.machines[1].node)), &[]);
    s.w.ok(ix::order_reopen(&s.customer, &s.order), &[&s.customer.key]);
    let award =
        ix::order_award(&s.keeper, &s.customer, &s.order, &s.provider.provider(), &s.machines[3].node);
    s.w.ok(award, &[&s.keeper.key]);
    assert_eq!((s.lease(0).of_first_keeper, s.lease(3).of_first_keeper), (1, 0));
}

#[test]
fn nobody_sets_its_own_price_by_a_second_bid() {
    let mut s = sale_of(OrderArgs { nodes: 2, ..ix::sealed_args(1) });
    let award = s.award(s.bid(0, 1_000_000), Some(s.bid(1, 2_000_000)));
    s.ok(&award);
    // The node that lost with one bid has another, which would win at what the first one asked.
    let second = Bid { salt: [7; 32], ..s.bid(1, 900_000) };
    let award = s.award(second, None);
    s.refused(&award, MarketError::BidDoesNotWin);
    let award = s.award(s.bid(2, 900_000), None);
    s.ok(&award);
}

#[test]
fn not_before_the_reveals_are_over_and_not_after_the_deadline() {
    let mut s = sale();
    let award = s.award(s.bid(0, 1_000_000), None);
    s.w.warp(-1);
    s.refused(&award, MarketError::TooEarly);
    s.w.warp(61);
    s.refused(&award, MarketError::TooLate);
    s.w.warp(-1);
    s.ok(&award);
    let again = s.award(s.bid(1, 1_000_000), None);
    s.refused(&again, MarketError::WrongOrderStatus);
}

#[test]
fn a_sealed_order_that_nobody_awards_expires() {
    let mut s = sale();
    s.w.warp(59);
    s.w.refused(ix::order_expire(&s.customer, &s.order), &[], MarketError::TooEarly);
    s.w.warp(1);
    s.w.ok(ix::order_expire(&s.customer, &s.order), &[]);
    assert_eq!(s.w.read::<Credits>(&s.customer.credits()).reserved, 0);
}

#[test]
fn an_auction_does_not_serve_another_life_of_its_orders_address() {
    let mut s = sale();
    s.w.warp(60);
    s.w.ok(ix::order_expire(&s.customer, &s.order), &[]);
    s.w.order(&s.customer, ix::sealed_args(1));
    let award = s.award(s.bid(0, 1_000_000), None);
    s.refused(&award, MarketError::WrongOrderMode);
}

#[test]
fn a_sealed_order_that_lapsed_opens_again_as_an_instant_one() {
    let mut s = sale();
    let award = s.award(s.bid(0, 1_000_000), None);
    s.ok(&award);
    s.w.warp(121);
    s.w.ok(ix::lease_abort(&s.w, &pda::lease(&s.order, &s.machines[0].node)), &[]);
    assert_eq!(s.w.read::<Order>(&s.order).status, ORDER_LAPSED);
    s.w.ok(ix::order_reopen(&s.customer, &s.order), &[&s.customer.key]);
    let order: Order = s.w.read(&s.order);
    assert_eq!((order.status, order.mode, order.auction_close), (ORDER_OPEN, 0, 0));
    let award = s.award(s.bid(1, 1_000_000), None);
    s.refused(&award, MarketError::WrongOrderMode);
    s.w.award(&s.keeper, &s.customer, &s.order, &s.provider, &s.machines[1]);
}

#[test]
fn bids_are_what_their_nodes_signed() {
    let mut s = sale();
    let (bid, losing) = (s.bid(0, 1_000_000), s.bid(1, 1_500_000));
    let good = s.award(bid, Some(losing));
    // Another price or salt than was hidden, on either side.
    let wrong = [
        (Bid { price: 1_000_001, ..bid }, losing),
        (Bid { salt: [7; 32], ..bid }, losing),
        (bid, Bid { price: 1_499_999, ..losing }),
        (bid, Bid { salt: [7; 32], ..losing }),
    ]
    .map(|(bid, losing)| ix::auction_award(&s.w, &s.keeper, &s.order, bid, Some(losing), [9; 32]));
    for award in wrong {
        s.refused(&[good[0].clone(), good[1].clone(), award], MarketError::InvalidSignature);
    }
    // Signed by another key, for another order, or not at all.
    let message: Vec<u8> = good[1].data[112..].to_vec();
    let mut wrong = good.clone();
    wrong[1] = signed(&s.machines[1].key, &message);
    s.refused(&wrong, MarketError::InvalidSignature);
    let second = s.w.order(&s.customer, ix::sealed_args(2));
    s.w.ok(ix::auction_open(&s.customer, &second, 30, 20), &[&s.customer.key]);
    let mut wrong = good.clone();
    wrong[1] = s.bid(0, 1_000_000).check(&s.w, &second);
    s.refused(&wrong, MarketError::InvalidSignature);
    s.refused(&good[1..], MarketError::InvalidSignature);
    s.refused(&good[2..], MarketError::InvalidSignature);
    s.ok(&good);
}

#[test]
fn prices_are_within_the_order() {
    let mut s = sale();
    for (bid, losing, error) in [
        (0, 1_000_000, MarketError::ZeroPrice),
        (1_000_000, 0, MarketError::ZeroPrice),
        (3_000_001, 3_000_000, MarketError::PriceTooHigh),
        (1_000_000, 3_000_001, MarketError::PriceTooHigh),
        (1_000_001, 1_000_000, MarketError::BidDoesNotWin),
    ] {
        let award = s.award(s.bid(0, bid), Some(s.bid(1, losing)));
        s.refused(&award, error);
    }
}

#[test]
fn winner_and_loser_must_suit_the_order() {
    let cases: [(&str, Change<Node>, MarketError); 4] = [
        ("health", |n| (n.unhealthy.since, n.unhealthy.until) = (1, i64::MAX), MarketError::NodeUnhealthy),
        ("status", |n| n.status = NODE_HIBERNATED, MarketError::WrongNodeStatus),
        ("GPUs", |n| (n.gpu_mask, n.live_leases) = (3, 1), MarketError::NotEnoughGpus),
        ("reality", |n| n.spec.simulated = 1, MarketError::UnsuitableHardware),
    ];
    for (what, change, error) in cases {
        for machine in [0, 1] {
            println!("{what} of {machine}");
            let mut s = sale();
            s.w.alter(&s.machines[machine].node, change);
            let award = s.award(s.bid(0, 1_000_000), Some(s.bid(1, 1_500_000)));
            s.refused(&award, error);
        }
    }
    let mut s = sale();
    s.w.alter(&s.machines[0].node, |n: &mut Node| n.reserved_stake = 1);
    let award = s.award(s.bid(0, 1_000_000), None);
    s.refused(&award, MarketError::InsufficientStake);
}

#[test]
fn a_loser_may_be_of_another_model() {
    let mut s = sale_of(OrderArgs {
        requirement: gantry_market::state::Requirement {
            models: ix::models(&[H100, 2]),
            ..ix::sealed_args(1).requirement
        },
        ..ix::sealed_args(1)
    });
    s.w.model(GpuModelArgs { id: 2, ..ix::h100() });
    s.w.alter(&s.machines[1].node, |n: &mut Node| (n.spec.model, n.terms_at) = (2, i64::MAX));
    let award = s.award(s.bid(0, 1_000_000), Some(s.bid(1, 1_500_000)));
    let mut wrong = award.clone();
    wrong[2].accounts[10].pubkey = gantry_market::ID;
    s.refused(&wrong, MarketError::WrongAccount);
    s.ok(&award);
    assert_eq!(s.lease(0).price, 1_500_000);
}

#[test]
fn only_active_keepers_while_awards_are_open() {
    let mut s = sale();
    let award = s.award(s.bid(0, 1_000_000), None);
    s.w.alter(&s.keeper.keeper(), |k: &mut Keeper| k.status = KEEPER_EXITING);
    s.refused(&award, MarketError::KeeperNotActive);
    let mut s = sale();
    s.w.pause();
    let award = s.award(s.bid(0, 1_000_000), None);
    s.refused(&award, MarketError::AwardsPaused);
}

#[test]
fn books_that_do_not_add_up_award_nothing() {
    let mut s = sale();
    let award = s.award(s.bid(0, 1_000_000), None);
    s.w.alter(&pda::auction(&s.order), |a: &mut Auction| a.awarded_at = 1);
    s.w.alter(&pda::auction(&s.order), |a: &mut Auction| {
        (a.winner_count, a.keeper, a.bids_root) = (8, s.keeper.wallet(), [9; 32]);
    });
    s.refused(&award, MarketError::InvariantBroken);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut s = sale();
    s.w.model(GpuModelArgs { id: 2, ..ix::h100() });
    let all = s.award(s.bid(0, 1_000_000), Some(s.bid(1, 1_500_000)));
    let (before, good) = (all[..2].to_vec(), all[2].clone());
    let thief = s.w.actor();
    let other = s.w.provider(20_000_000_000);
    let stranger = s.w.customer(100_000_000);
    let strangers = s.w.order(&stranger, ix::sealed_args(1));
    s.w.ok(ix::auction_open(&stranger, &strangers, 30, 20), &[&stranger.key]);
    let mut silent = before.clone();
    silent.push(unsigned(good.clone(), &s.keeper.wallet()));
    s.w.refused_all(&silent, &[], InstructionError::MissingRequiredSignature);
    let (node, auction) = (s.machines[0].node, pda::auction(&s.order));
    let lease = pda::lease(&s.order, &node);
    for at in [
        pda::market(),
        s.keeper.keeper(),
        s.order,
        auction,
        s.customer.credits(),
        node,
        s.provider.provider(),
        pda::gpu_model(H100),
        s.machines[1].node,
    ] {
        let fake = s.w.forged(&at);
        let mut wrong = before.clone();
        wrong.push(swap(good.clone(), &at, &fake));
        s.refused(&wrong, InstructionError::IllegalOwner);
    }
    let elsewhere = s.w.fresh_address();
    let key = s.machines[0].key.pubkey();
    let cases: [(_, _, _, Code); 9] = [
        ("signer", s.keeper.wallet(), thief.wallet(), MarketError::Unauthorised.into()),
        ("order", s.order, strangers, InstructionError::InvalidSeeds.into()),
        ("auction", auction, pda::auction(&strangers), MarketError::WrongAccount.into()),
        ("credits", s.customer.credits(), stranger.credits(), MarketError::WrongAccount.into()),
        ("provider", s.provider.provider(), other.provider(), MarketError::WrongAccount.into()),
        ("model", pda::gpu_model(H100), pda::gpu_model(2), MarketError::WrongAccount.into()),
        ("lease", lease, elsewhere, InstructionError::InvalidSeeds.into()),
        ("loser", s.machines[1].node, s.machines[2].node, MarketError::InvalidSignature.into()),
        (
            "system program",
            ix::system_program(),
            token_program(),
            InstructionError::IncorrectProgramId.into(),
        ),
    ];
    let keeper = s.keeper.key.insecure_clone();
    assert_ne!(key, keeper.pubkey());
    s.w.refuses_swaps_after(&before, &good, &[&keeper, &thief.key], &cases);
    // The loser is another node than the winner.
    let mut same = before.clone();
    same.push(swap(good, &s.machines[1].node, &node));
    assert!(s.w.send(&same, &[&keeper]).is_err());
}
