use gantry_market::errors::MarketError;
use gantry_market::state::Provider;
use gantry_market_tests::actors::{START_LAMPORTS, START_STAKE};
use gantry_market_tests::errors::{framework, Code};
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Change, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn everything_comes_back() {
    let mut w = Testbed::new();
    let who = w.provider(0);
    assert!(w.lamports(&who.wallet()) < START_LAMPORTS);
    w.gift(&who.provider_vault(), 9);
    w.ok(ix::provider_close(&who), &[&who.key]);
    assert!(!w.exists(&who.provider()));
    assert!(!w.exists(&who.provider_vault()));
    assert_eq!(w.lamports(&who.wallet()), START_LAMPORTS, "rent returns in full");
    assert_eq!(w.tokens(&who.stake), START_STAKE + 9, "so does what others sent");
}

#[test]
fn a_closed_provider_may_register_again() {
    let mut w = Testbed::new();
    let who = w.provider(50);
    w.ok(ix::provider_request_unstake(&who, 50), &[&who.key]);
    w.refused(ix::provider_close(&who), &[&who.key], MarketError::StillInUse);
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    w.ok(ix::provider_withdraw_stake(&who), &[&who.key]);
    w.ok(ix::provider_close(&who), &[&who.key]);
    w.refused(ix::provider_close(&who), &[&who.key], InstructionError::AccountDataTooSmall);
    w.ok(ix::provider_register(&w, &who), &[&who.key]);
    assert_eq!(w.read::<Provider>(&who.provider()).slashed_total, 0);
}

#[test]
fn whoever_still_has_something_here_stays() {
    let cases: [(&str, Change<Provider>, MarketError); 6] = [
        ("nodes", |p| p.node_count = 1, MarketError::StillInUse),
        ("leases", |p| p.live_leases = 1, MarketError::StillInUse),
        ("guarantees", |p| p.locked_stake = 1, MarketError::StillInUse),
        ("stake", |p| p.stake = 1, MarketError::StillInUse),
        ("stake on its way out", |p| p.unstaking = 1, MarketError::StillInUse),
        ("faults", |p| p.pending_faults = 1, MarketError::FaultPending),
    ];
    for (name, change, error) in cases {
        println!("{name}");
        let mut w = Testbed::new();
        let who = w.provider(0);
        w.alter(&who.provider(), change);
        w.refused(ix::provider_close(&who), &[&who.key], error);
    }
}

#[test]
fn wrong_accounts_are_refused() {
    let mut w = Testbed::new();
    let (who, other) = (w.provider(0), w.provider(0));
    let (market, provider) = (w.forged(&pda::market()), w.forged(&who.provider()));
    let twin = w.twin(&who.provider_vault());
    let foreign = w.foreign_token_account(w.stake_mint, who.wallet(), 0);
    let good = ix::provider_close(&who);
    let silent = unsigned(good.clone(), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let theft = swap(good.clone(), &who.wallet(), &other.wallet());
    w.refused(theft, &[&other.key], MarketError::Unauthorised);
    let cases: [(_, _, Code); 9] = [
        (pda::market(), market, InstructionError::IllegalOwner.into()),
        (who.provider(), provider, InstructionError::IllegalOwner.into()),
        (who.provider_vault(), other.provider_vault(), InstructionError::InvalidSeeds.into()),
        (who.provider_vault(), twin, InstructionError::InvalidSeeds.into()),
        (who.stake, who.payment, MarketError::WrongMint.into()),
        (who.stake, other.stake, MarketError::WrongTokenOwner.into()),
        (who.stake, foreign, InstructionError::IllegalOwner.into()),
        (who.stake, who.provider_vault(), framework::DUPLICATE_MUTABLE),
        (token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    for (from, to, code) in cases {
        println!("{code:?}");
        w.refused(swap(good.clone(), &from, &to), &[&who.key], code);
    }
}
