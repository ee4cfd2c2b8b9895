//! Anyone puts a proposed GPU model into force once its timelock has passed. Registered nodes keep their stake and the
//! terms that they know.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::GpuModelApplied;
use crate::state::GpuModel;

#[derive(Accounts)]
pub struct GpuModelApply {
    #[account(mut)]
    pub gpu_model: Account<GpuModel>,
}

fn validate(model: &GpuModel, now: i64) -> Result<()> {
    require!(model.pending_eta != 0, MarketError::NothingPending);
    require!(now >= model.pending_eta, MarketError::TimelockRunning);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<GpuModelApply>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let model = &mut ctx.accounts.gpu_model;
    validate(model, now)?;
    model.put_into_force(now);
    emit!(GpuModelApplied { id: model.id, min_stake: model.min_stake });
    model.invariant()
}
