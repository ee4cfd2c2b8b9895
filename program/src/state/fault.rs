//! A fault: a slash that waits for its appeal window to pass, and then for the claims of those it harmed.
//!
//! All terms are written when it is opened, so that no later change of parameters judges an earlier deed.

use anchor_lang::prelude::*;

use crate::constants::{
    FLAGS_NODE, FLAG_BAD_OUTPUT, FLAG_DEVICE_CHANGED, FLAG_EVIDENCE_FAILED, FLAG_OFFLINE, FLAG_SLOW,
    FLAG_SPEC_MISMATCH, FLAG_WORK_FAILED, STAKE_UNIT, VERSION,
};
use crate::errors::{MarketError, OrOverflow};
use crate::events::FaultOpened;
use crate::math::slashing::harm_in_stake;
use crate::state::{Lease, Node, Params, Provider};

/// A final report says so.
pub const FAULT_REPORT: u8 = 1;
/// Keepers upheld a customer's dispute.
pub const FAULT_DISPUTE: u8 = 2;
/// An uptime guarantee was broken.
pub const FAULT_GUARANTEE: u8 = 3;
/// A byte of a measurement was proven wrong.
pub const FAULT_WORK: u8 = 4;
/// Keepers voted that the node was away, and its lease has left it.
pub const FAULT_OUTAGE: u8 = 5;

/// It may still be voided.
pub const FAULT_PENDING: u8 = 1;
/// The slash was taken; the pool waits for claims.
pub const FAULT_APPLIED: u8 = 2;

/// The classes of flags, by what they cost.
const CLASSES: [u16; 4] = [
    FLAG_EVIDENCE_FAILED | FLAG_DEVICE_CHANGED | FLAG_SPEC_MISMATCH | FLAG_SLOW,
    FLAG_WORK_FAILED,
    FLAG_BAD_OUTPUT,
    FLAG_OFFLINE,
];

#[account]
pub struct Fault {
    pub node: Address,
    pub provider: Address,
    /// Zero when the fault is the whole node's.
    pub lease: Address,
    /// Who gets the finder's part: the claimant of a dispute. Zero for every other fault: they have no finder.
    pub finder: Address,
    pub rent_payer: Address,
    /// The period of the report, or the one that a dispute was decided in.
    pub period: u64,
    pub opened_at: i64,
    /// When the appeal window closes: it runs from the opening.
    pub applicable_at: i64,
    /// Only keepers that were active before this instant have a say in an appeal.
    pub voters_before: i64,
    /// The seconds that it is about: `[window_from, window_until)`.
    pub window_from: i64,
    pub window_until: i64,
    /// From here on what nobody claimed may be burned; 0 before it was applied.
    pub claims_until: i64,
    /// What each class of flags costs, in the order of `SlashTerms`, base units of the stake token.
    pub costs: [u64; 4],
    /// Reserved from the node's stake, of what it costs, and taken once it is applied. Base units of the stake token.
    pub amount: u64,
    /// The victims' part of what was taken, and what is left of it.
    pub pool: u64,
    pub pool_left: u64,
    /// No claim counts an hour of a GPU for more than this, µUSDC.
    pub reference_price: u64,
    /// µUSDC per whole stake token.
    pub stake_price: u64,
    /// Bonded weight when the report was created or the dispute was opened.
    pub total_weight: u64,
    /// Weight of the keepers counted in `appellants`.
    pub appeal_weight: u64,
    /// Keepers whose contradicting statements are counted for `appeal_flag`.
    pub appellants: [u8; 32],
    /// Of the node's convictions, the number of this one: a lease remembers which of them have compensated it.
    pub serial: u32,
    /// The market's times when it was opened.
    pub period_secs: u32,
    pub grace_secs: u32,
    pub claim_secs: u32,
    pub payout_secs: u32,
    /// Those not yet voided.
    pub flags: u16,
    pub appeal_flag: u16,
    /// The finder's part; burned where there is no finder.
    pub finder_bps: u16,
    /// GPUs that it is about: all of the node's, or the lease's.
    pub gpus: u8,
    pub kind: u8,
    /// `DISPUTE_*`, of the fault of a dispute: what it is that keepers upheld.
    pub dispute_kind: u8,
    pub status: u8,
    /// 1 once the lease that it names was compensated.
    pub compensated: u8,
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 7],
}

/// What a new fault says.
pub struct FaultTerms {
    pub kind: u8,
    pub node: Address,
    pub provider: Address,
    pub lease: Address,
    pub finder: Address,
    pub period: u64,
    pub voters_before: i64,
    pub window_from: i64,
    pub window_until: i64,
    pub costs: [u64; 4],
    pub reference_price: u64,
    pub total_weight: u64,
    pub flags: u16,
    pub gpus: u8,
    /// Downtime that is no fault.
    pub grace_secs: u32,
}

impl Fault {
    /// Writes the terms; `amount` is set by who reserves it.
    #[inline(never)]
    pub fn write(
        &mut self,
        terms: &FaultTerms,
        params: &Params,
        payer: &Address,
        now: i64,
        bump: u8,
    ) -> Result<()> {
        self.node = terms.node;
        self.provider = terms.provider;
        self.lease = terms.lease;
        self.finder = terms.finder;
        self.rent_payer = *payer;
        self.period = terms.period;
        self.opened_at = now;
        self.applicable_at = now.checked_add(params.appeal_secs as i64).or_overflow()?;
        self.voters_before = terms.voters_before;
        self.window_from = terms.window_from;
        self.window_until = terms.window_until;
        self.costs = terms.costs;
        self.reference_price = terms.reference_price;
        self.stake_price = params.stake_price;
        self.total_weight = terms.total_weight;
        self.period_secs = params.period_secs;
        self.grace_secs = terms.grace_secs;
        self.claim_secs = params.settle_deadline_secs()?.checked_mul(2).or_overflow()?;
        self.payout_secs = params.unstake_cooldown_secs;
        self.flags = terms.flags;
        self.finder_bps = params.finder_bps;
        self.gpus = terms.gpus;
        self.kind = terms.kind;
        self.status = FAULT_PENDING;
        self.version = VERSION;
        self.bump = bump;
        Ok(())
    }

    /// What the flags that stand cost: the gravest decides. A broken guarantee has none, and a cost of its own.
    pub fn cost(&self) -> u64 {
        if self.kind == FAULT_GUARANTEE {
            let [cost, ..] = self.costs;
            return cost;
        }
        let costs = CLASSES.iter().zip(self.costs);
        costs.filter(|(flags, _)| self.flags & **flags != 0).map(|(_, cost)| cost).max().unwrap_or(0)
    }

    /// Whether the fault is the machine's, and so concerns all its leases.
    pub fn of_node(&self) -> bool {
        self.lease == Address::default()
    }

    /// Whether nothing that the node does not have yet is paid for the window while the fault is open, or afterwards.
    /// A node that was only silent has done no wrong work.
    pub fn freezes(&self) -> bool {
        self.flags & (FLAGS_NODE | FLAG_BAD_OUTPUT) != 0
    }

    /// A lease's part of the pool: its GPU-seconds in the window, of all that the fault is about.
    pub fn part_of(&self, lease: &Lease) -> Result<u64> {
        let seconds = lease.seconds_within(self.window_from, self.window_until);
        let whole = self.window_until.checked_sub(self.window_from).or_overflow()?;
        let whole = u128::try_from(whole).ok().and_then(|secs| secs.checked_mul(self.gpus as u128));
        let product = (self.pool as u128)
            .checked_mul(seconds as u128)
            .and_then(|product| product.checked_mul(lease.gpus as u128))
            .or_overflow()?;
        match whole {
            Some(whole) if whole > 0 => {
                u64::try_from(product.checked_div(whole).or_overflow()?).ok().or_overflow()
            }
            _ => Ok(0),
        }
    }

    /// What the lease has lost: what its customer has paid for seconds of the window, at no more than the reference
    /// price and as far as no other fault has compensated it, in µUSDC and in stake.
    pub fn harm_of(&self, lease: &Lease) -> Result<(u64, u64)> {
        let paid = lease.paid_secs_within(self.window_from, self.window_until)?;
        let lost = lease.worth(paid, self.reference_price)?;
        let all = lease.worth(lease.paid_secs, self.reference_price)?;
        let lost = lost.min(all.saturating_sub(lease.compensated));
        Ok((lost, harm_in_stake(lost, self.stake_price)?))
    }

    /// Holds what it costs of the node's stake, and node and provider with it.
    #[inline(never)]
    pub fn hold(&mut self, at: &Address, node: &mut Node, provider: &mut Provider, cost: u64) -> Result<()> {
        self.amount = node.reserve(cost)?;
        node.pending_faults = node.pending_faults.checked_add(1).or_overflow()?;
        provider.pending_faults = provider.pending_faults.checked_add(1).or_overflow()?;
        self.announce(at)
    }

    /// Says that it is open.
    #[inline(never)]
    pub fn announce(&self, at: &Address) -> Result<()> {
        emit!(FaultOpened {
            fault: *at,
            node: self.node,
            lease: self.lease,
            period: self.period,
            flags: self.flags,
            amount: self.amount,
            window_from: self.window_from,
            applicable_at: self.applicable_at,
        });
        self.invariant()
    }

    /// What stake is worth in µUSDC at the stored price, rounded up.
    pub fn worth_of(&self, stake: u64) -> Result<u64> {
        let product = (stake as u128).checked_mul(self.stake_price as u128).or_overflow()?;
        u64::try_from(product.div_ceil(STAKE_UNIT as u128)).ok().or_overflow()
    }

    #[inline(never)]
    pub fn invariant(&self) -> Result<()> {
        let sound = self.pool_left <= self.pool
            && self.pool <= self.amount
            && self.window_from <= self.window_until
            && (FAULT_PENDING..=FAULT_APPLIED).contains(&self.status)
            && (FAULT_REPORT..=FAULT_OUTAGE).contains(&self.kind)
            && (self.status == FAULT_APPLIED) == (self.claims_until != 0);
        require!(sound, MarketError::InvariantBroken);
        Ok(())
    }
}
