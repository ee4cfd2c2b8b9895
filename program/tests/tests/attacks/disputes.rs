//! Attacks by way of disputes and appeals.

use gantry_market::constants::FLAG_DEVICE_CHANGED;
use gantry_market_tests::ix::signed;
use gantry_market_tests::{ix, pda};
use solana_address::Address;

use super::money::{wealth, Usd};
use super::slashes::found_out;
use super::Row;
use crate::dispute_resolve::disputed;
use crate::dispute_uphold::{output_statement, upheld};

/// Provider and reserve keeper have one owner.
/// Finding C 5.
pub fn a_reserve_keeper_voids_an_upheld_dispute() -> Row {
    let play = |appeals: bool| {
        let (mut w, deal, payer) = upheld();
        let late = w.keeper(5 * w.params.min_bond);
        w.ok(ix::dispute_uphold(&w, &payer.wallet(), &deal.lease), &[&payer.key]);
        let fault = pda::dispute_fault(&deal.lease);
        if appeals {
            let text = output_statement(&w, &deal, true);
            let appeal = [signed(&late.key, &text), ix::slash_appeal(&w, &fault, &late, text)];
            assert!(w.send(&appeal, &[]).is_err());
        }
        w.warp(300);
        w.ok(ix::slash_apply(&w, &fault), &[]);
        wealth(&w, &[&deal.provider, &late])
    };
    Row {
        source: "C 5a",
        attack: "A provider that lost a dispute activates a reserve keeper, whose statement voids the fault",
        instead: "pays the slash of 5",
        before: "+10: the whole slash",
        profit: Usd(play(true) - play(false)),
        assumption: "",
    }
}

/// The cheat's own customer has its dispute upheld, and then the machine is found out.
/// Finding C 6.
pub fn a_dispute_keeps_a_report_from_its_fault() -> Row {
    let (mut w, deal, payer) = upheld();
    let own = [&deal.provider, &deal.customer];
    let before = wealth(&w, &own);
    w.ok(ix::dispute_uphold(&w, &payer.wallet(), &deal.lease), &[&payer.key]);
    let disputed = pda::dispute_fault(&deal.lease);
    let reported =
        found_out(&mut w, &deal.keeper, deal.machine.node, Address::default(), FLAG_DEVICE_CHANGED);
    w.warp(300);
    for fault in [disputed, reported] {
        w.ok(ix::slash_apply(&w, &fault), &[]);
        w.ok(ix::slash_compensate(&w, &fault, &deal.lease), &[]);
    }
    Row {
        source: "C 6b",
        attack: "A cheat's own customer has a dispute upheld, so that its fault holds the address which the report's fault \
                 needs, and is finder and victim in one",
        instead: "no fraud",
        before: "−9.666667: the report's fault of 20 could not be opened",
        profit: Usd(wealth(&w, &own) - before),
        assumption: "what the fraud itself brings is less than what is burned",
    }
}

/// Finding R 15.
pub fn a_dispute_without_a_reason() -> Row {
    let (mut w, deal) = disputed(Some(0));
    let before = wealth(&w, &[&deal.customer]);
    w.ok(ix::dispute_resolve(&w, &deal.lease), &[]);
    Row {
        source: "R 15",
        attack: "A customer disputes a lease of 2 USDC that was served, to tie up its provider's stake; keepers reject it",
        instead: "no dispute",
        before: "−5",
        profit: Usd(wealth(&w, &[&deal.customer]) - before),
        assumption: "what the provider loses is worth less to the customer than the deposit",
    }
}

/// Finding R 15.
pub fn a_dispute_that_own_keepers_leave_undecided() -> Row {
    let (mut w, deal) = disputed(None);
    let before = wealth(&w, &[&deal.customer, &deal.keeper]);
    w.warp(300);
    w.ok(ix::dispute_resolve(&w, &deal.lease), &[]);
    Row {
        source: "R 15",
        attack: "The same, and keepers of the customer's owner do not vote, so that it stays undecided",
        instead: "no dispute",
        before: "0",
        profit: Usd(wealth(&w, &[&deal.customer, &deal.keeper]) - before),
        assumption: "what the provider loses is worth less to the customer than a quarter of the deposit",
    }
}

/// Finding R 15.
pub fn a_verdict_is_sold_for_the_voters_pay() -> Row {
    let play = |uphold: u8| {
        let (mut w, deal) = disputed(Some(uphold));
        if uphold == 1 {
            w.ok(ix::dispute_uphold(&w, &deal.customer.wallet(), &deal.lease), &[&deal.customer.key]);
            w.warp(300);
            w.ok(ix::slash_apply(&w, &pda::dispute_fault(&deal.lease)), &[]);
        } else {
            w.ok(ix::dispute_resolve(&w, &deal.lease), &[]);
        }
        wealth(&w, &[&deal.keeper])
    };
    let (uphold, reject) = (play(1), play(0));
    Row {
        source: "R 15",
        attack: "A keeper takes the side of a dispute that pays voters better",
        instead: "the other side",
        before: "+1 for upholding",
        profit: Usd((uphold - reject).abs()),
        assumption: "",
    }
}
