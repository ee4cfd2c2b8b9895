use gantry_market::state::{Node, NodeSpec};
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};

use super::{build, system_program, with_remaining};
use crate::testbed::H100;
use crate::tokens::token_program;
use crate::{pda, Actor, Testbed};

/// A machine of the model that every testbed has.
pub fn spec(gpus: u8) -> NodeSpec {
    let mut region = [0; 16];
    region[..7].copy_from_slice(b"eu-west");
    NodeSpec {
        region,
        site: [7; 16],
        vram_mib: 81_559,
        cpu_cores: 64,
        ram_mib: 524_288,
        disk_gib: 4_096,
        up_mbps: 10_000,
        down_mbps: 10_000,
        model: H100,
        gpus,
        interconnect: 2,
        simulated: 0,
        isolation: 0,
        cuda: 0,
    }
}

/// Device identities that no other node key has.
pub fn devices(node_key: &Address, gpus: u8) -> [[u8; 32]; 8] {
    let mut all = [[0; 32]; 8];
    for (index, device) in all.iter_mut().enumerate().take(gpus as usize) {
        *device = node_key.to_bytes();
        device[31] = index as u8;
        device[30] = 0xdd;
    }
    all
}

/// The hashes of GPUs' own keys, in the form of `devices`.
pub fn gpu_keys(of: &Address, gpus: u8) -> [[u8; 32]; 8] {
    let mut all = devices(of, gpus);
    for key in all.iter_mut().take(gpus as usize) {
        key[30] = 0xee;
    }
    all
}

fn claims(devices: &[[u8; 32]; 8], gpus: u8) -> Vec<AccountMeta> {
    devices.iter().take(gpus as usize).map(|device| AccountMeta::new(pda::device(device), false)).collect()
}

/// Signed by the provider and by the node's key.
pub fn node_register(who: &Actor, node_key: &Address, spec: NodeSpec, price: u64) -> Instruction {
    let devices = devices(node_key, spec.gpus);
    node_register_with(who, node_key, spec, price, devices)
}

pub fn node_register_with(
    who: &Actor,
    node_key: &Address,
    spec: NodeSpec,
    price: u64,
    devices: [[u8; 32]; 8],
) -> Instruction {
    let instruction = build(
        accounts::NodeRegister {
            wallet: who.wallet(),
            node_key: *node_key,
            market: pda::market(),
            provider: who.provider(),
            gpu_model: pda::gpu_model(spec.model),
            node: pda::node(&who.provider(), node_key),
            system_program: system_program(),
        },
        instruction::NodeRegister { spec, price, devices },
    );
    with_remaining(instruction, claims(&devices, spec.gpus))
}

/// `authority` is the provider's wallet or the node's key.
pub fn node_update(
    authority: &Address,
    provider: &Address,
    node: &Address,
    price: u64,
    status: u8,
) -> Instruction {
    node_set_spec(authority, provider, node, price, status, (0, 0))
}

/// The same for a node as it is, whose isolation, CUDA and spot price stay.
pub fn node_offer(authority: &Address, at: &Address, node: &Node, price: u64, status: u8) -> Instruction {
    let spec = (node.spec.isolation, node.spec.cuda);
    with_spot(node_set_spec(authority, &node.provider, at, price, status, spec), node.spot_bps)
}

/// The same, with how jobs are isolated and the CUDA of the driver.
pub fn node_set_spec(
    authority: &Address,
    provider: &Address,
    node: &Address,
    price: u64,
    status: u8,
    (isolation, cuda): (u8, u16),
) -> Instruction {
    build(
        accounts::NodeUpdate { authority: *authority, provider: *provider, node: *node },
        instruction::NodeUpdate { price, status, isolation, cuda, spot_bps: 0 },
    )
}

/// A `node_update` that sets a spot price too, basis points of the price: its last argument.
pub fn with_spot(mut update: Instruction, spot_bps: u16) -> Instruction {
    let at = update.data.len() - 2;
    update.data[at..].copy_from_slice(&spot_bps.to_le_bytes());
    update
}

/// `authority` is the provider's wallet or the node's key.
pub fn node_accept_terms(w: &Testbed, authority: &Address, node: &Address) -> Instruction {
    let state = w.read::<Node>(node);
    build(
        accounts::NodeAcceptTerms {
            authority: *authority,
            provider: state.provider,
            node: *node,
            gpu_model: pda::gpu_model(state.spec.model),
        },
        instruction::NodeAcceptTerms {},
    )
}

pub fn node_guarantee(who: &Actor, node: &Address, until: i64, guarantee_bps: u16) -> Instruction {
    build(
        accounts::NodeGuarantee {
            wallet: who.wallet(),
            market: pda::market(),
            provider: who.provider(),
            node: *node,
        },
        instruction::NodeGuarantee { until, guarantee_bps },
    )
}

/// With the leases that are open.
pub fn guarantee_resolve_of(w: &Testbed, payer: &Actor, node: &Address, leases: &[Address]) -> Instruction {
    let leases = leases.iter().map(|lease| AccountMeta::new(*lease, false)).collect();
    with_remaining(guarantee_resolve(w, payer, node), leases)
}

pub fn guarantee_resolve(w: &Testbed, payer: &Actor, node: &Address) -> Instruction {
    let state = w.read::<Node>(node);
    build(
        accounts::GuaranteeResolve {
            payer: payer.wallet(),
            market: pda::market(),
            node: *node,
            provider: state.provider,
            fault: pda::guarantee_fault(node, state.guaranteed_until),
            system_program: system_program(),
        },
        instruction::GuaranteeResolve {},
    )
}

pub fn node_retire(who: &Actor, node: &Address) -> Instruction {
    build(
        accounts::NodeRetire {
            wallet: who.wallet(),
            market: pda::market(),
            provider: who.provider(),
            node: *node,
        },
        instruction::NodeRetire {},
    )
}

/// `authority` is the provider's wallet or the node's key.
pub fn node_report_dead(w: &Testbed, authority: &Address, node: &Address) -> Instruction {
    let state = w.read::<Node>(node);
    let instruction = node_report_dead_of(&w.stake_mint, authority, node, &state);
    with_remaining(instruction, claims(&devices(&state.node_key, state.spec.gpus), state.spec.gpus))
}

/// The same without the device claims.
pub fn node_report_dead_of(
    stake_mint: &Address,
    authority: &Address,
    node: &Address,
    state: &Node,
) -> Instruction {
    build(
        accounts::NodeReportDead {
            authority: *authority,
            market: pda::market(),
            provider: state.provider,
            stake_vault: pda::stake_vault(&state.provider),
            stake_mint: *stake_mint,
            node: *node,
            token_program: token_program(),
        },
        instruction::NodeReportDead {},
    )
}

/// `payer` signs; `losers` are the nodes that lose claims to this one.
pub fn node_set_evidence(
    payer: &Address,
    node: &Address,
    devices: [[u8; 32]; 8],
    gpus: u8,
    losers: &[Address],
) -> Instruction {
    let instruction = build(
        accounts::NodeSetEvidence { payer: *payer, node: *node, system_program: system_program() },
        instruction::NodeSetEvidence { devices },
    );
    let losers = losers.iter().map(|node| AccountMeta::new(*node, false));
    with_remaining(instruction, claims(&devices, gpus).into_iter().chain(losers).collect())
}

/// Claims the keys of a node's GPUs.
pub fn node_set_keys(payer: &Address, node: &Address, keys: [[u8; 32]; 8], gpus: u8) -> Instruction {
    let mut instruction = node_set_evidence(payer, node, keys, 0, &[]);
    let claims = keys.iter().take(gpus as usize).map(|key| AccountMeta::new(pda::gpu_key(key), false));
    instruction.accounts.extend(claims);
    instruction
}

pub fn node_close(who: &Actor, node_key: &Address, gpus: u8) -> Instruction {
    let instruction = build(
        accounts::NodeClose {
            wallet: who.wallet(),
            provider: who.provider(),
            node: pda::node(&who.provider(), node_key),
        },
        instruction::NodeClose {},
    );
    with_remaining(instruction, claims(&devices(node_key, gpus), gpus))
}
