use gantry_market::errors::MarketError;
use gantry_market::state::Params;
use gantry_market_tests::testbed::real_params;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

use crate::market_init::nonsense;

#[test]
fn a_proposal_waits_and_changes_nothing_yet() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let mut params = w.params;
    params.fee_bps = 1_500;
    w.ok(ix::market_propose_params(&w, params), &[&authority]);
    let market = w.market();
    assert_eq!(market.params.fee_bps, 1_200);
    assert_eq!(market.pending_params.fee_bps, 1_500);
    assert_eq!(market.pending_eta, w.now() + i64::from(w.params.timelock_secs));
}

#[test]
fn a_new_proposal_starts_its_own_wait() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    w.ok(ix::market_propose_params(&w, w.params), &[&authority]);
    w.warp(i64::from(w.params.timelock_secs) - 1);
    let mut params = w.params;
    params.fee_bps = 1_000;
    w.ok(ix::market_propose_params(&w, params), &[&authority]);
    w.warp(1);
    w.refused(ix::market_apply_params(), &[], MarketError::TimelockRunning);
}

#[test]
fn only_the_authority_proposes() {
    let mut w = Testbed::new();
    let guardian = w.guardian.insecure_clone();
    let good = ix::market_propose_params(&w, w.params);
    let by_guardian = swap(good.clone(), &w.authority.pubkey(), &guardian.pubkey());
    w.refused(by_guardian, &[&guardian], MarketError::Unauthorised);
    let silent = unsigned(good, &w.authority.pubkey());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
}

#[test]
fn nonsense_is_refused() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    for (name, params) in nonsense() {
        println!("{name}");
        let instruction = ix::market_propose_params(&w, params);
        w.refused(instruction, &[&authority], MarketError::ParameterOutOfRange);
    }
}

#[test]
fn the_period_is_fixed() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let mut params = w.params;
    params.period_secs -= 1;
    w.refused(ix::market_propose_params(&w, params), &[&authority], MarketError::PeriodIsFixed);
}

/// Finding C 7.
#[test]
fn the_price_of_stake_moves_by_a_factor_of_two_at_most() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let price = w.params.stake_price;
    for (price, near) in
        [(2 * price, true), (price / 2, true), (2 * price + 1, false), (price / 2 - 1, false)]
    {
        let instruction = ix::market_propose_params(&w, Params { stake_price: price, ..w.params });
        match near {
            true => drop(w.ok(instruction, &[&authority])),
            false => w.refused(instruction, &[&authority], MarketError::ParameterOutOfRange),
        }
    }
}

#[test]
fn a_false_market_is_refused() {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let (forged, model) = (w.forged(&pda::market()), pda::gpu_model(1));
    let good = ix::market_propose_params(&w, w.params);
    let by_other = swap(good.clone(), &pda::market(), &forged);
    w.refused(by_other, &[&authority], InstructionError::IllegalOwner);
    let of_other_type = swap(good, &pda::market(), &model);
    w.refused(of_other_type, &[&authority], InstructionError::AccountDataTooSmall);
}

/// Finding P 9.
#[test]
fn a_market_of_real_machines_stays_one() {
    let mut w = Testbed::with(real_params());
    let authority = w.authority.insecure_clone();
    let swift =
        Params { timelock_secs: 0, appeal_secs: 0, challenge_secs: 0, allow_simulated: 1, ..w.params };
    for params in [swift, Params { allow_simulated: 1, ..w.params }] {
        let propose = ix::market_propose_params(&w, params);
        w.refused(propose, &[&authority], MarketError::ParameterOutOfRange);
    }
    // The other way is open, to a market whose times are long enough.
    let mut w = Testbed::new();
    w.ok(ix::market_propose_params(&w, real_params()), &[&authority]);
}
