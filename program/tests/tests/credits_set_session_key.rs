use gantry_market::errors::MarketError;
use gantry_market::events::SessionKeySet;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Credits, Lease, Order, SessionKey};
use gantry_market_tests::actors::START_LAMPORTS;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::ix::by_session;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

/// A customer with 100 USDC, and a session key of 5 USDC for an hour. The key is older than anything it does.
fn named() -> (Testbed, Actor, Actor) {
    let mut w = Testbed::new();
    let (who, session) = (w.customer(100_000_000), w.actor());
    let until = w.now() + 3_600;
    let name = ix::credits_set_session_key(&who, &session.wallet(), 5_000_000, until);
    w.ok(name, &[&who.key]);
    w.warp(1);
    (w, who, session)
}

fn slot(w: &Testbed, who: &Actor, at: usize) -> SessionKey {
    w.read::<Credits>(&who.credits()).session_keys[at]
}

fn spent(w: &Testbed, who: &Actor) -> u64 {
    slot(w, who, 0).spent
}

fn create(w: &mut Testbed, who: &Actor, session: &Actor, args: OrderArgs) -> Address {
    w.ok(by_session(ix::order_create(who, args), &session.wallet()), &[&session.key]);
    pda::order(&who.wallet(), args.nonce)
}

/// Keeper, provider and machine for an award.
fn market(w: &mut Testbed) -> (Actor, Actor, Machine) {
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    (keeper, provider, machine)
}

#[test]
fn a_key_is_named_changed_and_removed() {
    let (mut w, who, session) = named();
    let (key, since) = (session.wallet(), w.now() - 1);
    let first = slot(&w, &who, 0);
    assert_eq!((first.key, first.cap, first.spent), (key, 5_000_000, 0));
    assert_eq!((first.expiry, first.since), (since + 3_600, since));
    create(&mut w, &who, &session, ix::order_args(1));
    let change = ix::credits_set_session_key(&who, &key, 7_000_000, since + 60);
    let meta = w.ok(change, &[&who.key]);
    let event = SessionKeySet { customer: who.wallet(), key, cap: 7_000_000, expiry: since + 60 };
    assert_emitted(&meta, &event);
    // What it has spent stays spent.
    let changed = slot(&w, &who, 0);
    assert_eq!((changed.cap, changed.spent, changed.expiry), (7_000_000, 3_000_000, since + 60));
    assert_eq!(changed.since, since);
    for _ in 0..2 {
        w.ok(ix::credits_set_session_key(&who, &key, 0, 0), &[&who.key]);
        assert_eq!((slot(&w, &who, 0).key, slot(&w, &who, 0).cap), (Address::default(), 0));
    }
    let order = by_session(ix::order_create(&who, ix::order_args(2)), &key);
    w.refused(order, &[&session.key], MarketError::Unauthorised);
}

#[test]
fn there_is_room_for_four_and_expired_ones_make_room() {
    let mut w = Testbed::new();
    let who = w.customer(100);
    let keys: Vec<Address> = (0..5).map(|_| w.fresh_address()).collect();
    let until = w.now() + 100;
    for (at, key) in keys[..4].iter().enumerate() {
        w.ok(ix::credits_set_session_key(&who, key, 1, until + at as i64), &[&who.key]);
    }
    let fifth = ix::credits_set_session_key(&who, &keys[4], 1, until + 1_000);
    w.refused(fifth.clone(), &[&who.key], MarketError::TooManySessionKeys);
    w.set_now(until - 1);
    w.refused(fifth.clone(), &[&who.key], MarketError::TooManySessionKeys);
    w.set_now(until);
    w.ok(fifth, &[&who.key]);
    assert_eq!(slot(&w, &who, 0).key, keys[4]);
    assert_eq!(slot(&w, &who, 1).key, keys[1]);
}

/// A slot with a cap of 0 is empty, whatever else it holds.
#[test]
fn a_key_without_a_cap_is_none() {
    let (mut w, who, session) = named();
    w.alter(&who.credits(), |c: &mut Credits| c.session_keys[0].cap = 0);
    let order = by_session(ix::order_create(&who, ix::order_args(1)), &session.wallet());
    w.refused(order, &[&session.key], MarketError::Unauthorised);
}

#[test]
fn a_key_must_make_sense() {
    let mut w = Testbed::new();
    let who = w.customer(100);
    let (key, now) = (w.fresh_address(), w.now());
    for (key, expiry) in [(who.wallet(), now + 1), (Address::default(), now + 1), (key, now), (key, i64::MIN)]
    {
        let name = ix::credits_set_session_key(&who, &key, 1, expiry);
        w.refused(name, &[&who.key], MarketError::InvalidSessionKey);
    }
    w.ok(ix::credits_set_session_key(&who, &key, u64::MAX, i64::MAX), &[&who.key]);
}

#[test]
fn orders_of_a_key_are_the_customers_and_their_rent_is_the_keys() {
    let (mut w, who, session) = named();
    let order = create(&mut w, &who, &session, ix::order_args(1));
    let state: Order = w.read(&order);
    assert_eq!((state.customer, state.rent_payer), (who.wallet(), session.wallet()));
    assert_eq!((state.session_slot, spent(&w, &who)), (1, 3_000_000));
    assert_eq!(w.read::<Credits>(&who.credits()).reserved, 3_000_000);
    assert!(w.lamports(&session.wallet()) < START_LAMPORTS);
    // The customer cancels it; the key has its rent, and its cap, back.
    let mut cancel = ix::order_cancel(&who, &order);
    w.refused(cancel.clone(), &[&who.key], MarketError::WrongAccount);
    cancel.accounts[3].pubkey = session.wallet();
    w.ok(cancel, &[&who.key]);
    assert_eq!(w.lamports(&session.wallet()), START_LAMPORTS);
    assert_eq!(spent(&w, &who), 0);
}

#[test]
fn a_key_stays_within_its_cap() {
    let (mut w, who, session) = named();
    let order = create(&mut w, &who, &session, ix::order_args(1));
    let more = OrderArgs { max_price: 2_000_001, ..ix::order_args(2) };
    let create_more = by_session(ix::order_create(&who, more), &session.wallet());
    w.refused(create_more, &[&session.key], MarketError::SessionCapExceeded);
    create(&mut w, &who, &session, OrderArgs { max_price: 2_000_000, ..ix::order_args(2) });
    assert_eq!(spent(&w, &who), 5_000_000);
    // An order that nobody takes gives its part of the cap back.
    w.warp(61);
    let mut expire = ix::order_expire(&who, &order);
    expire.accounts[2].pubkey = session.wallet();
    w.ok(expire, &[]);
    assert_eq!(spent(&w, &who), 2_000_000);
    // The customer's own orders are not held against the key, and the cap is not money: free credits bind too.
    w.order(&who, OrderArgs { max_price: 97_000_000, ..ix::order_args(3) });
    assert_eq!(spent(&w, &who), 2_000_000);
    let poor = by_session(
        ix::order_create(&who, OrderArgs { max_price: 3_000_000, ..ix::order_args(4) }),
        &session.wallet(),
    );
    w.refused(poor, &[&session.key], MarketError::InsufficientFunds);
}

#[test]
fn a_key_does_nothing_after_its_expiry() {
    let (mut w, who, session) = named();
    let order = create(&mut w, &who, &session, ix::order_args(1));
    let mut cancel = by_session(ix::order_cancel(&who, &order), &session.wallet());
    cancel.accounts[3].pubkey = session.wallet();
    w.warp(3_599);
    w.refused(cancel.clone(), &[&session.key], MarketError::SessionKeyExpired);
    let create = by_session(ix::order_create(&who, ix::order_args(2)), &session.wallet());
    w.refused(create, &[&session.key], MarketError::SessionKeyExpired);
    w.warp(-1);
    w.ok(cancel, &[&session.key]);
}

#[test]
fn what_an_award_releases_is_not_spent_and_what_a_lease_holds_is() {
    let (mut w, who, session) = named();
    let (keeper, provider, machine) = market(&mut w);
    let order = create(&mut w, &who, &session, ix::order_args(1));
    let lease = w.award(&keeper, &who, &order, &provider, &machine);
    // 3 USDC an hour were reserved, the ask is 2.
    assert_eq!(spent(&w, &who), 2_000_000);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
    let extend = by_session(ix::lease_extend(&w, &lease, 5_400), &session.wallet());
    w.ok(extend, &[&session.key]);
    assert_eq!(spent(&w, &who), 5_000_000);
    let extend = by_session(ix::lease_extend(&w, &lease, 2), &session.wallet());
    w.refused(extend, &[&session.key], MarketError::SessionCapExceeded);
    // Ending it early gives the money back, not the cap.
    w.ok(ix::lease_end(&w, &session.wallet(), &lease, 0), &[&session.key]);
    assert_eq!(w.read::<Credits>(&who.credits()).reserved, 0);
    assert_eq!(spent(&w, &who), 5_000_000);
}

#[test]
fn an_aborted_lease_was_not_spent() {
    let (mut w, who, session) = named();
    let (keeper, provider, machine) = market(&mut w);
    let order = create(&mut w, &who, &session, ix::order_args(1));
    let lease = w.award(&keeper, &who, &order, &provider, &machine);
    w.warp(121);
    w.ok(ix::lease_abort(&w, &lease), &[]);
    assert_eq!(spent(&w, &who), 0);
    // The key opens it again, and pays for that from its cap.
    w.ok(by_session(ix::order_reopen(&who, &order), &session.wallet()), &[&session.key]);
    assert_eq!(spent(&w, &who), 3_000_000);
    let mut cancel = ix::order_cancel(&who, &order);
    cancel.accounts[3].pubkey = session.wallet();
    w.ok(cancel, &[&who.key]);
    assert_eq!(spent(&w, &who), 0);
}

#[test]
fn an_order_that_two_have_reserved_for_gives_no_cap_back() {
    let (mut w, who, session) = named();
    let (keeper, provider, machine) = market(&mut w);
    let order = create(&mut w, &who, &session, ix::order_args(1));
    let lease = w.award(&keeper, &who, &order, &provider, &machine);
    w.warp(121);
    w.ok(ix::lease_abort(&w, &lease), &[]);
    create(&mut w, &who, &session, ix::order_args(2));
    w.ok(ix::order_reopen(&who, &order), &[&who.key]);
    assert_eq!(w.read::<Order>(&order).session_slot, 0);
    let mut cancel = by_session(ix::order_cancel(&who, &order), &session.wallet());
    cancel.accounts[3].pubkey = session.wallet();
    w.ok(cancel, &[&session.key]);
    assert_eq!(spent(&w, &who), 3_000_000, "the second order's");
}

#[test]
fn a_key_that_is_named_again_does_not_inherit() {
    let (mut w, who, session) = named();
    let order = create(&mut w, &who, &session, ix::order_args(1));
    let until = w.now() + 3_600;
    w.ok(ix::credits_set_session_key(&who, &session.wallet(), 0, 0), &[&who.key]);
    w.ok(ix::credits_set_session_key(&who, &session.wallet(), 5_000_000, until), &[&who.key]);
    assert_eq!(spent(&w, &who), 0);
    w.warp(1);
    create(&mut w, &who, &session, ix::order_args(2));
    // What comes back of the old order was not spent under the new name: else the key would spend 8 USDC of 5.
    let mut cancel = by_session(ix::order_cancel(&who, &order), &session.wallet());
    cancel.accounts[3].pubkey = session.wallet();
    w.ok(cancel, &[&session.key]);
    assert_eq!(spent(&w, &who), 3_000_000);
}

#[test]
fn a_key_signs_receipts() {
    let (mut w, who, session) = named();
    let (keeper, provider, machine) = market(&mut w);
    let order = w.order(&who, ix::order_args(1));
    let lease = w.award(&keeper, &who, &order, &provider, &machine);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
    w.warp(600);
    let settle = ix::receipt(&w, &lease, &machine.key, &session.key, 1, 600);
    w.ok_all(&settle, &[]);
    assert_eq!(w.read::<Lease>(&lease).paid_secs, 600);
    let stranger = w.actor();
    w.warp(600);
    let forged = ix::receipt(&w, &lease, &machine.key, &stranger.key, 2, 1_200);
    w.refused_all(&forged, &[], MarketError::InvalidSignature);
    w.set_now(slot(&w, &who, 0).expiry);
    let late = ix::receipt(&w, &lease, &machine.key, &session.key, 2, 1_200);
    w.refused_all(&late, &[], MarketError::InvalidSignature);
}

#[test]
fn a_key_never_takes_money_or_names_keys() {
    let (mut w, who, session) = named();
    let key = session.wallet();
    let until = w.now() + 10_000;
    let others = [
        by_session(ix::credits_withdraw(&who, 1), &key),
        by_session(ix::credits_close(&who), &key),
        by_session(ix::credits_set_session_key(&who, &key, 50_000_000, until), &key),
    ];
    for theft in others {
        let credits = who.credits();
        assert!(theft.accounts.iter().any(|meta| meta.pubkey == credits));
        w.refused(theft, &[&session.key], MarketError::Unauthorised);
    }
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, who, session) = named();
    let other = w.customer(100);
    let good = ix::credits_set_session_key(&who, &session.wallet(), 1, w.now() + 1);
    let silent = unsigned(good.clone(), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let theft = swap(good.clone(), &who.wallet(), &other.wallet());
    w.refused(theft, &[&other.key], MarketError::Unauthorised);
    let credits = w.forged(&who.credits());
    let cases = [
        ("credits", who.credits(), other.credits(), MarketError::Unauthorised.into()),
        ("credits' program", who.credits(), credits, InstructionError::IllegalOwner.into()),
    ];
    w.refuses_swaps(&good, &[&who.key], &cases);
}
