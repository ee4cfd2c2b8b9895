//! A node: its specification, its ask, its record and its uptime guarantee.

use anchor_lang::prelude::*;

use crate::constants::{AVAILABILITY_SECS, BPS, DAY, FIGURE_PERIODS, FULL_AGE_DAYS, MAX_GPUS, SLOW_PERIODS};
use crate::errors::{MarketError, OrOverflow};
use crate::math::evidence::standing_tier;
use crate::math::fees::bps_of;
use crate::math::reputation::{dispute_bps, failure_weight, reputation_of};
use crate::state::{
    Availability, Guarantee, NodeRecord, NodeSpec, Order, ScoreRecord, Unhealthy, WorstRecord,
};

pub const NODE_ACTIVE: u8 = 1;
/// Asleep: not awarded, not challenged.
pub const NODE_HIBERNATED: u8 = 2;
/// Serves what it has, takes nothing new.
pub const NODE_DRAINING: u8 = 3;
/// Leaving for good.
pub const NODE_RETIRED: u8 = 4;
/// A report says that the machine is not what it claims.
pub const NODE_SUSPENDED: u8 = 5;

#[account]
pub struct Node {
    pub provider: Address,
    /// Ed25519 key of the agent on the machine.
    pub node_key: Address,
    /// Names the evidence bundle and the keys of its GPUs, see [`crate::math::evidence::key_root`]; zero when none.
    pub evidence_hash: [u8; 32],
    /// Standing ask, µUSDC per GPU-hour.
    pub price: u64,
    pub ask_since: i64,
    /// Since when the node has been active without a break.
    pub available_since: i64,
    pub required_stake: u64,
    /// End of its uptime guarantee, see state/guarantee.rs; 0 without one.
    pub guaranteed_until: i64,
    pub registered_at: i64,
    pub retired_at: i64,
    /// Until when the tier stands; afterwards it counts as at most 1.
    pub evidence_expiry: i64,
    /// Last period whose leaf was applied.
    pub last_report_period: u64,
    pub checks_passed: u64,
    pub checks_total: u64,
    /// Σ stars × µUSDC of fees.
    pub rating_sum: u64,
    /// Σ µUSDC of fees of leases that were rated.
    pub rating_weight: u64,
    /// When a fault of it, or bad work, was last proven or applied; 0 before.
    pub faulted_at: i64,
    /// µUSDC of fees swept from leases that the node served as long as it had to.
    pub fees_completed: u64,
    /// What its failed leases weigh, see [`crate::math::reputation::failure_weight`].
    pub fees_failed: u64,
    pub downtime_secs: u64,
    /// Seconds up in good periods: the machine passed checks and had no fault.
    pub up_secs: u64,
    /// When a dispute was last lost, that is, its slash applied.
    pub dispute_lost_at: i64,
    /// Period in which bad work of this node was last proven; what it signed up to then proves nothing more.
    pub bad_work_period: u64,
    /// How many of its GPUs were free, and since when.
    pub availability: Availability,
    pub unhealthy: Unhealthy,
    /// When it is kept from work because it did not start what it was awarded.
    pub absent: Unhealthy,
    /// Since when the score record is as it is.
    pub record_since: i64,
    /// Since when the one before was as it was.
    pub previous_since: i64,
    /// The score record before the last change: an award is judged by what held at its time.
    pub previous: ScoreRecord,
    pub spec: NodeSpec,
    /// Leases that were served as long as they had to be, and paid for.
    pub jobs_completed: u32,
    pub jobs_failed: u32,
    pub disputes_lost: u32,
    /// Of the weakest GPU, when they were measured last: 10⁹ int8 operations a second. 0 before.
    pub operations: u32,
    /// Which of the periods up to the last were applied: see [`crate::math::window`].
    pub report_window: u32,
    /// Leased GPUs, bit i is GPU i.
    pub gpu_mask: u16,
    /// Exponentially weighted.
    pub uptime_bps: u16,
    pub live_leases: u16,
    pub pending_faults: u16,
    /// What lost disputes took off its reputation at `dispute_lost_at`; it wears off.
    pub dispute_bps: u16,
    pub status: u8,
    pub tier: u8,
    pub version: u8,
    pub bump: u8,
    /// The uptime that it guarantees.
    pub guarantee_bps: u16,
    /// What breaking the guarantee costs, of the required stake: the market's terms when it was made.
    pub slash_guarantee_bps: u16,
    /// 1 when a fault of the machine was applied or proven since its wallet last said that it is well.
    pub convicted: u8,
    /// GPUs whose device claims the node does not hold: others hold them, or nobody does.
    pub claims_missing: u8,
    /// 1 when the last report that named the machine's devices named those that are registered.
    pub devices_seen: u8,
    /// Leases in a row that it did not start; a day after the wait for the last one ends the row.
    pub missed: u8,
    /// Its ask for interruptible work, of its price; 0 when it takes none.
    pub spot_bps: u16,
    pub reserved: [u8; 4],
    /// First second of the guarantee: the start of a period.
    pub guaranteed_since: i64,
    /// Seconds up, by applied leaves of whole periods within the guarantee.
    pub guarantee_up_secs: u64,
    /// The seconds of those periods, and those that the node was suspended.
    pub guarantee_counted_secs: u64,
    /// When it was last suspended.
    pub suspended_at: i64,
    /// The guarantee that belongs to `previous`.
    pub previous_guarantee: Guarantee,
    /// When the node was told the terms of its model that it is measured by: at its registration, or by
    /// `node_accept_terms`.
    pub terms_at: i64,
    /// What its GPUs are to reach by these terms; 0 where they are held to nothing.
    pub min_operations: u32,
    pub min_bandwidth: u32,
    /// Since when it has been of its class by the leaves that were applied, see state/figures.rs; 0 while it is not.
    pub class_since: i64,
    /// When figures of it were last taken over, and the last period with figures of its GPUs.
    pub figures_at: i64,
    pub measured_period: u64,
    /// The worst records before the present one, the newer first: changes that follow each other, such as a rating
    /// after an end, must not erase what an award was to be judged by.
    pub worst: [WorstRecord; 2],
    /// Root of the tree over the registered device identities, see [`crate::math::evidence::device_root`].
    pub device_root: [u8; 32],
    /// Its part of the provider's stake. Faults and proofs of this node take from it and from nothing else.
    pub stake: u64,
    /// The part of `stake` that open faults hold.
    pub reserved_stake: u64,
    /// Since when the stake has covered what the node needs; means nothing while it does not.
    pub covered_since: i64,
    /// Seconds from here on are not owed by its leases: it was slashed and not topped up; 0 without a bound.
    pub billing_until: i64,
    /// What the present cause of its faults has cost, see state/cause.rs; 0 without one.
    pub cause_taken: u64,
    /// When its wallet last said that it is mended after a conviction; 0 for never.
    pub mended_at: i64,
    /// When its agent or its wallet last reported a dead GPU, and until when it is kept from work for that; 0 for never.
    pub died_at: i64,
    pub dead_until: i64,
    /// When a retired node may be closed: the cool-down of the day that it retired.
    pub closes_at: i64,
    /// End of the last period in which the machine passed checks and had no fault; its registration before.
    pub good_since: i64,
    /// Seconds from here on are not paid while a fault of the machine is open; 0 without one.
    pub frozen_from: i64,
    /// When the last freeze was over.
    pub unfrozen_at: i64,
    /// Seconds from here on are never paid: a fault of the machine stands, or a GPU has died, and its wallet has not said
    /// that it is mended; 0 otherwise.
    pub convicted_from: i64,
    /// Leases that had GPUs after `claims_from` stay until then, or until they are compensated.
    pub claims_from: i64,
    pub claims_until: i64,
    /// What leases that are closed have paid for time within the guarantee, µUSDC.
    pub guarantee_revenue: u64,
    /// µUSDC per whole stake token when the guarantee was given.
    pub guarantee_stake_price: u64,
    /// No claim out of this node's faults that a proof or a broken guarantee shows counts an hour of a GPU for more than
    /// this, µUSDC: its model's terms, as of `terms_at`.
    pub reference_price: u64,
    /// Until when tier 3 stands for the node's claims of its GPUs' keys; 0 without them.
    pub keys_until: i64,
    /// Faults of the machine that were ever applied.
    pub convictions: u32,
    /// The market's times when the guarantee was given: for last claims, for appeals, and until stake may leave.
    pub guarantee_settle_secs: u32,
    pub guarantee_appeal_secs: u32,
    pub guarantee_payout_secs: u32,
    /// Memory bandwidth of the weakest GPU, 10⁶ bytes a second, and what the machine's network gave, when they were
    /// measured last; 0 before.
    pub bandwidth: u32,
    pub down_mbps: u32,
    pub up_mbps: u32,
    /// Shares of the class in the last measured periods, newest first, basis points.
    pub shares: [u16; FIGURE_PERIODS],
    /// Leases awarded and not closed; of them, those that a conviction has ended.
    pub open_leases: u16,
    pub cut_leases: u16,
    /// Of the open leases, those that were awarded before the end of the guarantee.
    pub guarantee_open: u16,
    /// Open faults of the machine, apart from those of single leases.
    pub pending_node_faults: u16,
    /// How often it was mended after a conviction, and how often a GPU died, each within a year of the time before.
    pub relapses: u16,
    pub deaths: u16,
    /// 1 once a conviction began earlier than one that has ended leases already.
    pub recut: u8,
    /// How many of `shares` there are.
    pub shares_len: u8,
    /// In how many measured periods in a row it has reached too little of its class, up to the last.
    pub slow_periods: u8,
    pub pad: [u8; 1],
}

impl Node {
    pub fn all_gpus(&self) -> u16 {
        match 1u16.checked_shl(self.spec.gpus as u32) {
            Some(bit) => bit.wrapping_sub(1),
            None => u16::MAX,
        }
    }

    pub fn free_gpus(&self) -> u8 {
        (self.all_gpus() & !self.gpu_mask).count_ones() as u8
    }

    /// What it asks of an order, µUSDC per GPU-hour; 0 when it takes no such work.
    pub fn ask(&self, order: &Order) -> Result<u64> {
        if order.interruptible == 0 {
            return Ok(self.price);
        }
        bps_of(self.price, self.spot_bps)
    }

    /// Sets the lowest `count` free bits and returns them.
    pub fn take_gpus(&mut self, count: u8, now: i64) -> Result<u16> {
        let mut taken = 0u16;
        for index in 0..self.spec.gpus {
            let bit = 1u16.checked_shl(index as u32).or_overflow()?;
            if taken.count_ones() < count as u32 && self.gpu_mask & bit == 0 {
                taken |= bit;
            }
        }
        require!(taken.count_ones() == count as u32, MarketError::NotEnoughGpus);
        self.gpu_mask |= taken;
        self.live_leases = self.live_leases.checked_add(1).or_overflow()?;
        self.availability.change(self.free_gpus(), now)?;
        Ok(taken)
    }

    /// Clears the bits of a lease that is over.
    pub fn free_gpus_of(&mut self, mask: u16, now: i64) -> Result<()> {
        require!(self.gpu_mask & mask == mask, MarketError::InvariantBroken);
        self.gpu_mask &= !mask;
        self.live_leases = self.live_leases.checked_sub(1).or_overflow()?;
        self.availability.change(self.free_gpus(), now)?;
        Ok(())
    }

    /// What its evidence is worth at `now`. Tier 3 is of GPUs, and each of them counts for one node.
    pub fn tier_at(&self, now: i64) -> u8 {
        let until =
            if self.tier == 3 { self.keys_until.min(self.evidence_expiry) } else { self.evidence_expiry };
        standing_tier(self.tier, until, now)
    }

    /// Notes a lease that was served as long as it had to be, and whose fee is swept.
    pub fn completed(&mut self, fee: u64) -> Result<()> {
        self.jobs_completed = self.jobs_completed.checked_add(1).or_overflow()?;
        self.fees_completed = self.fees_completed.checked_add(fee).or_overflow()?;
        Ok(())
    }

    /// Notes a lease that failed, and the fee of the time that it was funded for.
    pub fn failed(&mut self, fee: u64) -> Result<()> {
        self.jobs_failed = self.jobs_failed.checked_add(1).or_overflow()?;
        self.fees_failed = self.fees_failed.checked_add(failure_weight(fee)).or_overflow()?;
        Ok(())
    }

    /// Its uptime guarantee, as nodes are compared by it.
    pub fn guarantee(&self) -> Guarantee {
        Guarantee { until: self.guaranteed_until, bps: self.guarantee_bps, pad: [0; 6] }
    }

    /// What the node is compared by at `now`.
    pub fn record(&self, now: i64) -> NodeRecord {
        let score = ScoreRecord {
            rating_sum: self.rating_sum,
            rating_weight: self.rating_weight,
            dispute_lost_at: self.dispute_lost_at,
            fees_completed: self.fees_completed,
            fees_failed: self.fees_failed,
            uptime_bps: self.uptime_bps,
            dispute_bps: self.dispute_bps,
            tier: self.tier_at(now),
            days: (self.up_secs / DAY).min(FULL_AGE_DAYS as u64) as u8,
            checked: u8::from(self.checks_total > 0),
            pad: [0; 1],
        };
        NodeRecord { score, guarantee: self.guarantee() }
    }

    /// A dispute of one of its leases was lost for good.
    pub fn lose_dispute(&mut self, now: i64) {
        let before = self.record(now);
        self.disputes_lost = self.disputes_lost.saturating_add(1);
        self.dispute_bps = dispute_bps(self.dispute_bps, self.dispute_lost_at, now);
        self.dispute_lost_at = now;
        self.keep_record(&before, now);
    }

    /// Keeps the record from before a change, if it was one. `before` is of `now` too: a tier that lapsed is kept as lapsed.
    pub fn keep_record(&mut self, before: &NodeRecord, now: i64) {
        if *before != self.record(now) {
            self.keep_worst(before, now);
            self.previous = before.score;
            self.previous_guarantee = before.guarantee;
            self.previous_since = self.record_since;
            self.record_since = now;
        }
    }

    /// A record that held from `from` to `to`, both included; `None` when it changed in between, or is too long ago. A tier
    /// that lapsed counts as lapsed. Evidence that was renewed after `to` had not lapsed, or the record would have changed.
    pub fn record_throughout(&self, from: i64, to: i64) -> Option<NodeRecord> {
        if self.record_since < from {
            Some(self.record(to))
        } else if self.previous_since < from && to < self.record_since {
            Some(NodeRecord { score: self.previous, guarantee: self.previous_guarantee })
        } else {
            None
        }
    }

    /// Keeps the worst records of at least the last [`AVAILABILITY_SECS`] before `now`.
    fn keep_worst(&mut self, before: &NodeRecord, now: i64) {
        let [newer, older] = self.worst;
        let full = newer.since == 0 || newer.since < now.saturating_sub(AVAILABILITY_SECS);
        let (since, record) = if full {
            (self.record_since, *before)
        } else {
            (newer.since, self.worse_of(&newer.record(), before, now))
        };
        let latest = WorstRecord { since, score: record.score, guarantee: record.guarantee };
        self.worst = if full { [latest, newer] } else { [latest, older] };
    }

    /// A record no better than either: that of lower reputation, with the lesser of all that orders ask for.
    fn worse_of(&self, one: &NodeRecord, other: &NodeRecord, now: i64) -> NodeRecord {
        let worth = |record: &NodeRecord| reputation_of(&record.score, now);
        let mut worse = if worth(one) < worth(other) { *one } else { *other };
        worse.score.uptime_bps = one.score.uptime_bps.min(other.score.uptime_bps);
        worse.score.checked = one.score.checked.min(other.score.checked);
        worse.score.tier = one.score.tier.min(other.score.tier);
        worse.guarantee.until = one.guarantee.until.min(other.guarantee.until);
        worse.guarantee.bps = one.guarantee.bps.min(other.guarantee.bps);
        worse
    }

    /// A record no better than any that held from `from` to `to`, both included; `None` when that is too long ago.
    pub fn worst_throughout(&self, from: i64, to: i64) -> Option<NodeRecord> {
        if let Some(record) = self.record_throughout(from, to) {
            return Some(record);
        }
        let [newer, older] = &self.worst;
        let begins = |worst: &WorstRecord| worst.since != 0 && worst.since < from;
        let mut record = match (begins(newer), begins(older)) {
            (true, _) => newer.record(),
            (false, true) if newer.since <= to => self.worse_of(&older.record(), &newer.record(), to),
            (false, true) => older.record(),
            _ => return None,
        };
        if self.record_since <= to {
            record = self.worse_of(&record, &self.record(to), to);
        }
        Some(record)
    }

    #[inline(never)]
    pub fn invariant(&self) -> Result<()> {
        let sound = self.spec.gpus >= 1
            && self.spec.gpus <= MAX_GPUS
            && self.gpu_mask & !self.all_gpus() == 0
            && (self.live_leases == 0) == (self.gpu_mask == 0)
            && self.price > 0
            && (self.spot_bps as u64) <= BPS
            && self.claims_missing <= self.spec.gpus
            && self.checks_passed <= self.checks_total
            && self.uptime_bps <= 10_000
            && self.guarantee_sound()
            && self.reserved_stake <= self.stake
            && self.availability.is_sound(self.free_gpus())?
            && self.cut_leases <= self.open_leases
            && self.shares_len as usize <= FIGURE_PERIODS
            && self.slow_periods < SLOW_PERIODS
            && (self.class_since == 0 || self.shares_len > 0)
            && (self.pending_node_faults == 0) == (self.frozen_from == 0)
            && (NODE_ACTIVE..=NODE_SUSPENDED).contains(&self.status);
        require!(sound, MarketError::InvariantBroken);
        Ok(())
    }
}
