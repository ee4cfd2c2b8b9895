//! Anyone applies a leaf without a fault: reputation, and the lease's verified seconds.

use alloc::vec::Vec;

use anchor_lang::prelude::*;

use crate::constants::LEAF_LEN;
use crate::errors::{fail, MarketError};
use crate::instructions::leaf::apply;
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
}

pub fn handler(
    ctx: &mut Context<ReportApply>,
    leaf: [u8; LEAF_LEN],
    path: u32,
    proof: Vec<[u8; 32]>,
) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let proven = apply(
        &leaf,
        path,
        &proof,
        &accounts.report,
        &accounts.market.params,
        &mut accounts.node,
        accounts.lease.as_mut(),
        now,
    )?;
    // A leaf with a fault must not slip by without it.
    if proven.flags != 0 {
        return fail(MarketError::LeafCarriesFault);
    }
    Ok(())
}
