//! C3, C4, C8, C12: weight, places and signers of keepers, and votes that fall apart.

use gantry_market::constants::{IDLE_REPORTS, OUTAGE_SECS};
use gantry_market::state::{Keeper, Params, Rewards};
use gantry_market_tests::testbed::test_params;
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_signer::Signer;

use crate::sums::attempt;

/// C3: a keeper's weight grows between its vote and its claim. What it takes of a report that four of equal weight voted.
fn claimed(grows: bool) -> (u64, u64) {
    let mut w = Testbed::with(Params { weight_cap: 1_000_000_000, ..test_params() });
    let authority = w.authority.insecure_clone();
    let keepers: Vec<Actor> = (0..4).map(|_| w.keeper(8_000_000_000)).collect();
    if grows {
        // In three steps of a factor of two. The last one waits until the report is rewarded.
        for weight_cap in [2_000_000_000, 4_000_000_000, 8_000_000_000] {
            let _ = attempt(&mut w, &[ix::market_apply_params()], &[]);
            let params = Params { weight_cap, ..w.params };
            w.ok(ix::market_propose_params(&w, params), &[&authority]);
            w.warp(i64::from(w.params.timelock_secs));
        }
    }
    let fee = w.swept();
    let all: Vec<&Actor> = keepers.iter().collect();
    let period = w.ripe(&all);
    w.ok(ix::rewards_accrue(&w, period), &[]);
    let allocated = w.read::<Rewards>(&pda::rewards()).allocated;
    if grows {
        w.ok(ix::market_apply_params(), &[]);
        for _ in 0..=IDLE_REPORTS {
            w.voted(&[all[1], all[2], all[3], &fee.keeper]);
        }
        w.warp(120);
        let suspend = ix::keeper_suspend(&keepers[0].keeper());
        println!("suspend {:?}", attempt(&mut w, &[suspend], &[]));
        w.warp(i64::from(w.params.keeper_activation_secs));
        let activate = ix::keeper_activate(&keepers[0]);
        println!("activate {:?}", attempt(&mut w, &[activate], &[&keepers[0].key]));
        println!("weight {}", w.read::<Keeper>(&keepers[0].keeper()).weight);
    }
    let before = w.tokens(&keepers[0].payment);
    let claim = ix::rewards_claim(&keepers[0], Some(period));
    println!("claim {:?}", attempt(&mut w, &[claim], &[]));
    (w.tokens(&keepers[0].payment) - before, allocated)
}

#[test]
fn a_share_is_of_the_weight_of_the_vote() {
    let ((fair, all), (grown, of)) = (claimed(false), claimed(true));
    println!("{fair} of {all}, after its weight grew {grown} of {of}");
    assert!(fair > 0 && grown <= of / 4 + 1);
}

/// A keeper that did not vote takes the place of a keeper that voted, and claims its share.
#[test]
fn a_place_is_no_claim() {
    let mut w = Testbed::new();
    let voters: Vec<Actor> = (0..4).map(|_| w.keeper(1_000_000_000)).collect();
    let fee = w.swept();
    let all: Vec<&Actor> = voters.iter().collect();
    let period = w.ripe(&all);
    w.ok(ix::rewards_accrue(&w, period), &[]);
    let place = w.read::<Keeper>(&voters[0].keeper()).index;
    w.ok(ix::keeper_request_exit(&voters[0]), &[&voters[0].key]);
    let heir = w.keeper(1_000_000_000);
    println!("place {place}, the heir's {}", w.read::<Keeper>(&heir.keeper()).index);
    let claim = ix::rewards_claim(&heir, Some(period));
    let claimed = attempt(&mut w, &[claim], &[]);
    let own = ix::rewards_claim(&voters[0], Some(period));
    let left = attempt(&mut w, &[own], &[]);
    println!("the heir claims {claimed:?}, the voter {left:?}");
    assert!(claimed.is_err());
    let _ = fee.keeper;
}

/// C4: pending bonds fill all places.
#[test]
fn pending_bonds_keep_nobody_out() {
    let mut w = Testbed::new();
    for _ in 0..256 {
        w.pending_keeper(w.params.min_bond);
    }
    let big = w.keeper(100 * w.params.min_bond);
    assert_eq!(w.read::<Keeper>(&big.keeper()).weight, w.params.weight_cap);
}

/// The same with bonds that are active, and so at risk: what a place costs.
#[test]
fn active_bonds_cost_their_places() {
    let mut w = Testbed::new();
    let all: Vec<Actor> = (0..256).map(|_| w.pending_keeper(w.params.min_bond)).collect();
    w.warp(i64::from(w.params.keeper_activation_secs));
    for one in &all {
        w.ok(ix::keeper_activate(one), &[&one.key]);
    }
    let big = w.actor();
    let register = ix::keeper_register(&w, &big, 100 * w.params.min_bond);
    let registered = attempt(&mut w, &[register], &[&big.key]);
    w.warp(i64::from(w.params.keeper_activation_secs));
    let activated = attempt(&mut w, &[ix::keeper_activate(&big)], &[&big.key]);
    println!("256 of {} active: register {registered:?}, activate {activated:?}", w.params.min_bond);
    // They are 256 bonds of 1 against one of 100: nobody of them votes, and idle ones lose their places.
    assert_eq!(registered, Ok(()));
}

/// C8: an old consent names a former signer again.
#[test]
fn an_old_consent_is_worth_nothing() {
    let mut w = Testbed::new();
    let mut keeper = w.keeper(10_000_000_000);
    let (first, second) = (w.hot_key(), w.hot_key());
    let old = ix::signed(&first, &ix::consent(&w, &keeper.wallet()));
    let long = ix::signed(&first, &ix::consent_until(&keeper.wallet(), w.now() + 365 * 86_400));
    for (what, consent) in [("a year", long), ("a minute", old)] {
        let mut copy = w.fork();
        let mut who = keeper.again();
        let named = [consent.clone(), ix::keeper_set_signer(&who, &first.pubkey())];
        let now = attempt(&mut copy, &named, &[&who.key]);
        if now.is_err() {
            println!("consent for {what}: {now:?}");
            continue;
        }
        who.hot = Some(first.insecure_clone());
        copy.set_now(copy.read::<Keeper>(&who.keeper()).signer_until + 1);
        copy.rotate(&mut who, &second);
        copy.set_now(copy.read::<Keeper>(&who.keeper()).signer_until + 1);
        let again = attempt(&mut copy, &named, &[&who.key]);
        println!("consent for {what}: {now:?}, again {again:?}");
        assert!(again.is_err(), "the old consent of {what} names it again");
    }
    keeper.hot = None;
}

/// C12: one keeper opens the window so that votes of the honest fall apart; a second vote completes it.
#[test]
fn a_split_outage_is_voted_again() {
    let mut w = Testbed::new();
    let evil = w.keeper(w.params.min_bond);
    let it = w.silent();
    w.set_now(it.answer + OUTAGE_SECS);
    let open = ix::outage_vote(&evil, &it.deal.machine.node, it.answer);
    w.ok(open, &[evil.signing()]);
    w.warp(29);
    w.ok(it.vote(0), &[it.keepers[0].signing()]);
    w.warp(3);
    for at in [1, 2] {
        println!("vote {at}: {:?}", attempt(&mut w, &[it.vote(at)], &[it.keepers[at].signing()]));
    }
    w.warp(1);
    println!("again: {:?}", attempt(&mut w, &[it.vote(0)], &[it.keepers[0].signing()]));
    let fail = it.fail(&w);
    assert_eq!(attempt(&mut w, &[fail], &[it.keepers[0].signing()]), Ok(()), "the lease does not fail");
}
