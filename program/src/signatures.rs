//! Ed25519 signatures that the runtime has verified, read back through the instructions sysvar.

use alloc::vec::Vec;

use anchor_lang::prelude::*;

use crate::errors::{fail, MarketError};
use crate::math::bytes::take;

/// The Ed25519 precompile.
const ED25519: Address = Address::from_str_const("Ed25519SigVerify111111111111111111111111111");
/// Header (16) ‖ public key (32) ‖ signature (64) ‖ message.
const KEY: usize = 16;
const MESSAGE: usize = 112;

/// Whether an instruction is the check of exactly one signature over a message of `length` bytes, with all its parts
/// inside that very instruction. The precompile lets offsets point into other instructions; a forger could use that to
/// have something else verified.
fn checks_one(program: &Address, data: &[u8], length: usize) -> bool {
    let length = (length as u16).to_le_bytes();
    let header = [1, 0, 48, 0, 0xff, 0xff, 16, 0, 0xff, 0xff, 112, 0, length[0], length[1], 0xff, 0xff];
    *program == ED25519 && take::<16>(data, 0).is_ok_and(|found| found == header)
}

/// Requires that the instruction `offset` places from this one verified exactly one signature over `message`, by `key`:
/// see [`signer_of`].
pub fn require_signed(
    instructions: &SysvarInstructions,
    offset: i64,
    key: &Address,
    message: &[u8],
) -> Result<()> {
    require!(signer_of(instructions, offset, message)? == *key, MarketError::InvalidSignature);
    Ok(())
}

/// Requires that the instruction `offset` places from this one (-1 is the one before) verified exactly one signature
/// over `message`, and returns the key that made it.
#[inline(never)]
pub fn signer_of(instructions: &SysvarInstructions, offset: i64, message: &[u8]) -> Result<Address> {
    let verified =
        instructions.get_instruction_relative(offset).map_err(|_| MarketError::InvalidSignature)?;
    let data = verified.get_instruction_data();
    let matches = checks_one(verified.get_program_id(), data, message.len())
        && data.get(MESSAGE..).is_some_and(|found| found == message);
    match take::<32>(data, KEY) {
        Ok(key) if matches => Ok(Address::new_from_array(key)),
        _ => fail(MarketError::InvalidSignature),
    }
}

/// The message, of whatever length, whose signature the instruction `offset` places from this one verified, and the key
/// that made it: for messages that would not fit a transaction twice.
#[inline(never)]
pub fn signed_message(instructions: &SysvarInstructions, offset: i64) -> Result<(Address, Vec<u8>)> {
    if let Ok(verified) = instructions.get_instruction_relative(offset) {
        let data = verified.get_instruction_data();
        if let (Ok(key), Some(message)) = (take::<32>(data, KEY), data.get(MESSAGE..)) {
            if checks_one(verified.get_program_id(), data, message.len()) {
                return Ok((Address::new_from_array(key), message.to_vec()));
            }
        }
    }
    fail(MarketError::InvalidSignature)
}
