use gantry_market::errors::MarketError;
use gantry_market::state::{Keeper, KEEPER_EXITING, KEEPER_SLASHED, NO_PLACE};
use gantry_market_tests::errors::Code;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn the_weight_is_gone_at_once_and_the_bond_stays() {
    let mut w = Testbed::new();
    let (who, _other) = (w.keeper(2_000_000_000), w.keeper(3_000_000_000));
    w.ok(ix::keeper_request_exit(&who), &[&who.key]);
    let keeper: Keeper = w.read(&who.keeper());
    assert_eq!((keeper.status, keeper.weight, keeper.bond), (KEEPER_EXITING, 0, 2_000_000_000));
    assert_eq!(keeper.exit_at, w.now() + i64::from(w.params.keeper_exit_secs));
    assert_eq!(w.market().total_weight, 3_000_000_000);
    assert_eq!((keeper.index, w.market().keeper_count), (NO_PLACE, 1));
    assert_eq!(w.tokens(&who.keeper_vault()), 2_000_000_000);
}

#[test]
fn a_pending_keeper_may_leave_too() {
    let mut w = Testbed::new();
    let who = w.pending_keeper(w.params.min_bond);
    w.ok(ix::keeper_request_exit(&who), &[&who.key]);
    assert_eq!(w.market().total_weight, 0);
}

#[test]
fn once_only() {
    let mut w = Testbed::new();
    let who = w.keeper(w.params.min_bond);
    w.ok(ix::keeper_request_exit(&who), &[&who.key]);
    let exit_at = w.read::<Keeper>(&who.keeper()).exit_at;
    w.warp(10);
    w.refused(ix::keeper_request_exit(&who), &[&who.key], MarketError::WrongKeeperStatus);
    assert_eq!(w.read::<Keeper>(&who.keeper()).exit_at, exit_at);
    // Nor after an expulsion, which would otherwise end as an ordinary exit.
    w.alter(&who.keeper(), |k: &mut Keeper| k.status = KEEPER_SLASHED);
    w.refused(ix::keeper_request_exit(&who), &[&who.key], MarketError::WrongKeeperStatus);
}

#[test]
fn wrong_accounts_are_refused() {
    let mut w = Testbed::new();
    let (who, other) = (w.keeper(w.params.min_bond), w.keeper(w.params.min_bond));
    let (market, keeper) = (w.forged(&pda::market()), w.forged(&who.keeper()));
    let twin = w.twin(&who.keeper_vault());
    let good = ix::keeper_request_exit(&who);
    let silent = unsigned(good.clone(), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let by_other = swap(good.clone(), &who.wallet(), &other.wallet());
    w.refused(by_other, &[&other.key], MarketError::Unauthorised);
    let cases: [(_, _, Code); 4] = [
        (pda::market(), market, InstructionError::IllegalOwner.into()),
        (who.keeper(), keeper, InstructionError::IllegalOwner.into()),
        (who.keeper_vault(), other.keeper_vault(), InstructionError::InvalidSeeds.into()),
        (who.keeper_vault(), twin, InstructionError::InvalidSeeds.into()),
    ];
    for (from, to, code) in cases {
        println!("{code:?}");
        w.refused(swap(good.clone(), &from, &to), &[&who.key], code);
    }
}
