//! Reads and creates device claims, which an instruction takes as remaining accounts.

use anchor_lang::prelude::*;

use crate::constants::VERSION;
use crate::errors::MarketError;
use crate::records;
use crate::seeds;
use crate::state::DeviceClaim;

/// The claim of a device as it is, or of a GPU's key; `None` when nobody has one, and the account is where it would be.
pub fn claim_of(view: &AccountView, device: &[u8; 32], key: bool) -> Result<Option<DeviceClaim>> {
    if !view.owned_by(&crate::ID) {
        return Ok(None);
    }
    let claim: DeviceClaim = records::read(view)?;
    require!(claim.device == *device && claim.key == key as u8, MarketError::WrongAccount);
    Ok(Some(claim))
}

/// Creates the claim of a device that nobody has, or says that the account is not where it would be.
#[inline(never)]
pub fn create_claim(
    payer: &AccountView,
    view: &AccountView,
    device: &[u8; 32],
    key: bool,
    node: &Address,
    tier: u8,
    until: i64,
) -> Result<()> {
    let seed = if key { seeds::GPU_KEY } else { seeds::DEVICE };
    let (address, bump) = find_program_address(&[seed, device], &crate::ID);
    require!(*view.address() == address, MarketError::WrongAccount);
    let mut claim = DeviceClaim {
        node: *node,
        device: *device,
        rent_payer: *payer.address(),
        tier: 0,
        version: VERSION,
        bump,
        key: key as u8,
        expiry: [0; 4],
    };
    claim.set(tier, until)?;
    records::create(payer, view, &[seed, device, &[bump]], &claim)
}
