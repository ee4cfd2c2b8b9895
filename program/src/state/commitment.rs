//! The commitment that a measured machine signs, and its entries, one for each GPU: docs/protocol/measurement.md.

use anchor_lang::prelude::*;

use crate::constants::{MAX_GPUS, MEASURE_ENTRY_LEN, MEASURE_MAX_ROUNDS};
use crate::errors::{fail, MarketError};
use crate::math::hash::sha256_of;
use crate::math::measure::tag;

/// The bytes of a commitment before the hashes of its entries.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Head {
    tag: [u8; 32],
    domain: [u8; 8],
    instant: [u8; 32],
    node: [u8; 32],
    gpus: u8,
}

pub struct Commitment<'a> {
    pub domain: [u8; 8],
    pub instant: [u8; 32],
    pub node: Address,
    entries: &'a [[u8; 32]],
}

impl<'a> Commitment<'a> {
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        if let Some((head, rest)) = data.split_at_checked(size_of::<Head>()) {
            let head: &Head = bytemuck::from_bytes(head);
            let (entries, odd) = rest.as_chunks::<32>();
            let sound = head.tag == tag(b"commitment")
                && (1..=MAX_GPUS).contains(&head.gpus)
                && entries.len() == head.gpus as usize
                && odd.is_empty();
            if sound {
                let node = Address::new_from_array(head.node);
                return Ok(Self { domain: head.domain, instant: head.instant, node, entries });
            }
        }
        fail(MarketError::InvalidCommitment)
    }

    /// Reads an entry that the commitment holds.
    pub fn entry(&self, data: &[u8; MEASURE_ENTRY_LEN]) -> Result<Entry> {
        let hash = sha256_of(&[&tag(b"gpu"), data]);
        let bytes: &EntryBytes = bytemuck::cast_ref(data);
        let rounds = u32::from_le_bytes(bytes.rounds);
        let sound = self.entries.contains(&hash) && (1..=MEASURE_MAX_ROUNDS).contains(&rounds);
        require!(sound, MarketError::InvalidCommitment);
        Ok(Entry { gpu: bytes.gpu, profile: bytes.profile, rounds, rounds_root: bytes.rounds_root })
    }
}

/// The bytes of an entry by field, integers little-endian.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct EntryBytes {
    gpu: u8,
    profile: [u8; 32],
    rounds: [u8; 4],
    last_root: [u8; 32],
    rounds_root: [u8; 32],
    walks: [u8; 4],
    walks_root: [u8; 32],
    chain_ms: [u8; 4],
    walk_ms: [u8; 4],
}

/// What a machine states of one GPU, as far as cells go.
pub struct Entry {
    pub gpu: u8,
    pub profile: [u8; 32],
    pub rounds: u32,
    pub rounds_root: [u8; 32],
}

/// The block that made an instant: what the instant is a hash over. `sdk/market/instant.Draw` is its twin in Go.
#[derive(Clone, Copy, AnchorSerialize, AnchorDeserialize, IdlType)]
pub struct InstantBlock {
    pub period: u64,
    /// Which of the period's ticks.
    pub tick: u64,
    pub slot: u64,
    pub hash: [u8; 32],
}

impl InstantBlock {
    pub fn instant(&self, domain: &[u8; 8]) -> [u8; 32] {
        sha256_of(&[
            b"gantry-instant-1",
            domain,
            &self.period.to_le_bytes(),
            &self.tick.to_le_bytes(),
            &self.slot.to_le_bytes(),
            &self.hash,
        ])
    }
}
