//! Fixed-width reads from byte records.

use anchor_lang::prelude::*;

use crate::errors::MarketError;

/// `N` bytes of `data` at `offset`.
#[inline(always)]
pub fn take<const N: usize>(data: &[u8], offset: usize) -> Result<[u8; N]> {
    let chunk = data.get(offset..).and_then(|rest| rest.first_chunk::<N>());
    Ok(*chunk.ok_or(MarketError::InvalidLeaf)?)
}
