//! A keeper changes its network address.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::KeeperUpdated;
use crate::instructions::keeper::keeper_register::{require_multiaddr, Multiaddr};
use crate::state::Keeper;

#[derive(Accounts)]
pub struct KeeperUpdate {
    pub signer: Signer,
    #[account(mut, constraint = keeper.signer == *signer.address() @ MarketError::Unauthorised)]
    pub keeper: Account<Keeper>,
}

pub(crate) fn handler(
    ctx: &mut Context<KeeperUpdate>,
    multiaddr: Multiaddr,
    multiaddr_len: u8,
) -> Result<()> {
    require_multiaddr(&multiaddr, multiaddr_len)?;
    let keeper = &mut ctx.accounts.keeper;
    keeper.multiaddr = multiaddr;
    keeper.multiaddr_len = multiaddr_len;
    emit!(KeeperUpdated { keeper: *keeper.address() });
    Ok(())
}
