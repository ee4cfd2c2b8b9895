//! Anyone resolves an uptime guarantee that is over, after the deadline for its last report and the appeal window. When
//! the uptime was lower than guaranteed, the provider loses a part of the node's required stake; otherwise nothing
//! happens.

use anchor_lang::prelude::*;
use anchor_spl::token::{Mint, Token, TokenAccount};

use crate::errors::{MarketError, OrOverflow};
use crate::events::GuaranteeResolved;
use crate::math::fees::bps_of;
use crate::math::guarantee::kept;
use crate::seeds;
use crate::slashing::Slashed;
use crate::state::{Market, Node, Provider, NODE_SUSPENDED};

#[derive(Accounts)]
pub struct GuaranteeResolve {
    pub finder: Signer,
    pub market: Account<Market>,
    #[account(mut)]
    pub node: Account<Node>,
    #[account(mut, address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(
        mut,
        seeds = [seeds::STAKE_VAULT, provider.address().as_ref()],
        bump = provider.vault_bump
    )]
    pub stake_vault: Account<TokenAccount>,
    #[account(mut, address = market.stake_mint @ MarketError::WrongMint)]
    pub stake_mint: Account<Mint>,
    pub token_program: Program<Token>,
}

fn validate(accounts: &GuaranteeResolve, now: i64) -> Result<()> {
    let (node, params) = (&accounts.node, &accounts.market.params);
    require!(node.is_guaranteed(), MarketError::NotGuaranteed);
    // Time for the leaf of the last period, then for an appeal that voids the fault of a suspended node.
    let wait =
        (params.settle_deadline_secs()? as i64).checked_add(params.appeal_secs as i64).or_overflow()?;
    require!(now >= node.guaranteed_until.checked_add(wait).or_overflow()?, MarketError::TooEarly);
    require!(node.status != NODE_SUSPENDED || node.pending_faults == 0, MarketError::FaultPending);
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<GuaranteeResolve>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, now)?;
    let accounts = &mut ctx.accounts;
    let finder = *accounts.finder.address();
    let period_secs = accounts.market.params.period_secs;
    let node = &mut accounts.node;
    let record = node.record(now);
    let (guarantee_bps, up_secs) = (node.guarantee_bps, node.guarantee_up_secs);
    let counted_secs = node.close_guarantee(now)?;
    node.keep_record(&record, now);
    let amount = if kept(up_secs, counted_secs, guarantee_bps) {
        0
    } else {
        let due = bps_of(node.required_stake, node.slash_guarantee_bps)?;
        node.take_stake(&mut accounts.provider, due, now, period_secs)?
    };
    Slashed {
        vault: &mut accounts.stake_vault,
        seed: Slashed::PROVIDER,
        wallet: accounts.provider.wallet,
        bump: accounts.provider.bump,
        authority: accounts.provider.cpi_handle(),
    }
    .burn(&accounts.token_program, &mut accounts.stake_mint, amount)?;
    emit!(GuaranteeResolved {
        node: *accounts.node.address(),
        provider: *accounts.provider.address(),
        finder,
        guarantee_bps,
        up_secs,
        counted_secs,
        amount,
        finder_share: 0,
        burned: amount,
    });
    accounts.node.invariant()?;
    accounts.provider.invariant(accounts.stake_vault.amount())
}
