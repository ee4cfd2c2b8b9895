//! One physical GPU can be registered once.

use anchor_lang::prelude::*;

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
    pub reserved: [u8; 5],
}
