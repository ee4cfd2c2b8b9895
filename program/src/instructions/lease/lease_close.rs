//! Closes a settled lease: sweeps the fee, gives the rest back to the customer and the rent to who paid it.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::constants::BPS;
use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::{LeaseClosed, OrderClosed};
use crate::math::fees::{bps_of, share};
use crate::math::periods::{period_end, period_of};
use crate::math::slashing::harm_in_stake;
use crate::math::window::CLOSED;
use crate::records;
use crate::seeds;
use crate::state::{
    Credits, Keeper, Lease, Market, Node, Order, Params, Provider, Rewards, LEASE_ENDED, ORDER_AWARDED,
    ORDER_EXPIRED, OUTPUT_REJECTED,
};
use crate::token::transfer;

#[derive(Accounts)]
pub struct LeaseClose {
    /// Anyone; the customer need not wait for the end of the time to rate.
    pub authority: Signer,
    pub market: Account<Market>,
    #[account(mut, address = lease.order @ MarketError::WrongAccount)]
    pub order: Account<Order>,
    // May be the same wallet as another account here: only its lamports change, so that does no harm.
    #[account(mut, unsafe(dup), address = order.rent_payer @ MarketError::WrongAccount)]
    pub order_rent_payer: UncheckedAccount,
    #[account(mut, constraint = credits.customer == lease.customer @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(
        mut,
        seeds = [seeds::CREDITS_VAULT, credits.address().as_ref()],
        bump = credits.vault_bump
    )]
    pub credits_vault: Account<TokenAccount>,
    #[account(mut, address = market.fee_vault @ MarketError::WrongAccount)]
    pub fee_vault: Account<TokenAccount>,
    #[account(mut, address = market.rewards @ MarketError::WrongAccount)]
    pub rewards: Account<Rewards>,
    /// The keeper that awarded the lease, and its address instead when it is gone.
    #[account(mut)]
    pub keeper: Option<Account<Keeper>>,
    pub closed_keeper: Option<UncheckedAccount>,
    /// Wanted while emission is on: the account of the lease's provider, or its address when it is closed.
    #[account(mut)]
    pub provider: Option<UncheckedAccount>,
    #[account(mut, address = lease.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut, close = rent_payer)]
    pub lease: Account<Lease>,
    #[account(mut, unsafe(dup), address = lease.rent_payer @ MarketError::WrongAccount)]
    pub rent_payer: UncheckedAccount,
    pub token_program: Program<Token>,
}

/// The tail between the last settled second and the end stays reserved until all of it is paid, the reports of all
/// periods up to the one that contains the end were applied, or the settle deadline passed. What is claimed and not
/// paid out blocks the close for as long again, so that a provider has time to mend a broken payout account. Of a
/// redundant job both count from the comparison of its outputs: nothing can be paid before, however late that is.
fn validate(accounts: &LeaseClose, now: i64) -> Result<()> {
    let lease = &accounts.lease;
    require!(lease.status == LEASE_ENDED, MarketError::WrongLeaseStatus);
    require!(lease.pending_faults == 0 && !accounts.node.holds(lease, now), MarketError::FaultPending);
    // Anyone may have the outputs compared.
    require!(lease.payable() || lease.output == OUTPUT_REJECTED, MarketError::WrongOutputState);
    let settle = lease.settle_secs as i64;
    // What was frozen and is not any more has its time as if the lease had ended then.
    let deadline =
        lease.claimable_since().max(accounts.node.unfrozen_at).checked_add(settle).or_overflow()?;
    require!(
        lease.unsettled_secs(now) == 0 || now > deadline.checked_add(settle).or_overflow()?,
        MarketError::Unsettled
    );
    // The end is the first second that is not owed: at a boundary the period before it is the last.
    let last_second = lease.ended_at.checked_sub(1).or_overflow()?;
    let secs = accounts.market.params.period_secs;
    let last_period = period_of(last_second, secs)?;
    // Reports speak of addresses: this one is not used again in a period in which it was at work.
    let at_work = lease.occupied().checked_sub(1).or_overflow()?;
    require!(now >= period_end(period_of(at_work, secs)?, secs)?, MarketError::TooEarly);
    let tail_known = lease.paid_secs == lease.billable_secs(now)
        || (lease.last_report_period >= last_period && lease.report_window == CLOSED)
        || now > deadline;
    require!(tail_known, MarketError::Unsettled);
    let rating_over = lease.rating_until()? <= now;
    let by_customer = *accounts.authority.address() == lease.customer;
    // What paid nothing cannot be rated.
    require!(lease.rating != 0 || lease.paid == 0 || by_customer || rating_over, MarketError::TooEarly);
    // The lease is what shows that its award was unjust; only its customer may do without.
    require!(!lease.contestable(now) || by_customer, MarketError::TooEarly);
    Ok(())
}

/// Books a swept fee: the awarding keeper's part, which it returns, and the rest for everyone else. The part of a keeper
/// that is gone, or that left the order's other awards to somebody else, goes to the others; leaving out a keeper that is
/// there is refused.
fn book(accounts: &mut LeaseClose, fee: u64) -> Result<u64> {
    let (lease, params, rewards) = (&accounts.lease, &accounts.market.params, &mut accounts.rewards);
    let mut award = 0;
    match (accounts.keeper.as_mut(), accounts.closed_keeper.as_ref()) {
        (Some(keeper), _) if keeper.wallet == lease.keeper => {
            let stopped = accounts.order.stopped == 1 && lease.of_first_keeper == 1;
            award = share(fee, if stopped { 0 } else { lease.award_bps }, BPS)?;
            keeper.earned = keeper.earned.checked_add(award).or_overflow()?;
        }
        (None, Some(gone)) => {
            let (address, _) = find_program_address(&[seeds::KEEPER, lease.keeper.as_ref()], &crate::ID);
            require!(
                *gone.address() == address && !gone.account().owned_by(&crate::ID),
                MarketError::WrongAccount
            );
        }
        (Some(_), _) => return fail(MarketError::WrongAccount),
        (None, None) => return fail(MarketError::MissingAccount),
    }
    rewards.earned = rewards.earned.checked_add(award).or_overflow()?;
    let rest = fee.checked_sub(award).or_overflow()?;
    rewards.pending = rewards.pending.checked_add(rest).or_overflow()?;
    if params.emission_bps > 0 {
        match accounts.provider.as_ref() {
            Some(provider) if *provider.address() == lease.provider => {
                credit_provider(provider.account(), fee, params, accounts.node.uptime_bps)?;
            }
            Some(_) => return fail(MarketError::WrongAccount),
            None => return fail(MarketError::MissingAccount),
        }
    }
    Ok(award)
}

/// Notes what the fee earns its provider by emission, by the parameters and the node's uptime of today. A provider that is
/// closed gets none: its leases must close all the same.
fn credit_provider(view: &AccountView, fee: u64, params: &Params, uptime_bps: u16) -> Result<()> {
    if !view.owned_by(&crate::ID) {
        return Ok(());
    }
    let mut provider: Provider = records::read(view)?;
    // What fits no number is more than there are tokens, and nothing may keep a lease from closing.
    let part = bps_of(bps_of(fee, params.emission_bps)?, uptime_bps)?;
    let earned = harm_in_stake(part, params.stake_price).unwrap_or(u64::MAX);
    provider.emission = provider.emission.saturating_add(earned);
    records::write(view, &provider)
}

/// Notes the fee in the node's record when the node has served as long as it had to.
#[inline(never)]
fn credit_node(node: &mut Node, lease: &Lease, fee: u64, now: i64) -> Result<()> {
    if lease.kept_word == 0 {
        return Ok(());
    }
    let record = node.record(now);
    node.completed(fee)?;
    node.keep_record(&record, now);
    node.invariant()
}

/// The fee, and what work is worth whose output lost; nothing while the issuer of the payment token has frozen one of the two
/// vaults: no one else's stake and rent wait for that.
fn sweepable(accounts: &LeaseClose, now: i64) -> Result<(u64, u64)> {
    if accounts.credits_vault.is_frozen() || accounts.fee_vault.is_frozen() {
        return Ok((0, 0));
    }
    Ok((accounts.lease.fee_total()?, accounts.lease.lost_worth(now)?))
}

pub(crate) fn handler(ctx: &mut Context<LeaseClose>) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    let from = accounts.node.convicted_from;
    if from != 0 {
        accounts.node.cut(&mut accounts.lease, from, now)?;
    }
    validate(accounts, now)?;
    accounts.node.forget_lease(&accounts.lease)?;
    // What is not paid by now never is.
    accounts.node.count_revenue(&accounts.lease, accounts.lease.paid_secs)?;
    accounts.node.invariant()?;
    let (fee, lost) = sweepable(accounts, now)?;
    let taken = fee.checked_add(lost).or_overflow()?;
    let released = accounts.lease.reserved.checked_sub(taken).or_overflow()?;
    let credits = &mut accounts.credits;
    credits.release(released)?;
    credits.pay(taken)?;
    credits.live_leases = credits.live_leases.checked_sub(1).or_overflow()?;
    let mut award = 0;
    if fee > 0 {
        award = book(accounts, fee)?;
        credit_node(&mut accounts.node, &accounts.lease, fee, now)?;
    }
    if lost > 0 {
        accounts.rewards.add_to_buy_back(lost, now)?;
    }
    if taken > 0 {
        let customer = accounts.credits.customer;
        let bump = [accounts.credits.bump];
        let signer: [&[u8]; 3] = [seeds::CREDITS, customer.as_ref(), &bump];
        transfer(
            &accounts.token_program,
            accounts.credits_vault.cpi_handle_mut().into(),
            accounts.fee_vault.cpi_handle_mut().into(),
            accounts.credits.cpi_handle(),
            taken,
            &[&signer],
        );
    }
    emit!(LeaseClosed {
        lease: *accounts.lease.address(),
        fee,
        award,
        lost,
        released,
        paid: accounts.lease.paid,
        paid_secs: accounts.lease.paid_secs,
    });
    let order = &mut accounts.order;
    order.live_leases = order.live_leases.checked_sub(1).or_overflow()?;
    order.invariant()?;
    if order.live_leases == 0 && matches!(order.status, ORDER_AWARDED | ORDER_EXPIRED) {
        accounts.credits.live_orders = accounts.credits.live_orders.checked_sub(1).or_overflow()?;
        emit!(OrderClosed { order: *accounts.order.address() });
        accounts.order.close(*accounts.order_rent_payer.account())?;
    }
    accounts.rewards.invariant(accounts.fee_vault.amount())?;
    accounts.credits.invariant(accounts.credits_vault.amount())
}
