//! Creates the one market. Only the program's upgrade authority may: otherwise the first stranger to send this would
//! own the parameters.

use anchor_lang::prelude::*;
use anchor_spl::token::{self, Mint, Token, TokenAccount};

use crate::constants::VERSION;
use crate::errors::MarketError;
use crate::events::MarketInitialised;
use crate::math::bytes::take;
use crate::seeds;
use crate::state::{Market, Params, Rewards};
use crate::token::require_mint;

/// Owner of every upgradeable program's data account.
const UPGRADEABLE_LOADER: Address = Address::from_str_const("BPFLoaderUpgradeab1e11111111111111111111111");
/// Variant `ProgramData` of the loader's state, u32 LE.
const PROGRAM_DATA: [u8; 4] = 3u32.to_le_bytes();
/// Variant (4) ‖ slot (8) ‖ option tag (1) ‖ upgrade authority (32).
const AUTHORITY_TAG: usize = 12;
const AUTHORITY: usize = 13;
/// µUSDC.
const PAYMENT_DECIMALS: u8 = 6;
/// See [`crate::constants::STAKE_UNIT`].
const STAKE_DECIMALS: u8 = 9;

#[derive(Accounts)]
pub struct MarketInit {
    #[account(mut)]
    pub authority: Signer,
    #[account(init, payer = authority, seeds = [seeds::MARKET], bump)]
    pub market: Account<Market>,
    #[account(constraint = payment_mint.decimals() == PAYMENT_DECIMALS @ MarketError::WrongMint)]
    pub payment_mint: Account<Mint>,
    #[account(
        constraint = stake_mint.decimals() == STAKE_DECIMALS @ MarketError::WrongMint,
        constraint = stake_mint.freeze_authority().is_none() @ MarketError::WrongMint,
        constraint = stake_mint.address() != payment_mint.address() @ MarketError::WrongMint
    )]
    pub stake_mint: Account<Mint>,
    pub treasury: Account<TokenAccount>,
    #[account(
        init,
        payer = authority,
        seeds = [seeds::FEE_VAULT],
        bump,
        token::mint = payment_mint,
        token::authority = market
    )]
    pub fee_vault: Account<TokenAccount>,
    #[account(init, payer = authority, seeds = [seeds::REWARDS], bump)]
    pub rewards: Account<Rewards>,
    #[account(
        init,
        payer = authority,
        seeds = [seeds::EMISSION_VAULT],
        bump,
        token::mint = stake_mint,
        token::authority = market
    )]
    pub emission_vault: Account<TokenAccount>,
    #[account(
        init,
        payer = authority,
        seeds = [seeds::PAYOUT_VAULT],
        bump,
        token::mint = stake_mint,
        token::authority = market
    )]
    pub payout_vault: Account<TokenAccount>,
    /// The loader's record of this program: it names the upgrade authority.
    #[account(owner = UPGRADEABLE_LOADER @ MarketError::WrongAccount)]
    pub program_data: UncheckedAccount,
    pub token_program: Program<Token>,
    pub system_program: Program<System>,
}

/// Requires that `signer` may upgrade this program.
fn require_upgrade_authority(program_data: &AccountView, signer: &Address) -> Result<()> {
    let (address, _) = find_program_address(&[crate::ID.as_ref()], &UPGRADEABLE_LOADER);
    require!(*program_data.address() == address, MarketError::WrongAccount);
    let data = program_data.try_borrow()?;
    let variant: [u8; 4] = take(&data, 0)?;
    let tag: [u8; 1] = take(&data, AUTHORITY_TAG)?;
    let authority: [u8; 32] = take(&data, AUTHORITY)?;
    require!(
        variant == PROGRAM_DATA && tag == [1] && authority == signer.to_bytes(),
        MarketError::Unauthorised
    );
    Ok(())
}

fn validate(accounts: &MarketInit, params: &Params, domain: &[u8; 8]) -> Result<()> {
    require_upgrade_authority(accounts.program_data.account(), accounts.authority.address())?;
    require_mint(&accounts.treasury, accounts.payment_mint.address())?;
    // Without a domain, signatures made for this market would be good on every other cluster that left it out.
    require!(*domain != [0; 8], MarketError::ParameterOutOfRange);
    params.validate()
}

pub(crate) fn handler(
    ctx: &mut Context<MarketInit>,
    params: Params,
    domain: [u8; 8],
    guardian: Address,
) -> Result<()> {
    validate(&ctx.accounts, &params, &domain)?;
    let accounts = &mut ctx.accounts;
    let authority = *accounts.authority.address();
    let payment_mint = *accounts.payment_mint.address();
    let stake_mint = *accounts.stake_mint.address();
    let treasury = *accounts.treasury.address();
    let fee_vault = *accounts.fee_vault.address();
    let rewards = &mut accounts.rewards;
    rewards.emission_vault = *accounts.emission_vault.address();
    rewards.payout_vault = *accounts.payout_vault.address();
    rewards.version = VERSION;
    rewards.bump = ctx.bumps.rewards;
    rewards.emission_vault_bump = ctx.bumps.emission_vault;
    let market = &mut accounts.market;
    market.rewards = *rewards.address();
    market.authority = authority;
    market.guardian = guardian;
    market.payment_mint = payment_mint;
    market.stake_mint = stake_mint;
    market.treasury = treasury;
    market.fee_vault = fee_vault;
    market.domain = domain;
    market.params = params;
    market.version = VERSION;
    market.bump = ctx.bumps.market;
    market.fee_vault_bump = ctx.bumps.fee_vault;
    emit!(MarketInitialised { authority, payment_mint, stake_mint });
    market.invariant()
}
