//! Program-derived addresses. What is hashed is laid out where the seeds are; hashing and comparing is out of line.

use anchor::{Address, Error, Result};

/// Checks that the seeds, the bump among them, derive the address.
#[inline(always)]
pub fn verify_program_address<const N: usize>(
    seeds: &[&[u8]; N],
    program_id: &Address,
    expected: &Address,
) -> Result<()> {
    #[cfg(target_os = "solana")]
    {
        crate::derive::check_seeds(seeds)?;
        if crate::derive::Parts::new(seeds, 0, program_id).derive(N + 2, expected) {
            Ok(())
        } else {
            Err(Error::InvalidSeeds)
        }
    }
    #[cfg(not(target_os = "solana"))]
    anchor::verify_program_address(seeds, program_id, expected)
}

/// Checks that the address is the one that the seeds derive with the highest bump, and returns the bump.
#[inline(always)]
pub fn find_and_verify_program_address<const N: usize>(
    seeds: &[&[u8]; N],
    program_id: &Address,
    expected: &Address,
) -> Result<u8> {
    let (address, bump) = try_find(seeds, program_id)?;
    if anchor::address_eq(&address, expected) {
        Ok(bump)
    } else {
        Err(Error::InvalidSeeds)
    }
}

/// The same; the framework has it for accounts that exist already.
#[inline(always)]
pub fn find_and_verify_program_address_skip_curve<const N: usize>(
    seeds: &[&[u8]; N],
    program_id: &Address,
    expected: &Address,
) -> Result<u8> {
    find_and_verify_program_address(seeds, program_id, expected)
}

/// The address that the seeds derive with the highest bump, and the bump. Panics if there is none, which nobody can bring
/// about.
#[inline(always)]
pub fn find_program_address<const N: usize>(seeds: &[&[u8]; N], program_id: &Address) -> (Address, u8) {
    match try_find(seeds, program_id) {
        Ok(found) => found,
        Err(_) => panic!("could not find PDA"),
    }
}

#[inline(always)]
fn try_find<const N: usize>(seeds: &[&[u8]; N], program_id: &Address) -> Result<(Address, u8)> {
    #[cfg(target_os = "solana")]
    {
        crate::derive::check_seeds(seeds)?;
        let mut address = core::mem::MaybeUninit::uninit();
        match crate::derive::Parts::new(seeds, 1, program_id).search(N + 3, &mut address) {
            // SAFETY: a search that finds a bump has written the address.
            Some(bump) => Ok((unsafe { address.assume_init() }, bump)),
            None => Err(Error::InvalidSeeds),
        }
    }
    #[cfg(not(target_os = "solana"))]
    Ok(anchor::find_program_address(seeds, program_id))
}
