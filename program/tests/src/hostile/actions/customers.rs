use gantry_market::instructions::order_create::OrderArgs;
use gantry_market::state::{Credits, Order, ORDER_LAPSED};
use solana_address::Address;
use solana_instruction::Instruction;

use crate::hostile::arena::CUSTOMERS;
use crate::hostile::scene::{one, Plan, Scene};
use crate::hostile::trace::Step;
use crate::{ix, pda};

pub fn credits_deposit(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&CUSTOMERS);
    let amount = s.about(8_000_000);
    one(ix::credits_deposit(&s.a.w, who, amount))
}

pub fn credits_withdraw(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&CUSTOMERS);
    let amount = match s.a.book.get::<Credits>(&who.credits()) {
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

pub fn order_create(s: &mut Scene) -> Option<Plan> {
    let who = s.actor_of(&CUSTOMERS);
    let free: Vec<u64> =
        (0..12).filter(|nonce| s.a.book.held(&pda::order(&who.wallet(), *nonce)).is_none()).collect();
    let nonce = if s.once_in(20) { s.r.below(6) } else { s.one(free)? };
    let mut args = OrderArgs {
        nodes: 1 + s.r.below(5).saturating_sub(3) as u8,
        gpus_per_node: 1 + s.below(2) as u8,
        duration_secs: 30 + s.below(600) as u32,
        max_price: 1_000_000 + s.r.below(5_000_000),
        run_to_completion: s.below(2) as u8,
        ..ix::order_args(nonce)
    };
    args.requirement.allow_simulated = s.below(2) as u8;
    if s.once_in(20) {
        args.max_price = s.about(u64::MAX);
        args.duration_secs = s.r.u32();
        args.nodes = s.below(256) as u8;
    }
    args.no_migration = u8::from(s.once_in(4));
    if s.once_in(5) {
        // One GPU each of three machines, so that more than one such job fits the cast.
        (args.nodes, args.gpus_per_node, args.redundant) = (3, 1, 1);
        (args.run_to_completion, args.no_migration) = (1, 1);
        (args.duration_secs, args.max_price) = (30 + s.below(120) as u32, 3_000_000 + s.r.below(3_000_000));
    }
    let create = Step::Send(vec![by_someone(s, ix::order_create(who, args), &who.wallet())]);
    let mut plan = vec![create];
    let order = pda::order(&who.wallet(), nonce);
    if !s.once_in(3) {
        if args.redundant == 1 {
            plan.extend(super::outputs::awards_of(s, &order, &who.wallet(), args.max_price)?);
            return Some(plan);
        }
        for _ in 0..args.nodes.min(2) {
            plan.extend(super::leases::award_of(s, &order, &who.wallet(), args.max_price, args.nodes == 1)?);
        }
    }
    Some(plan)
}

pub fn order_cancel(s: &mut Scene) -> Option<Plan> {
    let (at, order) = s.any::<Order>()?;
    let who = s.who(&order.customer)?;
    let mut cancel = ix::order_cancel(who, &at);
    cancel.accounts[3].pubkey = order.rent_payer;
    one(by_someone(s, cancel, &order.customer))
}

pub fn order_expire(s: &mut Scene) -> Option<Plan> {
    let (at, order) = s.any::<Order>()?;
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
    let who = s.actor_of(&CUSTOMERS);
    let key = s.actor().wallet();
    let cap = if s.once_in(4) { 0 } else { s.about(2_000_000) };
    let expiry = s.a.now() + s.r.below(3_000) as i64 - 100;
    one(ix::credits_set_session_key(who, &key, cap, expiry))
}

/// The same sent by one of the customer's session keys, now and then.
pub fn by_someone(s: &mut Scene, instruction: Instruction, customer: &Address) -> Instruction {
    if !s.once_in(3) {
        return instruction;
    }
    let credits = s.a.book.get::<Credits>(&pda::credits(customer));
    let keys: Vec<Address> = credits
        .map(|credits| credits.session_keys.iter().filter(|key| key.cap > 0).map(|key| key.key).collect())
        .unwrap_or_default();
    match s.one(keys) {
        Some(key) => ix::by_session(instruction, &key),
        None => instruction,
    }
}
