//! The authority proposes a GPU model, or other terms for one; they wait for the timelock, and other terms for
//! `STEP_SECS` since the last ones too. A new proposal replaces a pending one and starts its own wait.

// The derive binds the arguments that seeds use in code that does not use them too.
#![allow(unused_variables)]

use anchor_lang::prelude::*;

use crate::constants::VERSION;
use crate::errors::{MarketError, OrOverflow};
use crate::events::GpuModelProposed;
use crate::seeds;
use crate::state::{GpuModel, Market, MeasureProfile, ModelTerms};

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
    /// What a GPU of the class reaches, 10⁹ int8 operations a second; 0 while that is not calibrated.
    pub min_operations: u32,
    /// Its memory bandwidth, 10⁶ bytes a second; 0 while that is not calibrated.
    pub min_bandwidth: u32,
    pub min_tier: u8,
    /// What its GPUs are measured by.
    pub profile: MeasureProfile,
}

impl GpuModelArgs {
    fn terms(&self) -> ModelTerms {
        ModelTerms {
            min_stake: self.min_stake,
            reference_price: self.reference_price,
            min_operations: self.min_operations,
            min_bandwidth: self.min_bandwidth,
            min_tier: self.min_tier,
            pad: [0; 3],
            profile: self.profile,
        }
    }
}

#[derive(Accounts)]
#[instruction(args: GpuModelArgs)]
pub struct GpuModelPropose {
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

/// What a model is does not change once it is in force: another machine is another model.
fn validate(args: &GpuModelArgs, market: &Market, model: &GpuModel) -> Result<()> {
    let sound = args.id != 0 && args.name != [0; 32] && args.vram_mib > 0 && args.tflops_x10 > 0;
    require!(sound, MarketError::ParameterOutOfRange);
    let terms = args.terms();
    terms.validate()?;
    // Every machine of the model must be able to hold the rounds that it is asked for.
    let memory = (args.vram_mib as u64).checked_mul(1 << 20).or_overflow()?;
    require!(args.profile.memory()? <= memory, MarketError::ParameterOutOfRange);
    require!(terms.covers_harm(&market.params)?, MarketError::ParameterOutOfRange);
    if model.in_force() {
        let same =
            (args.name, args.vram_mib, args.tflops_x10) == (model.name, model.vram_mib, model.tflops_x10);
        require!(same && terms.near(&model.terms())?, MarketError::ParameterOutOfRange);
    }
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<GpuModelPropose>, args: GpuModelArgs) -> Result<()> {
    validate(&args, &ctx.accounts.market, &ctx.accounts.gpu_model)?;
    let model = &mut ctx.accounts.gpu_model;
    let eta = ctx.accounts.market.params.eta(Clock::get()?.unix_timestamp, model.since)?;
    model.id = args.id;
    model.name = args.name;
    model.vram_mib = args.vram_mib;
    model.tflops_x10 = args.tflops_x10;
    model.pending = args.terms();
    model.pending_eta = eta;
    model.version = VERSION;
    model.bump = ctx.bumps.gpu_model;
    emit!(GpuModelProposed {
        id: args.id,
        eta,
        min_stake: args.min_stake,
        reference_price: args.reference_price,
        min_operations: args.min_operations,
        min_bandwidth: args.min_bandwidth,
        min_tier: args.min_tier,
        profile: args.profile,
    });
    model.invariant()
}
