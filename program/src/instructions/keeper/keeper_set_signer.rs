//! A keeper's wallet names the key that signs for it from now on. The bond answers for the former one for as long as its
//! records count; until then there is no further change, so that two keys at most are ever liable.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::constants::CONSENT_TAG;
use crate::errors::MarketError;
use crate::events::KeeperSignerSet;
use crate::seeds;
use crate::signatures::require_signed;
use crate::state::{Keeper, Market};

/// The instruction before this one verifies the new signer's consent, unless it is the wallet.
#[derive(Accounts)]
pub struct KeeperSetSigner {
    pub wallet: Signer,
    pub market: Account<Market>,
    #[account(mut, constraint = keeper.wallet == *wallet.address() @ MarketError::Unauthorised)]
    pub keeper: Account<Keeper>,
    #[account(seeds = [seeds::STAKE_VAULT, keeper.address().as_ref()], bump = keeper.vault_bump)]
    pub stake_vault: Account<TokenAccount>,
    pub instructions: Sysvar<SysvarInstructions>,
}

/// Requires that the key agreed to sign for the wallet's keeper on this cluster: nobody else's key can be named, so that
/// what it has signed for its own keeper never counts for another.
pub fn require_consent(
    instructions: &SysvarInstructions,
    domain: &[u8; 8],
    wallet: &Address,
    signer: &Address,
) -> Result<()> {
    if signer == wallet {
        return Ok(());
    }
    let mut consent = [0; 48];
    let parts = CONSENT_TAG.iter().chain(domain).chain(wallet.as_array());
    consent.iter_mut().zip(parts).for_each(|(byte, part)| *byte = *part);
    require_signed(instructions, -1, signer, &consent)
}

pub(crate) fn handler(ctx: &mut Context<KeeperSetSigner>, signer: Address) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let market = &accounts.market;
    require_consent(&accounts.instructions, &market.domain, accounts.wallet.address(), &signer)?;
    let keeper = &mut accounts.keeper;
    keeper.change_signer(&signer, market.params.signer_secs(), now)?;
    emit!(KeeperSignerSet {
        keeper: *keeper.address(),
        signer,
        former_signer: keeper.former_signer,
        until: keeper.signer_until,
    });
    keeper.invariant(accounts.stake_vault.amount())
}
