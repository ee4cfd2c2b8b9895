//! A device claim: one physical GPU belongs to one node at a time.

use anchor_lang::prelude::*;

use crate::errors::OrOverflow;
use crate::math::evidence::standing_tier;

#[account]
pub struct DeviceClaim {
    /// Node that holds the device.
    pub node: Address,
    /// sha256("gantry-device" ‖ device identity).
    pub device: [u8; 32],
    pub rent_payer: Address,
    /// Evidence tier of the claim: a higher one displaces a lower one.
    pub tier: u8,
    pub version: u8,
    pub bump: u8,
    /// Unix second until which the tier stands, little-endian; 0 where no evidence did more than claim.
    pub expiry: [u8; 5],
}

impl DeviceClaim {
    /// Until when the tier stands.
    pub fn expires(&self) -> i64 {
        let [a, b, c, d, e] = self.expiry;
        i64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
    }

    /// What the claim is worth at `now`.
    pub fn tier_at(&self, now: i64) -> u8 {
        standing_tier(self.tier, self.expires(), now)
    }

    /// Gives the claim a tier until a time.
    pub fn set(&mut self, tier: u8, until: i64) -> Result<()> {
        match until.to_le_bytes() {
            [a, b, c, d, e, 0, 0, 0] => self.expiry = [a, b, c, d, e],
            _ => return None::<()>.or_overflow(),
        }
        self.tier = tier;
        Ok(())
    }
}
