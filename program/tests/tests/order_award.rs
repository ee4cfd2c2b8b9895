use gantry_market::constants::PRIOR_FEES;
use gantry_market::errors::MarketError;
use gantry_market::events::LeaseAwarded;
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::math::reputation::reputation_bps;
use gantry_market::math::score::score;
use gantry_market::state::{
    Credits, GpuModel, Keeper, Lease, Node, NodeSpec, Order, Provider, DECLINED_JOB, KEEPER_EXITING,
    LEASE_AWARDED, NODE_ACTIVE, NODE_DRAINING, NODE_HIBERNATED, NODE_RETIRED, NODE_SUSPENDED, ORDER_AWARDED,
    ORDER_OPEN,
};
use gantry_market_tests::attempts::ALREADY_IN_USE;
use gantry_market_tests::errors::{framework, Code};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::testbed::{DOMAIN, H100};
use gantry_market_tests::tokens::token_program;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Change, Machine, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

struct Offer {
    keeper: Actor,
    provider: Actor,
    machine: Machine,
    customer: Actor,
    order: Address,
}

impl Offer {
    fn award(&self) -> Instruction {
        let (order, provider) = (&self.order, self.provider.provider());
        ix::order_award(&self.keeper, &self.customer, order, &provider, &self.machine.node)
    }
}

fn offered(args: OrderArgs) -> (Testbed, Offer) {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(80_000_000_000);
    let machine = w.machine(&provider, 4);
    let customer = w.customer(100_000_000);
    let order = w.order(&customer, args);
    (w, Offer { keeper, provider, machine, customer, order })
}

#[test]
fn the_standing_ask_becomes_the_price_and_the_rest_is_released() {
    let args = OrderArgs { gpus_per_node: 2, run_to_completion: 1, ..ix::order_args(1) };
    let (mut w, offer) = offered(args);
    assert_eq!(w.read::<Credits>(&offer.customer.credits()).reserved, 6_000_000);
    w.warp(5);
    let meta = w.ok(offer.award(), &[&offer.keeper.key]);
    let at = pda::lease(&offer.order, &offer.machine.node);
    let lease: Lease = w.read(&at);
    assert_eq!((lease.order, lease.node), (offer.order, offer.machine.node));
    assert_eq!((lease.provider, lease.customer), (offer.provider.provider(), offer.customer.wallet()));
    assert_eq!((lease.keeper, lease.node_key), (offer.keeper.wallet(), offer.machine.key.pubkey()));
    assert_eq!((lease.domain, lease.price, lease.reserved), (DOMAIN, ASK, 4_000_000));
    assert_eq!((lease.awarded_at, lease.started_at, lease.funded_until), (w.now(), 0, 0));
    assert_eq!((lease.gpu_mask, lease.gpus, lease.status), (0b11, 2, LEASE_AWARDED));
    assert_eq!((lease.fee_bps, lease.slash_offline_bps, lease.slash_bad_work_bps), (1_200, 500, 5_000));
    assert_eq!((lease.notice_secs, lease.settle_secs, lease.rating_secs), (60, 120, 600));
    assert_eq!((lease.run_to_completion, lease.paid, lease.paid_secs), (1, 0, 0));
    let order: Order = w.read(&offer.order);
    assert_eq!((order.status, order.reserved, order.awarded_at), (ORDER_AWARDED, 0, w.now()));
    assert_eq!((order.nodes_awarded, order.live_leases), (1, 1));
    let credits: Credits = w.read(&offer.customer.credits());
    assert_eq!((credits.balance, credits.reserved), (100_000_000, 4_000_000));
    assert_eq!((credits.live_orders, credits.live_leases), (1, 1));
    let node: Node = w.read(&offer.machine.node);
    assert_eq!((node.gpu_mask, node.live_leases, node.free_gpus()), (0b11, 1, 2));
    assert_eq!(w.read::<Provider>(&offer.provider.provider()).live_leases, 1);
    assert_emitted(
        &meta,
        &LeaseAwarded {
            lease: at,
            order: offer.order,
            node: offer.machine.node,
            keeper: offer.keeper.wallet(),
            price: ASK,
            gpu_mask: 0b11,
            reserved: 4_000_000,
            released: 2_000_000,
            // Whole but for age and ratings: reputation 8,500, so 7.5 % dearer in comparison.
            score: 2_150_000,
        },
    );
}

#[test]
fn a_node_that_got_worse_since_the_keeper_looked_is_refused() {
    let (mut w, offer) = offered(ix::order_args(1));
    let node: Node = w.read(&offer.machine.node);
    let seen = score(ASK, reputation_bps(&node, w.now()), 0).expect("fits");
    let limited = |max: u64| {
        let mut award = offer.award();
        award.data[8..].copy_from_slice(&max.to_le_bytes());
        award
    };
    w.refused(limited(seen - 1), &[&offer.keeper.key], MarketError::ScoreTooHigh);
    w.alter(&offer.machine.node, |n: &mut Node| n.fees_failed += PRIOR_FEES);
    w.refused(limited(seen), &[&offer.keeper.key], MarketError::ScoreTooHigh);
    w.alter(&offer.machine.node, |n: &mut Node| n.fees_failed -= PRIOR_FEES);
    w.ok(limited(seen), &[&offer.keeper.key]);
    let at = pda::lease(&offer.order, &offer.machine.node);
    assert_eq!(w.read::<Lease>(&at).score, seen);
}

/// Finding P 28: keys could be tried for an order whose address is known.
#[test]
fn an_order_over_several_nodes_goes_to_nodes_that_were_there_before_it() {
    let (mut w, offer) = offered(OrderArgs { nodes: 2, ..ix::order_args(1) });
    let created: i64 = w.read::<Order>(&offer.order).created_at;
    for (registered, taken) in [(created + 1, false), (created, false), (created - 1, true)] {
        w.alter(&offer.machine.node, |n: &mut Node| n.registered_at = registered);
        match taken {
            true => drop(w.ok(offer.award(), &[&offer.keeper.key])),
            false => w.refused(offer.award(), &[&offer.keeper.key], MarketError::NodeTooNew),
        }
    }
    // An order over one node takes a node of any age.
    let (mut w, offer) = offered(ix::order_args(1));
    w.alter(&offer.machine.node, |n: &mut Node| n.registered_at = i64::MAX);
    w.ok(offer.award(), &[&offer.keeper.key]);
}

#[test]
fn two_nodes_are_awarded_one_by_one() {
    let (mut w, offer) = offered(OrderArgs { nodes: 2, ..ix::order_args(1) });
    let second = w.machine(&offer.provider, 1);
    w.before(&offer.order, [second.node]);
    w.ok(offer.award(), &[&offer.keeper.key]);
    let order: Order = w.read(&offer.order);
    assert_eq!((order.status, order.reserved, order.awarded_at), (ORDER_OPEN, 3_000_000, 0));
    w.refused(offer.award(), &[&offer.keeper.key], ALREADY_IN_USE);
    w.warp(60);
    w.award(&offer.keeper, &offer.customer, &offer.order, &offer.provider, &second);
    let order: Order = w.read(&offer.order);
    assert_eq!((order.status, order.reserved, order.awarded_at), (ORDER_AWARDED, 0, w.now()));
    assert_eq!((order.nodes_awarded, order.live_leases), (2, 2));
    assert_eq!(w.read::<Credits>(&offer.customer.credits()).reserved, 4_000_000);
    let third = w.machine(&offer.provider, 1);
    let late = swap(offer.award(), &offer.machine.node, &third.node);
    let late =
        swap(late, &pda::lease(&offer.order, &offer.machine.node), &pda::lease(&offer.order, &third.node));
    w.refused(late, &[&offer.keeper.key], MarketError::WrongOrderStatus);
}

#[test]
fn the_lowest_free_gpus_are_taken() {
    let (mut w, offer) = offered(OrderArgs { gpus_per_node: 2, ..ix::order_args(1) });
    w.alter(&offer.machine.node, |n: &mut Node| (n.gpu_mask, n.live_leases) = (0b0101, 1));
    w.ok(offer.award(), &[&offer.keeper.key]);
    assert_eq!(w.read::<Node>(&offer.machine.node).gpu_mask, 0b1111);
    let lease: Lease = w.read(&pda::lease(&offer.order, &offer.machine.node));
    assert_eq!(lease.gpu_mask, 0b1010);
}

#[test]
fn until_the_deadline_and_not_after() {
    let (mut w, offer) = offered(ix::order_args(1));
    w.warp(61);
    w.refused(offer.award(), &[&offer.keeper.key], MarketError::TooLate);
    w.warp(-1);
    w.ok(offer.award(), &[&offer.keeper.key]);
}

#[test]
fn only_active_keepers_award() {
    let (mut w, offer) = offered(ix::order_args(1));
    let pending = w.pending_keeper(w.params.min_bond);
    let award = swap(offer.award(), &offer.keeper.wallet(), &pending.wallet());
    let award = swap(award, &offer.keeper.keeper(), &pending.keeper());
    w.refused(award, &[&pending.key], MarketError::KeeperNotActive);
    w.alter(&offer.keeper.keeper(), |k: &mut Keeper| k.status = KEEPER_EXITING);
    w.refused(offer.award(), &[&offer.keeper.key], MarketError::KeeperNotActive);
}

#[test]
fn only_awards_are_paused_by_the_pause_of_awards() {
    let (mut w, offer) = offered(ix::order_args(1));
    let guardian = w.guardian.insecure_clone();
    w.ok(ix::market_pause(&guardian.pubkey(), 2), &[&guardian]);
    w.refused(offer.award(), &[&offer.keeper.key], MarketError::AwardsPaused);
    w.ok(ix::market_pause(&guardian.pubkey(), 1), &[&guardian]);
    w.ok(offer.award(), &[&offer.keeper.key]);
}

#[test]
fn only_active_nodes_with_covered_stake_at_no_more_than_the_price() {
    let (mut w, offer) = offered(ix::order_args(1));
    for status in [NODE_HIBERNATED, NODE_DRAINING, NODE_RETIRED, NODE_SUSPENDED] {
        w.alter(&offer.machine.node, |n: &mut Node| n.status = status);
        w.refused(offer.award(), &[&offer.keeper.key], MarketError::WrongNodeStatus);
    }
    // Known to be unhealthy when it was ordered; whether it became so since does not matter.
    let now = w.now();
    w.alter(&offer.machine.node, |n: &mut Node| {
        n.status = NODE_ACTIVE;
        (n.unhealthy.since, n.unhealthy.until) = (n.registered_at, now + 1);
    });
    w.refused(offer.award(), &[&offer.keeper.key], MarketError::NodeUnhealthy);
    w.alter(&offer.machine.node, |n: &mut Node| n.unhealthy.until = now);
    w.alter(&offer.machine.node, |n: &mut Node| (n.status, n.price) = (NODE_ACTIVE, 3_000_001));
    w.refused(offer.award(), &[&offer.keeper.key], MarketError::PriceTooHigh);
    w.alter(&offer.machine.node, |n: &mut Node| n.price = 3_000_000);
    w.alter(&offer.order, |o: &mut Order| o.interruptible = 1);
    w.refused(offer.award(), &[&offer.keeper.key], MarketError::NoSpotPrice);
    w.alter(&offer.order, |o: &mut Order| o.interruptible = 0);
    w.alter(&offer.machine.node, |n: &mut Node| n.reserved_stake = 1);
    w.refused(offer.award(), &[&offer.keeper.key], MarketError::InsufficientStake);
    w.alter(&offer.machine.node, |n: &mut Node| n.reserved_stake = 0);
    w.ok(offer.award(), &[&offer.keeper.key]);
    assert_eq!(w.read::<Credits>(&offer.customer.credits()).reserved, 3_000_000);
}

#[test]
fn a_requirement_binds_in_each_of_its_parts() {
    // What the order asks that the node, as changed, has not.
    type Case = (&'static str, Change<OrderArgs>, Change<Node>, MarketError);
    let cases: [Case; 21] = [
        ("power", |a| a.requirement.min_tflops_x10 = 9_891, |_| (), MarketError::UnsuitableModel),
        ("GPUs", |a| a.gpus_per_node = 5, |_| (), MarketError::NotEnoughGpus),
        ("free GPUs", |_| (), |n| (n.gpu_mask, n.live_leases) = (15, 1), MarketError::NotEnoughGpus),
        ("memory", |a| a.requirement.min_vram_mib = 81_560, |_| (), MarketError::UnsuitableHardware),
        (
            "interconnect",
            |a| a.requirement.min_interconnect = 2,
            |n| n.spec.interconnect = 1,
            MarketError::UnsuitableHardware,
        ),
        ("tier", |a| a.requirement.min_tier = 2, |_| (), MarketError::UnsuitableHardware),
        ("isolation", |a| a.requirement.min_isolation = 1, |_| (), MarketError::UnsuitableHardware),
        (
            "volumes",
            |a| a.requirement.min_isolation = 2,
            |n| n.spec.isolation = 1,
            MarketError::UnsuitableHardware,
        ),
        ("cores", |a| a.requirement.min_cpu_cores = 17, |_| (), MarketError::UnsuitableShare),
        (
            "memory of the machine",
            |a| a.requirement.min_ram_mib = 131_073,
            |_| (),
            MarketError::UnsuitableShare,
        ),
        ("disk", |a| a.requirement.min_disk_gib = 1_025, |_| (), MarketError::UnsuitableShare),
        ("CUDA", |a| a.requirement.min_cuda = 1_204, |n| n.spec.cuda = 1_203, MarketError::UnsuitableShare),
        ("reality", |_| (), |n| n.spec.simulated = 1, MarketError::UnsuitableHardware),
        (
            "region",
            |a| a.requirement.region[..2].copy_from_slice(b"us"),
            |_| (),
            MarketError::UnsuitableLocation,
        ),
        (
            "longer region",
            |a| a.requirement.region[..8].copy_from_slice(b"eu-west1"),
            |_| (),
            MarketError::UnsuitableLocation,
        ),
        ("site", |a| a.requirement.same_site = 1, |n| n.spec.site = [0; 16], MarketError::UnsuitableLocation),
        (
            "uptime",
            |a| a.requirement.min_uptime_bps = 9_000,
            |n| n.uptime_bps = 8_999,
            MarketError::UnsuitableReputation,
        ),
        (
            "reputation",
            |a| a.requirement.min_reputation_bps = 8_501,
            |_| (),
            MarketError::UnsuitableReputation,
        ),
        (
            "reputation after failures",
            |a| a.requirement.min_reputation_bps = 8_500,
            |n| n.fees_failed = PRIOR_FEES,
            MarketError::UnsuitableReputation,
        ),
        ("model", |a| a.requirement.models = ix::models(&[2]), |_| (), MarketError::UnsuitableModel),
        (
            "any model of more power",
            |a| (a.requirement.models, a.requirement.min_tflops_x10) = (ix::models(&[]), 10_000),
            |_| (),
            MarketError::UnsuitableModel,
        ),
    ];
    for (what, ask, change, error) in cases {
        println!("{what}");
        let mut args = ix::order_args(1);
        ask(&mut args);
        let (mut w, offer) = offered(args);
        w.alter(&offer.machine.node, change);
        w.refused(offer.award(), &[&offer.keeper.key], error);
    }
}

#[test]
fn a_requirement_that_is_met_exactly_is_met() {
    let mut args = ix::order_args(1);
    let r = &mut args.requirement;
    (r.models, r.min_tflops_x10, r.min_vram_mib, r.min_interconnect, r.min_tier) =
        (ix::models(&[]), 9_890, 81_559, 2, 1);
    (r.min_uptime_bps, r.min_reputation_bps, r.same_site, r.allow_simulated) = (10_000, 8_500, 1, 1);
    r.region[..7].copy_from_slice(b"eu-west");
    r.min_isolation = 2;
    (r.min_cpu_cores, r.min_ram_mib, r.min_disk_gib, r.min_cuda) = (64, 524_288, 4_096, 1_204);
    let (mut w, offer) = offered(OrderArgs { gpus_per_node: 4, ..args });
    w.alter(&offer.machine.node, |n: &mut Node| (n.spec.isolation, n.spec.cuda) = (2, 1_204));
    // An uptime that no check has shown is none.
    w.refused(offer.award(), &[&offer.keeper.key], MarketError::UnsuitableReputation);
    w.alter(&offer.machine.node, |n: &mut Node| n.checks_total = 1);
    w.ok(offer.award(), &[&offer.keeper.key]);
}

/// The machine is of model 1.
#[test]
fn an_order_names_several_models() {
    let all = [1, 2, 3, u16::MAX];
    let cases: [(&[u16], bool); 6] = [
        (&[1], true),
        (&all, true),
        (&[1, 9], true),
        (&[2], false),
        (&all[1..], false),
        (&[u16::MAX], false),
    ];
    for (models, suits) in cases {
        println!("{models:?}");
        let mut args = ix::order_args(1);
        args.requirement.models = ix::models(models);
        let (mut w, offer) = offered(args);
        if suits {
            w.ok(offer.award(), &[&offer.keeper.key]);
        } else {
            w.refused(offer.award(), &[&offer.keeper.key], MarketError::UnsuitableModel);
        }
    }
}

/// Three of four GPUs bring three quarters of the machine along, and not a core more.
#[test]
fn an_order_gets_the_share_of_its_gpus() {
    for (cores, error) in [(48, None), (49, Some(MarketError::UnsuitableShare))] {
        let mut args = OrderArgs { gpus_per_node: 3, ..ix::order_args(1) };
        args.requirement.min_cpu_cores = cores;
        let (mut w, offer) = offered(args);
        match error {
            None => drop(w.ok(offer.award(), &[&offer.keeper.key])),
            Some(error) => w.refused(offer.award(), &[&offer.keeper.key], error),
        }
    }
}

#[test]
fn a_models_own_tier_binds_too() {
    let (mut w, offer) = offered(ix::order_args(1));
    w.alter(&pda::gpu_model(H100), |m: &mut GpuModel| m.min_tier = 2);
    w.refused(offer.award(), &[&offer.keeper.key], MarketError::UnsuitableHardware);
}

#[test]
fn simulated_gpus_serve_those_who_ask_for_them() {
    let mut args = ix::order_args(1);
    args.requirement.allow_simulated = 1;
    let (mut w, offer) = offered(args);
    let simulated = w.machine_of(&offer.provider, NodeSpec { simulated: 1, ..ix::spec(1) }, ASK);
    w.award(&offer.keeper, &offer.customer, &offer.order, &offer.provider, &simulated);
}

#[test]
fn all_nodes_of_one_site_are_at_the_site_of_the_first() {
    let mut args = OrderArgs { nodes: 2, ..ix::order_args(1) };
    args.requirement.same_site = 1;
    let (mut w, offer) = offered(args);
    w.ok(offer.award(), &[&offer.keeper.key]);
    assert_eq!(w.read::<Order>(&offer.order).site, [7; 16]);
    let far = w.machine_of(&offer.provider, NodeSpec { site: [8; 16], ..ix::spec(1) }, ASK);
    let near = w.machine(&offer.provider, 1);
    w.before(&offer.order, [far.node, near.node]);
    let award =
        ix::order_award(&offer.keeper, &offer.customer, &offer.order, &offer.provider.provider(), &far.node);
    w.refused(award, &[&offer.keeper.key], MarketError::UnsuitableLocation);
    w.award(&offer.keeper, &offer.customer, &offer.order, &offer.provider, &near);
}

#[test]
fn a_sealed_order_is_not_awarded_at_the_standing_ask() {
    let (mut w, offer) = offered(ix::sealed_args(1));
    w.refused(offer.award(), &[&offer.keeper.key], MarketError::WrongOrderMode);
}

#[test]
fn the_second_keeper_gets_a_clean_no() {
    let (mut w, offer) = offered(ix::order_args(1));
    let late = w.keeper(w.params.min_bond);
    w.warp(-120);
    w.alter(&late.keeper(), |k: &mut Keeper| k.active_since -= 120);
    w.ok(offer.award(), &[&offer.keeper.key]);
    let second = swap(offer.award(), &offer.keeper.wallet(), &late.wallet());
    let second = swap(second, &offer.keeper.keeper(), &late.keeper());
    w.refused(second, &[&late.key], ALREADY_IN_USE);
    // With another node in mind the lease would be a new one: the order says no.
    let other = w.machine(&offer.provider, 1);
    let award =
        ix::order_award(&late, &offer.customer, &offer.order, &offer.provider.provider(), &other.node);
    w.refused(award, &[&late.key], MarketError::WrongOrderStatus);
}

#[test]
fn a_gift_of_lamports_to_the_leases_address_stops_nobody() {
    let (mut w, offer) = offered(ix::order_args(1));
    w.prefund(&pda::lease(&offer.order, &offer.machine.node));
    w.ok(offer.award(), &[&offer.keeper.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, offer) = offered(ix::order_args(1));
    w.model(GpuModelArgs { id: 2, ..ix::h100() });
    let other = w.provider(80_000_000_000);
    let others = w.machine(&other, 1);
    let (thief, stranger) = (w.actor(), w.customer(100_000_000));
    let good = offer.award();
    let silent = unsigned(good.clone(), &offer.keeper.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let (node, provider, lease) =
        (offer.machine.node, offer.provider.provider(), pda::lease(&offer.order, &offer.machine.node));
    let forged = [
        pda::market(),
        offer.keeper.keeper(),
        offer.order,
        offer.customer.credits(),
        node,
        provider,
        pda::gpu_model(H100),
    ]
    .map(|at| (at, w.forged(&at)));
    let twin = w.twin(&provider);
    let elsewhere = w.fresh_address();
    for (at, fake) in forged {
        w.refused(swap(good.clone(), &at, &fake), &[&offer.keeper.key], InstructionError::IllegalOwner);
    }
    let cases: [(_, _, _, Code); 10] = [
        ("signer", offer.keeper.wallet(), thief.wallet(), MarketError::Unauthorised.into()),
        ("credits", offer.customer.credits(), stranger.credits(), MarketError::WrongAccount.into()),
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("provider's address", provider, twin, MarketError::WrongAccount.into()),
        ("node", node, others.node, InstructionError::InvalidSeeds.into()),
        ("model", pda::gpu_model(H100), pda::gpu_model(2), MarketError::WrongAccount.into()),
        ("lease", lease, elsewhere, InstructionError::InvalidSeeds.into()),
        (
            "lease of another node",
            lease,
            pda::lease(&offer.order, &others.node),
            InstructionError::InvalidSeeds.into(),
        ),
        ("order's type", offer.order, node, framework::DUPLICATE_MUTABLE),
        (
            "system program",
            ix::system_program(),
            token_program(),
            InstructionError::IncorrectProgramId.into(),
        ),
    ];
    w.refuses_swaps(&good, &[&offer.keeper.key, &thief.key], &cases);
}

#[test]
fn not_to_a_node_that_did_not_serve_it() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.ok(ix::lease_decline(&w, &deal.lease, DECLINED_JOB), &[&deal.machine.key]);
    w.ok(ix::order_reopen(&deal.customer, &deal.order), &[&deal.customer.key]);
    let (provider, node) = (deal.provider.provider(), deal.machine.node);
    let again = ix::order_award(&deal.keeper, &deal.customer, &deal.order, &provider, &node);
    w.refused(again, &[&deal.keeper.key], MarketError::NodeDeclined);
    // It may have the next order: declining is no fault.
    let next = w.order(&deal.customer, ix::order_args(2));
    w.award(&deal.keeper, &deal.customer, &next, &deal.provider, &deal.machine);
}
