//! Applies a leaf of a final report to its node and lease, whether or not it opens a fault.

use anchor_lang::prelude::*;

use crate::constants::{
    EVIDENCE_SECS, FLAGS_NODE, FLAG_BAD_OUTPUT, FLAG_OFFLINE, FLAG_SLOW, FLAG_UNHEALTHY, LEAF_LEN, MAX_PROOF,
    SECONDS_PER_HOUR,
};
use crate::errors::{fail, MarketError, OrOverflow};
use crate::events::{LeafApplied, LeaseFailed};
use crate::math::evidence::key_root;
use crate::math::fees::{bps_of, share};
use crate::math::merkle::root_of;
use crate::math::periods::period_end;
use crate::math::reputation::next_uptime_bps;
use crate::math::slashing::harm_in_stake;
use crate::math::window::mark;
use crate::state::{Leaf, LeafBytes, Lease, Node, Params, Report, LEASE_FAILED, LEASE_RUNNING, REPORT_FINAL};

/// The lease that a leaf names, as it is now.
pub enum LeafLease<'a> {
    Live(&'a mut Account<Lease>),
    /// Closed since: what the leaf says of the node still counts. Otherwise closing a lease would make its last leaves,
    /// and the node's faults in them, unreachable.
    Closed,
    /// The leaf names none.
    None,
}

impl<'a> LeafLease<'a> {
    /// The leaf's lease among the two optional accounts of a call: a live lease, or the address of a closed one.
    pub fn of(
        leaf: &[u8; LEAF_LEN],
        live: Option<&'a mut Account<Lease>>,
        closed: Option<&UncheckedAccount>,
    ) -> Result<Self> {
        let named = Address::new_from_array(LeafBytes::of(leaf).lease);
        if named == Address::default() {
            return Ok(Self::None);
        }
        match (live, closed) {
            (Some(lease), _) if *lease.address() == named => Ok(Self::Live(lease)),
            (Some(_), _) => fail(MarketError::InvalidLeaf),
            (None, Some(gone)) if *gone.address() == named && !gone.account().owned_by(&crate::ID) => {
                Ok(Self::Closed)
            }
            (None, Some(_)) => fail(MarketError::WrongAccount),
            (None, None) => fail(MarketError::MissingAccount),
        }
    }
}

/// A leaf as it comes in, with what leads from it to the report's root.
pub struct LeafProof<'a> {
    pub data: &'a [u8; LEAF_LEN],
    pub path: u32,
    pub siblings: &'a [[u8; 32]],
}

/// A leaf that is shown to be in a final report.
pub struct Proven {
    pub leaf: Leaf,
    /// The flags that this application is the first to bring in: those about the node come once a period, even when the
    /// node has several leases and so several leaves.
    pub flags: u16,
}

/// Checks the proof and applies the leaf to node and lease, once for each of them.
pub fn apply(
    LeafProof { data, path, siblings }: LeafProof,
    report: &Report,
    params: &Params,
    node: &mut Account<Node>,
    lease: &mut LeafLease,
    now: i64,
) -> Result<Proven> {
    require!(report.status == REPORT_FINAL, MarketError::ReportNotFinal);
    require!(
        siblings.len() <= MAX_PROOF && root_of(data, path, siblings) == report.root,
        MarketError::InvalidProof
    );
    let leaf = Leaf::parse(data, params.period_secs)?;
    require!(leaf.period == report.period && leaf.node == *node.address(), MarketError::InvalidLeaf);
    let mut slow = false;
    let node_window = mark(node.last_report_period, node.report_window, leaf.period);
    if let Some((last, window)) = node_window {
        node.last_report_period = last;
        node.report_window = window;
        let record = node.record(now);
        slow = apply_to_node(&leaf, params, node, now)?;
        node.keep_record(&record, now);
    }
    let node_is_new = node_window.is_some();
    let (mut lease_is_new, mut gone_too_long) = (false, false);
    if let LeafLease::Live(lease) = lease {
        require!(lease.node == leaf.node && lease.started_at != 0, MarketError::InvalidLeaf);
        // Of a lease that had this address before it the leaf says nothing that counts here.
        let same = lease.started_at < period_end(leaf.period, params.period_secs)?;
        let mark = mark(lease.last_report_period, lease.report_window, leaf.period).filter(|_| same);
        if let Some((last, window)) = mark {
            lease_is_new = true;
            lease.last_report_period = last;
            lease.report_window = window;
            // Of an outage that keepers voted about, the fault is there already.
            gone_too_long = leaf.downtime_secs > lease.grace_secs && lease.away == 0;
            apply_to_lease(&leaf, params, lease, now)?;
        }
    }
    require!(node_is_new || lease_is_new, MarketError::AlreadyApplied);
    let mut flags = 0;
    if node_is_new {
        flags |= leaf.flags & FLAGS_NODE;
        if slow {
            flags |= FLAG_SLOW;
        }
    }
    if lease_is_new {
        flags |= leaf.flags & FLAG_BAD_OUTPUT;
        if gone_too_long {
            flags |= leaf.flags & FLAG_OFFLINE;
        }
    }
    emit!(LeafApplied {
        node: leaf.node,
        // None when the leaf says something new of the node alone.
        lease: if lease_is_new { leaf.lease } else { Address::default() },
        period: leaf.period,
        flags: leaf.flags,
        verified_secs: leaf.verified_secs,
        downtime_secs: leaf.downtime_secs,
    });
    Ok(Proven { leaf, flags })
}

/// Returns whether the machine is slow, which is a fault as if the leaf had a flag for it.
fn apply_to_node(leaf: &Leaf, params: &Params, node: &mut Account<Node>, now: i64) -> Result<bool> {
    node.checks_passed = node.checks_passed.checked_add(leaf.checks_passed as u64).or_overflow()?;
    node.checks_total = node.checks_total.checked_add(leaf.checks_total as u64).or_overflow()?;
    let unhealthy = leaf.flags & FLAG_UNHEALTHY != 0;
    // A period that an unhealthy machine was up counts half.
    let up_secs = if unhealthy { leaf.up_secs / 2 } else { leaf.up_secs };
    node.uptime_bps = next_uptime_bps(node.uptime_bps, up_secs, params.period_secs);
    node.downtime_secs = node.downtime_secs.saturating_add(leaf.downtime_secs as u64);
    node.count_period(leaf.period, leaf.up_secs, params.period_secs)?;
    let (reached, slow) = node.note_figures(leaf, params, now)?;
    if leaf.checks_passed > 0 && leaf.flags & FLAGS_NODE == 0 && reached {
        node.up_secs = node.up_secs.checked_add(up_secs as u64).or_overflow()?;
        node.good_since = node.good_since.max(period_end(leaf.period, params.period_secs)?);
    }
    // What a late leaf says of the machine as it is has been overtaken by a later one.
    if leaf.period != node.last_report_period {
        node.invariant()?;
        return Ok(slow);
    }
    node.note_health(unhealthy, leaf.period, params.period_secs, now)?;
    if leaf.evidence_hash == [0; 32] {
        // Nobody looked at evidence, or there was none to look at: that makes no tier, and no tier last longer.
        node.tier = node.tier.min(leaf.tier);
    } else {
        // A simulated GPU stays at tier 0, whatever a report says.
        if node.spec.simulated == 0 {
            node.tier = leaf.tier;
            node.evidence_expiry =
                period_end(leaf.period, params.period_secs)?.checked_add(EVIDENCE_SECS).or_overflow()?;
        }
        if key_root(&leaf.evidence_hash) != key_root(&node.evidence_hash) {
            node.keys_until = 0;
        }
        node.evidence_hash = leaf.evidence_hash;
    }
    if leaf.device_root != [0; 32] {
        // A node of the first layout has no root yet, and holds all its claims: what keepers see there is its own.
        if node.device_root == [0; 32] {
            node.device_root = leaf.device_root;
        }
        node.devices_seen = u8::from(leaf.device_root == node.device_root);
    }
    node.invariant()?;
    Ok(slow)
}

fn apply_to_lease(leaf: &Leaf, params: &Params, lease: &mut Account<Lease>, now: i64) -> Result<()> {
    lease.verified_secs = lease.verified_secs.checked_add(leaf.verified_secs).or_overflow()?;
    let gone_too_long = leaf.flags & FLAG_OFFLINE != 0 && leaf.downtime_secs > lease.grace_secs;
    if gone_too_long && lease.status == LEASE_RUNNING {
        let end = period_end(leaf.period, params.period_secs)?;
        // Receipts may have run ahead of the report: what they paid for lies before the end.
        let paid_until = lease.paid_until()?;
        lease.status = LEASE_FAILED;
        lease.ended_at = end.min(now).min(lease.funded_until).max(paid_until);
        emit!(LeaseFailed { lease: *lease.address(), period: leaf.period, ended_at: lease.ended_at });
    }
    // Time that is paid for already stays paid for: both sides signed for it.
    let billable = lease.billable_secs(now);
    let mut most = billable.checked_sub(lease.paid_secs).or_overflow()?;
    if lease.away == 1 {
        // It ended at the node's last answer. A report that counts the silence after it takes nothing from what was proven.
        most = most.min(billable.saturating_sub(lease.verified_secs));
    }
    lease.downtime_secs = lease.downtime_secs.checked_add(leaf.downtime_secs.min(most)).or_overflow()?;
    lease.invariant(now)
}

/// What each class of flags costs for the whole node, in the order of `Fault::costs`: what its cause has not cost yet.
pub fn node_costs(params: &Params, node: &Node, now: i64) -> Result<[u64; 4]> {
    let fraud = node.cause_left(params.slash_fraud_bps, now)?;
    Ok([fraud, node.cause_left(params.slash_work_failed_bps, now)?, 0, 0])
}

/// What they cost for one lease, at its terms: the part of the node's stake that its GPUs are, and for bad output at
/// least so much that the victims' half makes good what was paid. Silence is no proof of a bad machine: it costs an hour
/// of the lease at most.
#[inline(never)]
pub fn lease_costs(params: &Params, node: &Node, lease: &Lease, reference_price: u64) -> Result<[u64; 4]> {
    let stake = share(node.required_stake, lease.gpus as u16, node.spec.gpus as u64)?;
    let in_stake = |seconds| harm_in_stake(lease.worth(seconds, reference_price)?, params.stake_price);
    let paid = in_stake(lease.paid_secs)?;
    let whole = paid.checked_mul(5).and_then(|five| five.checked_div(2)).or_overflow()?;
    let bad_output = bps_of(stake, lease.slash_bad_work_bps)?.max(whole);
    let offline = bps_of(stake, lease.slash_offline_bps)?.min(in_stake(SECONDS_PER_HOUR as u32)?);
    Ok([0, 0, bad_output, offline])
}
