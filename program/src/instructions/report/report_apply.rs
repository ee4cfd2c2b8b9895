//! Anyone applies a leaf without a fault to the node's record and to the lease's verified seconds.

use alloc::vec::Vec;

use anchor_lang::prelude::*;

use crate::constants::LEAF_LEN;
use crate::errors::MarketError;
use crate::instructions::report::leaf::{apply, LeafLease, LeafProof};
use crate::state::{Lease, Market, Node, Report};

#[derive(Accounts)]
pub struct ReportApply {
    pub market: Account<Market>,
    pub report: Account<Report>,
    #[account(mut)]
    pub node: Account<Node>,
    /// The lease that the leaf names, if it names one.
    #[account(mut)]
    pub lease: Option<Account<Lease>>,
    /// Its address instead, when it is closed.
    pub closed_lease: Option<UncheckedAccount>,
}

pub(crate) fn handler(
    ctx: &mut Context<ReportApply>,
    leaf: [u8; LEAF_LEN],
    path: u32,
    proof: Vec<[u8; 32]>,
) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let mut lease = LeafLease::of(&leaf, accounts.lease.as_mut(), accounts.closed_lease.as_ref())?;
    let proven = apply(
        LeafProof { data: &leaf, path, siblings: &proof },
        &accounts.report,
        &accounts.market.params,
        &mut accounts.node,
        &mut lease,
        now,
    )?;
    // A leaf with a fault must not slip by without it.
    require!(proven.flags == 0, MarketError::LeafCarriesFault);
    Ok(())
}
