//! Ends a running lease and gives back what can no longer be owed.

use anchor_lang::prelude::*;

use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::{LeaseEnded, LeaseNoticed};
use crate::state::{
    Credits, Lease, Node, Provider, ENDED_BY_CUSTOMER, ENDED_BY_PROVIDER, ENDED_FAILED, ENDED_JOB_DONE,
    ENDED_UNFUNDED, LEASE_ENDED, LEASE_FAILED, LEASE_RUNNING,
};

#[derive(Accounts)]
pub struct LeaseEnd {
    /// The customer or its session key, the provider or its node at their terms; anyone once the lease ran out, its node is
    /// not covered any more, or it has failed and cannot move to another node any more.
    pub authority: Signer,
    #[account(mut, address = lease.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    #[account(mut, address = lease.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut, constraint = credits.customer == lease.customer @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(mut)]
    pub lease: Account<Lease>,
}

/// How a lease ends.
pub struct Ending {
    pub reason: u8,
    pub at: i64,
    /// Whether the node served as long as it had to.
    pub kept_word: bool,
}

/// How a call of `lease_end` works out.
enum Outcome {
    Ends(Ending),
    GivesNotice,
}

/// A lease of a convicted machine has failed where the conviction begins, whether or not a claim was made for it.
fn fail_if_convicted(accounts: &mut LeaseEnd, now: i64) -> Result<bool> {
    let from = accounts.node.convicted_from;
    if from == 0 || accounts.lease.status != LEASE_RUNNING {
        return Ok(false);
    }
    accounts.node.cut(&mut accounts.lease, from, now)?;
    Ok(true)
}

/// Who may end the lease now, and on which terms.
fn outcome(accounts: &LeaseEnd, immediate: bool, now: i64) -> Result<Outcome> {
    let lease = &accounts.lease;
    let signer = *accounts.authority.address();
    let ends = |reason, at, kept_word| Ok(Outcome::Ends(Ending { reason, at, kept_word }));
    let by_customer = accounts.credits.actor(&signer, now).is_ok();
    match lease.status {
        LEASE_FAILED => {
            // Until then a keeper may move what remains to another node: nobody but the customer prevents that.
            let settled = lease.ended_at.checked_add(lease.settle_secs as i64).or_overflow()?;
            require!(by_customer || now > settled || !lease.can_migrate()?, MarketError::TooEarly);
            return ends(ENDED_FAILED, lease.ended_at, false);
        }
        LEASE_RUNNING => {}
        _ => return fail(MarketError::WrongLeaseStatus),
    }
    if let Some(at) = accounts.node.stopped_billing(lease, now)? {
        return ends(ENDED_FAILED, at, false);
    }
    if now >= lease.funded_until {
        return ends(ENDED_UNFUNDED, lease.funded_until, true);
    }
    if by_customer {
        return ends(ENDED_BY_CUSTOMER, now, true);
    }
    require!(signer == accounts.provider.wallet || signer == lease.node_key, MarketError::Unauthorised);
    if lease.run_to_completion == 1 {
        return ends(ENDED_JOB_DONE, now, true);
    }
    if lease.repriced == 1 {
        // It need not serve at a price that it did not agree to.
        return ends(ENDED_BY_PROVIDER, now, true);
    }
    let given = lease.notice_at != 0;
    if given && now >= lease.notice_over()? {
        return ends(ENDED_BY_PROVIDER, now, true);
    }
    if immediate {
        return ends(ENDED_BY_PROVIDER, now, false);
    }
    require!(!given, MarketError::TooEarly);
    Ok(Outcome::GivesNotice)
}

pub(crate) fn handler(ctx: &mut Context<LeaseEnd>, immediate: u8) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    if fail_if_convicted(&mut ctx.accounts, now)? && outcome(&ctx.accounts, false, now).is_err() {
        // It may still move to another node.
        return ctx.accounts.node.invariant();
    }
    let outcome = outcome(&ctx.accounts, immediate == 1, now)?;
    let accounts = &mut ctx.accounts;
    let lease = &mut accounts.lease;
    match outcome {
        Outcome::GivesNotice => {
            lease.notice_at = now;
            emit!(LeaseNoticed { lease: *lease.address(), notice_at: now });
            lease.invariant(now)
        }
        Outcome::Ends(ending) => {
            finish(lease, &mut accounts.node, &mut accounts.provider, &mut accounts.credits, ending, now)
        }
    }
}

/// Ends a lease: fixes its end, gives back what can no longer be owed, and frees the GPUs.
#[inline(never)]
pub fn finish(
    lease: &mut Account<Lease>,
    node: &mut Account<Node>,
    provider: &mut Account<Provider>,
    credits: &mut Account<Credits>,
    Ending { reason, at, kept_word }: Ending,
    now: i64,
) -> Result<()> {
    let address = *lease.address();
    lease.ended_at = at;
    lease.end_reason = reason;
    lease.status = LEASE_ENDED;
    if reason == ENDED_BY_PROVIDER && !kept_word {
        // Leaving without notice costs the pay of the notice, as far as it is not paid out yet.
        let unpaid = lease.billable_secs(now).checked_sub(lease.paid_secs).or_overflow()?;
        let forfeited = unpaid.min(lease.notice_secs);
        lease.downtime_secs = lease.downtime_secs.checked_add(forfeited).or_overflow()?;
    }
    let released = lease.excess()?;
    lease.reserved = lease.reserved.checked_sub(released).or_overflow()?;
    credits.release(released)?;

    let record = node.record(now);
    node.free_gpus_of(lease.gpu_mask, now)?;
    // A lease that was served counts when its fee is swept: at its close.
    lease.kept_word = u8::from(kept_word);
    if !kept_word {
        node.failed(lease.fee_promised()?)?;
    }
    node.keep_record(&record, now);
    provider.live_leases = provider.live_leases.checked_sub(1).or_overflow()?;
    emit!(LeaseEnded { lease: address, reason, ended_at: at, released });
    node.invariant()?;
    lease.invariant(now)
}
