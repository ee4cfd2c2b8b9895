//! Voids a fault with statements that say the opposite, of keepers with more than a third of the bonded weight.
//!
//! Each call adds one statement; the instruction before it verifies the keeper's signature. A keeper that signed both a
//! passed and a failed statement for the same check equivocates, which has a proof of its own.

use anchor_lang::prelude::*;

use crate::constants::{
    FLAGS_NODE, FLAG_BAD_OUTPUT, FLAG_DEVICE_CHANGED, FLAG_EVIDENCE_FAILED, FLAG_OFFLINE, FLAG_SLOW,
    FLAG_SPEC_MISMATCH, FLAG_WORK_FAILED, STATEMENT_LEN,
};
use crate::errors::{MarketError, OrOverflow};
use crate::events::{FaultAppealed, FaultVoided};
use crate::instructions::slashing::slash_apply::{lease_of, settle_fault};
use crate::signatures::signer_of;
use crate::state::{
    add_voter, Fault, Keeper, Lease, Market, Node, Provider, Statement, FAULT_DISPUTE, FAULT_PENDING,
    KEEPER_ACTIVE,
};

/// The flags that slash, by what they cost.
const GRAVEST_FIRST: [u16; 7] = [
    FLAG_SLOW,
    FLAG_SPEC_MISMATCH,
    FLAG_EVIDENCE_FAILED,
    FLAG_DEVICE_CHANGED,
    FLAG_BAD_OUTPUT,
    FLAG_WORK_FAILED,
    FLAG_OFFLINE,
];

#[derive(Accounts)]
pub struct SlashAppeal {
    pub market: Account<Market>,
    /// The keeper that signed the statement.
    pub keeper: Account<Keeper>,
    #[account(mut, address = fault.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(mut, address = fault.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut)]
    pub lease: Option<Account<Lease>>,
    #[account(mut)]
    pub fault: Account<Fault>,
    #[account(mut, address = fault.rent_payer @ MarketError::WrongAccount)]
    pub rent_payer: UncheckedAccount,
    pub instructions: Sysvar<SysvarInstructions>,
}

/// The flags of the fault that the statement speaks against.
fn validate(accounts: &SlashAppeal, statement: &[u8; STATEMENT_LEN], now: i64) -> Result<u16> {
    let fault = &accounts.fault;
    require!(fault.status == FAULT_PENDING && now < fault.applicable_at, MarketError::AppealWindowClosed);
    // The rule of votes: only keepers that were active in the period, or before the dispute, have a say about it.
    // Otherwise the accused could bond keepers of its own when it learns of the fault.
    require!(
        accounts.keeper.status == KEEPER_ACTIVE && accounts.keeper.active_since < fault.voters_before,
        MarketError::KeeperNotActive
    );
    let signer = signer_of(&accounts.instructions, -1, statement)?;
    require!(accounts.keeper.answers_for(&signer, now), MarketError::InvalidSignature);
    let parsed = Statement::parse(statement)?;
    let speaks = accounts.keeper.speaks(&signer, parsed.period, fault.period_secs)?;
    require!(speaks, MarketError::InvalidSignature);
    let mut flags = parsed.contradicts(fault.period_secs, fault.grace_secs);
    // That none of the measured periods shows the class is refuted by one that does: the last one, which the fault is of.
    if accounts.node.shows_class(&parsed) {
        flags |= FLAG_SLOW;
    }
    flags &= fault.flags;
    // One fault after the other: else a statement about another one would reset the count. The gravest first: while it
    // stands, voiding a lesser one would change nothing.
    let first = GRAVEST_FIRST.into_iter().find(|flag| fault.flags & flag != 0).unwrap_or(0);
    let relevant = parsed.domain == accounts.market.domain
        && parsed.node == fault.node
        && (parsed.lease == fault.lease || flags & FLAGS_NODE != 0)
        && about(&parsed, fault);
    require!(relevant && flags & first != 0, MarketError::IrrelevantStatement);
    Ok(flags)
}

/// Whether the statement is about what the fault is about: the period of the report, or, of a dispute, the outputs of
/// the lease as its keeper saw them after the customer had complained.
fn about(statement: &Statement, fault: &Fault) -> bool {
    match fault.kind {
        FAULT_DISPUTE => statement.lease == fault.lease && statement.checked_at >= fault.voters_before,
        _ => statement.period == fault.period,
    }
}

pub(crate) fn handler(ctx: &mut Context<SlashAppeal>, statement: [u8; STATEMENT_LEN]) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let flags = validate(&ctx.accounts, &statement, now)?;
    let accounts = &mut ctx.accounts;
    let (fault, keeper) = (&mut accounts.fault, &accounts.keeper);
    if fault.appeal_flag != flags {
        fault.appeal_flag = flags;
        fault.appeal_weight = 0;
        fault.appellants = [0; 32];
    }
    require!(add_voter(&mut fault.appellants, keeper.index)?, MarketError::AlreadyCounted);
    fault.appeal_weight = fault.appeal_weight.checked_add(keeper.weight).or_overflow()?;
    emit!(FaultAppealed {
        fault: *fault.address(),
        keeper: keeper.wallet,
        flag: flags,
        weight: fault.appeal_weight,
    });
    let enough = (fault.appeal_weight as u128).saturating_mul(3) > fault.total_weight as u128;
    if !enough {
        return Ok(());
    }
    let (froze, before) = (fault.freezes(), fault.cost());
    fault.flags &= !flags;
    fault.appeal_flag = 0;
    fault.appeal_weight = 0;
    fault.appellants = [0; 32];
    let (provider, node) = (&mut accounts.provider, &mut accounts.node);
    let lease = lease_of(fault, accounts.lease.as_mut())?;
    if fault.of_node() {
        node.void_cause(before.saturating_sub(fault.cost()));
    }
    let cost = fault.cost().min(fault.amount);
    node.release(fault.amount.checked_sub(cost).or_overflow()?, now)?;
    fault.amount = cost;
    if fault.flags != 0 {
        if let Some(lease) = lease {
            lease.thaw(froze && !fault.freezes())?;
        }
        return fault.invariant();
    }
    settle_fault(fault, provider, node, now)?;
    match lease {
        Some(lease) => {
            lease.drop_fault()?;
            lease.thaw(froze)?;
            node.unfrozen_at = now;
        }
        None => node.acquit(now),
    }
    emit!(FaultVoided { fault: *accounts.fault.address(), node: accounts.fault.node });
    accounts.node.invariant()?;
    accounts.fault.close(*accounts.rent_payer.account())
}
