//! The authority writes a GPU model's terms. Nodes keep the stake that was required when they registered.

// The derive binds the arguments that seeds use in code that does not use them too.
#![allow(unused_variables)]

use anchor_lang::prelude::*;

use crate::constants::VERSION;
use crate::errors::MarketError;
use crate::events::GpuModelSet as GpuModelWritten;
use crate::seeds;
use crate::state::{GpuModel, Market};

#[derive(Clone, Copy, AnchorSerialize, AnchorDeserialize, IdlType)]
pub struct GpuModelArgs {
    pub id: u16,
    /// UTF-8, padded with zeroes.
    pub name: [u8; 32],
    pub vram_mib: u32,
    /// Dense FP16 TFLOPS × 10.
    pub tflops_x10: u32,
    /// Stake per GPU, base units of the stake token.
    pub min_stake: u64,
    /// µUSDC per GPU-hour.
    pub reference_price: u64,
    /// Side of the work proof's matrices.
    pub work_size: u32,
    /// Longest time a work proof of that size may take, milliseconds.
    pub work_bound_ms: u32,
    pub min_tier: u8,
}

#[derive(Accounts)]
#[instruction(args: GpuModelArgs)]
pub struct GpuModelSet {
    #[account(mut)]
    pub authority: Signer,
    #[account(constraint = market.authority == *authority.address() @ MarketError::Unauthorised)]
    pub market: Account<Market>,
    #[account(
        init_if_needed,
        payer = authority,
        seeds = [seeds::GPU_MODEL, &args.id.to_le_bytes()],
        bump
    )]
    pub gpu_model: Account<GpuModel>,
    pub system_program: Program<System>,
}

fn validate(args: &GpuModelArgs) -> Result<()> {
    let sound = args.id != 0
        && args.name != [0; 32]
        && args.vram_mib > 0
        && args.tflops_x10 > 0
        && args.min_stake > 0
        && args.reference_price > 0
        && args.work_size > 0
        && args.work_bound_ms > 0
        && args.min_tier <= 3;
    require!(sound, MarketError::ParameterOutOfRange);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<GpuModelSet>, args: GpuModelArgs) -> Result<()> {
    validate(&args)?;
    let model = &mut ctx.accounts.gpu_model;
    model.id = args.id;
    model.name = args.name;
    model.vram_mib = args.vram_mib;
    model.tflops_x10 = args.tflops_x10;
    model.min_stake = args.min_stake;
    model.reference_price = args.reference_price;
    model.work_size = args.work_size;
    model.work_bound_ms = args.work_bound_ms;
    model.min_tier = args.min_tier;
    model.since = Clock::get()?.unix_timestamp;
    model.version = VERSION;
    model.bump = ctx.bumps.gpu_model;
    emit!(GpuModelWritten { id: args.id, min_stake: args.min_stake });
    model.invariant()
}
