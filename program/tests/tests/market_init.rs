use gantry_market::errors::MarketError;
use gantry_market::state::{Params, Rewards};
use gantry_market_tests::errors::Code;
use gantry_market_tests::testbed::{real_params, test_params, DOMAIN};
use gantry_market_tests::tokens::{put_mint, token_2022_program, token_program};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Change, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

#[test]
fn creates_the_market() {
    let mut w = Testbed::bare();
    let authority = w.authority.insecure_clone();
    w.ok(ix::market_init(&w), &[&authority]);
    let market = w.market();
    assert_eq!(market.authority, authority.pubkey());
    assert_eq!(market.guardian, w.guardian.pubkey());
    assert_eq!(market.pending_authority, Default::default());
    assert_eq!(market.payment_mint, w.payment_mint);
    assert_eq!(market.stake_mint, w.stake_mint);
    assert_eq!(market.treasury, w.treasury);
    assert_eq!(market.fee_vault, pda::fee_vault());
    assert_eq!(market.domain, DOMAIN);
    assert_eq!(bytemuck::bytes_of(&market.params), bytemuck::bytes_of(&w.params));
    assert_eq!((market.pending_eta, market.total_weight, market.keeper_count), (0, 0, 0));
    assert_eq!((market.paused, market.version), (0, 1));
    let vault = w.svm.get_account(&pda::fee_vault()).unwrap();
    assert_eq!(vault.owner, token_program());
    assert_eq!(&vault.data[..32], w.payment_mint.as_ref());
    assert_eq!(&vault.data[32..64], pda::market().as_ref());
    let rewards: Rewards = w.read(&pda::rewards());
    assert_eq!((rewards.payout_vault, rewards.payouts), (pda::payout_vault(), 0));
    let vault = w.svm.get_account(&pda::payout_vault()).unwrap();
    assert_eq!(&vault.data[..32], w.stake_mint.as_ref());
    assert_eq!(&vault.data[32..64], pda::market().as_ref());
}

#[test]
fn only_the_upgrade_authority_may() {
    let mut w = Testbed::bare();
    let stranger = w.actor();
    let hijack = swap(ix::market_init(&w), &w.authority.pubkey(), &stranger.wallet());
    w.refused(hijack, &[&stranger.key], MarketError::Unauthorised);
    let silent = unsigned(ix::market_init(&w), &w.authority.pubkey());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
}

#[test]
fn an_immutable_program_has_no_one_to_create_it() {
    let mut w = Testbed::bare();
    let authority = w.authority.insecure_clone();
    w.set_upgrade_authority(None);
    w.refused(ix::market_init(&w), &[&authority], MarketError::Unauthorised);
}

#[test]
fn the_program_data_must_be_this_programs() {
    let mut w = Testbed::bare();
    let authority = w.authority.insecure_clone();
    let (twin, forged) = (w.twin(&ix::program_data()), w.forged(&ix::program_data()));
    for wrong in [twin, forged] {
        let instruction = swap(ix::market_init(&w), &ix::program_data(), &wrong);
        w.refused(instruction, &[&authority], MarketError::WrongAccount);
    }
}

#[test]
fn mints_have_the_decimals_that_the_units_assume() {
    let mut w = Testbed::bare();
    let authority = w.authority.insecure_clone();
    let (nine, six, foreign) = (w.fresh_address(), w.fresh_address(), w.fresh_address());
    put_mint(&mut w.svm, nine, 9, 0, token_program());
    put_mint(&mut w.svm, six, 6, 0, token_program());
    put_mint(&mut w.svm, foreign, 6, 0, token_2022_program());
    let good = ix::market_init(&w);
    for (from, to) in [(w.payment_mint, nine), (w.stake_mint, six)] {
        w.refused(swap(good.clone(), &from, &to), &[&authority], MarketError::WrongMint);
    }
    // Also with a treasury of that mint.
    let treasury = w.token_account(nine, authority.pubkey(), 0);
    let all = swap(swap(good.clone(), &w.payment_mint, &nine), &w.treasury, &treasury);
    w.refused(all, &[&authority], MarketError::WrongMint);
    let other_program = swap(good, &w.payment_mint, &foreign);
    w.refused(other_program, &[&authority], InstructionError::IllegalOwner);
}

#[test]
fn the_treasury_holds_the_payment_token() {
    let mut w = Testbed::bare();
    let authority = w.authority.insecure_clone();
    let wrong = w.token_account(w.stake_mint, authority.pubkey(), 0);
    let foreign = w.foreign_token_account(w.payment_mint, authority.pubkey(), 0);
    let good = ix::market_init(&w);
    let treasury = w.treasury;
    w.refused(swap(good.clone(), &treasury, &wrong), &[&authority], MarketError::WrongMint);
    w.refused(swap(good, &treasury, &foreign), &[&authority], InstructionError::IllegalOwner);
}

#[test]
fn wrong_addresses_and_programs_are_refused() {
    let mut w = Testbed::bare();
    let authority = w.authority.insecure_clone();
    let elsewhere = w.fresh_address();
    let good = ix::market_init(&w);
    for derived in [pda::market(), pda::fee_vault()] {
        let instruction = swap(good.clone(), &derived, &elsewhere);
        w.refused(instruction, &[&authority], InstructionError::InvalidSeeds);
    }
    let other = swap(good, &token_program(), &token_2022_program());
    w.refused(other, &[&authority], InstructionError::IncorrectProgramId);
}

#[test]
fn there_is_one_market() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    // The system program: the account is in use.
    w.refused(ix::market_init(&w), &[&authority], Code::Custom(0));
}

#[test]
fn a_market_has_a_domain() {
    let mut w = Testbed::bare();
    let authority = w.authority.insecure_clone();
    let nowhere = ix::market_init_with(&w, w.params, [0; 8], w.guardian.pubkey());
    w.refused(nowhere, &[&authority], MarketError::ParameterOutOfRange);
}

/// Every way for parameters to make no sense.
pub fn nonsense() -> Vec<(&'static str, Params)> {
    let mut cases: Vec<(&'static str, Change<Params>)> = vec![
        ("no bond", |p| p.min_bond = 0),
        ("cap under bond", |p| p.weight_cap = p.min_bond - 1),
        ("stake for free", |p| p.stake_price = 0),
        ("award at once", |p| p.award_deadline_secs = 0),
        ("start at once", |p| p.start_deadline_secs = 0),
        ("reports vanish", |p| p.report_retention_secs = 0),
        ("no time to settle", |p| p.settle_deadline_periods = 0),
        ("fee too low", |p| p.fee_bps = 999),
        ("fee too high", |p| p.fee_bps = 1_501),
        ("shares over one", |p| p.burn_bps += 1),
        ("shares under one", |p| p.keeper_bps -= 1),
        ("quorum of two thirds", |p| p.quorum_bps = 6_666),
        ("a quorum that a few can hold up", |p| p.quorum_bps = 8_001),
        ("finder takes more than a tenth", |p| p.finder_bps = 1_001),
        ("slash over one", |p| p.slash_fraud_bps = 10_001),
        ("slash over one", |p| p.slash_bad_work_bps = 10_001),
        ("slash over one", |p| p.slash_work_failed_bps = 10_001),
        ("slash over one", |p| p.slash_offline_bps = 10_001),
        ("slash over one", |p| p.slash_guarantee_bps = 10_001),
        ("slash over one", |p| p.slash_unjust_award_bps = 10_001),
        ("slash over one", |p| p.slash_equivocation_bps = 10_001),
        ("report gone before the appeal ends", |p| p.report_retention_secs = p.appeal_secs - 1),
        ("stake gone before the last report of its time and the appeal", |p| {
            p.unstake_cooldown_secs = p.period_secs + p.report_retention_secs + p.appeal_secs - 1
        }),
        ("cool-down whose parts do not fit", |p| p.appeal_secs = u32::MAX),
        ("an award that may wait for ever", |p| p.award_deadline_secs = 90 * 86_400 + 1),
        ("stake that waits for ever", |p| p.unstake_cooldown_secs = u32::MAX),
        ("a timelock that never ends", |p| p.timelock_secs = u32::MAX),
        ("claims that wait for ever", |p| (p.period_secs, p.settle_deadline_periods) = (86_400, 91)),
        ("neither true nor false", |p| p.allow_simulated = 2),
        ("hidden bytes", |p| p.pad[2] = 1),
        ("an award above the keepers' share", |p| p.award_bps = p.keeper_bps + 1),
        ("emission worth more than a fifth of the fee", |p| p.emission_bps = 2_001),
        ("paying fees to oneself pays", |p| {
            (p.emission_bps, p.award_bps, p.keeper_bps, p.burn_bps, p.treasury_bps) =
                (2_000, 6_000, 10_000, 0, 0);
        }),
    ];
    // Where GPUs are real, people need time.
    let hasty: [(&'static str, Change<Params>); 4] = [
        ("real GPUs, a change before anyone has seen it", |p| p.timelock_secs -= 1),
        ("real GPUs, a slash before anyone has seen it", |p| p.appeal_secs -= 1),
        ("real GPUs, an award that nobody can contest", |p| p.challenge_secs -= 1),
        ("real GPUs, sums that do not fit", |p| (p.period_secs, p.settle_deadline_periods) = (7_776_000, 1)),
    ];
    let with = |params: Params, (name, change): (&'static str, Change<Params>)| {
        let mut params = params;
        change(&mut params);
        (name, params)
    };
    cases
        .drain(..)
        .map(|case| with(test_params(), case))
        .chain(hasty.into_iter().map(|case| with(real_params(), case)))
        .collect()
}

#[test]
fn a_market_of_real_gpus_has_time_for_people() {
    let w = Testbed::with(real_params());
    assert_eq!(w.market().params.allow_simulated, 0);
    // And so have the parameters that a market gets if nobody says otherwise: sdk/market/params.go.
}

#[test]
fn parameters_must_make_sense() {
    let mut w = Testbed::bare();
    let authority = w.authority.insecure_clone();
    let mut cases = nonsense();
    let mut timeless = test_params();
    timeless.period_secs = 0;
    cases.push(("time stands still", timeless));
    let mut endless = test_params();
    endless.period_secs = u32::MAX / 2;
    cases.push(("settling takes longer than 32 bits count", endless));
    for (name, params) in cases {
        println!("{name}");
        let instruction = ix::market_init_with(&w, params, DOMAIN, w.guardian.pubkey());
        w.refused(instruction, &[&authority], MarketError::ParameterOutOfRange);
    }
}

/// Finding P 23: who can freeze stake could stop every slash.
#[test]
fn a_stake_token_that_somebody_can_freeze_is_refused() {
    let mut w = Testbed::bare();
    let authority = w.authority.insecure_clone();
    let mut mint = w.svm.get_account(&w.stake_mint).expect("mint exists");
    mint.data[46] = 1;
    w.svm.set_account(w.stake_mint, mint).expect("account is written");
    w.refused(ix::market_init(&w), &[&authority], MarketError::WrongMint);
}
