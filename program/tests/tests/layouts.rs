//! Account layouts move only on purpose: clients filter by size, discriminator and offset.
//! docs/adr/0006-account-migrations.md says what else a change needs after the first release.

use std::mem::{offset_of, size_of};

use anchor_lang::Discriminator;
use gantry_market::state::*;
use gantry_market_tests::vectors::{check, hex};
use serde_json::{json, Map, Value};

/// Size and discriminator of an account, and where the given fields begin, discriminator included.
macro_rules! layout {
    ($type:ident: $($field:ident),*) => {{
        let mut fields = Map::new();
        $(fields.insert(stringify!($field).into(), (8 + offset_of!($type, $field)).into());)*
        let layout = json!({
            "account": stringify!($type),
            "discriminator": hex(<$type as Discriminator>::DISCRIMINATOR),
            "size": 8 + size_of::<$type>(),
            "offsets": Value::Object(fields),
        });
        layout
    }};
}

#[test]
fn layouts_stay_where_they_are() {
    let accounts = vec![
        layout!(Market: authority, guardian, payment_mint, stake_mint, treasury, fee_vault, domain, total_weight, params, keeper_slots, keeper_count, paused, version),
        layout!(GpuModel: min_stake, reference_price, name, vram_mib, tflops_x10, min_operations, min_bandwidth, id, min_tier, profile, previous_profile, version),
        layout!(Provider: wallet, payout, stake, unstaking, unstake_at, locked_stake, slashed_total, registered_at, node_count, live_leases, pending_faults, version),
        layout!(Node: provider, node_key, price, ask_since, available_since, availability, unhealthy, record_since, previous_since, previous, required_stake, last_report_period, spec, gpu_mask, uptime_bps, live_leases, status, tier, version, guaranteed_until, guarantee_bps, guaranteed_since, guarantee_up_secs, guarantee_counted_secs, suspended_at, previous_guarantee, evidence_expiry, evidence_hash, keys_until, claims_missing, devices_seen, device_root, operations, bandwidth, down_mbps, up_mbps, min_operations, min_bandwidth, class_since, figures_at, measured_period, shares, shares_len, slow_periods),
        layout!(DeviceClaim: node, device, rent_payer, tier, version, key, expiry),
        layout!(Keeper: wallet, bond, weight, active_since, exit_at, multiaddr, index, status, version, signer, former_signer, signer_since, signer_until),
        layout!(Credits: customer, balance, reserved, session_keys, live_orders, live_leases, version),
        layout!(Order: customer, rent_payer, requirement, nonce, reserved, max_price, award_deadline, nodes_wanted, nodes_awarded, status, version),
        layout!(Auction: order, rent_payer, keeper, bids_root, close_at, reveal_until, awarded_at, winner_count, version),
        layout!(Lease: order, node, provider, customer, keeper, rent_payer, price, reserved, paid, started_at, funded_until, ended_at, score, paid_secs, status, version),
        layout!(Report: period, total_weight, finalised_at, rent_payer, root, voters, candidates, status, version),
        layout!(FraudProof: node, finder, seed, root, chunk, period, row, column, claimed, profile, before, round, rounds, gpu, level, version),
        layout!(Dispute: lease, node, customer, evidence_hash, upheld_weight, rejected_weight, total_weight, deposit, amount, stake_price, opened_at, closes_at, appeal_secs, quorum_bps, finder_bps, kind, version),
        layout!(Fault: node, provider, lease, finder, rent_payer, period, opened_at, applicable_at, voters_before, window_from, window_until, claims_until, amount, pool, pool_left, flags, gpus, kind, status, version),
        layout!(Payout: beneficiary, source, rent_payer, amount, payable_at),
        layout!(Rewards: emission_vault, payout_vault, pending, earned, allocated, buy_back, buy_back_since, last_period, payouts, version),
    ];
    check(
        "layouts",
        &json!({ "about": "Accounts: discriminator in hex, size, and offsets of fields, both with the discriminator.", "cases": accounts }),
    );
}
