//! Account layouts never move: clients filter by size, discriminator and offset.

use std::mem::{offset_of, size_of};

use anchor_lang::Discriminator;
use gantry_market::constants::{NODE_VERSION, VERSION};
use gantry_market::state::*;
use gantry_market_tests::fixtures::{dump, folder, story};
use gantry_market_tests::idl::Idl;
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
        layout!(GpuModel: min_stake, reference_price, name, vram_mib, tflops_x10, work_size, work_bound_ms, id, min_tier, version),
        layout!(Provider: wallet, payout, stake, unstaking, unstake_at, locked_stake, slashed_total, registered_at, node_count, live_leases, pending_faults, version),
        layout!(Node: provider, node_key, price, ask_since, available_since, gpus_freed_at, record_since, previous_since, previous, required_stake, last_report_period, spec, gpu_mask, uptime_bps, live_leases, status, tier, version, guaranteed_until, guarantee_bps, guaranteed_since, guarantee_up_secs, guarantee_counted_secs, suspended_at, previous_guarantee, evidence_expiry, claims_missing, devices_seen, device_root),
        layout!(DeviceClaim: node, device, rent_payer, tier, version, expiry),
        layout!(Keeper: wallet, bond, weight, active_since, exit_at, multiaddr, index, status, version),
        layout!(Credits: customer, balance, reserved, session_keys, live_orders, live_leases, version),
        layout!(Order: customer, rent_payer, requirement, nonce, reserved, max_price, award_deadline, nodes_wanted, nodes_awarded, status, version),
        layout!(Auction: order, rent_payer, keeper, bids_root, close_at, reveal_until, awarded_at, winner_count, version),
        layout!(Lease: order, node, provider, customer, keeper, price, reserved, paid, started_at, funded_until, ended_at, score, paid_secs, status, version),
        layout!(Report: period, total_weight, finalised_at, rent_payer, root, voters, candidates, status, version),
        layout!(FraudProof: node, finder, seed, root, chunk, period, order, row, column, claimed, version),
        layout!(Dispute: lease, node, customer, finder, evidence_hash, upheld_weight, rejected_weight, total_weight, deposit, opened_at, closes_at, kind, version),
        layout!(Rewards: emission_vault, pending, earned, allocated, buy_back, buy_back_since, last_period, version),
        layout!(Fault: node, provider, lease, customer, finder, rent_payer, period, applicable_at, amount, flags, version),
    ];
    check(
        "layouts",
        &json!({ "about": "Accounts: discriminator in hex, size, and offsets of fields, both with the discriminator.", "cases": accounts }),
    );
}

/// The layout that each type of account has now. A change of one is a new version of it, a migration (node_migrate is the
/// example), and a new folder of fixtures.
fn version(account: &str) -> u8 {
    if account == "Node" {
        NODE_VERSION
    } else {
        VERSION
    }
}

fn writing() -> bool {
    std::env::var_os("GANTRY_WRITE_FIXTURES").is_some_and(|v| v == "1")
}

/// Every field of every account, as this version's folder is to have them.
fn fields(version_of: impl Fn(&str) -> bool) -> Value {
    let idl = Idl::load();
    let mut all = Map::new();
    for (account, _) in idl.accounts.iter().filter(|(account, _)| version_of(account)) {
        let fields: Vec<Value> = idl
            .fields(account)
            .iter()
            .map(|f| json!(format!("{} {} {} {}", f.at + 8, f.len, f.kind, f.name)))
            .collect();
        all.insert(account.clone(), fields.into());
    }
    Value::Object(all)
}

fn unused(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.starts_with("reserved") || last.starts_with("pad")
}

/// (offset, length, kind, name) of a line of a committed layout.
fn parsed(line: &Value) -> (usize, usize, String, String) {
    let parts: Vec<&str> = line.as_str().expect("a line").splitn(4, ' ').collect();
    let number = |at: usize| parts[at].parse().expect("a number");
    (number(0), number(1), parts[2].to_owned(), parts[3].to_owned())
}

/// A layout changes with its version and in no other way; only reserved bytes get a meaning within one.
#[test]
fn a_layout_changes_only_with_its_version() {
    let newest = VERSION.max(NODE_VERSION);
    let path = folder(newest).join("layouts.json");
    if writing() {
        std::fs::create_dir_all(folder(newest)).expect("folder is made");
        let text =
            serde_json::to_string_pretty(&fields(|account| version(account) == newest)).expect("serialises");
        std::fs::write(&path, text + "\n").expect("layouts are written");
    }
    for (account, _) in Idl::load().accounts {
        let version = version(&account);
        let path = folder(version).join("layouts.json");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let committed: Value = serde_json::from_str(&text).expect("layouts are JSON");
        let hint = format!(
            "{account}: its layout is not that of version {version} in {}. If version {version} is in use anywhere, give \
             the account the next version, a migration and fixtures of its own; GANTRY_WRITE_FIXTURES=1 writes the newest",
            path.display()
        );
        let before: Vec<_> = committed[&account].as_array().expect(&hint).iter().map(parsed).collect();
        let now = &fields(|name| name == account)[&account];
        let now: Vec<_> = now.as_array().expect("fields").iter().map(parsed).collect();
        let end = |fields: &[(usize, usize, String, String)]| fields.last().map(|f| f.0 + f.1);
        assert_eq!(end(&now), end(&before), "{hint}");
        for field in before.iter().filter(|field| !unused(&field.3)) {
            assert!(now.contains(field), "{hint}: {field:?} is gone or moved");
        }
        for field in now.iter().filter(|field| !before.contains(field)) {
            let room =
                before.iter().any(|b| unused(&b.3) && b.0 <= field.0 && b.0 + b.1 >= field.0 + field.1);
            assert!(room, "{hint}: {field:?} stands where something was");
        }
    }
}

/// The committed worlds have an account of every type, each of its layout's size and version.
#[test]
fn fixtures_have_every_account_as_its_version_says() {
    let newest = VERSION.max(NODE_VERSION);
    if writing() {
        let (w, cast) = story();
        let text = serde_json::to_string_pretty(&dump(&w, &cast)).expect("serialises");
        std::fs::write(folder(newest).join("world.json"), text + "\n").expect("the world is written");
    }
    for number in 1..=newest {
        let text = std::fs::read_to_string(folder(number).join("world.json")).expect("a world is committed");
        let world: Value = serde_json::from_str(&text).expect("a world is JSON");
        for (account, tag) in Idl::load().accounts {
            let own = version(&account).min(number);
            let layouts =
                std::fs::read_to_string(folder(own).join("layouts.json")).expect("layouts are committed");
            let layouts: Value = serde_json::from_str(&layouts).expect("layouts are JSON");
            let fields: Vec<_> = layouts[&account].as_array().expect("known").iter().map(parsed).collect();
            let (size, at) = (
                fields.last().map(|f| f.0 + f.1).expect("has fields"),
                fields.iter().find(|f| f.3 == "version").map(|f| f.0).expect("has a version"),
            );
            let all = world["accounts"].as_object().expect("accounts").values();
            let found: Vec<&str> = all
                .filter(|of| of["owner"] == "market")
                .filter_map(|of| of["data"].as_str())
                .filter(|data| data.starts_with(&hex(&tag)))
                .collect();
            assert!(!found.is_empty(), "the world of version {number} has no {account}");
            for data in found {
                assert_eq!(data.len(), 2 * size, "{account} of version {number}");
                assert_eq!(data[2 * at..2 * at + 2], hex(&[own]), "{account} of version {number}");
            }
        }
    }
}
