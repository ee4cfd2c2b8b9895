use gantry_market::errors::MarketError;
use gantry_market::state::Params;
use gantry_market_tests::transactions::swap;
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;

fn proposed() -> (Testbed, Params) {
    let mut w = Testbed::new();
    let authority = w.authority.insecure_clone();
    let mut params = w.params;
    params.fee_bps = 1_500;
    params.timelock_secs = 0;
    w.ok(ix::market_propose_params(&w, params), &[&authority]);
    (w, params)
}

#[test]
fn anyone_applies_once_the_time_has_come() {
    let (mut w, params) = proposed();
    w.warp(i64::from(w.params.timelock_secs));
    w.ok(ix::market_apply_params(), &[]);
    let market = w.market();
    assert_eq!(bytemuck::bytes_of(&market.params), bytemuck::bytes_of(&params));
    assert_eq!(market.pending_eta, 0);
    assert!(bytemuck::bytes_of(&market.pending_params).iter().all(|byte| *byte == 0));
}

#[test]
fn not_a_second_earlier() {
    let (mut w, _) = proposed();
    w.warp(i64::from(w.params.timelock_secs) - 1);
    w.refused(ix::market_apply_params(), &[], MarketError::TimelockRunning);
}

#[test]
fn once_only() {
    let (mut w, _) = proposed();
    w.warp(i64::from(w.params.timelock_secs));
    w.ok(ix::market_apply_params(), &[]);
    w.refused(ix::market_apply_params(), &[], MarketError::NothingPending);
}

#[test]
fn nothing_is_pending_at_first() {
    let mut w = Testbed::new();
    w.refused(ix::market_apply_params(), &[], MarketError::NothingPending);
}

#[test]
fn a_false_market_is_refused() {
    let (mut w, _) = proposed();
    w.warp(i64::from(w.params.timelock_secs));
    let forged = w.forged(&pda::market());
    let instruction = swap(ix::market_apply_params(), &pda::market(), &forged);
    w.refused(instruction, &[], InstructionError::IllegalOwner);
}
