//! Pays for the seconds that node and customer, or a session key of the customer, have both signed for.

use anchor_lang::prelude::*;

use crate::constants::RECEIPT_TAG;
use crate::errors::MarketError;
use crate::instructions::lease::lease_settle::*;
use crate::signatures::{require_signed, signer_of};
use crate::state::Lease;

/// The two instructions before this one verify the node's signature, then the customer's or its session key's.
#[derive(Accounts)]
pub struct LeaseSettleReceipt {
    pub settlement: Nested<Settlement>,
    pub instructions: Sysvar<SysvarInstructions>,
}

/// tag 8 ‖ domain 8 ‖ lease 32 ‖ started_at i64 ‖ sequence u64 ‖ seconds u64, integers little-endian.
///
/// The start binds a receipt to one life of the lease's address.
pub fn receipt_message(lease: &Lease, address: &Address, sequence: u64, seconds: u64) -> [u8; 72] {
    let parts: [&[u8]; 6] = [
        &RECEIPT_TAG,
        &lease.domain,
        address.as_ref(),
        &lease.started_at.to_le_bytes(),
        &sequence.to_le_bytes(),
        &seconds.to_le_bytes(),
    ];
    let mut message = [0u8; 72];
    for (target, source) in message.iter_mut().zip(parts.into_iter().flatten()) {
        *target = *source;
    }
    message
}

pub(crate) fn handler(ctx: &mut Context<LeaseSettleReceipt>, sequence: u64, seconds: u32) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let accounts = &mut ctx.accounts;
    accounts.settlement.require_started()?;
    let Settlement { lease, credits, .. } = &mut *accounts.settlement;
    require!(sequence > lease.receipt_sequence && seconds >= lease.receipt_secs, MarketError::StaleReceipt);
    require!(seconds <= lease.billable_secs(now), MarketError::ReceiptTooLarge);
    let message = receipt_message(lease, lease.address(), sequence, seconds as u64);
    require_signed(&accounts.instructions, -2, &lease.node_key, &message)?;
    let signer = signer_of(&accounts.instructions, -1, &message)?;
    require!(credits.actor(&signer, now).is_ok(), MarketError::InvalidSignature);
    lease.receipt_sequence = sequence;
    lease.receipt_secs = seconds;
    accounts.settlement.pay(SOURCE_RECEIPT, now)
}
