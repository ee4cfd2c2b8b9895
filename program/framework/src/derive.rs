//! How the runtime derives an address: a hash of the seeds, the program and a marker that is no point of the curve.

use core::mem::MaybeUninit;

use anchor::pinocchio::syscalls::{sol_curve_validate_point, sol_sha256};
use anchor::{Address, Error, Result};

const EDWARDS: u64 = 0;
const MARKER: &[u8] = b"ProgramDerivedAddress";
const MAX_SEED_LEN: usize = 32;
/// Parts that an address may have here: seeds, a bump, the program and the marker. The runtime allows 16 seeds.
const MAX_PARTS: usize = 8;

/// Refuses what the runtime refuses.
#[inline(always)]
pub fn check_seeds<const N: usize>(seeds: &[&[u8]; N]) -> Result<()> {
    const { assert!(N + 3 <= MAX_PARTS, "an address has fewer seeds") };
    if seeds.iter().any(|seed| seed.len() > MAX_SEED_LEN) {
        return Err(Error::MaxSeedLengthExceeded);
    }
    Ok(())
}

/// What is hashed. Only what is written is read.
pub struct Parts<'a>([MaybeUninit<&'a [u8]>; MAX_PARTS]);

impl<'a> Parts<'a> {
    /// The seeds, then `gap` parts that are written later, the program and the marker.
    #[inline(always)]
    pub fn new<const N: usize>(seeds: &[&'a [u8]; N], gap: usize, program_id: &'a Address) -> Self {
        let mut parts = Self([const { MaybeUninit::uninit() }; MAX_PARTS]);
        let mut slots = parts.0.iter_mut();
        for (seed, slot) in seeds.iter().zip(slots.by_ref()) {
            slot.write(seed);
        }
        for (slot, part) in slots.skip(gap).zip([program_id.as_ref(), MARKER]) {
            slot.write(part);
        }
        parts
    }

    /// Whether `count` parts derive the address.
    #[inline(never)]
    pub fn derive(&self, count: usize, expected: &Address) -> bool {
        let mut hash = MaybeUninit::uninit();
        let hash = self.hash(count, &mut hash);
        anchor::address_eq(hash, expected) && is_off_curve(hash)
    }

    /// Finds the highest bump, which is the part before the last two, that makes an address of `count` parts, and the address.
    #[inline(never)]
    pub fn search(&mut self, count: usize, address: &mut MaybeUninit<Address>) -> Option<u8> {
        let mut bump = [u8::MAX];
        let place = bump.as_mut_ptr();
        // SAFETY: the byte outlives the loop, and is written only between reads of it.
        self.0.get_mut(count.checked_sub(3)?)?.write(unsafe { core::slice::from_raw_parts(place, 1) });
        for value in (0..=u8::MAX).rev() {
            // SAFETY: see above.
            unsafe { place.write(value) };
            if is_off_curve(self.hash(count, address)) {
                return Some(value);
            }
        }
        None
    }

    #[inline(always)]
    fn hash<'h>(&self, count: usize, into: &'h mut MaybeUninit<Address>) -> &'h Address {
        // SAFETY: `count` parts are written, and the runtime writes all of the hash.
        unsafe {
            sol_sha256(self.0.as_ptr().cast(), count as u64, into.as_mut_ptr().cast());
            into.assume_init_ref()
        }
    }
}

#[inline(always)]
fn is_off_curve(address: &Address) -> bool {
    // SAFETY: the runtime reads the 32 bytes of the address, and writes nothing.
    let invalid = unsafe {
        sol_curve_validate_point(EDWARDS, (address as *const Address).cast(), core::ptr::null_mut())
    };
    invalid != 0
}
