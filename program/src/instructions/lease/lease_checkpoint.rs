//! The node records the hash of a checkpoint. If the lease fails, the next node continues from it.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::LeaseCheckpointed;
use crate::state::{Lease, LEASE_RUNNING};

#[derive(Accounts)]
pub struct LeaseCheckpoint {
    #[account(address = lease.node_key @ MarketError::Unauthorised)]
    pub node_key: Signer,
    #[account(mut)]
    pub lease: Account<Lease>,
}

/// `hash` is the sha256 of the checkpoint's bytes.
pub(crate) fn handler(ctx: &mut Context<LeaseCheckpoint>, hash: [u8; 32]) -> Result<()> {
    let address = *ctx.accounts.lease.address();
    let lease = &mut ctx.accounts.lease;
    require!(lease.status == LEASE_RUNNING, MarketError::WrongLeaseStatus);
    lease.checkpoint_hash = hash;
    emit!(LeaseCheckpointed { lease: address, hash });
    Ok(())
}
