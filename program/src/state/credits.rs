//! A customer's credits: the balance, the reserved part, and the session keys that may spend.

use anchor_lang::prelude::*;

use crate::errors::{fail, MarketError, OrOverflow};

/// A key that may spend for the customer, up to a cap, until a time.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, IdlType)]
pub struct SessionKey {
    pub key: Address,
    /// µUSDC.
    pub cap: u64,
    /// What the key has reserved since it was named, less what came back from its orders before their leases started.
    pub spent: u64,
    /// From then on the key may do nothing.
    pub expiry: i64,
    /// When the key was named.
    pub since: i64,
}

/// The slot of the customer itself, see [`Credits::actor`].
pub const CUSTOMER: u8 = 0;

#[account]
pub struct Credits {
    pub customer: Address,
    /// µUSDC in the vault.
    pub balance: u64,
    /// Part of the balance that open orders and leases hold.
    pub reserved: u64,
    pub session_keys: [SessionKey; 4],
    pub live_orders: u32,
    pub live_leases: u32,
    pub version: u8,
    pub bump: u8,
    pub vault_bump: u8,
    pub reserved_bytes: [u8; 5],
}

impl Credits {
    pub fn free(&self) -> Result<u64> {
        self.balance.checked_sub(self.reserved).or_overflow()
    }

    /// Holds `amount` of the free part for an order or a lease.
    pub fn reserve(&mut self, amount: u64) -> Result<()> {
        require!(amount <= self.free()?, MarketError::InsufficientFunds);
        self.reserved = self.reserved.checked_add(amount).or_overflow()?;
        Ok(())
    }

    /// Gives a reservation back to the free part.
    pub fn release(&mut self, amount: u64) -> Result<()> {
        self.reserved = self.reserved.checked_sub(amount).or_overflow()?;
        Ok(())
    }

    /// Who acts for the customer: [`CUSTOMER`], or the number of a session key's slot, from 1.
    pub fn actor(&self, who: &Address, now: i64) -> Result<u8> {
        if *who == self.customer {
            return Ok(CUSTOMER);
        }
        for (slot, key) in (1u8..).zip(&self.session_keys) {
            if key.key == *who && key.cap > 0 {
                require!(now < key.expiry, MarketError::SessionKeyExpired);
                return Ok(slot);
            }
        }
        fail(MarketError::Unauthorised)
    }

    fn session_key(&mut self, slot: u8) -> Option<&mut SessionKey> {
        self.session_keys.get_mut((slot as usize).checked_sub(1)?)
    }

    /// Reserves on behalf of an actor; a session key stays within its cap.
    pub fn reserve_for(&mut self, slot: u8, amount: u64) -> Result<()> {
        if let Some(key) = self.session_key(slot) {
            let spent = key.spent.checked_add(amount).or_overflow()?;
            require!(spent <= key.cap, MarketError::SessionCapExceeded);
            key.spent = spent;
        }
        self.reserve(amount)
    }

    /// Gives back what an order had reserved, also to the session key that placed it. A key that was named in that slot
    /// later, or again, did not spend it.
    pub fn release_of(&mut self, slot: u8, reserved_at: i64, amount: u64) -> Result<()> {
        if let Some(key) = self.session_key(slot) {
            if key.since < reserved_at {
                key.spent = key.spent.saturating_sub(amount);
            }
        }
        self.release(amount)
    }

    /// Money of a reservation leaves the vault.
    pub fn pay(&mut self, amount: u64) -> Result<()> {
        self.release(amount)?;
        self.balance = self.balance.checked_sub(amount).or_overflow()?;
        Ok(())
    }

    /// `vault` is the token balance of the credits vault. Anyone may send tokens to it, so it may hold more.
    #[inline(never)]
    pub fn invariant(&self, vault: u64) -> Result<()> {
        require!(vault >= self.balance && self.balance >= self.reserved, MarketError::InvariantBroken);
        Ok(())
    }
}
