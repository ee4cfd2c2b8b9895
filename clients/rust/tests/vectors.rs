//! The generated crate reads accounts and writes instructions as the Go bindings do: ../vectors.json is from those.
use base64::{engine::general_purpose::STANDARD, Engine};
use borsh::BorshDeserialize;
use gantry_market_client::{accounts, instructions as ix, types, GANTRY_MARKET_ID};
use serde_json::Value;
use solana_address::Address;
use solana_instruction::Instruction;

fn vectors() -> Value {
    let raw = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors.json")).unwrap();
    serde_json::from_str(&raw).unwrap()
}

fn bytes(v: &Value) -> Vec<u8> {
    STANDARD.decode(v.as_str().unwrap()).unwrap()
}

fn number<T: std::str::FromStr>(v: &Value) -> T
where
    T::Err: std::fmt::Debug,
{
    v.as_str().unwrap().parse().unwrap()
}

fn numbers<T: std::str::FromStr, const N: usize>(v: &Value) -> [T; N]
where
    T::Err: std::fmt::Debug,
{
    std::array::from_fn(|i| number(&v[i]))
}

fn hex<const N: usize>(v: &Value) -> [u8; N] {
    let text = v.as_str().unwrap();
    assert_eq!(text.len(), 2 * N);
    std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
}

/// account reads an account of a kind, which must take all its bytes and write the same ones.
fn account<T: BorshDeserialize + borsh::BorshSerialize>(
    all: &Value,
    kind: &str,
    discriminator: [u8; 8],
    len: usize,
) -> (T, Value) {
    let of = all["accounts"].as_array().unwrap().iter().find(|a| a["kind"] == kind).expect(kind);
    let data = bytes(&of["data"]);
    assert_eq!(data.len(), len, "{kind}");
    assert_eq!(data[..8], discriminator, "{kind}");
    let read = T::try_from_slice(&data).expect(kind);
    assert_eq!(borsh::to_vec(&read).unwrap(), data, "{kind}");
    (read, of["fields"].clone())
}

#[test]
fn accounts_are_read_as_go_reads_them() {
    let v = vectors();
    let (c, f) =
        account::<accounts::Credits>(&v, "Credits", accounts::CREDITS_DISCRIMINATOR, accounts::Credits::LEN);
    assert_eq!(c.customer, number::<Address>(&f["customer"]));
    assert_eq!((c.balance, c.reserved), (number(&f["balance"]), number(&f["reserved"])));
    assert_eq!(
        (c.live_orders, c.live_leases, c.version),
        (number(&f["liveOrders"]), number(&f["liveLeases"]), number(&f["version"]))
    );
    assert_ne!(c.balance, 0);
    let (l, f) = account::<accounts::Lease>(&v, "Lease", accounts::LEASE_DISCRIMINATOR, accounts::Lease::LEN);
    assert_eq!(
        (l.order, l.node, l.customer),
        (number(&f["order"]), number(&f["node"]), number(&f["customer"]))
    );
    assert_eq!((l.price, l.reserved), (number(&f["price"]), number(&f["reserved"])));
    let (n, f) = account::<accounts::Node>(&v, "Node", accounts::NODE_DISCRIMINATOR, accounts::Node::LEN);
    assert_eq!((n.price, n.node_key), (number(&f["price"]), number(&f["nodeKey"])));
    let (o, f) = account::<accounts::Order>(&v, "Order", accounts::ORDER_DISCRIMINATOR, accounts::Order::LEN);
    assert_eq!(
        (o.nonce, o.max_price, o.requirement.models),
        (number(&f["nonce"]), number(&f["maxPrice"]), numbers(&f["requirement"]["models"]))
    );
    let (m, f) =
        account::<accounts::Market>(&v, "Market", accounts::MARKET_DISCRIMINATOR, accounts::Market::LEN);
    assert_eq!(
        (m.payment_mint, m.params.period_secs),
        (number(&f["paymentMint"]), number(&f["params"]["periodSecs"]))
    );
    account::<accounts::GpuModel>(&v, "GpuModel", accounts::GPU_MODEL_DISCRIMINATOR, accounts::GpuModel::LEN);
    account::<accounts::Provider>(&v, "Provider", accounts::PROVIDER_DISCRIMINATOR, accounts::Provider::LEN);
    account::<accounts::Keeper>(&v, "Keeper", accounts::KEEPER_DISCRIMINATOR, accounts::Keeper::LEN);
}

/// same compares an instruction with the one that Go builds.
fn same(built: Instruction, want: &Value) {
    assert_eq!(built.program_id, GANTRY_MARKET_ID);
    assert_eq!(built.data, bytes(&want["data"]));
    let metas: Vec<_> = built.accounts.iter().map(|a| (a.pubkey, a.is_signer, a.is_writable)).collect();
    let wanted: Vec<_> = want["accounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| (number::<Address>(&a["address"]), a["signer"] == true, a["writable"] == true))
        .collect();
    assert_eq!(metas, wanted);
}

#[test]
fn instructions_are_those_that_go_builds() {
    let v = vectors();
    let want = &v["instructions"]["creditsDeposit"];
    let at = |n: usize| number::<Address>(&want["accounts"][n]["address"]);
    let deposit = ix::CreditsDeposit {
        customer: at(0),
        market: at(1),
        payment_mint: at(2),
        credits: at(3),
        credits_vault: at(4),
        from: at(5),
        token_program: at(6),
        system_program: at(7),
    };
    same(
        deposit.instruction(ix::CreditsDepositInstructionArgs { amount: number(&want["args"]["amount"]) }),
        want,
    );

    let want = &v["instructions"]["orderCreate"];
    let at = |n: usize| number::<Address>(&want["accounts"][n]["address"]);
    let (a, r) = (&want["args"]["args"], &want["args"]["args"]["requirement"]);
    let order = ix::OrderCreate {
        authority: at(0),
        market: at(1),
        credits: at(2),
        order: at(3),
        system_program: at(4),
    };
    let args = types::OrderArguments {
        nonce: number(&a["nonce"]),
        max_price: number(&a["maxPrice"]),
        duration_secs: number(&a["durationSecs"]),
        nodes: number(&a["nodes"]),
        gpus_per_node: number(&a["gpusPerNode"]),
        mode: number(&a["mode"]),
        run_to_completion: number(&a["runToCompletion"]),
        no_migration: number(&a["noMigration"]),
        redundant: number(&a["redundant"]),
        interruptible: number(&a["interruptible"]),
        image_digest: hex(&a["imageDigest"]),
        requirement: types::Requirement {
            region: hex(&r["region"]),
            min_vram_mib: number(&r["minVramMib"]),
            min_tflops_x10: number(&r["minTflopsX10"]),
            models: numbers(&r["models"]),
            min_uptime_bps: number(&r["minUptimeBps"]),
            min_reputation_bps: number(&r["minReputationBps"]),
            min_interconnect: number(&r["minInterconnect"]),
            min_tier: number(&r["minTier"]),
            same_site: number(&r["sameSite"]),
            allow_simulated: number(&r["allowSimulated"]),
            guaranteed: number(&r["guaranteed"]),
            min_isolation: number(&r["minIsolation"]),
            min_operations: number(&r["minOperations"]),
            min_bandwidth: number(&r["minBandwidth"]),
            min_down_mbps: number(&r["minDownMbps"]),
            min_up_mbps: number(&r["minUpMbps"]),
            min_cpu_cores: number(&r["minCpuCores"]),
            min_ram_mib: number(&r["minRamMib"]),
            min_disk_gib: number(&r["minDiskGib"]),
            min_cuda: number(&r["minCuda"]),
        },
    };
    same(order.instruction(ix::OrderCreateInstructionArgs { args }), want);
}
