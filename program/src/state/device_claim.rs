//! A device claim: one physical GPU belongs to one node at a time. There is one by the GPU's UUID, which its machine
//! names, and one by the GPU's own key, which its report proves.

use anchor_lang::prelude::*;

use crate::errors::OrOverflow;
use crate::math::evidence::standing_tier;

#[account]
pub struct DeviceClaim {
    /// Node that holds the device.
    pub node: Address,
    /// sha256("gantry-device" ‖ device identity), or ‖ hash of the GPU's key.
    pub device: [u8; 32],
    pub rent_payer: Address,
    /// Evidence tier of the claim: a higher one displaces a lower one.
    pub tier: u8,
    pub version: u8,
    pub bump: u8,
    /// 1 for a claim of a GPU's own key. It stays when its node closes: it is worth nothing once its tier has lapsed.
    pub key: u8,
    /// Unix second until which the tier stands, little-endian; 0 where no evidence did more than claim.
    pub expiry: [u8; 4],
}

impl DeviceClaim {
    /// Until when the tier stands.
    pub fn expires(&self) -> i64 {
        u32::from_le_bytes(self.expiry).into()
    }

    /// What the claim is worth at `now`.
    pub fn tier_at(&self, now: i64) -> u8 {
        standing_tier(self.tier, self.expires(), now)
    }

    /// Gives the claim a tier until a time.
    pub fn set(&mut self, tier: u8, until: i64) -> Result<()> {
        self.expiry = u32::try_from(until).ok().or_overflow()?.to_le_bytes();
        self.tier = tier;
        Ok(())
    }
}
