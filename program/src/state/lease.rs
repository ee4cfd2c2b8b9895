//! A lease: one node's work for one order, with the seconds that are owed and the money for them.
//!
//! A lease keeps the price, fee and slash terms that it was awarded under.

use anchor_lang::prelude::*;

use crate::constants::{RATING_SECS_PER_PAID, SPOT_LEAST_NOTICES};
use crate::errors::{MarketError, OrOverflow};
use crate::math::fees::bps_of;
use crate::math::pricing::cost;

/// The node is chosen and has not started.
pub const LEASE_AWARDED: u8 = 1;
pub const LEASE_RUNNING: u8 = 2;
/// A finalised report says that the node was gone for too long; anyone may end the lease.
pub const LEASE_FAILED: u8 = 3;
/// Over; last claims may still be settled.
pub const LEASE_ENDED: u8 = 4;

pub const ENDED_BY_CUSTOMER: u8 = 1;
pub const ENDED_BY_PROVIDER: u8 = 2;
pub const ENDED_UNFUNDED: u8 = 3;
pub const ENDED_FAILED: u8 = 4;
pub const ENDED_JOB_DONE: u8 = 5;

/// Why a node declines a lease before its start: the job cannot run on it, the image did not arrive, the job came later
/// than what was ordered would have taken, the price fell, or the node has no direct connection with the order's others.
pub const DECLINED_JOB: u8 = 1;
pub const DECLINED_IMAGE: u8 = 2;
pub const DECLINED_LATE: u8 = 3;
pub const DECLINED_PRICE: u8 = 4;
pub const DECLINED_APART: u8 = 5;

/// Not a redundant job: nothing is compared.
pub const OUTPUT_NONE: u8 = 0;
/// Redundant, and nothing committed yet.
pub const OUTPUT_WANTED: u8 = 1;
pub const OUTPUT_COMMITTED: u8 = 2;
pub const OUTPUT_REVEALED: u8 = 3;
/// What the majority had: it is paid.
pub const OUTPUT_ACCEPTED: u8 = 4;
/// Another output than the majority's, or none, or there was no majority: it is not paid.
pub const OUTPUT_REJECTED: u8 = 5;
/// Committed to and not revealed in time: it is not paid, and its node is yet to forfeit stake for it.
pub const OUTPUT_WITHHELD: u8 = 6;

#[account]
pub struct Lease {
    pub order: Address,
    pub node: Address,
    pub provider: Address,
    pub customer: Address,
    /// Wallet of the keeper that awarded the lease.
    pub keeper: Address,
    /// Signer of that keeper at the award.
    pub rent_payer: Address,
    /// sha256 of how to reach the container, signed in by the node at the start.
    pub connection_hash: [u8; 32],
    /// sha256 of the last checkpoint that the node has put down; zero when there is none.
    pub checkpoint_hash: [u8; 32],
    /// Of a redundant job: the node's commitment to its output, then the output's sha256.
    pub output_hash: [u8; 32],
    /// Ed25519 key of the node, for receipts.
    pub node_key: Address,
    pub domain: [u8; 8],
    /// µUSDC per GPU-hour, of what was not paid yet when it last changed.
    pub price: u64,
    /// Score of the node at the award, or the best that was since shown to have been there; 0 when the award cannot be
    /// contested.
    pub score: u64,
    /// Price and score as they were at the award, and what its keeper owes for it since: base units of its bond.
    pub award_price: u64,
    pub award_score: u64,
    pub unjust_due: u64,
    /// µUSDC that Credits holds for this lease: what may still be owed, and the fee not yet swept.
    pub reserved: u64,
    /// µUSDC owed so far by paid-for seconds, fee included.
    pub paid: u64,
    /// µUSDC for the first `repriced_secs` seconds: what they cost before the price fell. 0 if it never did.
    pub repriced_paid: u64,
    /// Of a redundant job: base units of the node's stake that not revealing a committed output costs.
    pub forfeit: u64,
    pub receipt_sequence: u64,
    /// What faults have compensated of what it has paid, µUSDC.
    pub compensated: u64,
    /// Last period whose leaf was applied.
    pub last_report_period: u64,
    pub awarded_at: i64,
    /// 0 before the start.
    pub started_at: i64,
    /// No work after this is owed.
    pub funded_until: i64,
    /// 0 while the lease runs.
    pub ended_at: i64,
    /// When the provider gave notice; 0 when it did not.
    pub notice_at: i64,
    /// When its output was compared with the others'; 0 before, and for a lease that is not redundant.
    pub resolved_at: i64,
    /// Until then its award may be shown to be unjust.
    pub challenge_until: i64,
    /// When the lease had failed that it continues; 0 when it continues none.
    pub failed_at: i64,
    /// End of the guarantee that has counted it while it was open, see `guarantee_resolve`; 0 for none.
    pub counted_until: i64,
    /// Until when it had its GPUs, if a conviction of its node ended it earlier; else 0.
    pub occupied_until: i64,
    /// Only ever grows.
    pub paid_secs: u32,
    /// Seconds that were served when the price fell.
    pub repriced_secs: u32,
    /// Largest cumulative seconds of a receipt.
    pub receipt_secs: u32,
    /// Sum of verified seconds in finalised reports.
    pub verified_secs: u32,
    /// Never billed.
    pub downtime_secs: u32,
    /// Which of the periods up to the last were applied: see [`crate::math::window`].
    pub report_window: u32,
    /// The last conviction of its node that has compensated it, and which of those before have.
    pub last_fault: u32,
    pub fault_window: u32,
    /// Funded when it starts.
    pub duration_secs: u32,
    /// Terms.
    pub notice_secs: u32,
    pub settle_secs: u32,
    pub rating_secs: u32,
    /// Downtime in one report above which it has failed.
    pub grace_secs: u32,
    pub fee_bps: u16,
    /// Of the fee, the part of the keeper that awarded it; 0 once the award was shown to be unjust.
    pub award_bps: u16,
    pub slash_offline_bps: u16,
    pub slash_bad_work_bps: u16,
    pub gpu_mask: u16,
    pub gpus: u8,
    pub status: u8,
    pub end_reason: u8,
    /// 1 to 5; 0 before.
    pub rating: u8,
    pub run_to_completion: u8,
    pub pending_faults: u8,
    /// 1 when it goes on where a failed lease of the same order stopped.
    pub continues: u8,
    /// 1 when its remaining time may move to another node after a failure.
    pub may_migrate: u8,
    pub version: u8,
    pub bump: u8,
    /// `OUTPUT_*`.
    pub output: u8,
    /// 1 once its customer has disputed it.
    pub disputed: u8,
    /// 1 once it ended after the node had served as long as it had to.
    pub kept_word: u8,
    /// 1 once a conviction has ended it: what was not paid by then never is.
    pub cut: u8,
    /// Open faults of the lease that keep it from being paid.
    pub frozen: u8,
    /// 1 once its price fell because its award was unjust: its provider may end it at once.
    pub repriced: u8,
    /// 1 when the keeper that awarded it had made the first award of its auction.
    pub of_first_keeper: u8,
    /// 1 once it failed because its node was away by the keepers' votes, before the report: its fault is there already.
    pub away: u8,
    /// 1 when it may end at a short notice: its node promised no more, see [`Lease::promised_secs`].
    pub interruptible: u8,
    pub pad: [u8; 7],
}

impl Lease {
    /// Seconds that can at most be owed at `now`.
    pub fn billable_secs(&self, now: i64) -> u32 {
        if self.started_at == 0 {
            return 0;
        }
        let mut until = now.min(self.funded_until);
        if self.ended_at != 0 {
            until = until.min(self.ended_at);
        }
        let elapsed = until.saturating_sub(self.started_at).max(0);
        u32::try_from(elapsed).unwrap_or(u32::MAX).saturating_sub(self.downtime_secs)
    }

    /// What `seconds` of this lease cost, fee included, each part rounded down. At least as many as were paid. Those that
    /// were served before the price fell keep what they cost.
    pub fn owed(&self, seconds: u32) -> Result<u64> {
        if seconds >= self.repriced_secs {
            let rest = seconds.checked_sub(self.repriced_secs).or_overflow()?;
            return self.repriced_paid.checked_add(cost(self.price, self.gpus, rest)?).or_overflow();
        }
        let part = seconds.checked_sub(self.paid_secs).or_overflow()?;
        let whole = self.repriced_secs.checked_sub(self.paid_secs).or_overflow()?;
        let worth = self.repriced_paid.checked_sub(self.paid).or_overflow()?;
        let due = (worth as u128).checked_mul(part as u128).and_then(|due| due.checked_div(whole as u128));
        self.paid.checked_add(u64::try_from(due.or_overflow()?).ok().or_overflow()?).or_overflow()
    }

    /// Until when only its customer may close it without a rating. A lease that paid little holds the rent of its keeper for
    /// little time.
    pub fn rating_until(&self) -> Result<i64> {
        let secs = self.paid_secs.saturating_mul(RATING_SECS_PER_PAID).min(self.rating_secs);
        self.ended_at.checked_add(secs as i64).or_overflow()
    }

    /// Seconds at `now` that an awarded lease has kept its machine, `most` at most.
    pub fn held_secs(&self, most: u32, now: i64) -> u32 {
        u32::try_from(now.saturating_sub(self.awarded_at).max(0)).unwrap_or(u32::MAX).min(most)
    }

    /// Its award was unjust: its keeper has no share of its fee, and what is served from now on costs no more than the better
    /// offer did. Who has served knew nothing of it. Returns what the award made it dearer in all the time to contest it, by the price that is left or by that
    /// at which its node would have scored alike, whichever is lower.
    pub fn reprice(&mut self, better_price: u64, better_score: u64, now: i64) -> Result<u64> {
        self.score = better_score;
        self.award_bps = 0;
        if better_price < self.price {
            let served = self.billable_secs(now);
            (self.repriced_paid, self.repriced_secs) = (self.owed(served)?, served);
            self.price = better_price;
            self.repriced = 1;
        }
        let alike = (self.award_price as u128).checked_mul(better_score as u128);
        let alike = alike.and_then(|product| product.checked_div(self.award_score as u128)).or_overflow()?;
        let worth = u64::try_from(alike).ok().or_overflow()?.min(self.price);
        let gain = self.award_price.checked_sub(worth).or_overflow()?;
        let contested = self.challenge_until.checked_sub(self.awarded_at).or_overflow()?;
        cost(gain, self.gpus, u32::try_from(contested).ok().or_overflow()?)
    }

    /// The protocol's share of all that was owed so far.
    pub fn fee_total(&self) -> Result<u64> {
        bps_of(self.paid, self.fee_bps)
    }

    /// The seconds that its node promised: all that it is funded for. Of an interruptible lease what it has served, and
    /// its notice.
    fn promised_secs(&self) -> Result<u32> {
        let extended = self.funded_until.saturating_sub(self.started_at).max(0);
        let funded = match self.started_at {
            0 => self.duration_secs,
            _ => u32::try_from(extended).ok().or_overflow()?,
        };
        if self.interruptible == 0 {
            return Ok(funded);
        }
        let served = self.billable_secs(self.ended_at);
        Ok(funded.min(served.saturating_add(self.notice_secs)).max(self.paid_secs))
    }

    /// The protocol's share of all the time that its node promised.
    pub fn fee_promised(&self) -> Result<u64> {
        bps_of(self.owed(self.promised_secs()?)?, self.fee_bps)
    }

    /// From when on its provider may end it, once it has given notice.
    pub fn notice_over(&self) -> Result<i64> {
        let over = self.notice_at.checked_add(self.notice_secs as i64).or_overflow()?;
        if self.interruptible == 0 {
            return Ok(over);
        }
        let least = self.notice_secs.checked_mul(SPOT_LEAST_NOTICES).or_overflow()?;
        Ok(over.max(self.started_at.checked_add(least as i64).or_overflow()?))
    }

    /// What the provider has received so far.
    pub fn provider_total(&self) -> Result<u64> {
        self.paid.checked_sub(self.fee_total()?).or_overflow()
    }

    /// False while the outputs of a redundant job wait to be compared, and for ever when this one lost.
    pub fn payable(&self) -> bool {
        matches!(self.output, OUTPUT_NONE | OUTPUT_ACCEPTED)
    }

    /// What the work is worth whose output lost, as far as receipts or reports show it. Its customer owes it to nobody and
    /// gets nothing of it back: else whoever makes outputs differ would have others work for free.
    pub fn lost_worth(&self, now: i64) -> Result<u64> {
        if self.output != OUTPUT_REJECTED {
            return Ok(0);
        }
        self.owed(self.shown_secs(now))
    }

    /// The larger of what receipts and reports claim, as far as the time before `until` can be owed.
    fn shown_secs(&self, until: i64) -> u32 {
        self.receipt_secs.max(self.verified_secs).min(self.billable_secs(until))
    }

    /// Moves paid-for seconds forward to the larger claim, within what can be owed for the time before `until`, and
    /// returns what the provider gets for it now. Settling the same second twice yields 0.
    pub fn settle(&mut self, until: i64) -> Result<u64> {
        if !self.payable() || self.frozen > 0 {
            return Ok(0);
        }
        let seconds = self.shown_secs(until);
        if seconds <= self.paid_secs {
            return Ok(0);
        }
        let before = self.provider_total()?;
        (self.paid, self.paid_secs) = (self.owed(seconds)?, seconds);
        let payment = self.provider_total()?.checked_sub(before).or_overflow()?;
        self.reserved = self.reserved.checked_sub(payment).or_overflow()?;
        Ok(payment)
    }

    /// Seconds that were paid, and those that may still be: whoever is paid can hold a payment up, not a claim.
    pub fn claimed_secs(&self, now: i64) -> u32 {
        let lost = matches!(self.output, OUTPUT_REJECTED | OUTPUT_WITHHELD);
        let claimed = if lost { 0 } else { self.shown_secs(now) };
        claimed.max(self.paid_secs)
    }

    /// Seconds that receipts or reports claim and that are not paid for.
    pub fn unsettled_secs(&self, now: i64) -> u32 {
        if !self.payable() {
            return 0;
        }
        self.shown_secs(now).saturating_sub(self.paid_secs)
    }

    /// Of the reservation, what can no longer be owed at the end fixed in `ended_at`.
    pub fn excess(&self) -> Result<u64> {
        let most = self.owed(self.billable_secs(self.ended_at))?;
        let needed = most.checked_sub(self.provider_total()?).or_overflow()?;
        self.reserved.checked_sub(needed).or_overflow()
    }

    /// Seconds that were funded and were not delivered, at the end fixed in `ended_at`: time after it, and downtime.
    pub fn undelivered_secs(&self) -> Result<u32> {
        let funded = self.funded_until.checked_sub(self.started_at).or_overflow()?;
        let funded = u32::try_from(funded).ok().or_overflow()?;
        funded.checked_sub(self.billable_secs(self.ended_at)).or_overflow()
    }

    /// From when on its last claims may be settled: its end, or when its output was accepted, whichever came last.
    pub fn claimable_since(&self) -> i64 {
        self.ended_at.max(self.resolved_at)
    }

    /// Whether its award can still be shown to be unjust.
    pub fn contestable(&self, now: i64) -> bool {
        self.score != 0 && now <= self.challenge_until
    }

    /// Whether the lease has failed and its remaining time may move to another node.
    pub fn can_migrate(&self) -> Result<bool> {
        Ok(self.status == LEASE_FAILED && self.may_migrate == 1 && self.undelivered_secs()? > 0)
    }

    #[inline(never)]
    pub fn invariant(&self, now: i64) -> Result<()> {
        let sound = self.paid_secs <= self.billable_secs(now)
            && self.paid == self.owed(self.paid_secs)?
            && self.reserved >= self.fee_total()?
            && (LEASE_AWARDED..=LEASE_ENDED).contains(&self.status)
            && self.output <= OUTPUT_WITHHELD
            && (self.payable() || self.paid == 0)
            && (self.resolved_at != 0) == (self.output >= OUTPUT_ACCEPTED)
            && (self.ended_at != 0) == (self.status >= LEASE_FAILED);
        require!(sound, MarketError::InvariantBroken);
        Ok(())
    }
}
