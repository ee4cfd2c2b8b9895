//! Ed25519 signatures that the runtime has verified, read back through the instructions sysvar.

use anchor_lang::prelude::*;

use crate::errors::{fail, MarketError};
use crate::math::bytes::take;

/// The Ed25519 precompile.
const ED25519: Address = Address::from_str_const("Ed25519SigVerify111111111111111111111111111");
/// Header (16) ‖ public key (32) ‖ signature (64) ‖ message.
const KEY: usize = 16;
const MESSAGE: usize = 112;

/// Requires that the instruction `offset` places from this one verified exactly one signature over `message`, by
/// `key`: see [`signer_of`].
pub fn require_signed(
    instructions: &SysvarInstructions,
    offset: i64,
    key: &Address,
    message: &[u8],
) -> Result<()> {
    if signer_of(instructions, offset, message)? == *key {
        Ok(())
    } else {
        fail(MarketError::InvalidSignature)
    }
}

/// Requires that the instruction `offset` places from this one (-1 is the one before) verified exactly one signature
/// over `message`, with all its parts inside that very instruction, and returns the key that made it. The precompile
/// lets offsets point into other instructions; a forger could use that to have something else verified.
#[inline(never)]
pub fn signer_of(instructions: &SysvarInstructions, offset: i64, message: &[u8]) -> Result<Address> {
    let verified = match instructions.get_instruction_relative(offset) {
        Ok(instruction) => instruction,
        Err(_) => return fail(MarketError::InvalidSignature),
    };
    let data = verified.get_instruction_data();
    let length = (message.len() as u16).to_le_bytes();
    let header = [1, 0, 48, 0, 0xff, 0xff, 16, 0, 0xff, 0xff, 112, 0, length[0], length[1], 0xff, 0xff];
    let matches = *verified.get_program_id() == ED25519
        && take::<16>(data, 0).is_ok_and(|found| found == header)
        && data.get(MESSAGE..).is_some_and(|found| found == message);
    match take::<32>(data, KEY) {
        Ok(key) if matches => Ok(Address::new_from_array(key)),
        _ => fail(MarketError::InvalidSignature),
    }
}
