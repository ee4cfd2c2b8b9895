//! Pays out slashed stake and bond. Every slash, of a provider or a keeper, goes through here.

use anchor_lang::prelude::*;
use anchor_spl::token::{Mint, Token, TokenAccount};

use crate::errors::{MarketError, OrOverflow};
use crate::math::slashing::Split;
use crate::seeds;
use crate::state::{Keeper, Market, KEEPER_ACTIVE, KEEPER_EXITING, KEEPER_SLASHED};
use crate::token::{burn, require_token_account, transfer};

/// Where slashed stake lies and where it may go. The authority is the provider's or keeper's account.
pub struct Slashed<'a> {
    pub token_program: &'a Program<Token>,
    pub vault: &'a mut Account<TokenAccount>,
    pub mint: &'a mut Account<Mint>,
    pub authority: CpiHandle<'a>,
    /// Seeds of the authority.
    pub seed: &'a [u8],
    pub wallet: Address,
    pub bump: u8,
    /// A harmed customer's stake-token account; needed only when it has a share.
    pub customer_tokens: Option<&'a mut Account<TokenAccount>>,
    pub customer: Address,
    pub finder_tokens: &'a mut Account<TokenAccount>,
    pub finder: Address,
}

impl<'a> Slashed<'a> {
    /// The seed of a provider's account.
    pub const PROVIDER: &'static [u8] = seeds::PROVIDER;
    /// The seed of a keeper's account.
    pub const KEEPER: &'static [u8] = seeds::KEEPER;

    /// Pays customer and finder and burns the rest. The finder's account must be the finder's even when its share is
    /// zero.
    #[inline(never)]
    pub fn distribute(self, shares: &Split) -> Result<()> {
        let mint = *self.mint.address();
        require_token_account(self.finder_tokens, &mint, &self.finder)?;
        let bump = [self.bump];
        let signer: [&[u8]; 3] = [self.seed, self.wallet.as_ref(), &bump];
        let signers: [&[&[u8]]; 1] = [&signer];
        if shares.customer > 0 {
            let tokens = self.customer_tokens.ok_or(MarketError::MissingAccount)?;
            require_token_account(tokens, &mint, &self.customer)?;
            transfer(
                self.token_program,
                self.vault.cpi_handle_mut().into(),
                tokens.cpi_handle_mut().into(),
                self.authority,
                shares.customer,
                &signers,
            );
        }
        if shares.finder > 0 {
            transfer(
                self.token_program,
                self.vault.cpi_handle_mut().into(),
                self.finder_tokens.cpi_handle_mut().into(),
                self.authority,
                shares.finder,
                &signers,
            );
        }
        if shares.burned > 0 {
            burn(
                self.token_program,
                self.vault.cpi_handle_mut().into(),
                self.mint.cpi_handle_mut().into(),
                self.authority,
                shares.burned,
                &signers,
            );
        }
        Ok(())
    }
}

/// A keeper whose bond has shrunk weighs no more than what is left; below the smallest bond it has to leave.
pub fn lighten(market: &mut Market, keeper: &mut Keeper, now: i64) -> Result<()> {
    if keeper.status != KEEPER_ACTIVE {
        return Ok(());
    }
    let leaves = keeper.bond < market.params.min_bond;
    let weight = if leaves { 0 } else { keeper.weight.min(keeper.bond) };
    let lost = keeper.weight.checked_sub(weight).or_overflow()?;
    market.total_weight = market.total_weight.checked_sub(lost).or_overflow()?;
    keeper.weigh(weight, now);
    if leaves {
        keeper.status = KEEPER_EXITING;
        keeper.exit_at = now.checked_add(market.params.keeper_exit_secs as i64).or_overflow()?;
    }
    Ok(())
}

/// A keeper loses its place among the voters at once: its weight counts no more, here and in later reports. What is
/// left of its bond waits as that of a keeper that leaves.
pub fn expel(market: &mut Market, keeper: &mut Keeper, now: i64) -> Result<()> {
    market.total_weight = market.total_weight.checked_sub(keeper.weight).or_overflow()?;
    keeper.weigh(0, now);
    keeper.status = KEEPER_SLASHED;
    if keeper.exit_at == 0 {
        keeper.exit_at = now.checked_add(market.params.keeper_exit_secs as i64).or_overflow()?;
    }
    Ok(())
}
