//! Slashes a keeper for an equivocation, without a vote: it signed "passed" and "failed" for the same check, or two
//! different manifests of one period.

use anchor_lang::prelude::*;
use anchor_spl::token::TokenAccount;

use crate::constants::{KIND_MANIFESTS, MANIFEST_LEN, STATEMENT_LEN};
use crate::errors::{fail, MarketError};
use crate::events::EquivocationProven;
use crate::math::fees::bps_of;
use crate::seeds;
use crate::signatures::signed_message;
use crate::slashing::*;
use crate::state::{Keeper, Manifest, Market, Statement, KEEPER_SLASHED};

/// The two instructions before this one verify a signature of the keeper over one statement each, or over one manifest
/// each. They are read from there: twice they would not fit a transaction.
#[derive(Accounts)]
pub struct ProveEquivocation {
    #[account(mut)]
    pub finder: Signer,
    #[account(mut)]
    pub market: Account<Market>,
    /// As long as its bond is there, whether it is active or leaving.
    #[account(mut)]
    pub keeper: Account<Keeper>,
    #[account(
        mut,
        seeds = [seeds::STAKE_VAULT, keeper.address().as_ref()],
        bump = keeper.vault_bump
    )]
    pub stake_vault: Account<TokenAccount>,
    pub payouts: Nested<Payouts>,
    pub instructions: Sysvar<SysvarInstructions>,
}

/// What the keeper contradicted itself about, as the event tells it.
struct About {
    node: Address,
    lease: Address,
    period: u64,
    kind: u8,
    checked_at: i64,
}

/// Two statements: the check that both are about.
fn check(domain: &[u8; 8], one: &[u8; STATEMENT_LEN], other: &[u8; STATEMENT_LEN]) -> Result<About> {
    let (one, other) = (Statement::parse(one)?, Statement::parse(other)?);
    require!(one.domain == *domain && one.equivocates(&other), MarketError::NoEquivocation);
    let Statement { node, lease, period, kind, checked_at, .. } = one;
    Ok(About { node, lease, period, kind, checked_at })
}

/// Two manifests: their period.
fn period(domain: &[u8; 8], one: &[u8; MANIFEST_LEN], other: &[u8; MANIFEST_LEN]) -> Result<About> {
    let (one, other) = (Manifest::parse(one)?, Manifest::parse(other)?);
    require!(one.domain == *domain && one.equivocates(&other), MarketError::NoEquivocation);
    let (node, lease) = (Address::default(), Address::default());
    Ok(About { node, lease, period: one.period, kind: KIND_MANIFESTS, checked_at: 0 })
}

fn validate(accounts: &ProveEquivocation, now: i64) -> Result<About> {
    let keeper = &accounts.keeper;
    // A second proof takes no more: the first took the share that contradicting oneself costs, and the vote.
    require!(keeper.status != KEEPER_SLASHED, MarketError::WrongKeeperStatus);
    // By either of its keys: a change of the signer is no way to say the opposite.
    let (first, one) = signed_message(&accounts.instructions, -2)?;
    let (second, other) = signed_message(&accounts.instructions, -1)?;
    let liable = keeper.answers_for(&first, now) && keeper.answers_for(&second, now);
    require!(liable, MarketError::InvalidSignature);
    let domain = &accounts.market.domain;
    if let (Ok(one), Ok(other)) = (one[..].try_into(), other[..].try_into()) {
        return check(domain, one, other);
    }
    match (one[..].try_into(), other[..].try_into()) {
        (Ok(one), Ok(other)) => period(domain, one, other),
        _ => fail(MarketError::NoEquivocation),
    }
}

pub(crate) fn handler(ctx: &mut Context<ProveEquivocation>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let about = validate(&ctx.accounts, now)?;
    let accounts = &mut ctx.accounts;
    let finder = *accounts.finder.address();
    let params = &accounts.market.params;
    let share = bps_of(accounts.keeper.bond, params.slash_equivocation_bps)?;
    let (amount, shares) = slash_bond(
        &mut accounts.keeper,
        &mut accounts.stake_vault,
        &mut accounts.payouts,
        accounts.finder.account(),
        share,
        params,
        now,
    )?;
    expel(&mut accounts.market, &mut accounts.keeper, now)?;
    emit!(EquivocationProven {
        keeper: *accounts.keeper.address(),
        finder,
        node: about.node,
        lease: about.lease,
        period: about.period,
        kind: about.kind,
        checked_at: about.checked_at,
        amount,
        finder_share: shares.finder,
        burned: shares.burned,
    });
    accounts.keeper.invariant(accounts.stake_vault.amount())?;
    accounts.market.invariant()
}
