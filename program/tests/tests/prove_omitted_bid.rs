use gantry_market::constants::AWARD_VIEW_SECS;
use gantry_market::errors::MarketError;
use gantry_market::events::UnjustAwardProven;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{
    Auction, Availability, GpuModel, Guarantee, Keeper, Lease, Node, Order, Payout, KEEPER_ACTIVE,
    NODE_DRAINING,
};
use gantry_market_tests::actors::START_STAKE;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::ix::{signed, Bid};
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Change, Machine, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

const BOND: u64 = 10_000_000_000;
const WINNER: usize = 0;
const OMITTED: usize = 1;
const BAR: usize = 2;

/// Three machines bid 1, 1.5 and 2 USDC; the keeper acknowledged all, and awarded the first at the price of the third.
pub(crate) struct Case {
    pub(crate) w: Testbed,
    pub(crate) keeper: Actor,
    pub(crate) customer: Actor,
    finder: Actor,
    pub(crate) provider: Actor,
    pub(crate) machines: Vec<Machine>,
    order: Address,
    /// What the omitted machine bid.
    price: u64,
    received_at: i64,
}

pub(crate) fn opened(args: OrderArgs) -> Case {
    let mut w = Testbed::new();
    let keeper = w.keeper(BOND);
    let provider = w.provider(80_000_000_000);
    let machines = (0..4).map(|_| w.machine(&provider, 2)).collect();
    let (customer, finder) = (w.customer(100_000_000), w.actor());
    // One second more, and machines were there long enough before the close.
    w.warp(AWARD_VIEW_SECS - 29);
    let order = w.order(&customer, args);
    w.ok(ix::auction_open(&customer, &order, 30, 20), &[&customer.key]);
    w.warp(51);
    let received_at = w.now() - 1;
    Case { w, keeper, customer, finder, provider, machines, order, price: 1_500_000, received_at }
}

fn awarded() -> Case {
    let mut c = opened(ix::sealed_args(1));
    c.award(Some(2_000_000));
    c
}

/// The keeper names no losing bid at all: the winner gets the order's maximum, 3 USDC.
fn awarded_alone() -> Case {
    let mut c = opened(ix::sealed_args(1));
    c.award(None);
    c
}

impl Case {
    fn bid(&self, at: usize, price: u64) -> Bid<'_> {
        Bid { machine: &self.machines[at], price, salt: [at as u8 + 1; 32] }
    }

    pub(crate) fn award(&mut self, bar: Option<u64>) {
        let bar = bar.map(|price| self.bid(BAR, price));
        let award = ix::sealed_award(&self.w, &self.keeper, &self.order, self.bid(WINNER, 1_000_000), bar);
        self.w.ok_all(&award, &[&self.keeper.key]);
    }

    pub(crate) fn lease(&self) -> Address {
        pda::lease(&self.order, &self.machines[WINNER].node)
    }

    fn proof_of(&self, bid: Bid) -> [Instruction; 3] {
        ix::omitted(&self.w, &self.finder, &self.keeper, &self.lease(), bid, self.received_at)
    }

    fn proof(&self) -> [Instruction; 3] {
        self.proof_of(self.bid(OMITTED, self.price))
    }

    fn node(&self) -> Address {
        self.machines[OMITTED].node
    }

    pub(crate) fn ok(&mut self) -> litesvm::types::TransactionMetadata {
        let proof = self.proof();
        self.w.ok_all(&proof, &[&self.finder.key])
    }

    fn refused(&mut self, code: MarketError) {
        let proof = self.proof();
        self.refused_as(&proof, code);
    }

    fn refused_as(&mut self, proof: &[Instruction], code: impl Into<Code>) {
        self.w.refused_all(proof, &[&self.finder.key], code);
        assert_eq!(self.w.read::<Keeper>(&self.keeper.keeper()).bond, BOND);
    }
}

#[test]
fn no_slash_of_a_bond_reaches_the_customer_and_the_finders_part_waits() {
    let mut c = awarded();
    let (supply, lease) = (c.w.supply(&c.w.stake_mint), c.w.read::<Lease>(&c.lease()));
    assert_eq!((lease.price, lease.score), (2_000_000, 2_150_000));
    let meta = c.ok();
    // Two of ten tokens: a tenth for the finder, the rest burned.
    assert_eq!(c.w.tokens(&c.customer.stake), START_STAKE);
    let payout: Payout = c.w.read(&pda::payout(&c.finder.wallet(), &c.keeper.keeper()));
    let due = c.w.now() + i64::from(c.w.params.keeper_exit_secs);
    assert_eq!((payout.amount, payout.payable_at), (200_000_000, due));
    assert_eq!(c.w.supply(&c.w.stake_mint), supply - 1_800_000_000);
    assert_eq!(c.w.tokens(&c.keeper.keeper_vault()), 8_000_000_000);
    let keeper: Keeper = c.w.read(&c.keeper.keeper());
    assert_eq!((keeper.bond, keeper.weight, keeper.status), (8_000_000_000, 8_000_000_000, KEEPER_ACTIVE));
    assert_emitted(
        &meta,
        &UnjustAwardProven {
            lease: c.lease(),
            keeper: c.keeper.keeper(),
            finder: c.finder.wallet(),
            better: c.node(),
            awarded_score: 2_150_000,
            better_score: 1_612_500,
            price: 1_500_000,
            served_secs: 0,
            served: 0,
            amount: 2_000_000_000,
            finder_share: 200_000_000,
            burned: 1_800_000_000,
        },
    );
    // What was shown is not shown again.
    let proof = c.proof();
    c.w.refused_all(&proof, &[&c.finder.key], MarketError::NotBetter);
}

/// A keeper answers for what its former signer has acknowledged, as long as that one is liable.
#[test]
fn an_acknowledgement_by_either_key_counts() {
    for by_former in [true, false] {
        let mut c = awarded();
        let (hot, by_wallet) = (c.w.hot_key(), c.proof());
        c.w.rotate(&mut c.keeper, &hot);
        let proof = if by_former { by_wallet } else { c.proof() };
        c.w.ok_all(&proof, &[&c.finder.key]);
    }
    let mut c = awarded();
    let (hot, by_wallet) = (c.w.hot_key(), c.proof());
    c.w.rotate(&mut c.keeper, &hot);
    let now = c.w.now();
    c.w.alter(&c.keeper.keeper(), |k: &mut Keeper| k.signer_until = now);
    c.refused_as(&by_wallet, MarketError::InvalidSignature);
    c.ok();
}

#[test]
fn a_better_bid_than_the_winners_counts() {
    let mut c = awarded();
    c.price = 900_000;
    c.ok();
}

#[test]
fn without_a_bar_any_bid_below_the_maximum_was_left_out() {
    let mut c = awarded_alone();
    assert_eq!(c.w.read::<Lease>(&c.lease()).price, 3_000_000);
    c.price = 3_000_000;
    c.refused(MarketError::NotBetter);
    c.price = 2_999_999;
    c.ok();
}

/// A bid that is as good as the bar, or worse, changes nothing, whatever order ties are in.
#[test]
fn what_would_have_changed_nothing_proves_nothing() {
    for price in [2_000_000, 2_000_001, 3_000_000] {
        let mut c = awarded();
        c.price = price;
        c.refused(MarketError::NotBetter);
    }
    let mut c = awarded();
    c.price = 1_999_998;
    c.ok();
    // Not allowed by the order, so out of the running.
    let mut c = awarded();
    c.price = 3_000_001;
    c.refused(MarketError::NotBetter);
    let mut c = awarded();
    c.price = 0;
    c.refused(MarketError::NotBetter);
}

/// Bids of the nodes that counted: a second bid of theirs is not an omitted one.
#[test]
fn nodes_whose_bids_counted_were_not_left_out() {
    for at in [WINNER, BAR] {
        let mut c = awarded();
        let proof = c.proof_of(c.bid(at, 500_000));
        c.refused_as(&proof, MarketError::NotBetter);
    }
}

#[test]
fn only_a_reveal_that_this_keeper_acknowledged_in_time() {
    let mut c = awarded();
    let until = c.w.read::<Auction>(&pda::auction(&c.order)).reveal_until;
    c.received_at = until + 1;
    c.refused(MarketError::TooLate);
    c.received_at = until;
    let good = c.proof();
    // Another keeper's word, the node's own, or a stranger's.
    let other = c.w.pending_keeper(BOND);
    let hidden = c.bid(OMITTED, c.price).commitment(&c.w, &c.order);
    let ack = gantry_market::math::bid::reveal_ack_message(&hidden, until);
    for key in [&other.key, &c.machines[OMITTED].key, &c.finder.key] {
        let mut proof = good.clone();
        proof[1] = signed(key, &ack);
        c.w.refused_all(&proof, &[&c.finder.key], MarketError::InvalidSignature);
    }
    // An acknowledged commitment, and a second that the keeper did not name.
    let mut wrong = ack;
    wrong[7] = b'2';
    let mut commitment_only = ack;
    commitment_only[..8].copy_from_slice(b"GANTRYK1");
    let mut earlier = ack;
    earlier[40] ^= 1;
    for message in [wrong, commitment_only, earlier] {
        let mut proof = good.clone();
        proof[1] = signed(&c.keeper.key, &message);
        c.w.refused_all(&proof, &[&c.finder.key], MarketError::InvalidSignature);
    }
    c.w.ok_all(&good, &[&c.finder.key]);
}

#[test]
fn the_bid_is_what_the_node_signed_for_this_auction() {
    let mut c = awarded();
    let good = c.proof();
    let mut unsigned_bid = good.clone();
    unsigned_bid[0] = c.bid(OMITTED, 1_400_000).check(&c.w, &c.order);
    c.refused_as(&unsigned_bid, MarketError::InvalidSignature);
    let mut others = good.clone();
    others[0] = c.bid(3, c.price).check(&c.w, &c.order);
    c.refused_as(&others, MarketError::InvalidSignature);
    // A price that was not bid.
    let mut cheaper = good.clone();
    cheaper[2] = ix::prove_omitted_bid(&c.w, &c.finder, &c.lease(), c.bid(OMITTED, 1), c.received_at);
    c.refused_as(&cheaper, MarketError::InvalidSignature);
    let mut swapped = good.clone();
    swapped.swap(0, 1);
    c.refused_as(&swapped, MarketError::InvalidSignature);
    c.refused_as(&good[1..], MarketError::InvalidSignature);
    c.refused_as(&good[2..], MarketError::InvalidSignature);
}

/// Whatever an honest keeper could not know, or what may have been otherwise, does not count.
#[test]
fn what_did_not_hold_all_the_time_proves_nothing() {
    let changes: [(&str, Change<Node>); 8] = [
        ("active since", |n| n.available_since += 1),
        ("not active", |n| n.status = NODE_DRAINING),
        ("a GPU became free", |n| {
            n.availability = Availability::starting(0, n.registered_at);
            n.availability.change(n.free_gpus(), n.registered_at + 1).expect("there is room");
        }),
        ("another record, twice", |n| {
            (n.record_since, n.previous_since) = (n.registered_at + 40, n.registered_at + 39)
        }),
        ("another record, before the award", |n| n.record_since = n.registered_at + 5),
        ("much worse", |n| n.fees_failed = u64::MAX),
        ("a commitment that ended before the award", |n| {
            (n.guaranteed_until, n.guarantee_bps) = (n.registered_at + 45, 10_000)
        }),
        ("another price than its ask is none of its business", |n| n.price = 1),
    ];
    for (what, change) in changes {
        println!("{what}");
        let mut c = awarded();
        match what {
            "much worse" => c.price = 1_990_000,
            "a commitment that ended before the award" => c.price = 2_000_000,
            _ => {}
        }
        // The registration is the moment from which all held; one second later is too late.
        c.w.alter(&c.node(), change);
        if what.ends_with("business") {
            c.ok();
        } else {
            c.refused(MarketError::NotBetter);
        }
    }
    let mut c = awarded();
    c.w.alter(&c.node(), |n: &mut Node| n.reserved_stake = 1);
    c.refused(MarketError::NotBetter);
    let mut c = awarded();
    c.w.alter(&c.node(), |n: &mut Node| n.covered_since = i64::MAX);
    c.refused(MarketError::NotBetter);
    let mut c = awarded();
    let since = c.w.now();
    c.w.alter(&pda::gpu_model(1), |m: &mut GpuModel| m.since = since);
    c.refused(MarketError::NotBetter);
    let mut c = awarded();
    c.w.alter(&c.node(), |n: &mut Node| n.claims_missing = 1);
    c.refused(MarketError::DevicesMissing);
}

/// A bar that got worse between the keeper's look and its award was better than the omitted bid when it was chosen.
#[test]
fn a_bar_that_may_have_moved_proves_nothing() {
    let bar = |c: &Case| c.machines[BAR].node;
    let mut c = awarded();
    c.w.alter(&bar(&c), |n: &mut Node| n.record_since = n.registered_at + 40);
    c.refused(MarketError::NotBetter);
    // What changed after the award leaves what held before.
    let mut c = awarded();
    c.w.warp(1);
    let now = c.w.now();
    for at in [BAR, OMITTED] {
        c.w.alter(&c.machines[at].node, |n: &mut Node| {
            let before = n.record(now);
            n.uptime_bps = 0;
            n.keep_record(&before, now);
            assert_eq!(n.previous_guarantee, Guarantee { until: 0, bps: 0, pad: [0; 6] });
        });
    }
    c.ok();
    // The bar's account must be there, and be the bar's.
    let mut c = awarded();
    let mut proof = c.proof();
    let (bar, winner) = (c.machines[BAR].node, c.machines[WINNER].node);
    proof[2] = swap(proof[2].clone(), &bar, &gantry_market::ID);
    c.refused_as(&proof, MarketError::MissingAccount);
    proof[2] = swap(c.proof()[2].clone(), &bar, &winner);
    c.refused_as(&proof, MarketError::WrongAccount);
}

#[test]
fn the_requirement_must_have_been_met() {
    let cases: [(MarketError, Change<Order>); 4] = [
        (MarketError::UnsuitableHardware, |o| o.requirement.min_tier = 3),
        (MarketError::UnsuitableLocation, |o| o.requirement.region[0] = b'x'),
        (MarketError::UnsuitableReputation, |o| o.requirement.min_reputation_bps = 10_000),
        (MarketError::NotBetter, |o| o.gpus_per_node = 3),
    ];
    for (code, change) in cases {
        let mut c = awarded();
        c.w.alter(&c.order.clone(), change);
        c.refused(code);
    }
}

#[test]
fn only_awards_by_auction_of_orders_for_one_node_and_only_within_the_window() {
    let mut c = awarded();
    let until = c.w.read::<Auction>(&pda::auction(&c.order)).challenge_until;
    c.w.set_now(until);
    c.ok();
    let mut late = awarded();
    late.w.set_now(until + 1);
    late.refused(MarketError::NotContestable);
    let orders: [Change<Order>; 3] = [|o| o.nodes_wanted = 2, |o| o.mode = 0, |o| o.auction_close += 1];
    for change in orders {
        let mut c = awarded();
        c.w.alter(&c.order.clone(), change);
        c.refused(MarketError::NotContestable);
    }
    // A lease that moved, or that was awarded at another time or by another keeper than the auction was.
    let other = awarded().finder.wallet();
    let mut c = awarded();
    c.w.alter(&c.lease(), |l: &mut Lease| l.score = 0);
    c.refused(MarketError::NotContestable);
    let mut c = awarded();
    c.w.alter(&c.lease(), |l: &mut Lease| l.awarded_at -= 1);
    c.refused(MarketError::NotContestable);
    let mut c = awarded();
    c.w.alter(&pda::auction(&c.order), |a: &mut Auction| a.keeper = other);
    c.refused(MarketError::NotContestable);
}

/// A keeper that took the best of all the bids it acknowledged can be slashed for none of them, whatever the prices.
#[test]
fn a_just_award_leaves_nothing_to_prove() {
    let mut c = opened(ix::sealed_args(1));
    c.award(Some(1_000_001));
    for (at, price) in [(OMITTED, 1_000_001), (OMITTED, 1_000_002), (3, 2_000_000)] {
        let proof = c.proof_of(c.bid(at, price));
        c.refused_as(&proof, MarketError::NotBetter);
    }
}

#[test]
fn strangers_close_the_lease_only_after_the_window() {
    let mut c = awarded();
    let lease = c.lease();
    c.w.ok(ix::lease_start(&c.w, &lease, [3; 32]), &[&c.machines[WINNER].key]);
    c.w.warp(5);
    let settle = ix::receipt(&c.w, &lease, &c.machines[WINNER].key, &c.customer.key, 1, 5);
    c.w.ok_all(&settle, &[]);
    c.w.ok(ix::lease_end(&c.w, &c.customer.wallet(), &lease, 0), &[&c.customer.key]);
    c.w.ok(ix::lease_rate(&c.w, &lease, 1), &[&c.customer.key]);
    let close = ix::lease_close(&c.w, &c.finder.wallet(), &lease);
    c.w.refused(close.clone(), &[&c.finder.key], MarketError::TooEarly);
    c.w.refused(ix::auction_close(&c.order, &c.customer.wallet()), &[], MarketError::TooEarly);
    let until = c.w.read::<Auction>(&pda::auction(&c.order)).challenge_until;
    c.ok();
    // A proof does not end the window: somebody may know a still better bid.
    c.w.refused(close.clone(), &[&c.finder.key], MarketError::TooEarly);
    c.w.set_now(until + 1);
    c.w.ok(close, &[&c.finder.key]);
}

#[test]
fn a_paused_market_still_proves() {
    let mut c = awarded();
    c.w.pause();
    c.ok();
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut c = awarded();
    let [check, ack, good] = c.proof();
    let before = [check, ack];
    let (other, other_keeper) = (c.w.provider(20_000_000_000), c.w.pending_keeper(BOND));
    let other_order = c.w.order(&c.customer, ix::sealed_args(2));
    c.w.ok(ix::auction_open(&c.customer, &other_order, 30, 20), &[&c.customer.key]);
    let w = &mut c.w;
    let with = |last: Instruction| [before[0].clone(), before[1].clone(), last];
    let silent = unsigned(good.clone(), &c.finder.wallet());
    w.refused_all(&with(silent), &[], InstructionError::MissingRequiredSignature);
    let (auction, provider) = (pda::auction(&c.order), c.provider.provider());
    let lease = pda::lease(&c.order, &c.machines[WINNER].node);
    let (node, bar) = (c.machines[OMITTED].node, c.machines[BAR].node);
    let (keeper, vault, mint) = (c.keeper.keeper(), c.keeper.keeper_vault(), w.stake_mint);
    let ours = [pda::market(), c.order, auction, lease, node, provider, pda::gpu_model(1), bar, keeper];
    for at in ours.into_iter() {
        let fake = w.forged(&at);
        let case = [("program", at, fake, InstructionError::IllegalOwner.into())];
        w.refuses_swaps_after(&before, &good, &[&c.finder.key], &case);
    }
    let payout = pda::payout(&c.finder.wallet(), &keeper);
    let (twin, fake_mint, sysvar) = (w.twin(&vault), w.twin(&mint), w.fresh_address());
    let cases: [(_, _, _, Code); 12] = [
        ("order", c.order, other_order, MarketError::WrongAccount.into()),
        ("auction", auction, pda::auction(&other_order), MarketError::WrongAccount.into()),
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("keeper", keeper, other_keeper.keeper(), MarketError::WrongAccount.into()),
        ("vault", vault, other_keeper.keeper_vault(), InstructionError::InvalidSeeds.into()),
        ("vault's address", vault, twin, InstructionError::InvalidSeeds.into()),
        ("mint", mint, fake_mint, MarketError::WrongMint.into()),
        ("payment mint", mint, w.payment_mint, MarketError::WrongMint.into()),
        ("payout", payout, pda::payout(&other.wallet(), &keeper), MarketError::WrongAccount.into()),
        ("payout vault", pda::payout_vault(), pda::emission_vault(), MarketError::WrongAccount.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
        ("instructions", ix::instructions_sysvar(), sysvar, InstructionError::InvalidArgument.into()),
    ];
    w.refuses_swaps_after(&before, &good, &[&c.finder.key], &cases);
    // Another model's terms.
    let mut model = ix::h100();
    model.id = 9;
    w.model(model);
    let wrong = swap(good.clone(), &pda::gpu_model(1), &pda::gpu_model(9));
    w.refused_all(&with(wrong), &[&c.finder.key], MarketError::WrongAccount);
    w.ok_all(&with(good), &[&c.finder.key]);
    assert_ne!(other.key.pubkey(), c.finder.wallet());
}
