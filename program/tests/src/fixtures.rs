//! Worlds as older programs left them: every account of a market in the middle of its life, committed as JSON, so that
//! what comes later is tested on bytes that it did not write itself.

use std::path::PathBuf;

use gantry_market::constants::FLAG_WORK_FAILED;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{DISPUTE_BAD_OUTPUT, NODE_LEN_V1, NODE_NEW_FROM, NODE_VERSION_AT};
use gantry_market::ID;
use serde_json::{json, Map, Value};
use solana_account::{Account, ReadableAccount};
use solana_address::Address;
use solana_keypair::Keypair;
use solana_signer::Signer;

use crate::leaves::LeafData;
use crate::stories::Machine;
use crate::tokens::token_program;
use crate::vectors::hex;
use crate::work::Opened;
use crate::world::key;
use crate::{ix, pda, Actor, World};

/// Who is in the story. Their keys are of the world's series, so numbers say which.
pub struct Cast {
    pub keeper: Actor,
    pub provider: Actor,
    /// Two GPUs, both leased.
    pub busy: Machine,
    /// One GPU.
    pub idle: Machine,
    /// One GPU, with an open fault.
    pub accused: Machine,
    pub customer: Actor,
    /// Has a dispute over its lease.
    pub other: Actor,
    pub finder: Actor,
    /// Of the customer: a running lease.
    pub order: Address,
    pub lease: Address,
    /// Of the other customer.
    pub disputed: Address,
    /// Open.
    pub open: Address,
    /// Open, sealed, with an auction.
    pub sealed: Address,
    /// Final, over one leaf of `lease` that is not applied.
    pub period: u64,
    pub fault: Address,
}

impl Cast {
    /// The leaf of the report.
    pub fn leaf(&self) -> LeafData {
        LeafData {
            node: self.busy.node,
            period: self.period,
            checks_passed: 5,
            checks_total: 5,
            tier: 1,
            up_secs: 60,
            lease: self.lease,
            verified_secs: 60,
            ..LeafData::default()
        }
    }
}

/// A market with an account of every type.
pub fn story() -> (World, Cast) {
    let mut w = World::new();
    let keeper = w.keeper(3 * w.params.min_bond);
    let provider = w.provider(40_000_000_000);
    let (busy, idle, accused) = (w.machine(&provider, 2), w.machine(&provider, 1), w.machine(&provider, 1));
    let (customer, other, finder) = (w.customer(100_000_000), w.customer(100_000_000), w.actor());
    let until = w.now() + 1_000_000;
    let session = w.fresh_address();
    let name = ix::credits_set_session_key(&customer, &session, 5_000_000, until);
    w.ok(name, &[&customer.key]);
    let order = w.order(&customer, OrderArgs { duration_secs: 36_000, ..ix::order_args(1) });
    let lease = w.award(&keeper, &customer, &order, &provider, &busy);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&busy.key]);
    w.ok(ix::lease_checkpoint(&w, &lease, [4; 32]), &[&busy.key]);
    w.warp(600);
    let receipt = ix::receipt(&w, &lease, &busy.key, &customer.key, 1, 600);
    w.ok_all(&receipt, &[]);
    let theirs = w.order(&other, OrderArgs { duration_secs: 36_000, ..ix::order_args(1) });
    let disputed = w.award(&keeper, &other, &theirs, &provider, &busy);
    w.ok(ix::lease_start(&w, &disputed, [5; 32]), &[&busy.key]);
    w.ok(ix::dispute_open(&w, &disputed, DISPUTE_BAD_OUTPUT, [7; 32]), &[&other.key]);
    let fault_period = w.period();
    w.warp_past_period(fault_period);
    let bad = LeafData {
        node: accused.node,
        period: fault_period,
        checks_passed: 4,
        checks_total: 5,
        tier: 1,
        up_secs: 60,
        flags: FLAG_WORK_FAILED,
        ..LeafData::default()
    };
    let proof = w.finalise(&keeper, &[bad]).remove(0);
    w.ok(ix::fault_open(&w, &keeper.wallet(), &proof), &[&keeper.key]);
    let fault = pda::fault(&accused.node, &Address::default(), fault_period);
    let period = w.period();
    w.warp_past_period(period);
    let opened = Opened::new(idle.node, w.period(), 64, (3, 5), 1);
    let accuse = ix::accuse(&finder.wallet(), &idle.key, &opened);
    w.ok_all(&accuse, &[&finder.key]);
    let open = w.order(&customer, OrderArgs { duration_secs: 600, ..ix::order_args(2) });
    let sealed = w.order(&other, ix::sealed_args(2));
    w.ok(ix::auction_open(&other, &sealed, 30, 20), &[&other.key]);
    let cast = Cast {
        keeper,
        provider,
        busy,
        idle,
        accused,
        customer,
        other,
        finder,
        order,
        lease,
        disputed,
        open,
        sealed,
        period,
        fault,
    };
    let leaf = cast.leaf();
    w.finalise(&cast.keeper, &[leaf]);
    (w, cast)
}

/// Makes a node what the first layout's program would have written: for states that no committed world has.
pub fn age(svm: &mut litesvm::LiteSVM, node: &Address) {
    let mut account = svm.get_account(node).expect("account exists");
    account.data.truncate(NODE_LEN_V1);
    account.data[NODE_NEW_FROM..].fill(0);
    account.data[NODE_VERSION_AT] = 1;
    account.lamports = svm.minimum_balance_for_rent_exemption(NODE_LEN_V1);
    svm.set_account(*node, account).expect("account is written");
}

/// Where the worlds of a layout are.
pub fn folder(version: u8) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/v{version}"))
}

fn number(of: &Keypair) -> u64 {
    (0..10_000).find(|n| key(*n).pubkey() == of.pubkey()).expect("a key of the world's series")
}

fn actor(who: &Actor) -> Value {
    json!({ "key": number(&who.key), "payment": who.payment.to_string(), "stake": who.stake.to_string() })
}

fn machine(of: &Machine) -> Value {
    json!({ "key": number(&of.key), "node": of.node.to_string(), "gpus": of.gpus })
}

/// The world and its cast as JSON: every account of the market and of the token program, and every wallet.
pub fn dump(w: &World, cast: &Cast) -> Value {
    let mut accounts = Map::new();
    let kept = [ID, token_program(), ix::system_program()];
    let mut found: Vec<_> = w.svm.accounts_db().inner.iter().collect();
    found.sort_by_key(|(at, _)| **at);
    for (at, account) in found {
        if account.lamports() > 0 && !account.executable() && kept.contains(account.owner()) {
            let owner = kept.iter().position(|owner| owner == account.owner()).expect("is kept");
            accounts.insert(
                at.to_string(),
                json!({ "owner": (["market", "token", "system"][owner]), "lamports": account.lamports(), "data": hex(account.data()) }),
            );
        }
    }
    json!({
        "about": "A market in the middle of its life: see src/fixtures.rs.",
        "now": w.now(),
        "mints": { "payment": w.payment_mint.to_string(), "stake": w.stake_mint.to_string(), "treasury": w.treasury.to_string() },
        "cast": {
            "keeper": actor(&cast.keeper), "provider": actor(&cast.provider), "customer": actor(&cast.customer),
            "other": actor(&cast.other), "finder": actor(&cast.finder),
            "busy": machine(&cast.busy), "idle": machine(&cast.idle), "accused": machine(&cast.accused),
            "order": cast.order.to_string(), "lease": cast.lease.to_string(), "disputed": cast.disputed.to_string(),
            "open": cast.open.to_string(), "sealed": cast.sealed.to_string(), "fault": cast.fault.to_string(),
            "period": cast.period,
        },
        "accounts": accounts,
    })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hex")).collect()
}

fn address(value: &Value) -> Address {
    value.as_str().expect("an address").parse().expect("an address")
}

fn load_actor(value: &Value) -> Actor {
    let key = key(value["key"].as_u64().expect("a number"));
    Actor { key, payment: address(&value["payment"]), stake: address(&value["stake"]) }
}

fn load_machine(value: &Value) -> Machine {
    let key = key(value["key"].as_u64().expect("a number"));
    Machine { key, node: address(&value["node"]), gpus: value["gpus"].as_u64().expect("a number") as u8 }
}

/// The world of a layout, with the program of today.
pub fn load(version: u8) -> (World, Cast) {
    let path = folder(version).join("world.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let value: Value = serde_json::from_str(&text).expect("a world is JSON");
    let mut w = World::bare();
    w.skip_keys(9_000);
    let mints = &value["mints"];
    (w.payment_mint, w.stake_mint, w.treasury) =
        (address(&mints["payment"]), address(&mints["stake"]), address(&mints["treasury"]));
    for (at, account) in value["accounts"].as_object().expect("accounts by address") {
        let owner = match account["owner"].as_str() {
            Some("market") => ID,
            Some("token") => token_program(),
            _ => ix::system_program(),
        };
        let account = Account {
            lamports: account["lamports"].as_u64().expect("lamports"),
            data: unhex(account["data"].as_str().expect("data")),
            owner,
            executable: false,
            rent_epoch: u64::MAX,
        };
        w.svm.set_account(at.parse().expect("an address"), account).expect("account is written");
    }
    w.set_now(value["now"].as_i64().expect("a time"));
    let cast = &value["cast"];
    let cast = Cast {
        keeper: load_actor(&cast["keeper"]),
        provider: load_actor(&cast["provider"]),
        busy: load_machine(&cast["busy"]),
        idle: load_machine(&cast["idle"]),
        accused: load_machine(&cast["accused"]),
        customer: load_actor(&cast["customer"]),
        other: load_actor(&cast["other"]),
        finder: load_actor(&cast["finder"]),
        order: address(&cast["order"]),
        lease: address(&cast["lease"]),
        disputed: address(&cast["disputed"]),
        open: address(&cast["open"]),
        sealed: address(&cast["sealed"]),
        period: cast["period"].as_u64().expect("a period"),
        fault: address(&cast["fault"]),
    };
    (w, cast)
}
