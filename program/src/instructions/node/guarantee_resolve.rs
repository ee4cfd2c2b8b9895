//! Anyone resolves an uptime guarantee that is over, after the deadline for its last report and the appeal window. When
//! the uptime was lower than guaranteed, that is a fault about the guaranteed time. It may be applied at once: it follows
//! from leaves that were applied, so there is nothing to appeal. Otherwise nothing happens.
//!
//! What a broken one costs depends on what leases have paid. A node may have more leases than a transaction has accounts, and
//! strangers make them: each call counts some, and the call that counts the last one resolves the guarantee.

use anchor_lang::prelude::*;

use crate::errors::{MarketError, OrOverflow};
use crate::events::GuaranteeResolved;
use crate::math::periods::period_of;
use crate::records;
use crate::seeds;
use crate::state::{
    Fault, FaultTerms, GuaranteeOutcome, Lease, Market, Node, Provider, FAULT_GUARANTEE, NODE_SUSPENDED,
};

/// The remaining accounts are, when it was broken, leases of the node that were awarded before its end, are not closed and not
/// counted yet: what they have paid counts, and what they may still be paid.
#[derive(Accounts)]
pub struct GuaranteeResolve {
    /// Pays the rent of the fault until it closes.
    #[account(mut)]
    pub payer: Signer,
    pub market: Account<Market>,
    #[account(mut)]
    pub node: Account<Node>,
    #[account(mut, address = node.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    /// Made here when the guarantee was broken.
    #[account(mut)]
    pub fault: UncheckedAccount,
    pub system_program: Program<System>,
}

fn validate(accounts: &GuaranteeResolve, now: i64) -> Result<()> {
    let node = &accounts.node;
    require!(node.is_guaranteed(), MarketError::NotGuaranteed);
    require!(now >= node.guarantee_known_at()?, MarketError::TooEarly);
    require!(node.status != NODE_SUSPENDED || node.pending_node_faults == 0, MarketError::FaultPending);
    Ok(())
}

/// Opens the fault of a broken guarantee, with the terms that the guarantee was given under.
#[inline(never)]
fn open(accounts: &mut GuaranteeResolve, outcome: &GuaranteeOutcome, now: i64) -> Result<Address> {
    let (node, params) = (&mut accounts.node, &accounts.market.params);
    let (of, until) = (*node.address(), outcome.until.to_le_bytes());
    let (address, bump) = find_program_address(&[seeds::GUARANTEE_FAULT, of.as_ref(), &until], &crate::ID);
    require!(*accounts.fault.address() == address, MarketError::WrongAccount);
    let terms = FaultTerms {
        kind: FAULT_GUARANTEE,
        node: of,
        provider: node.provider,
        lease: Address::default(),
        finder: Address::default(),
        period: period_of(now, params.period_secs)?,
        voters_before: now,
        window_from: outcome.since,
        window_until: outcome.until,
        costs: [outcome.cost, 0, 0, 0],
        reference_price: node.reference_price,
        total_weight: 0,
        flags: 0,
        gpus: node.spec.gpus,
        grace_secs: 0,
    };
    let mut fault: Fault = bytemuck::Zeroable::zeroed();
    fault.write(&terms, params, accounts.payer.address(), now, bump)?;
    fault.applicable_at = now;
    fault.stake_price = node.guarantee_stake_price;
    fault.claim_secs = node.guarantee_settle_secs.checked_mul(2).or_overflow()?;
    fault.payout_secs = node.guarantee_payout_secs;
    fault.hold(&address, node, &mut accounts.provider, outcome.cost)?;
    // Until it is applied no lease closes that it is to compensate.
    node.freeze(outcome.since)?;
    let signer = [seeds::GUARANTEE_FAULT, of.as_ref(), &until, &[bump]];
    records::create(accounts.payer.account(), accounts.fault.account(), &signer, &fault)?;
    Ok(address)
}

/// Counts what leases that are not closed have paid, or owe by what was claimed. Their provider can keep them from being
/// settled.
#[inline(never)]
fn count_open(node: &mut Account<Node>, leases: &[AccountView], now: i64) -> Result<()> {
    let address = *node.address();
    for view in leases {
        let mut lease: Lease = records::read(view)?;
        require!(lease.node == address && node.guarantee_counts(&lease), MarketError::WrongAccount);
        // What a conviction took is not owed.
        let until = if node.convicted_from == 0 { now } else { now.min(node.convicted_from) };
        node.count_revenue(&lease, lease.claimed_secs(until))?;
        node.guarantee_open = node.guarantee_open.checked_sub(1).or_overflow()?;
        lease.counted_until = node.guaranteed_until;
        lease.invariant(now)?;
        records::write(view, &lease)?;
    }
    Ok(())
}

pub(crate) fn handler(ctx: &mut Context<GuaranteeResolve>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    validate(&ctx.accounts, now)?;
    let leases = ctx.remaining_accounts()?;
    let accounts = &mut ctx.accounts;
    let node = &mut accounts.node;
    count_open(node, &leases, now)?;
    if node.guarantee_open > 0 && !node.keeps_guarantee(now)? {
        require!(!leases.is_empty(), MarketError::MissingAccount);
        return node.invariant();
    }
    let record = node.record(now);
    let outcome = node.close_guarantee(now)?;
    node.keep_record(&record, now);
    let fault = if outcome.kept() { Address::default() } else { open(accounts, &outcome, now)? };
    emit!(GuaranteeResolved {
        node: *accounts.node.address(),
        provider: *accounts.provider.address(),
        fault,
        since: outcome.since,
        until: outcome.until,
        guarantee_bps: outcome.bps,
        up_secs: outcome.up_secs,
        counted_secs: outcome.counted_secs,
    });
    accounts.node.invariant()
}
