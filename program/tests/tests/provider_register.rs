use gantry_market::errors::MarketError;
use gantry_market::state::Provider;
use gantry_market_tests::errors::Code;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn opens_an_account_and_a_vault() {
    let mut w = Testbed::new();
    let who = w.actor();
    w.ok(ix::provider_register(&w, &who), &[&who.key]);
    let provider: Provider = w.read(&who.provider());
    assert_eq!(provider.wallet, who.wallet());
    assert_eq!(provider.payout, who.payment);
    assert_eq!(provider.registered_at, w.now());
    assert_eq!((provider.stake, provider.unstaking, provider.locked_stake), (0, 0, 0));
    assert_eq!(provider.version, 1);
    let vault = w.svm.get_account(&who.provider_vault()).unwrap();
    assert_eq!(&vault.data[..32], w.stake_mint.as_ref());
    assert_eq!(&vault.data[32..64], who.provider().as_ref());
}

#[test]
fn once_only() {
    let mut w = Testbed::new();
    let who = w.provider(0);
    w.refused(ix::provider_register(&w, &who), &[&who.key], Code::Custom(0));
}

#[test]
fn lamports_sent_beforehand_do_not_block_it() {
    let mut w = Testbed::new();
    let who = w.actor();
    w.svm.airdrop(&who.provider(), 1_000_000).unwrap();
    w.svm.airdrop(&who.provider_vault(), 1_000_000_000).unwrap();
    w.ok(ix::provider_register(&w, &who), &[&who.key]);
    w.ok(ix::provider_stake(&w, &who, 5), &[&who.key]);
    assert_eq!(w.read::<Provider>(&who.provider()).stake, 5);
}

#[test]
fn the_wallet_signs() {
    let mut w = Testbed::new();
    let who = w.actor();
    let silent = unsigned(ix::provider_register(&w, &who), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
}

#[test]
fn earnings_go_to_the_wallets_own_payment_account() {
    let mut w = Testbed::new();
    let (who, other) = (w.actor(), w.actor());
    let foreign = w.foreign_token_account(w.payment_mint, who.wallet(), 0);
    let good = ix::provider_register(&w, &who);
    let cases: [(_, Code); 3] = [
        (who.stake, MarketError::WrongMint.into()),
        (other.payment, MarketError::WrongTokenOwner.into()),
        (foreign, InstructionError::IllegalOwner.into()),
    ];
    for (wrong, code) in cases {
        w.refused(swap(good.clone(), &who.payment, &wrong), &[&who.key], code);
    }
}

#[test]
fn wrong_accounts_are_refused() {
    let mut w = Testbed::new();
    let (who, other) = (w.actor(), w.actor());
    let forged = w.forged(&pda::market());
    let good = ix::provider_register(&w, &who);
    let cases: [(_, _, Code); 5] = [
        (pda::market(), forged, InstructionError::IllegalOwner.into()),
        (w.stake_mint, w.payment_mint, MarketError::WrongMint.into()),
        (who.provider(), other.provider(), InstructionError::InvalidSeeds.into()),
        (who.provider_vault(), other.provider_vault(), InstructionError::InvalidSeeds.into()),
        (token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    for (from, to, code) in cases {
        w.refused(swap(good.clone(), &from, &to), &[&who.key], code);
    }
}
