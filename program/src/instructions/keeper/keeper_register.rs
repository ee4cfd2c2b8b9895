//! A wallet bonds itself as a keeper, names the key that signs for it, and waits. Its weight counts
//! once it is activated after the delay, so that nobody buys a vote on a period that has already happened.

use anchor_lang::prelude::*;
use anchor_spl::token::{self, Mint, Token, TokenAccount};

use crate::constants::VERSION;
use crate::errors::MarketError;
use crate::events::KeeperRegistered;
use crate::instructions::keeper::keeper_set_signer::require_consent;
use crate::seeds;
use crate::state::{Keeper, Market, KEEPER_PENDING, NO_PLACE};
use crate::token::{require_token_account, transfer};

/// A keeper's libp2p address, padded with zeroes.
pub type Multiaddr = [u8; 128];

/// The instruction before this one verifies the signer's consent, unless it is the wallet.
#[derive(Accounts)]
pub struct KeeperRegister {
    #[account(mut)]
    pub wallet: Signer,
    pub market: Account<Market>,
    #[account(address = market.stake_mint @ MarketError::WrongMint)]
    pub stake_mint: Account<Mint>,
    #[account(init, payer = wallet, seeds = [seeds::KEEPER, wallet.address().as_ref()], bump)]
    pub keeper: Account<Keeper>,
    #[account(
        init,
        payer = wallet,
        seeds = [seeds::STAKE_VAULT, keeper.address().as_ref()],
        bump,
        token::mint = stake_mint,
        token::authority = keeper
    )]
    pub stake_vault: Account<TokenAccount>,
    /// Stake tokens of the wallet.
    #[account(mut)]
    pub from: Account<TokenAccount>,
    pub instructions: Sysvar<SysvarInstructions>,
    pub token_program: Program<Token>,
    pub system_program: Program<System>,
}

/// Requires printable ASCII that starts as every multiaddr does, then zeroes.
pub fn require_multiaddr(multiaddr: &Multiaddr, len: u8) -> Result<()> {
    let sound = match multiaddr.split_at_checked(len as usize) {
        Some((text, rest)) => {
            text.first() == Some(&b'/')
                && text.iter().all(u8::is_ascii_graphic)
                && rest.iter().all(|byte| *byte == 0)
        }
        None => false,
    };
    require!(sound, MarketError::InvalidMultiaddr);
    Ok(())
}

fn validate(
    accounts: &KeeperRegister,
    bond: u64,
    multiaddr: &Multiaddr,
    len: u8,
    signer: &Address,
    now: i64,
) -> Result<()> {
    let (market, wallet) = (&accounts.market, accounts.wallet.address());
    require_consent(&accounts.instructions, market, wallet, signer, now)?;
    require!(bond >= accounts.market.params.min_bond, MarketError::BondTooSmall);
    require_multiaddr(multiaddr, len)?;
    require_token_account(&accounts.from, &accounts.market.stake_mint, accounts.wallet.address())?;
    require!(accounts.from.amount() >= bond, MarketError::InsufficientFunds);
    Ok(())
}

pub(crate) fn handler(
    ctx: &mut Context<KeeperRegister>,
    bond: u64,
    multiaddr: Multiaddr,
    multiaddr_len: u8,
    signer: Address,
) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, bond, &multiaddr, multiaddr_len, &signer, now)?;
    let accounts = &mut ctx.accounts;
    transfer(
        &accounts.token_program,
        accounts.from.cpi_handle_mut().into(),
        accounts.stake_vault.cpi_handle_mut().into(),
        accounts.wallet.cpi_handle(),
        bond,
        &[],
    );
    let wallet = *accounts.wallet.address();
    let address = *accounts.keeper.address();
    let keeper = &mut accounts.keeper;
    keeper.wallet = wallet;
    keeper.signer = signer;
    keeper.signer_since = now;
    keeper.bond = bond;
    keeper.registered_at = now;
    keeper.pending_since = now;
    keeper.multiaddr = multiaddr;
    keeper.multiaddr_len = multiaddr_len;
    keeper.index = NO_PLACE;
    keeper.status = KEEPER_PENDING;
    keeper.version = VERSION;
    keeper.bump = ctx.bumps.keeper;
    keeper.vault_bump = ctx.bumps.stake_vault;
    emit!(KeeperRegistered { keeper: address, wallet, signer, bond });
    keeper.invariant(accounts.stake_vault.amount())
}
