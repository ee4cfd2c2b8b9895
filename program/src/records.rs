//! Reads and writes accounts of the program that an instruction takes as remaining accounts, without a declared type.

use anchor_lang::prelude::*;
use anchor_lang::Discriminator;

use crate::errors::{fail, MarketError, OrOverflow};

/// The account's content; refused when it is another program's, or of another type.
pub fn read<T: bytemuck::Pod + Discriminator>(view: &AccountView) -> Result<T> {
    let mut value = T::zeroed();
    read_bytes(view, T::DISCRIMINATOR, bytemuck::bytes_of_mut(&mut value))?;
    Ok(value)
}

/// Writes it back to the account that it was read from.
pub fn write<T: bytemuck::Pod + Discriminator>(view: &AccountView, value: &T) -> Result<()> {
    write_bytes(view, T::DISCRIMINATOR, T::DISCRIMINATOR, bytemuck::bytes_of(value))
}

/// Creates an account at the address that the seeds, bump included, derive, and writes it.
pub fn create<T: bytemuck::Pod + Discriminator>(
    payer: &AccountView,
    view: &AccountView,
    seeds: &[&[u8]],
    value: &T,
) -> Result<()> {
    let space = T::DISCRIMINATOR.len().checked_add(core::mem::size_of::<T>()).or_overflow()?;
    create_account_signed(payer, view, space, &crate::ID, seeds)?;
    write_bytes(view, &[0; 8], T::DISCRIMINATOR, bytemuck::bytes_of(value))
}

#[inline(never)]
fn read_bytes(view: &AccountView, tag: &[u8], out: &mut [u8]) -> Result<()> {
    if view.owned_by(&crate::ID) {
        let data = view.try_borrow()?;
        if let Some(body) = data.strip_prefix(tag) {
            if body.len() == out.len() {
                out.copy_from_slice(body);
                return Ok(());
            }
        }
    }
    fail(MarketError::WrongAccount)
}

#[inline(never)]
fn write_bytes(view: &AccountView, old: &[u8], tag: &[u8], bytes: &[u8]) -> Result<()> {
    let mut target = *view;
    let mut data = target.try_borrow_mut()?;
    match data.split_at_mut_checked(tag.len()) {
        Some((head, body)) if *head == *old && body.len() == bytes.len() => {
            head.copy_from_slice(tag);
            body.copy_from_slice(bytes);
            Ok(())
        }
        _ => fail(MarketError::InvariantBroken),
    }
}
