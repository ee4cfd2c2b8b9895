//! A customer adds a session key, which may spend up to a cap until an expiry, or removes one.
//!
//! A session key creates, cancels, reopens and extends orders and leases, ends leases and signs receipts. It never
//! withdraws, and never changes keys.

use anchor_lang::prelude::*;

use crate::errors::{fail, MarketError};
use crate::events::SessionKeySet;
use crate::state::{Credits, SessionKey};

#[derive(Accounts)]
pub struct CreditsSetSessionKey {
    pub customer: Signer,
    #[account(mut, constraint = credits.customer == *customer.address() @ MarketError::Unauthorised)]
    pub credits: Account<Credits>,
}

/// A cap of 0 removes the key; to remove one that is not there changes nothing. Naming a key again changes its cap and
/// expiry, and keeps what it has spent.
pub(crate) fn handler(
    ctx: &mut Context<CreditsSetSessionKey>,
    key: Address,
    cap: u64,
    expiry: i64,
) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let credits = &mut ctx.accounts.credits;
    let customer = credits.customer;
    let named = cap > 0;
    require!(
        !named || (key != customer && key != Address::default() && expiry > now),
        MarketError::InvalidSessionKey
    );
    let keys = &mut credits.session_keys;
    let known = keys.iter().position(|slot| slot.cap > 0 && slot.key == key);
    let free = || keys.iter().position(|slot| slot.cap == 0 || slot.expiry <= now);
    match known.or_else(|| if named { free() } else { None }).and_then(|at| keys.get_mut(at)) {
        Some(slot) if !named => {
            *slot = SessionKey { key: Address::default(), cap: 0, spent: 0, expiry: 0, since: now }
        }
        Some(slot) if known.is_some() => (slot.cap, slot.expiry) = (cap, expiry),
        Some(slot) => *slot = SessionKey { key, cap, spent: 0, expiry, since: now },
        None if named => return fail(MarketError::TooManySessionKeys),
        None => {}
    }
    emit!(SessionKeySet { customer, key, cap, expiry });
    Ok(())
}
