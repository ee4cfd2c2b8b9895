use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::state::Params;
use gantry_market::{accounts, instruction, ID};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};
use solana_signer::Signer;

use super::{build, system_program};
use crate::measure::PROCESSORS;
use crate::testbed::{DOMAIN, H100};
use crate::tokens::token_program;
use crate::{pda, Testbed};

pub fn upgradeable_loader() -> Address {
    Address::from_str_const("BPFLoaderUpgradeab1e11111111111111111111111")
}

pub fn program_data() -> Address {
    Address::find_program_address(&[ID.as_ref()], &upgradeable_loader()).0
}

/// An instruction of the market's authority, in the name of another.
pub fn by(mut instruction: Instruction, w: &Testbed, who: &Address) -> Instruction {
    for meta in instruction.accounts.iter_mut().filter(|meta| meta.pubkey == w.authority.pubkey()) {
        meta.pubkey = *who;
    }
    instruction
}

/// Gives the program to another key or address, which need not sign.
pub fn set_upgrade_authority(from: &Address, to: &Address) -> Instruction {
    let accounts = vec![
        AccountMeta::new(program_data(), false),
        AccountMeta::new_readonly(*from, true),
        AccountMeta::new_readonly(*to, false),
    ];
    Instruction { program_id: upgradeable_loader(), accounts, data: 4u32.to_le_bytes().to_vec() }
}

/// Replaces the program by what a buffer holds. The rest of the buffer's lamports goes to `spill`.
pub fn upgrade(authority: &Address, buffer: &Address, spill: &Address) -> Instruction {
    let sysvar = |name| AccountMeta::new_readonly(Address::from_str_const(name), false);
    let accounts = vec![
        AccountMeta::new(program_data(), false),
        AccountMeta::new(ID, false),
        AccountMeta::new(*buffer, false),
        AccountMeta::new(*spill, false),
        sysvar("SysvarRent111111111111111111111111111111111"),
        sysvar("SysvarC1ock11111111111111111111111111111111"),
        AccountMeta::new_readonly(*authority, true),
    ];
    Instruction { program_id: upgradeable_loader(), accounts, data: 3u32.to_le_bytes().to_vec() }
}

/// Moves tokens.
pub fn token_transfer(from: &Address, to: &Address, owner: &Address, amount: u64) -> Instruction {
    let accounts = vec![
        AccountMeta::new(*from, false),
        AccountMeta::new(*to, false),
        AccountMeta::new_readonly(*owner, true),
    ];
    let data = [&[3], &amount.to_le_bytes()[..]].concat();
    Instruction { program_id: token_program(), accounts, data }
}

pub fn market_init(w: &Testbed) -> Instruction {
    market_init_with(w, w.params, DOMAIN, w.guardian.pubkey())
}

pub fn market_init_with(w: &Testbed, params: Params, domain: [u8; 8], guardian: Address) -> Instruction {
    build(
        accounts::MarketInit {
            authority: w.authority.pubkey(),
            market: pda::market(),
            payment_mint: w.payment_mint,
            stake_mint: w.stake_mint,
            treasury: w.treasury,
            fee_vault: pda::fee_vault(),
            rewards: pda::rewards(),
            emission_vault: pda::emission_vault(),
            payout_vault: pda::payout_vault(),
            program_data: program_data(),
            token_program: token_program(),
            system_program: system_program(),
        },
        instruction::MarketInit { params, domain, guardian },
    )
}

pub fn market_propose_params(w: &Testbed, params: Params) -> Instruction {
    build(
        accounts::MarketProposeParams { authority: w.authority.pubkey(), market: pda::market() },
        instruction::MarketProposeParams { params },
    )
}

pub fn market_apply_params() -> Instruction {
    build(accounts::MarketApplyParams { market: pda::market() }, instruction::MarketApplyParams {})
}

pub fn market_pause(by: &Address, paused: u8) -> Instruction {
    build(accounts::MarketPause { by: *by, market: pda::market() }, instruction::MarketPause { paused })
}

/// The authority stays.
pub fn market_propose_roles(w: &Testbed, guardian: Address, treasury: Address) -> Instruction {
    market_propose_successor(w, w.market().authority, guardian, treasury)
}

pub fn market_propose_successor(
    w: &Testbed,
    authority: Address,
    guardian: Address,
    treasury: Address,
) -> Instruction {
    build(
        accounts::MarketProposeRoles { authority: w.authority.pubkey(), market: pda::market(), treasury },
        instruction::MarketProposeRoles { authority, guardian },
    )
}

/// The testbed applies them.
pub fn market_apply_roles(w: &Testbed) -> Instruction {
    market_apply_roles_by(&w.payer.pubkey())
}

pub fn market_apply_roles_by(by: &Address) -> Instruction {
    build(accounts::MarketApplyRoles { by: *by, market: pda::market() }, instruction::MarketApplyRoles {})
}

/// The model that every testbed has. It is not calibrated, and measured by the smallest products, so that random sequences go on quickly.
pub fn h100() -> GpuModelArgs {
    let mut name = [0; 32];
    name[..13].copy_from_slice(b"H100 SXM 80GB");
    GpuModelArgs {
        id: H100,
        name,
        vram_mib: 81_559,
        tflops_x10: 9_890,
        min_stake: 10_000_000_000,
        reference_price: 2_500_000,
        min_operations: 0,
        min_bandwidth: 0,
        min_tier: 0,
        profile: PROCESSORS,
    }
}

pub fn gpu_model_propose(w: &Testbed, args: GpuModelArgs) -> Instruction {
    build(
        accounts::GpuModelPropose {
            authority: w.authority.pubkey(),
            market: pda::market(),
            gpu_model: pda::gpu_model(args.id),
            system_program: system_program(),
        },
        instruction::GpuModelPropose { args },
    )
}

pub fn gpu_model_apply(id: u16) -> Instruction {
    build(accounts::GpuModelApply { gpu_model: pda::gpu_model(id) }, instruction::GpuModelApply {})
}
