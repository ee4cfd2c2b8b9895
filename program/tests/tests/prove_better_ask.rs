use gantry_market::constants::AWARD_VIEW_SECS;
use gantry_market::errors::MarketError;
use gantry_market::events::UnjustAwardProven;
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::math::reputation::reputation_bps;
use gantry_market::math::score::score;
use gantry_market::state::{
    Availability, GpuModel, Guarantee, Keeper, Lease, Market, Node, NodeRecord, Order, Payout, ScoreRecord,
    Unhealthy, WorstRecord, KEEPER_ACTIVE, KEEPER_EXITING, NODE_DRAINING,
};
use gantry_market_tests::actors::START_STAKE;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Change, Machine, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

const BOND: u64 = 10_000_000_000;
const DEAR: u64 = 3_000_000;
const CHEAP: u64 = 2_000_000;

/// An order that went to the dear machine while the cheap one was free.
struct Case {
    w: Testbed,
    keeper: Actor,
    customer: Actor,
    finder: Actor,
    /// The cheap machine's.
    provider: Actor,
    better: Machine,
    /// The dear one, which got the order.
    worse: Machine,
    order: Address,
    lease: Address,
}

fn awarded() -> Case {
    awarded_with(ix::order_args(1))
}

fn awarded_with(args: OrderArgs) -> Case {
    let mut w = Testbed::new();
    let keeper = w.keeper(BOND);
    let (provider, dear) = (w.provider(20_000_000_000), w.provider(20_000_000_000));
    let better = w.machine_of(&provider, ix::spec(2), CHEAP);
    let worse = w.machine_of(&dear, ix::spec(2), DEAR);
    let (customer, finder) = (w.customer(100_000_000), w.actor());
    w.warp(AWARD_VIEW_SECS + 1);
    let order = w.order(&customer, OrderArgs { max_price: 4_000_000, ..args });
    w.warp(5);
    let lease = w.award(&keeper, &customer, &order, &dear, &worse);
    Case { w, keeper, customer, finder, provider, better, worse, order, lease }
}

impl Case {
    fn proof(&self) -> Instruction {
        ix::prove_better_ask(&self.w, &self.finder, &self.lease, &self.better.node)
    }

    fn refused(&mut self, code: MarketError) {
        let proof = self.proof();
        self.w.refused(proof, &[&self.finder.key], code);
        assert_eq!(self.w.read::<Keeper>(&self.keeper.keeper()).bond, BOND);
    }
}

/// A keeper that takes the dearer of two models that the order names is proven wrong; one that passes over a model that it
/// does not name is not.
#[test]
fn a_better_ask_may_be_of_another_model() {
    for (models, proven) in [(&[1, 2][..], true), (&[1, 3], false), (&[1], false)] {
        println!("{models:?}");
        let mut args = ix::order_args(1);
        args.requirement.models = ix::models(models);
        let mut c = awarded_with(args);
        c.w.model(GpuModelArgs { id: 2, ..ix::h100() });
        // It stood there with these terms before the order, as the machine has.
        let (model, terms) = (pda::gpu_model(2), c.w.read::<GpuModel>(&pda::gpu_model(1)));
        c.w.alter(&model, |m: &mut GpuModel| m.since = terms.since);
        c.w.alter(&c.better.node, |n: &mut Node| n.spec.model = 2);
        if proven {
            let proof = c.proof();
            c.w.ok(proof, &[&c.finder.key]);
            assert_eq!(c.w.read::<Keeper>(&c.keeper.keeper()).bond, BOND - BOND / 5);
        } else {
            c.refused(MarketError::UnsuitableModel);
        }
    }
}

#[test]
fn no_slash_of_a_bond_reaches_the_customer_and_the_finders_part_waits() {
    let mut c = awarded();
    let supply = c.w.supply(&c.w.stake_mint);
    let awarded_score = c.w.read::<Lease>(&c.lease).score;
    let proof = c.proof();
    let meta = c.w.ok(proof.clone(), &[&c.finder.key]);
    // Two of ten tokens: a tenth for the finder, the rest burned.
    assert_eq!(c.w.tokens(&c.customer.stake), START_STAKE);
    assert_eq!(c.w.tokens(&c.finder.stake), START_STAKE);
    let payout: Payout = c.w.read(&pda::payout(&c.finder.wallet(), &c.keeper.keeper()));
    let due = c.w.now() + i64::from(c.w.params.keeper_exit_secs);
    assert_eq!((payout.amount, payout.payable_at), (200_000_000, due));
    assert_eq!(c.w.supply(&c.w.stake_mint), supply - 1_800_000_000);
    assert_eq!(c.w.tokens(&c.keeper.keeper_vault()), 8_000_000_000);
    let keeper: Keeper = c.w.read(&c.keeper.keeper());
    assert_eq!((keeper.bond, keeper.weight, keeper.status), (8_000_000_000, 8_000_000_000, KEEPER_ACTIVE));
    assert_eq!(c.w.market().total_weight, 8_000_000_000);
    let node: Node = c.w.read(&c.better.node);
    let order: Order = c.w.read(&c.order);
    let then = reputation_bps(&node, order.created_at - AWARD_VIEW_SECS);
    let event = UnjustAwardProven {
        lease: c.lease,
        keeper: c.keeper.keeper(),
        finder: c.finder.wallet(),
        better: c.better.node,
        awarded_score,
        better_score: score(CHEAP, then, 0).expect("fits"),
        price: CHEAP,
        served_secs: 0,
        served: 0,
        amount: 2_000_000_000,
        finder_share: 200_000_000,
        burned: 1_800_000_000,
    };
    assert_emitted(&meta, &event);
    // What was shown is not shown again.
    c.w.refused(proof, &[&c.finder.key], MarketError::NotBetter);
}

#[test]
fn a_bond_below_the_smallest_has_to_leave() {
    let mut c = awarded();
    c.w.alter(&c.keeper.keeper(), |k: &mut Keeper| {
        (k.bond, k.weight) = (1_200_000_000, 1_200_000_000);
    });
    c.w.alter(&pda::market(), |m: &mut gantry_market::state::Market| m.total_weight = 1_200_000_000);
    let proof = c.proof();
    c.w.ok(proof, &[&c.finder.key]);
    let keeper: Keeper = c.w.read(&c.keeper.keeper());
    assert_eq!((keeper.bond, keeper.weight, keeper.status), (960_000_000, 0, KEEPER_EXITING));
    assert_eq!(keeper.exit_at, c.w.now() + i64::from(c.w.params.keeper_exit_secs));
    assert_eq!(c.w.market().total_weight, 0);
}

#[test]
fn a_keeper_that_leaves_pays_too() {
    let mut c = awarded();
    c.w.ok(ix::keeper_request_exit(&c.keeper), &[&c.keeper.key]);
    let exit_at = c.w.read::<Keeper>(&c.keeper.keeper()).exit_at;
    let proof = c.proof();
    c.w.ok(proof, &[&c.finder.key]);
    let keeper: Keeper = c.w.read(&c.keeper.keeper());
    assert_eq!((keeper.bond, keeper.status, keeper.exit_at), (8_000_000_000, KEEPER_EXITING, exit_at));
}

#[test]
fn a_better_reputation_at_the_same_price_counts_and_harms_no_customer() {
    let mut c = awarded();
    c.w.alter(&c.better.node, |n: &mut Node| n.price = DEAR);
    // Equal in all: not strictly better.
    c.refused(MarketError::NotBetter);
    c.w.alter(&c.lease.clone(), |l: &mut Lease| l.score += 1_000);
    let proof = ix::prove_better_ask(&c.w, &c.finder, &c.lease, &c.better.node);
    c.w.ok(proof, &[&c.finder.key]);
    assert_eq!(c.w.tokens(&c.customer.stake), START_STAKE);
    let payout: Payout = c.w.read(&pda::payout(&c.finder.wallet(), &c.keeper.keeper()));
    assert_eq!(payout.amount, 200_000_000);
}

#[test]
fn only_within_the_window() {
    let mut c = awarded();
    let window = i64::from(c.w.params.challenge_secs);
    c.w.warp(window);
    let proof = c.proof();
    c.w.ok(proof, &[&c.finder.key]);
    let mut late = awarded();
    late.w.warp(window + 1);
    late.refused(MarketError::NotContestable);
}

/// Whatever an honest keeper could not know, or what may have been otherwise, does not count.
#[test]
fn what_did_not_hold_all_the_time_proves_nothing() {
    let changes: [(&str, Change<Node>); 9] = [
        ("a new ask", |n| n.ask_since += 1),
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
        ("dearer than the order pays", |n| n.price = 4_000_001),
        ("no better", |n| n.price = DEAR),
        ("much worse", |n| n.fees_failed = u64::MAX),
    ];
    for (what, change) in changes {
        println!("{what}");
        let mut c = awarded();
        if what == "much worse" {
            // Price alone is better, the score is not.
            c.w.alter(&c.better.node, |n: &mut Node| (n.price, n.uptime_bps) = (DEAR - 1_000, 0));
        }
        // The registration is the moment from which all held; one second later is too late.
        c.w.alter(&c.better.node, change);
        c.refused(MarketError::NotBetter);
    }
    let mut c = awarded();
    c.w.alter(&c.better.node, |n: &mut Node| n.reserved_stake = 1);
    c.refused(MarketError::NotBetter);
    let mut c = awarded();
    c.w.alter(&c.better.node, |n: &mut Node| n.covered_since = i64::MAX);
    c.refused(MarketError::NotBetter);
    let mut c = awarded();
    let since = c.w.now();
    c.w.alter(&pda::gpu_model(1), |m: &mut GpuModel| m.since = since);
    c.refused(MarketError::NotBetter);
}

#[test]
fn the_record_of_the_time_of_the_award_counts_even_after_a_change() {
    let mut c = awarded();
    c.w.warp(2);
    let now = c.w.now();
    c.w.alter(&c.better.node, |n: &mut Node| {
        let before = n.record(now);
        n.uptime_bps = 0;
        n.keep_record(&before, now);
    });
    let node: Node = c.w.read(&c.better.node);
    assert_eq!((node.record_since, node.previous.uptime_bps), (now, 10_000));
    // Registered before the auction began, so the record of that time holds.
    let proof = c.proof();
    c.w.ok(proof, &[&c.finder.key]);
}

#[test]
fn records_move_only_when_something_changes() {
    let mut node: Node = bytemuck::Zeroable::zeroed();
    (node.record_since, node.previous_since, node.evidence_expiry) = (10, 10, 1_000);
    let same = node.record(10);
    node.keep_record(&same, 20);
    assert_eq!((node.record_since, node.previous_since), (10, 10));
    node.tier = 2;
    node.keep_record(&same, 20);
    assert_eq!((node.record_since, node.previous_since), (20, 10));
    let later = NodeRecord { score: ScoreRecord { tier: 2, ..same.score }, ..same };
    let cases = [
        ((9, 19), None),
        ((10, 19), None),
        ((11, 19), Some(same)),
        ((11, 20), None),
        ((20, 30), None),
        ((21, 30), Some(later)),
    ];
    for ((from, to), want) in cases {
        assert_eq!(node.record_throughout(from, to), want, "{from} to {to}");
    }
}

/// A commitment is part of the record.
#[test]
fn a_commitment_counts_where_it_lasts_until_the_latest_end() {
    // At the same price, the better node's guarantee decides.
    let equal = || {
        let mut c = awarded();
        c.w.alter(&c.better.node, |n: &mut Node| n.price = DEAR);
        c.refused(MarketError::NotBetter);
        c
    };
    let commit = |n: &mut Node, until: i64| {
        (n.guarantee_bps, n.guaranteed_until, n.guaranteed_since) = (9_900, until, n.registered_at);
    };
    let mut c = equal();
    let end = c.w.read::<Order>(&c.order).latest_end().expect("fits");
    c.w.alter(&c.better.node, |n: &mut Node| commit(n, end - 1));
    // It is over a second before the work may be.
    c.refused(MarketError::NotBetter);
    c.w.alter(&c.better.node, |n: &mut Node| commit(n, end));
    let proof = ix::prove_better_ask(&c.w, &c.finder, &c.lease, &c.better.node);
    c.w.ok(proof, &[&c.finder.key]);
    // Made while the order waited, it could not be known.
    let mut c = equal();
    c.w.alter(&c.better.node, |n: &mut Node| {
        let (before, at) = (n.record(n.registered_at + 20), n.registered_at + 20);
        commit(n, end);
        n.keep_record(&before, at);
    });
    c.refused(MarketError::NotBetter);
    // Settled after the award, it counts as it was then.
    let mut c = equal();
    let now = c.w.now() + 2;
    c.w.warp(2);
    c.w.alter(&c.better.node, |n: &mut Node| {
        commit(n, end);
        let before = n.record(now);
        n.close_guarantee(now).expect("closes");
        n.keep_record(&before, now);
        assert_eq!(n.previous_guarantee, Guarantee { until: end, bps: 9_900, pad: [0; 6] });
    });
    let proof = ix::prove_better_ask(&c.w, &c.finder, &c.lease, &c.better.node);
    c.w.ok(proof, &[&c.finder.key]);
}

#[test]
fn the_requirement_must_have_been_met() {
    let cases: [(MarketError, Change<Order>); 5] = [
        (MarketError::UnsuitableGuarantee, |o| o.requirement.guaranteed = 1),
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

/// Finding R 9.
#[test]
fn an_order_over_several_nodes_passes_over_no_better_one() {
    let mut c = awarded_with(OrderArgs { nodes: 2, ..ix::order_args(1) });
    let proof = c.proof();
    c.w.ok(proof, &[&c.finder.key]);
    assert_eq!(c.w.read::<Keeper>(&c.keeper.keeper()).bond, BOND / 5 * 4);

    // The better one has a part of it, before or after, and in the same lease or an earlier one.
    let mut c = awarded_with(OrderArgs { nodes: 2, ..ix::order_args(1) });
    let lease = c.w.award(&c.keeper, &c.customer, &c.order, &c.provider, &c.better);
    c.refused(MarketError::NotBetter);
    c.w.warp(i64::from(c.w.params.start_deadline_secs) + 1);
    c.w.ok(ix::lease_abort(&c.w, &lease), &[]);
    assert!(c.w.read::<Order>(&c.order).may_have(&c.order, &c.better.node));

    // All must stand at the site of the first.
    let mut c = awarded_with(OrderArgs { nodes: 2, ..ix::order_args(1) });
    c.w.alter(&c.order.clone(), |o: &mut Order| {
        o.requirement.same_site = 1;
        o.site = [9; 16];
    });
    let proof = c.proof();
    c.w.refused(proof, &[&c.finder.key], MarketError::UnsuitableLocation);
    c.w.alter(&c.better.node.clone(), |n: &mut Node| n.spec.site = [9; 16]);
    let proof = c.proof();
    c.w.ok(proof, &[&c.finder.key]);
}

/// Finding P 5.
#[test]
fn which_bits_a_node_has_depends_on_the_order() {
    let mut w = Testbed::bare();
    let mut order: Order = bytemuck::Zeroable::zeroed();
    let at = w.fresh_address();
    let awarded = [0; 2].map(|_| w.fresh_address());
    for node in &awarded {
        order.note_award(&at, node);
    }
    assert!(awarded.iter().all(|node| order.may_have(&at, node)));
    let bits: u32 = order.awarded_nodes.iter().map(|word| word.count_ones()).sum();
    assert!((4..=6).contains(&bits), "three bits each: {bits}");
    // Nodes that share all bits of an awarded one by chance: (6/128)^3, and fewer by a first byte that is the same.
    let others = (0..2_000).map(|_| w.fresh_address());
    let taken = others.filter(|node| order.may_have(&at, node)).count();
    assert!(taken <= 3, "{taken} of 2,000 others");
    let [first, _] = awarded;
    let other_orders = (0..2_000).map(|_| w.fresh_address());
    let shared = other_orders.filter(|other| order.may_have(other, &first)).count();
    assert!(shared <= 3, "{shared} of 2,000 orders give the node these bits");
}

#[test]
fn redundant_orders_and_other_modes_cannot_be_contested() {
    let cases: [Change<Order>; 2] = [|o| o.redundant = 1, |o| o.mode = 1];
    for change in cases {
        let mut c = awarded();
        c.w.alter(&c.order.clone(), change);
        c.refused(MarketError::NotContestable);
    }
    // A lease that was not awarded by score.
    let mut c = awarded();
    c.w.alter(&c.lease.clone(), |l: &mut Lease| l.score = 0);
    c.refused(MarketError::NotContestable);
    // The awarded node itself.
    let mut c = awarded();
    let node = c.w.read::<Lease>(&c.lease).node;
    c.better.node = node;
    c.refused(MarketError::NotBetter);
}

#[test]
fn the_best_node_awarded_leaves_nothing_to_contest() {
    let mut w = Testbed::new();
    let keeper = w.keeper(BOND);
    let (provider, dear) = (w.provider(20_000_000_000), w.provider(20_000_000_000));
    let better = w.machine_of(&provider, ix::spec(2), CHEAP);
    let worse = w.machine_of(&dear, ix::spec(2), DEAR);
    let (customer, finder) = (w.customer(100_000_000), w.actor());
    w.warp(60);
    let order = w.order(&customer, OrderArgs { max_price: 4_000_000, ..ix::order_args(1) });
    let lease = w.award(&keeper, &customer, &order, &provider, &better);
    let proof = ix::prove_better_ask(&w, &finder, &lease, &worse.node);
    w.refused(proof, &[&finder.key], MarketError::NotBetter);
}

/// Whoever closes the lease would take the proof away; only its customer may do without it.
#[test]
fn strangers_close_the_lease_only_after_the_window() {
    let mut c = awarded();
    let window = i64::from(c.w.params.challenge_secs);
    let until = c.w.read::<Lease>(&c.lease).awarded_at + window;
    c.w.ok(ix::lease_start(&c.w, &c.lease, [3; 32]), &[&c.worse.key]);
    c.w.warp(5);
    let settle = ix::receipt(&c.w, &c.lease, &c.worse.key, &c.customer.key, 1, 5);
    c.w.ok_all(&settle, &[]);
    c.w.ok(ix::lease_end(&c.w, &c.customer.wallet(), &c.lease, 0), &[&c.customer.key]);
    c.w.ok(ix::lease_rate(&c.w, &c.lease, 1), &[&c.customer.key]);
    let close = ix::lease_close(&c.w, &c.finder.wallet(), &c.lease);
    c.w.set_now(until);
    c.w.refused(close.clone(), &[&c.finder.key], MarketError::TooEarly);
    // A proof does not end the window: somebody may know a still better node.
    let proof = c.proof();
    c.w.ok(proof, &[&c.finder.key]);
    c.w.refused(close.clone(), &[&c.finder.key], MarketError::TooEarly);
    c.w.warp(1);
    c.w.ok(close, &[&c.finder.key]);
}

#[test]
fn a_paused_market_still_proves() {
    let mut c = awarded();
    c.w.pause();
    let proof = c.proof();
    c.w.ok(proof, &[&c.finder.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut c = awarded();
    let good = c.proof();
    let (other, other_keeper) = (c.w.provider(20_000_000_000), c.w.pending_keeper(BOND));
    let others_order = c.w.order(&c.customer, ix::order_args(2));
    let w = &mut c.w;
    let silent = unsigned(good.clone(), &c.finder.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let provider = c.provider.provider();
    let (keeper, vault, mint) = (c.keeper.keeper(), c.keeper.keeper_vault(), w.stake_mint);
    let ours = [pda::market(), c.order, c.lease, c.better.node, provider, pda::gpu_model(1), keeper];
    for at in ours {
        let fake = w.forged(&at);
        let case = [("program", at, fake, InstructionError::IllegalOwner.into())];
        w.refuses_swaps(&good, &[&c.finder.key], &case);
    }
    let (twin, fake_mint) = (w.twin(&vault), w.twin(&mint));
    let payout = pda::payout(&c.finder.wallet(), &keeper);
    let cases: [(_, _, _, Code); 10] = [
        ("order", c.order, others_order, MarketError::WrongAccount.into()),
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("keeper", keeper, other_keeper.keeper(), MarketError::WrongAccount.into()),
        ("vault", vault, other_keeper.keeper_vault(), InstructionError::InvalidSeeds.into()),
        ("vault's address", vault, twin, InstructionError::InvalidSeeds.into()),
        ("mint", mint, fake_mint, MarketError::WrongMint.into()),
        ("payment mint", mint, w.payment_mint, MarketError::WrongMint.into()),
        ("payout", payout, pda::payout(&other.wallet(), &keeper), MarketError::WrongAccount.into()),
        ("payout vault", pda::payout_vault(), pda::emission_vault(), MarketError::WrongAccount.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    for (what, from, to, code) in cases {
        println!("{what}");
        w.refused(swap(good.clone(), &from, &to), &[&c.finder.key], code);
    }
    // Another model's terms.
    let mut model = ix::h100();
    model.id = 9;
    w.model(model);
    let wrong = swap(good.clone(), &pda::gpu_model(1), &pda::gpu_model(9));
    w.refused(wrong, &[&c.finder.key], MarketError::WrongAccount);
    w.ok(good, &[&c.finder.key]);
    assert_ne!(other.key.pubkey(), c.finder.wallet());
}

#[test]
fn a_change_of_parameters_makes_no_award_unjust() {
    // The cheaper node guarantees too short a time for the order: the keeper had to take the dear one.
    let mut c = awarded();
    c.w.alter(&c.order, |o: &mut Order| o.requirement.guaranteed = 1);
    let order: Order = c.w.read(&c.order);
    let latest_end = order.award_deadline + 120 + 3_600;
    c.w.alter(&c.better.node, |n: &mut Node| n.guaranteed_until = latest_end - 1);
    c.refused(MarketError::UnsuitableGuarantee);
    // With a shorter time to start, the order could have ended before: but not by the terms that it was made under.
    c.w.alter(&pda::market(), |m: &mut Market| m.params.start_deadline_secs = 60);
    c.refused(MarketError::UnsuitableGuarantee);
    // Nor is the time to contest an award longer than it was.
    c.w.alter(&c.better.node, |n: &mut Node| n.guaranteed_until = latest_end);
    c.w.warp(61);
    c.w.alter(&pda::market(), |m: &mut Market| m.params.challenge_secs = 600);
    c.refused(MarketError::NotContestable);
}

/// Somebody takes a GPU of the better machine and gives it back a second later.
fn takes_for_a_second(c: &mut Case, nonce: u64) {
    let order = c.w.order(&c.customer, OrderArgs { max_price: 4_000_000, ..ix::order_args(nonce) });
    let lease = c.w.award(&c.keeper, &c.customer, &order, &c.provider, &c.better);
    c.w.ok(ix::lease_start(&c.w, &lease, [3; 32]), &[&c.better.key]);
    c.w.warp(1);
    c.w.ok(ix::lease_end(&c.w, &c.customer.wallet(), &lease, 0), &[&c.customer.key]);
}

#[test]
fn an_order_of_one_second_on_the_better_node_erases_no_proof() {
    let mut c = awarded();
    c.w.warp(1);
    takes_for_a_second(&mut c, 2);
    let proof = c.proof();
    c.w.ok(proof, &[&c.finder.key]);
}

#[test]
fn many_short_orders_leave_the_intervals_before_them_alone() {
    let mut c = awarded();
    for nonce in 2..14 {
        c.w.warp(1);
        takes_for_a_second(&mut c, nonce);
        // An order that pays nothing leaves the record alone; one that pays a little would change it.
        let now = c.w.now();
        c.w.alter(&c.better.node, |n: &mut Node| {
            let record = n.record(now);
            n.completed(1).expect("there is room");
            n.keep_record(&record, now);
        });
    }
    let node: Node = c.w.read(&c.better.node);
    let awarded_at = c.w.read::<Lease>(&c.lease).awarded_at;
    assert_eq!(node.availability.free_throughout(node.registered_at + 1, awarded_at), Some(2));
    assert!(node.availability.is_sound(2).expect("it has intervals"));
    assert!(node.previous_since > awarded_at, "the record changed each time");
    let proof = c.proof();
    c.w.ok(proof, &[&c.finder.key]);
}

#[test]
fn the_gpus_must_have_been_free_all_the_time() {
    // Both are taken from before the order until after its award: nothing is unjust.
    let gone = |n: &mut Node, from: i64, to: i64| {
        n.availability = Availability::starting(2, n.registered_at);
        n.availability.change(0, from).expect("there is room");
        n.availability.change(2, to).expect("there is room");
    };
    for (from, to, proves) in
        [(-30, 40, false), (4, 40, false), (-20, -10, false), (-40, -31, true), (6, 40, true)]
    {
        println!("taken from {from} to {to}");
        let mut c = awarded();
        let created = c.w.read::<Order>(&c.order).created_at;
        c.w.warp(50);
        c.w.alter(&c.better.node, |n: &mut Node| {
            n.registered_at -= 100;
            (n.ask_since, n.available_since, n.record_since) =
                (n.registered_at, n.registered_at, n.registered_at);
            gone(n, created + from, created + to);
        });
        let proof = c.proof();
        if proves {
            c.w.ok(proof, &[&c.finder.key]);
        } else {
            c.refused(MarketError::NotBetter);
        }
    }
}

/// Finding R 9.
#[test]
fn what_is_too_long_ago_proves_nothing() {
    let mut all = Availability::starting(3, 1_000);
    assert_eq!((all.free_throughout(1_001, 1_001), all.free_throughout(1_000, 2_000)), (Some(3), None));
    for step in 0..20 {
        let now = 1_010 + step * 1_000;
        all.change((step % 3) as u8, now).expect("it makes room");
        assert!(all.is_sound((step % 3) as u8).expect("it has intervals"));
        assert_eq!(all.free_throughout(now, now + 5), Some((step % 3).min((step + 2) % 3) as u8), "{step}");
    }
    assert_eq!(all.free_throughout(1_010, 1_010), None);
}

#[test]
fn unhealthy_excuses_an_award_only_if_it_was_on_chain_before_the_order() {
    // Applied before the order, after it, after the award; and twice, the first time over before.
    let cases = [
        (Unhealthy { since: -5, until: 100, former_until: 0 }, false),
        (Unhealthy { since: 0, until: 100, former_until: 0 }, false),
        (Unhealthy { since: 1, until: 100, former_until: 0 }, true),
        (Unhealthy { since: 20, until: 100, former_until: 0 }, true),
        (Unhealthy { since: -300, until: -31, former_until: 0 }, true),
        (Unhealthy { since: -300, until: -30, former_until: 0 }, false),
        (Unhealthy { since: 1, until: 100, former_until: -31 }, true),
        (Unhealthy { since: 1, until: 100, former_until: -30 }, false),
    ];
    for (spell, proves) in cases {
        println!("{spell:?}");
        let mut c = awarded();
        let created = c.w.read::<Order>(&c.order).created_at;
        c.w.alter(&c.better.node, |n: &mut Node| {
            let at = |offset: i64| if offset == 0 && spell.since != 0 { 0 } else { created + offset };
            n.unhealthy = Unhealthy {
                since: created + spell.since,
                until: created + spell.until,
                former_until: at(spell.former_until),
            };
        });
        if proves {
            let proof = c.proof();
            c.w.ok(proof, &[&c.finder.key]);
        } else {
            c.refused(MarketError::NotBetter);
        }
    }
}

#[test]
fn a_lease_that_cannot_be_is_found() {
    let mut c = awarded();
    // Its output was compared, and it has none.
    c.w.alter(&c.lease.clone(), |l: &mut Lease| l.resolved_at = 1);
    c.refused(MarketError::InvariantBroken);
}

#[test]
fn a_record_that_changed_meanwhile_counts_at_its_worst() {
    for (worst, proves) in [(10_000, true), (4_000, false)] {
        let mut c = awarded();
        c.w.alter(&c.better.node, |n: &mut Node| {
            n.price = DEAR - 1_000;
            (n.record_since, n.previous_since) = (n.registered_at + 40, n.registered_at + 39);
            n.worst[1] =
                WorstRecord { since: n.registered_at, score: n.record(n.registered_at).score, ..n.worst[1] };
            n.worst[1].score.uptime_bps = worst;
            n.worst[0] = WorstRecord { since: n.registered_at + 39, ..n.worst[1] };
        });
        c.w.alter(&c.lease.clone(), |l: &mut Lease| l.score += 10_000);
        let proof = c.proof();
        if proves {
            c.w.ok(proof, &[&c.finder.key]);
        } else {
            c.refused(MarketError::NotBetter);
        }
    }
}
