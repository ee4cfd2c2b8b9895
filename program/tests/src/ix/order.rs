use gantry_market::constants::{MAX_ORDER_MODELS, MODE_INSTANT};
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::Requirement;
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;

use super::{build, system_program};
use crate::testbed::H100;
use crate::{pda, Actor};

/// Any of these GPU models.
pub fn models(ids: &[u16]) -> [u16; MAX_ORDER_MODELS] {
    std::array::from_fn(|i| ids.get(i).copied().unwrap_or_default())
}

/// One node with one GPU for an hour, at most 3 USDC.
pub fn order_args(nonce: u64) -> OrderArgs {
    OrderArgs {
        nonce,
        max_price: 3_000_000,
        duration_secs: 3_600,
        nodes: 1,
        gpus_per_node: 1,
        mode: MODE_INSTANT,
        run_to_completion: 0,
        no_migration: 0,
        redundant: 0,
        interruptible: 0,
        image_digest: [1; 32],
        requirement: Requirement {
            region: [0; 16],
            min_vram_mib: 0,
            min_tflops_x10: 0,
            models: models(&[H100]),
            min_uptime_bps: 0,
            min_reputation_bps: 0,
            min_interconnect: 0,
            min_tier: 0,
            same_site: 0,
            allow_simulated: 0,
            guaranteed: 0,
            min_isolation: 0,
            min_operations: 0,
            min_bandwidth: 0,
            min_down_mbps: 0,
            min_up_mbps: 0,
            min_cpu_cores: 0,
            min_ram_mib: 0,
            min_disk_gib: 0,
            min_cuda: 0,
        },
    }
}

pub fn order_create(who: &Actor, args: OrderArgs) -> Instruction {
    build(
        accounts::OrderCreate {
            authority: who.wallet(),
            market: pda::market(),
            credits: who.credits(),
            order: pda::order(&who.wallet(), args.nonce),
            system_program: system_program(),
        },
        instruction::OrderCreate { args },
    )
}

pub fn order_cancel(who: &Actor, order: &Address) -> Instruction {
    build(
        accounts::OrderCancel {
            authority: who.wallet(),
            credits: who.credits(),
            order: *order,
            rent_payer: who.wallet(),
        },
        instruction::OrderCancel {},
    )
}

pub fn order_expire(who: &Actor, order: &Address) -> Instruction {
    build(
        accounts::OrderExpire { credits: who.credits(), order: *order, rent_payer: who.wallet() },
        instruction::OrderExpire {},
    )
}

pub fn order_reopen(who: &Actor, order: &Address) -> Instruction {
    build(
        accounts::OrderReopen {
            authority: who.wallet(),
            market: pda::market(),
            credits: who.credits(),
            order: *order,
        },
        instruction::OrderReopen {},
    )
}

/// The same instruction, sent by a session key: what the customer may do stands first.
pub fn by_session(mut instruction: Instruction, key: &Address) -> Instruction {
    instruction.accounts[0].pubkey = *key;
    instruction
}

/// Signed by the keeper.
pub fn order_award(
    keeper: &Actor,
    customer: &Actor,
    order: &Address,
    provider: &Address,
    node: &Address,
) -> Instruction {
    order_award_at(keeper, customer, order, provider, node, u64::MAX)
}

/// By a keeper that found the node to score so much.
pub fn order_award_at(
    keeper: &Actor,
    customer: &Actor,
    order: &Address,
    provider: &Address,
    node: &Address,
    max_score: u64,
) -> Instruction {
    build(
        accounts::OrderAward {
            signer: keeper.signer(),
            keeper: keeper.keeper(),
            market: pda::market(),
            order: *order,
            credits: customer.credits(),
            node: *node,
            provider: *provider,
            gpu_model: pda::gpu_model(H100),
            lease: pda::lease(order, node),
            system_program: system_program(),
        },
        instruction::OrderAward { max_score },
    )
}
