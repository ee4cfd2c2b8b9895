use gantry_market::constants::MAX_DURATION_SECS;
use gantry_market::errors::MarketError;
use gantry_market::events::OrderCreated;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Credits, Order, ORDER_OPEN};
use gantry_market_tests::attempts::ALREADY_IN_USE;
use gantry_market_tests::errors::{framework, Code};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::tokens::token_program;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Change, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

fn ready() -> (Testbed, Actor) {
    let mut w = Testbed::new();
    let customer = w.customer(100_000_000);
    (w, customer)
}

#[test]
fn an_order_sets_its_money_aside() {
    let (mut w, who) = ready();
    // 3 USDC × 2 GPUs × 3 nodes × half an hour.
    let args = OrderArgs {
        nodes: 3,
        gpus_per_node: 2,
        duration_secs: 1_800,
        run_to_completion: 1,
        ..ix::order_args(77)
    };
    let meta = w.ok(ix::order_create(&who, args), &[&who.key]);
    let at = pda::order(&who.wallet(), 77);
    let order: Order = w.read(&at);
    assert_eq!((order.customer, order.rent_payer), (who.wallet(), who.wallet()));
    assert_eq!((order.nonce, order.reserved, order.max_price), (77, 9_000_000, 3_000_000));
    assert_eq!((order.created_at, order.award_deadline, order.awarded_at), (w.now(), w.now() + 60, 0));
    assert_eq!((order.nodes_wanted, order.nodes_awarded, order.live_leases), (3, 0, 0));
    assert_eq!((order.gpus_per_node, order.duration_secs, order.status), (2, 1_800, ORDER_OPEN));
    assert_eq!((order.run_to_completion, order.mode, order.image_digest), (1, 0, [1; 32]));
    let credits: Credits = w.read(&who.credits());
    assert_eq!((credits.balance, credits.reserved), (100_000_000, 9_000_000));
    assert_eq!((credits.live_orders, credits.live_leases), (1, 0));
    assert_emitted(
        &meta,
        &OrderCreated {
            order: at,
            customer: who.wallet(),
            reserved: 9_000_000,
            max_price: 3_000_000,
            nodes: 3,
            gpus: 2,
            duration_secs: 1_800,
            held_secs: 1_800,
        },
    );
}

#[test]
fn each_part_is_rounded_down_and_then_multiplied() {
    let (mut w, who) = ready();
    // 1 µUSDC × 1 GPU × 3,599 s is less than one µUSDC for each node.
    let args = OrderArgs { max_price: 1, nodes: 64, duration_secs: 3_599, ..ix::order_args(1) };
    w.ok(ix::order_create(&who, args), &[&who.key]);
    assert_eq!(w.read::<Credits>(&who.credits()).reserved, 0);
}

#[test]
fn money_must_be_free() {
    let mut w = Testbed::new();
    let who = w.customer(5_999_999);
    w.ok(ix::order_create(&who, ix::order_args(1)), &[&who.key]);
    let second = ix::order_create(&who, ix::order_args(2));
    w.refused(second.clone(), &[&who.key], MarketError::InsufficientFunds);
    w.ok(ix::credits_deposit(&w, &who, 1), &[&who.key]);
    w.ok(second, &[&who.key]);
    assert_eq!(w.read::<Credits>(&who.credits()).reserved, 6_000_000);
    let withdraw = ix::credits_withdraw(&who, 1);
    w.refused(withdraw, &[&who.key], MarketError::InsufficientFunds);
    w.refused(ix::credits_close(&who), &[&who.key], MarketError::StillInUse);
}

#[test]
fn senseless_orders_are_refused() {
    let (mut w, who) = ready();
    let cases: [(&str, Change<OrderArgs>, MarketError); 23] = [
        ("no price", |a| a.max_price = 0, MarketError::ZeroPrice),
        ("no time", |a| a.duration_secs = 0, MarketError::InvalidDuration),
        ("more than a year", |a| a.duration_secs = MAX_DURATION_SECS + 1, MarketError::InvalidDuration),
        ("another mode", |a| a.mode = 2, MarketError::UnknownMode),
        ("no node", |a| a.nodes = 0, MarketError::InvalidRequirement),
        ("65 nodes", |a| a.nodes = 65, MarketError::InvalidRequirement),
        ("no GPU", |a| a.gpus_per_node = 0, MarketError::InvalidRequirement),
        ("nine GPUs", |a| a.gpus_per_node = 9, MarketError::InvalidRequirement),
        ("half a job", |a| a.run_to_completion = 2, MarketError::InvalidRequirement),
        ("any model, any power", |a| a.requirement.models = ix::models(&[]), MarketError::InvalidRequirement),
        ("uptime", |a| a.requirement.min_uptime_bps = 10_001, MarketError::InvalidRequirement),
        ("reputation", |a| a.requirement.min_reputation_bps = 10_001, MarketError::InvalidRequirement),
        ("interconnect", |a| a.requirement.min_interconnect = 3, MarketError::InvalidRequirement),
        ("tier", |a| a.requirement.min_tier = 4, MarketError::InvalidRequirement),
        ("site", |a| a.requirement.same_site = 2, MarketError::InvalidRequirement),
        ("simulated", |a| a.requirement.allow_simulated = 2, MarketError::InvalidRequirement),
        ("migration", |a| a.no_migration = 2, MarketError::InvalidRequirement),
        ("isolation", |a| a.requirement.min_isolation = 3, MarketError::InvalidRequirement),
        ("a model twice", |a| a.requirement.models = ix::models(&[1, 1]), MarketError::InvalidRequirement),
        (
            "models that descend",
            |a| a.requirement.models = ix::models(&[2, 1]),
            MarketError::InvalidRequirement,
        ),
        (
            "a model after none",
            |a| a.requirement.models = ix::models(&[1, 0, 2]),
            MarketError::InvalidRequirement,
        ),
        (
            "none, and then one",
            |a| a.requirement.models = ix::models(&[0, 1]),
            MarketError::InvalidRequirement,
        ),
        (
            "more money than there is",
            |a| (a.max_price, a.nodes, a.duration_secs) = (u64::MAX, 64, 3_600),
            MarketError::Overflow,
        ),
    ];
    for (what, change, error) in cases {
        println!("{what}");
        let mut args = ix::order_args(1);
        change(&mut args);
        w.refused(ix::order_create(&who, args), &[&who.key], error);
    }
    assert_eq!(w.read::<Credits>(&who.credits()).live_orders, 0);
}

#[test]
fn a_year_is_allowed() {
    let (mut w, who) = ready();
    let args = OrderArgs { max_price: 10_000, duration_secs: MAX_DURATION_SECS, ..ix::order_args(1) };
    w.ok(ix::order_create(&who, args), &[&who.key]);
    assert_eq!(w.read::<Credits>(&who.credits()).reserved, 87_600_000);
}

#[test]
fn a_nonce_is_used_once_at_a_time() {
    let (mut w, who) = ready();
    w.ok(ix::order_create(&who, ix::order_args(1)), &[&who.key]);
    w.refused(ix::order_create(&who, ix::order_args(1)), &[&who.key], ALREADY_IN_USE);
    assert_eq!(w.read::<Credits>(&who.credits()).reserved, 3_000_000);
}

#[test]
fn only_orders_are_paused_by_the_pause_of_orders() {
    let (mut w, who) = ready();
    let guardian = w.guardian.insecure_clone();
    w.ok(ix::market_pause(&guardian.pubkey(), 1), &[&guardian]);
    w.refused(ix::order_create(&who, ix::order_args(1)), &[&who.key], MarketError::OrdersPaused);
    w.ok(ix::market_pause(&guardian.pubkey(), 2), &[&guardian]);
    w.ok(ix::order_create(&who, ix::order_args(1)), &[&who.key]);
}

#[test]
fn a_gift_of_lamports_to_its_address_stops_nobody() {
    let (mut w, who) = ready();
    w.prefund(&pda::order(&who.wallet(), 1));
    w.ok(ix::order_create(&who, ix::order_args(1)), &[&who.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, who) = ready();
    let other = w.customer(100_000_000);
    let good = ix::order_create(&who, ix::order_args(1));
    let silent = unsigned(good.clone(), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let order = pda::order(&who.wallet(), 1);
    let theft = swap(good.clone(), &who.wallet(), &other.wallet());
    w.refused(theft.clone(), &[&other.key], MarketError::Unauthorised);
    // With the order's address made for the thief, only the credits are another's.
    let theft = swap(theft, &order, &pda::order(&other.wallet(), 1));
    w.refused(theft, &[&other.key], InstructionError::InvalidSeeds);
    let (market, credits) = (w.forged(&pda::market()), w.forged(&who.credits()));
    let elsewhere = w.fresh_address();
    let cases: [(_, _, _, Code); 7] = [
        ("market", pda::market(), market, InstructionError::IllegalOwner.into()),
        ("credits", who.credits(), other.credits(), InstructionError::InvalidSeeds.into()),
        ("credits' program", who.credits(), credits, InstructionError::IllegalOwner.into()),
        ("credits' type", who.credits(), pda::market(), framework::DUPLICATE_MUTABLE),
        ("order", order, elsewhere, InstructionError::InvalidSeeds.into()),
        ("nonce", order, pda::order(&who.wallet(), 2), InstructionError::InvalidSeeds.into()),
        (
            "system program",
            ix::system_program(),
            token_program(),
            InstructionError::IncorrectProgramId.into(),
        ),
    ];
    w.refuses_swaps(&good, &[&who.key], &cases);
}
