use gantry_market::constants::FLAG_OFFLINE;
use gantry_market::errors::MarketError;
use gantry_market::events::{PayoutClaimed, PayoutCredited};
use gantry_market::state::{Payout, Rewards};
use gantry_market_tests::actors::START_STAKE;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::leaves::{statement, LeafData};
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::{ix, pda, Actor, Deal, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

const BOND: u64 = 4_000_000_000;

/// A finder to whom 0.2 tokens of an expelled keeper's bond are owed.
fn owed() -> (Testbed, Actor, Actor, Address) {
    let mut w = Testbed::new();
    let (keeper, finder) = (w.keeper(BOND), w.actor());
    let records = [true, false].map(|passed| statement(&Address::new_from_array([5; 32]), 30, 3, passed));
    let proof = ix::equivocation(&w, &finder, &keeper, &records[0], &records[1]);
    let meta = w.ok_all(&proof, &[&finder.key]);
    let at = pda::payout(&finder.wallet(), &keeper.keeper());
    let event = PayoutCredited {
        payout: at,
        beneficiary: finder.wallet(),
        source: keeper.keeper(),
        amount: 200_000_000,
        payable_at: w.now() + i64::from(w.params.keeper_exit_secs),
    };
    assert_emitted(&meta, &event);
    (w, keeper, finder, at)
}

#[test]
fn a_part_of_a_bond_leaves_no_earlier_than_the_bond_could_have() {
    let (mut w, keeper, finder, at) = owed();
    let claim = ix::payout_claim(&w, &at, finder.stake);
    w.warp(i64::from(w.params.keeper_exit_secs) - 1);
    w.refused(claim.clone(), &[], MarketError::TooEarly);
    assert_eq!(w.tokens(&finder.stake), START_STAKE);
    w.warp(1);
    let (rent, lamports) = (w.lamports(&at), w.lamports(&finder.wallet()));
    // Whoever sends it.
    let meta = w.ok(claim, &[]);
    assert_eq!(w.tokens(&finder.stake), START_STAKE + 200_000_000);
    assert_eq!(w.lamports(&finder.wallet()), lamports + rent);
    assert!(!w.exists(&at));
    assert_eq!((w.read::<Rewards>(&pda::rewards()).payouts, w.tokens(&pda::payout_vault())), (0, 0));
    let source = keeper.keeper();
    let event = PayoutClaimed { payout: at, beneficiary: finder.wallet(), source, amount: 200_000_000 };
    assert_emitted(&meta, &event);
}

#[test]
fn a_second_part_of_the_same_source_is_added_and_waits_for_the_later_delay() {
    let (mut w, keeper, finder, at) = owed();
    let first = w.read::<Payout>(&at);
    // The same keeper again: registered, and expelled, a second time.
    w.warp(i64::from(w.params.keeper_exit_secs));
    w.ok(ix::keeper_withdraw(&keeper), &[&keeper.key]);
    w.ok(ix::keeper_register(&w, &keeper, BOND), &[&keeper.key]);
    let records = [true, false].map(|passed| statement(&Address::new_from_array([5; 32]), 31, 3, passed));
    let proof = ix::equivocation(&w, &finder, &keeper, &records[0], &records[1]);
    w.ok_all(&proof, &[&finder.key]);
    let both = w.read::<Payout>(&at);
    assert_eq!((first.amount, both.amount), (200_000_000, 400_000_000));
    assert_eq!(both.payable_at, w.now() + i64::from(w.params.keeper_exit_secs));
    w.refused(ix::payout_claim(&w, &at, finder.stake), &[], MarketError::TooEarly);
    assert_eq!(w.read::<Rewards>(&pda::rewards()).payouts, 400_000_000);
}

/// A customer that was harmed waits as long as the provider that harmed it would have.
#[test]
fn a_customers_part_waits_for_the_cooldown() {
    let mut w = Testbed::new();
    let deal: Deal = w.running();
    w.warp(30);
    w.settle(&deal, 1, 30);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = LeafData {
        flags: FLAG_OFFLINE,
        verified_secs: 0,
        up_secs: 0,
        downtime_secs: w.params.period_secs,
        ..w.good_leaf(deal.machine.node, deal.lease, period)
    };
    let proof = w.finalise(&deal.keeper, &[leaf]).remove(0);
    w.ok(ix::fault_open(&w, &deal.keeper.wallet(), &proof), &[&deal.keeper.key]);
    let fault = pda::fault(&deal.machine.node, &deal.lease, period);
    w.warp(i64::from(w.params.appeal_secs));
    w.ok(ix::slash_apply(&w, &fault), &[]);
    w.ok(ix::slash_compensate(&w, &fault, &deal.lease), &[]);
    let at = pda::payout(&deal.customer.wallet(), &fault);
    let waits = w.read::<Payout>(&at);
    assert_eq!(waits.payable_at, w.now() + i64::from(w.params.unstake_cooldown_secs));
    // Terms that change later change nothing for it.
    w.alter(&pda::market(), |m: &mut gantry_market::state::Market| m.params.unstake_cooldown_secs = 0);
    w.refused(ix::payout_claim(&w, &at, deal.customer.stake), &[], MarketError::TooEarly);
    w.set_now(waits.payable_at);
    w.ok(ix::payout_claim(&w, &at, deal.customer.stake), &[]);
    assert_eq!(w.tokens(&deal.customer.stake), START_STAKE + waits.amount);
}

#[test]
fn a_paused_market_still_pays_out() {
    let (mut w, _, finder, at) = owed();
    w.pause();
    w.warp(i64::from(w.params.keeper_exit_secs));
    w.ok(ix::payout_claim(&w, &at, finder.stake), &[]);
}

#[test]
fn a_vault_that_is_short_pays_nothing() {
    let (mut w, _, finder, at) = owed();
    w.warp(i64::from(w.params.keeper_exit_secs));
    w.alter(&pda::rewards(), |r: &mut Rewards| r.payouts += 1);
    w.refused(ix::payout_claim(&w, &at, finder.stake), &[], MarketError::InvariantBroken);
}

#[test]
fn nobody_else_is_paid() {
    let (mut w, keeper, finder, at) = owed();
    let stranger = w.actor();
    w.warp(i64::from(w.params.keeper_exit_secs));
    let good = ix::payout_claim(&w, &at, finder.stake);
    for at in [pda::market(), pda::rewards(), at, finder.stake] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &[], &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let vault = pda::payout_vault();
    let cases: [(_, _, _, Code); 7] = [
        ("vault", vault, pda::emission_vault(), MarketError::WrongAccount.into()),
        ("bond", vault, keeper.keeper_vault(), MarketError::WrongAccount.into()),
        ("rent", finder.wallet(), stranger.wallet(), MarketError::WrongAccount.into()),
        ("tokens", finder.stake, stranger.stake, MarketError::WrongTokenOwner.into()),
        ("tokens' mint", finder.stake, finder.payment, MarketError::WrongMint.into()),
        ("payout's type", at, pda::gpu_model(1), InstructionError::InvalidAccountData.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
    w.ok(good, &[]);
}
