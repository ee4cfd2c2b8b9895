//! A customer's money: what is there, what is reserved, and who may spend it.

use anchor_lang::prelude::*;

use crate::errors::{fail, MarketError, OrOverflow};

/// A key that may spend for the customer, up to a cap, until a time.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, IdlType)]
pub struct SessionKey {
    pub key: Address,
    /// µUSDC.
    pub cap: u64,
    pub spent: u64,
    pub expiry: i64,
}

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
    pub reserved_bytes: [u8; 37],
}

impl Credits {
    pub fn free(&self) -> Result<u64> {
        self.balance.checked_sub(self.reserved).or_overflow()
    }

    /// Holds `amount` of the free part for an order or a lease.
    pub fn reserve(&mut self, amount: u64) -> Result<()> {
        if amount > self.free()? {
            return fail(MarketError::InsufficientFunds);
        }
        self.reserved = self.reserved.checked_add(amount).or_overflow()?;
        Ok(())
    }

    /// Gives a reservation back to the free part.
    pub fn release(&mut self, amount: u64) -> Result<()> {
        self.reserved = self.reserved.checked_sub(amount).or_overflow()?;
        Ok(())
    }

    /// Money of a reservation leaves the vault.
    pub fn pay(&mut self, amount: u64) -> Result<()> {
        self.release(amount)?;
        self.balance = self.balance.checked_sub(amount).or_overflow()?;
        Ok(())
    }

    /// `vault` is the token balance of the credits vault. Anyone may send tokens to it, so it may hold more.
    pub fn invariant(&self, vault: u64) -> Result<()> {
        if vault >= self.balance && self.balance >= self.reserved {
            Ok(())
        } else {
            fail(MarketError::InvariantBroken)
        }
    }
}
