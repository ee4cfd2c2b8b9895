//! A keeper's bond, place among the voters and record.

use anchor_lang::prelude::*;

use crate::constants::{BOND_PAYOUT_BPS, IDLE_REPORTS};
use crate::errors::{fail, MarketError, OrOverflow};
use crate::math::fees::bps_of;
use crate::math::periods::period_of;

pub const KEEPER_PENDING: u8 = 1;
pub const KEEPER_ACTIVE: u8 = 2;
pub const KEEPER_EXITING: u8 = 3;
/// Expelled: a proof showed that it contradicted itself. It has no vote; what is left of its bond waits as for an exit.
pub const KEEPER_SLASHED: u8 = 4;

/// The index of a keeper that is not active: it has no place among the voters.
pub const NO_PLACE: u16 = u16::MAX;

#[account]
pub struct Keeper {
    /// Owner of the bond, and what leases, events and rewards name.
    pub wallet: Address,
    pub bond: u64,
    /// What the keeper's votes count; part of `Market::total_weight` while active, else 0.
    pub weight: u64,
    pub registered_at: i64,
    pub active_since: i64,
    /// When the bond may be withdrawn; 0 before the exit is asked for.
    pub exit_at: i64,
    pub votes: u64,
    /// Periods between two votes that had none of this keeper.
    pub misses: u64,
    pub last_vote_period: u64,
    /// µUSDC earned by awards and not claimed.
    pub earned: u64,
    /// libp2p address, UTF-8, padded with zeroes.
    pub multiaddr: [u8; 128],
    /// Bit in voters' bitmaps; `NO_PLACE` while it is not active.
    pub index: u16,
    pub multiaddr_len: u8,
    pub status: u8,
    pub version: u8,
    pub bump: u8,
    pub vault_bump: u8,
    pub reserved: [u8; 1],
    /// Since when it has weighed what it does, and what it weighed before. The statements about a period count by the
    /// weight that their keeper had when the period ended, so that a report is the same for whoever makes it later.
    pub weight_since: i64,
    pub former_weight: u64,
    /// Since when it waits for its weight to count: its registration, or when it was suspended for not voting.
    pub pending_since: i64,
    /// When it last voted in time, or became active since, and how many reports were final then.
    pub voted_at: i64,
    pub voted_reports: u64,
    /// What slashes of the bond have paid to finders, when they last did, and the bond before the first of these slashes.
    /// Forgotten once no such part is younger than a bond takes to leave.
    pub paid_out: u64,
    pub paid_out_at: i64,
    pub paid_out_of: u64,
    /// Signs statements and the transactions of a running keeper; also the keeper's network identity. The wallet, unless it
    /// has named another key.
    pub signer: Address,
    /// The signer before it, which answers with the bond until `signer_until` as well; zero before the first change.
    pub former_signer: Address,
    /// When the signer became it.
    pub signer_since: i64,
    /// Until then the signer does not change again, so that no more than two keys ever answer for a keeper; 0 before the
    /// first change.
    pub signer_until: i64,
}

impl Keeper {
    /// Takes `amount` of the bond, or what there is of it, and says how much that was.
    pub fn slash(&mut self, amount: u64) -> Result<u64> {
        let taken = amount.min(self.bond);
        self.bond = self.bond.checked_sub(taken).or_overflow()?;
        Ok(taken)
    }

    /// Of what a slash of a bond of `bond` would pay to its finder, the part that may leave: so that slashes are no way
    /// out, at most a twentieth of the bond within `exit_secs`, the time that the bond itself would take.
    pub fn finder_part(&mut self, wanted: u64, bond: u64, now: i64, exit_secs: u32) -> Result<u64> {
        let over = self.paid_out_at.checked_add(exit_secs as i64).or_overflow()?;
        if now >= over {
            (self.paid_out, self.paid_out_of) = (0, bond);
        }
        let most = bps_of(self.paid_out_of, BOND_PAYOUT_BPS)?;
        let part = wanted.min(most.saturating_sub(self.paid_out));
        if part > 0 {
            self.paid_out = self.paid_out.checked_add(part).or_overflow()?;
            self.paid_out_at = now;
        }
        Ok(part)
    }

    /// Notes that it takes part: it has voted in time, or was activated.
    pub fn takes_part(&mut self, final_reports: u64, now: i64) {
        self.voted_at = now;
        self.voted_reports = final_reports;
    }

    /// Whether it has weight and does not vote: others' reports became final without it, and time enough has passed,
    /// so that many late reports at once suspend nobody.
    pub fn is_idle(&self, final_reports: u64, period_secs: u32, now: i64) -> Result<bool> {
        let wait = (period_secs as u64).checked_mul(IDLE_REPORTS).and_then(|wait| i64::try_from(wait).ok());
        let over = self.voted_at.checked_add(wait.or_overflow()?).or_overflow()?;
        Ok(self.status == KEEPER_ACTIVE
            && final_reports > self.voted_reports.checked_add(IDLE_REPORTS).or_overflow()?
            && now > over)
    }

    /// Names another signer. What the former one has signed counts for `secs` more.
    pub fn change_signer(&mut self, signer: &Address, secs: u32, now: i64) -> Result<()> {
        require!(*signer != self.signer, MarketError::SignerStands);
        require!(now >= self.signer_until, MarketError::TooEarly);
        self.former_signer = self.signer;
        self.signer = *signer;
        self.signer_since = now;
        self.signer_until = now.checked_add(secs as i64).or_overflow()?;
        Ok(())
    }

    /// Whether the bond answers for what this key has signed.
    pub fn answers_for(&self, key: &Address, now: i64) -> bool {
        *key == self.signer || (*key == self.former_signer && now < self.signer_until)
    }

    /// Whether this key, for which the bond answers, speaks for the keeper about a period: the former signer about none
    /// that began after it. A stolen key that was replaced has no say in what comes later.
    pub fn speaks(&self, key: &Address, period: u64, period_secs: u32) -> Result<bool> {
        Ok(*key == self.signer || period <= period_of(self.signer_since, period_secs)?)
    }

    /// Gives it another weight.
    pub fn weigh(&mut self, weight: u64, now: i64) {
        if self.weight != weight {
            self.former_weight = self.weight;
            self.weight = weight;
            self.weight_since = now;
        }
    }

    /// `vault` is the token balance of the bond's vault.
    #[inline(never)]
    pub fn invariant(&self, vault: u64) -> Result<()> {
        let sound = vault >= self.bond
            && self.weight <= self.bond
            && (self.status == KEEPER_ACTIVE || self.weight == 0)
            && (self.status == KEEPER_ACTIVE) == (self.index != NO_PLACE)
            && self.signer != Address::default()
            && self.signer != self.former_signer;
        require!(sound, MarketError::InvariantBroken);
        Ok(())
    }
}

/// A set of keepers, one bit each.
pub type Voters = [u8; 32];

/// Adds a keeper; false when it was already in.
pub fn add_voter(voters: &mut Voters, index: u16) -> Result<bool> {
    let new = !has_voter(voters, index)?;
    if let Some(slot) = voters.get_mut(index as usize / 8) {
        *slot |= bit(index);
    }
    Ok(new)
}

/// Takes a keeper out.
pub fn remove_voter(voters: &mut Voters, index: u16) -> Result<()> {
    match voters.get_mut(index as usize / 8) {
        Some(slot) if *slot & bit(index) != 0 => {
            *slot &= !bit(index);
            Ok(())
        }
        _ => fail(MarketError::InvariantBroken),
    }
}

/// Whether a keeper is in.
pub fn has_voter(voters: &Voters, index: u16) -> Result<bool> {
    let slot = voters.get(index as usize / 8).ok_or(MarketError::InvariantBroken)?;
    Ok(*slot & bit(index) != 0)
}

fn bit(index: u16) -> u8 {
    1 << (index % 8)
}
