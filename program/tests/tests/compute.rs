//! Compute units: what instructions may cost at most.

use gantry_market_tests::{ix, Testbed};

/// The budget of each instruction here, with some room over what was seen.
const LIMITS: [(&str, u64); 16] = [
    ("market_pause", 3_000),
    ("gpu_model_propose", 12_000),
    ("gpu_model_apply", 4_000),
    ("provider_register", 20_000),
    ("provider_set_payout", 4_000),
    ("provider_stake", 8_000),
    ("provider_request_unstake", 6_000),
    ("provider_withdraw_stake", 9_000),
    ("provider_close", 10_000),
    ("keeper_register", 25_000),
    ("keeper_activate", 6_000),
    ("keeper_request_exit", 6_000),
    ("keeper_withdraw", 12_000),
    ("credits_deposit", 25_000),
    ("credits_withdraw", 9_000),
    ("credits_close", 10_000),
];

#[test]
fn instructions_stay_within_their_budgets() {
    use solana_signer::Signer;
    let mut w = Testbed::new();
    let guardian = w.guardian.insecure_clone();
    w.ok(ix::market_pause(&guardian.pubkey(), 0), &[&guardian]);
    let provider = w.provider(100);
    w.ok(ix::provider_set_payout(&provider, provider.payment), &[&provider.key]);
    w.ok(ix::provider_request_unstake(&provider, 100), &[&provider.key]);
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    w.ok(ix::provider_withdraw_stake(&provider), &[&provider.key]);
    w.ok(ix::provider_close(&provider), &[&provider.key]);
    let keeper = w.keeper(w.params.min_bond);
    w.ok(ix::keeper_request_exit(&keeper), &[&keeper.key]);
    w.warp(i64::from(w.params.keeper_exit_secs));
    w.ok(ix::keeper_withdraw(&keeper), &[&keeper.key]);
    let customer = w.customer(100);
    w.ok(ix::credits_withdraw(&customer, 1), &[&customer.key]);
    w.ok(ix::credits_close(&customer), &[&customer.key]);
    for (name, (_, most)) in w.compute.iter() {
        println!("{name}: {most}");
    }
    for (name, limit) in LIMITS {
        let used = w.compute.get(name).unwrap_or_else(|| panic!("{name} was not used"));
        assert!(used <= limit, "{name} used {used} of {limit} units");
    }
}
