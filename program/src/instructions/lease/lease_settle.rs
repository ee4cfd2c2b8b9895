//! Shared by both ways to settle, by receipt and by report: pays for the seconds that are proven and not paid yet.

use anchor_lang::prelude::*;
use anchor_spl::token::{Token, TokenAccount};

use crate::errors::MarketError;
use crate::events::LeaseSettled;
use crate::seeds;
use crate::state::{Credits, Lease, Node, Provider, LEASE_RUNNING};
use crate::token::transfer;

/// Seconds were claimed by a receipt of node and customer.
pub const SOURCE_RECEIPT: u8 = 1;
/// Seconds were verified by keepers' reports.
pub const SOURCE_REPORT: u8 = 2;

/// Only these accounts move; no account that unrelated leases share is written.
#[derive(Accounts)]
pub struct Settlement {
    #[account(mut)]
    pub lease: Account<Lease>,
    #[account(mut, constraint = credits.customer == lease.customer @ MarketError::WrongAccount)]
    pub credits: Account<Credits>,
    #[account(
        mut,
        seeds = [seeds::CREDITS_VAULT, credits.address().as_ref()],
        bump = credits.vault_bump
    )]
    pub credits_vault: Account<TokenAccount>,
    #[account(address = lease.provider @ MarketError::WrongAccount)]
    pub provider: Account<Provider>,
    /// Its faults say which seconds are paid.
    #[account(address = lease.node @ MarketError::WrongAccount)]
    pub node: Account<Node>,
    #[account(mut, address = provider.payout @ MarketError::WrongAccount)]
    pub payout: Account<TokenAccount>,
    pub token_program: Program<Token>,
}

impl Settlement {
    /// Seconds can be owed only once a lease has started.
    pub fn require_started(&self) -> Result<()> {
        require!(self.lease.status >= LEASE_RUNNING, MarketError::WrongLeaseStatus);
        Ok(())
    }

    /// Pays what the lease's claims now allow. Nothing new to pay is a success that changes nothing.
    pub fn pay(&mut self, source: u8, now: i64) -> Result<()> {
        let payment = self.lease.settle(self.node.payable_until(now))?;
        if payment > 0 {
            self.credits.pay(payment)?;
            let customer = self.credits.customer;
            let bump = [self.credits.bump];
            let signer: [&[u8]; 3] = [seeds::CREDITS, customer.as_ref(), &bump];
            transfer(
                &self.token_program,
                self.credits_vault.cpi_handle_mut().into(),
                self.payout.cpi_handle_mut().into(),
                self.credits.cpi_handle(),
                payment,
                &[&signer],
            );
        }
        emit!(LeaseSettled {
            lease: *self.lease.address(),
            source,
            paid_secs: self.lease.paid_secs,
            paid: self.lease.paid,
            provider_amount: payment,
            fee_total: self.lease.fee_total()?,
        });
        self.lease.invariant(now)?;
        self.credits.invariant(self.credits_vault.amount())
    }
}
