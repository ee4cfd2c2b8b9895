use gantry_market::constants::{FLAG_BAD_OUTPUT, FLAG_OFFLINE};
use gantry_market::errors::MarketError;
use gantry_market::events::SlashClosed;
use gantry_market::state::{Fault, Rewards};
use gantry_market::ID;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::{ix, pda, Deal, Testbed};
use solana_address::Address;
use solana_instruction::AccountMeta;
use solana_instruction_error::InstructionError;

/// An applied fault of a lease: 0.2 tokens of a half wait for claims, of five tokens 2.
fn applied(flags: u16) -> (Testbed, Deal, Address) {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(60);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    let period = w.period();
    w.warp_past_period(period);
    let silent = LeafData {
        flags,
        verified_secs: 10,
        downtime_secs: 50,
        ..w.good_leaf(deal.machine.node, deal.lease, period)
    };
    let proof = w.finalise(&deal.keeper, &[silent]).remove(0);
    w.ok(ix::fault_open(&w, &deal.keeper.wallet(), &proof), &[&deal.keeper.key]);
    let fault = ix::fault_of(&proof);
    w.warp(300);
    w.ok(ix::slash_apply(&w, &fault), &[]);
    (w, deal, fault)
}

#[test]
fn what_nobody_claims_is_burned_and_the_lease_is_free() {
    for (flags, pool) in [(FLAG_OFFLINE, 200_000_000), (FLAG_BAD_OUTPUT, 2_000_000_000)] {
        let (mut w, deal, fault) = applied(flags);
        let close = ix::slash_close(&w, &fault);
        w.warp(239);
        w.refused(close.clone(), &[], MarketError::TooEarly);
        w.warp(1);
        let (supply, rent) = (w.supply(&w.stake_mint), w.lamports(&fault));
        let before = w.lamports(&deal.keeper.wallet());
        let meta = w.ok(close, &[]);
        assert_eq!(w.supply(&w.stake_mint), supply - pool);
        assert_eq!(w.read::<Rewards>(&pda::rewards()).payouts, 0);
        assert_eq!((w.exists(&fault), deal.state(&w).pending_faults), (false, 0));
        assert_eq!(w.lamports(&deal.keeper.wallet()), before + rent);
        assert_emitted(&meta, &SlashClosed { fault, burned: pool });
    }
}

#[test]
fn earlier_when_nothing_is_left_to_claim() {
    let (mut w, _, fault) = applied(FLAG_OFFLINE);
    w.alter(&fault, |f: &mut Fault| f.pool_left = 0);
    w.ok(ix::slash_close(&w, &fault), &[]);
}

#[test]
fn the_compensated_lease_is_not_needed() {
    let (mut w, deal, fault) = applied(FLAG_OFFLINE);
    w.ok(ix::slash_compensate(&w, &fault, &deal.lease), &[]);
    w.warp(240);
    w.ok(ix::slash_close(&w, &fault), &[]);
}

#[test]
fn not_before_the_fault_was_applied() {
    let (mut w, _, fault) = applied(FLAG_OFFLINE);
    w.alter(&fault, |f: &mut Fault| (f.status, f.claims_until) = (1, 0));
    w.refused(ix::slash_close(&w, &fault), &[], MarketError::AppealWindowOpen);
}

#[test]
fn wrong_accounts_are_refused() {
    let (mut w, deal, fault) = applied(FLAG_OFFLINE);
    w.warp(240);
    let good = ix::slash_close(&w, &fault);
    for at in [pda::market(), pda::rewards(), deal.lease, fault] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &[], &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let (mint, stranger) = (w.stake_mint, w.actor());
    let twins = [pda::payout_vault(), mint, deal.lease].map(|at| w.twin(&at));
    let cases: [(_, _, _, Code); 5] = [
        ("vault", pda::payout_vault(), twins[0], MarketError::WrongAccount.into()),
        ("mint", mint, twins[1], MarketError::WrongMint.into()),
        ("lease", deal.lease, twins[2], MarketError::WrongAccount.into()),
        ("rent", deal.keeper.wallet(), stranger.wallet(), MarketError::WrongAccount.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
    let mut without = good.clone();
    without.accounts[4] = AccountMeta::new_readonly(ID, false);
    w.refused(without, &[], MarketError::MissingAccount);
    w.ok(good, &[]);
}
