//! A keeper's wallet names the key that signs for it from now on. The bond answers for the former one for as long as its
//! records count; until then there is no further change, so that two keys at most are ever liable.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::constants::{CONSENT_LEN, CONSENT_TAG};
use crate::errors::{MarketError, OrOverflow};
use crate::events::KeeperSignerSet;
use crate::seeds;
use crate::signatures::signed_message;
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
///
/// A consent is over before a bond that was there when it was given could have left, and so before the signer can have
/// changed twice: it names a key once, and never names a former signer again.
pub fn require_consent(
    instructions: &SysvarInstructions,
    market: &Market,
    wallet: &Address,
    signer: &Address,
    now: i64,
) -> Result<()> {
    if signer == wallet {
        return Ok(());
    }
    let (key, signed) = signed_message(instructions, -1)?;
    let mut consent = [0; CONSENT_LEN];
    let until = signed.last_chunk::<8>().copied().unwrap_or_default();
    let parts = CONSENT_TAG.iter().chain(&market.domain).chain(wallet.as_array()).chain(&until);
    consent.iter_mut().zip(parts).for_each(|(byte, part)| *byte = *part);
    require!(key == *signer && signed == consent, MarketError::InvalidSignature);
    let left = i64::from_le_bytes(until).checked_sub(now).or_overflow()?;
    require!(left > 0, MarketError::TooLate);
    require!(left <= market.params.keeper_exit_secs as i64, MarketError::TooEarly);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<KeeperSetSigner>, signer: Address) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let market = &accounts.market;
    require_consent(&accounts.instructions, market, accounts.wallet.address(), &signer, now)?;
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
