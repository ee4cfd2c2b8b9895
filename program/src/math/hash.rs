//! SHA-256 over several slices without copying them together.

/// `sha256(parts[0] ‖ parts[1] ‖ …)`.
#[inline(always)]
pub fn sha256_of(parts: &[&[u8]]) -> [u8; 32] {
    #[cfg(target_os = "solana")]
    {
        let mut out = [0u8; 32];
        // SAFETY: the syscall reads `parts.len()` slices laid out as (pointer, length) pairs, which is how this
        // target lays out `&[u8]`, and writes 32 bytes to `out`.
        unsafe {
            pinocchio::syscalls::sol_sha256(
                parts.as_ptr() as *const u8,
                parts.len() as u64,
                out.as_mut_ptr(),
            );
        }
        out
    }
    #[cfg(not(target_os = "solana"))]
    {
        let mut whole = alloc::vec::Vec::new();
        for part in parts {
            whole.extend_from_slice(part);
        }
        anchor_lang::prelude::sha256(&whole)
    }
}
