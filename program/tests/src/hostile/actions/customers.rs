use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Credits, Order, CUSTOMER, ORDER_LAPSED, ORDER_OPEN};
use solana_address::Address;
use solana_instruction::Instruction;

use crate::hostile::harness::CUSTOMERS;
use crate::hostile::scene::{one, Plan, Scene, Wanted};
use crate::hostile::trace::Step;
use crate::{ix, pda};

pub fn credits_deposit(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&CUSTOMERS);
    let amount = s.about(8_000_000);
    one(ix::credits_deposit(&s.a.w, who, amount))
}

pub fn credits_withdraw(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&CUSTOMERS);
    let amount = match s.a.ledger.get::<Credits>(&who.credits()) {
        // Exactly what is free, one more, or all of it.
        Some(credits) if s.once_in(6) => credits.balance.saturating_sub(credits.reserved) + s.r.below(2),
        Some(credits) if s.once_in(6) => credits.balance,
        _ => s.about(1_000_000),
    };
    one(ix::credits_withdraw(who, amount))
}

pub fn credits_close(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&CUSTOMERS);
    one(ix::credits_close(who))
}

/// A number under which the customer has no order; now and then any.
pub fn free_nonce(s: &mut Scene, customer: &Address) -> Option<u64> {
    if s.once_in(20) {
        return Some(s.r.below(6));
    }
    let free = (0..12)
        .filter(|nonce| {
            let order = pda::order(customer, *nonce);
            s.a.ledger.held(&order).is_none() && s.a.ledger.held(&pda::auction(&order)).is_none()
        })
        .collect();
    s.one(free)
}

pub fn order_create(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&CUSTOMERS);
    let nonce = free_nonce(s, &who.wallet())?;
    let mut args = OrderArgs {
        nodes: 1 + s.r.below(5).saturating_sub(3) as u8,
        gpus_per_node: 1 + s.below(2) as u8,
        duration_secs: 30 + s.below(600) as u32,
        max_price: 1_000_000 + s.r.below(5_000_000),
        run_to_completion: s.below(2) as u8,
        ..ix::order_args(nonce)
    };
    args.requirement.allow_simulated = s.below(2) as u8;
    args.requirement.min_isolation = if s.once_in(6) { 1 + s.below(2) as u8 } else { 0 };
    if s.once_in(6) {
        // What a GPU brings along, of the machines of the cast: a little less, the same, a little more.
        let r = &mut args.requirement;
        (r.min_cpu_cores, r.min_ram_mib, r.min_disk_gib) =
            (31 + s.below(3) as u32, 262_143 + s.below(3) as u32, 2_047 + s.below(3) as u32);
        r.min_cuda = s.below(1_400) as u16;
    }
    if s.once_in(20) {
        args.max_price = s.about(u64::MAX);
        args.duration_secs = s.r.u32();
        args.nodes = s.below(256) as u8;
    }
    args.no_migration = u8::from(s.once_in(4));
    if s.once_in(4) {
        (args.interruptible, args.run_to_completion) = (1, u8::from(s.once_in(9)));
    }
    if s.once_in(5) {
        args.interruptible = u8::from(s.once_in(9));
        // One GPU each of three machines, so that more than one such job fits the cast.
        // Four are refused: half of them would decide.
        (args.nodes, args.gpus_per_node, args.redundant) = (if s.once_in(4) { 4 } else { 3 }, 1, 1);
        (args.run_to_completion, args.no_migration) = (1, 1);
        args.requirement.allow_simulated = 1;
        (args.duration_secs, args.max_price) = (30 + s.below(120) as u32, 3_000_000 + s.r.below(3_000_000));
    }
    let create = Step::Send(vec![by_someone(s, ix::order_create(who, args), &who.wallet())]);
    let mut plan = vec![create];
    let order = pda::order(&who.wallet(), nonce);
    if !s.once_in(3) {
        if args.redundant == 1 {
            plan.extend(super::outputs::awards_of(s, &order, &who.wallet(), &Wanted::of(&args), args.nodes)?);
            return Some(plan);
        }
        for _ in 0..args.nodes.min(2) {
            plan.extend(super::leases::award_of(
                s,
                &order,
                &who.wallet(),
                &Wanted::of(&args),
                args.nodes == 1,
            )?);
        }
    }
    Some(plan)
}

/// A redundant job from its order to the comparison of its outputs.
pub fn redundant_order(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&CUSTOMERS);
    let nonce = free_nonce(s, &who.wallet())?;
    let mut args = OrderArgs {
        nodes: if s.once_in(4) { 4 } else { 3 },
        gpus_per_node: 1,
        redundant: 1,
        run_to_completion: 1,
        no_migration: 1,
        duration_secs: 60,
        max_price: 3_000_000 + s.r.below(3_000_000),
        ..ix::order_args(nonce)
    };
    args.requirement.allow_simulated = 1;
    let order = pda::order(&who.wallet(), nonce);
    let mut plan = vec![Step::Send(vec![ix::order_create(who, args)])];
    let awards = super::outputs::awards_of(s, &order, &who.wallet(), &Wanted::of(&args), args.nodes)?;
    if awards.is_empty() {
        return None;
    }
    plan.extend(awards);
    Some(plan)
}

pub fn order_cancel(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(3);
    let (at, order) = s.any_where::<Order>(|order| any || idle(order))?;
    let who = s.who(&order.customer)?;
    let mut cancel = ix::order_cancel(who, &at);
    cancel.accounts[3].pubkey = order.rent_payer;
    one(by_someone(s, cancel, &order.customer))
}

/// An order that no lease keeps.
fn idle(order: &Order) -> bool {
    match order.status {
        ORDER_OPEN => order.nodes_awarded == 0,
        ORDER_LAPSED => order.live_leases == 0,
        _ => false,
    }
}

pub fn order_expire(s: &mut Scene) -> Option<Plan> {
    let (any, now) = (s.once_in(4), s.a.now());
    let due = |order: &Order| now > order.open_until() && (order.status == ORDER_OPEN || idle(order));
    let (at, order) = s.any_where::<Order>(|order| any || due(order))?;
    let who = s.who(&order.customer)?;
    let mut expire = ix::order_expire(who, &at);
    expire.accounts[2].pubkey = order.rent_payer;
    one(expire)
}

pub fn order_reopen(s: &mut Scene) -> Option<Plan> {
    let any = s.once_in(10);
    let (at, order) = s.any_where::<Order>(|order| any || order.status == ORDER_LAPSED)?;
    let who = s.who(&order.customer)?;
    one(by_someone(s, ix::order_reopen(who, &at), &order.customer))
}

/// Someone else's key, or none again; caps that are soon used up.
pub fn credits_set_session_key(s: &mut Scene) -> Option<Plan> {
    if s.once_in(3) {
        if let Some(plan) = another_in_its_slot(s) {
            return Some(plan);
        }
    }
    let who = s.actor_of(&CUSTOMERS);
    // Now and then the same again: its account of what it spent starts anew.
    let credits = s.a.ledger.get::<Credits>(&who.credits());
    let known = credits.map_or(vec![], |credits| credits.session_keys.iter().map(|key| key.key).collect());
    let again = s.one(known).filter(|key| *key != Address::default() && s.once_in(2));
    let key = again.unwrap_or(s.actor().wallet());
    let cap = if s.once_in(4) { 0 } else { s.about(2_000_000) };
    let expiry = s.a.now() + s.r.below(3_000) as i64 - 100;
    one(ix::credits_set_session_key(who, &key, cap, expiry))
}

/// A key that placed an order loses its slot to another, which reserves as well; then the first one's order ends.
fn another_in_its_slot(s: &mut Scene) -> Option<Plan> {
    let (order, placed) = s.any_where::<Order>(|order| {
        order.session_slot != CUSTOMER && order.status == ORDER_OPEN && order.nodes_awarded == 0
    })?;
    let who = s.who(&placed.customer)?;
    let credits = s.a.ledger.get::<Credits>(&who.credits())?;
    let old = credits.session_keys.get(usize::from(placed.session_slot) - 1)?.key;
    let new = s.actor().wallet();
    let nonce = free_nonce(s, &who.wallet())?;
    let create = ix::order_create(who, OrderArgs { duration_secs: 60, ..ix::order_args(nonce) });
    let mut cancel = ix::order_cancel(who, &order);
    cancel.accounts[3].pubkey = placed.rent_payer;
    let later = s.a.now() + 3_000;
    Some(vec![
        Step::Send(vec![ix::credits_set_session_key(who, &old, 0, later)]),
        Step::Send(vec![ix::credits_set_session_key(who, &new, 5_000_000, later)]),
        Step::Warp(1),
        Step::Send(vec![ix::by_session(create, &new)]),
        Step::Send(vec![cancel]),
    ])
}

/// The same sent by one of the customer's session keys, now and then.
pub fn by_someone(s: &mut Scene, instruction: Instruction, customer: &Address) -> Instruction {
    if !s.once_in(5) {
        return instruction;
    }
    let credits = s.a.ledger.get::<Credits>(&pda::credits(customer));
    let keys: Vec<Address> = credits
        .map(|credits| credits.session_keys.iter().filter(|key| key.cap > 0).map(|key| key.key).collect())
        .unwrap_or_default();
    match s.one(keys) {
        Some(key) => ix::by_session(instruction, &key),
        None => instruction,
    }
}
