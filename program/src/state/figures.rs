//! What keepers have measured of a machine, and whether it is of its class by that.
//!
//! Each period in which it was measured gives a share of what its model's terms ask for: its weakest GPU's, at most the
//! whole. A machine is awarded nothing while the mean of its last shares is too small, before it has any, or after a whole
//! period in which it was free and yet not measured: nodes that take turns with one GPU are not sold together. It is slow,
//! which is a fault, when none of [`Params::slow_periods`] shares in a row is enough: a machine that is hot or busy for some
//! hours loses work and no stake, and keepers that lie must have had most of its committee so often in a row.

use anchor_lang::prelude::*;

use crate::constants::{FIGURES_BPS, FIGURE_PERIODS, KIND_WORK};
use crate::errors::OrOverflow;
use crate::math::figures::{in_class, share_bps};
use crate::math::periods::{period_end, period_of};
use crate::state::{GpuModel, Leaf, Node, Params, Statement, NODE_ACTIVE, NODE_DRAINING};

impl Node {
    /// Whether it is held to figures.
    fn calibrated(&self) -> bool {
        self.min_operations > 0 || self.min_bandwidth > 0
    }

    fn share_of(&self, operations: u32, bandwidth: u32) -> u16 {
        share_bps(operations, bandwidth, self.min_operations, self.min_bandwidth)
    }

    fn shares(&self) -> &[u16] {
        self.shares.get(..self.shares_len as usize).unwrap_or_default()
    }

    /// From `now` on the node is held to the terms that are in force for its model.
    pub fn take_terms(&mut self, model: &GpuModel, now: i64) {
        if (self.min_operations, self.min_bandwidth) != (model.min_operations, model.min_bandwidth) {
            self.forget_shares();
        }
        self.min_operations = model.min_operations;
        self.min_bandwidth = model.min_bandwidth;
        self.reference_price = model.reference_price;
        self.terms_at = now;
    }

    /// What was measured before does not count any more.
    pub fn forget_shares(&mut self) {
        self.shares = [0; FIGURE_PERIODS];
        self.shares_len = 0;
        self.slow_periods = 0;
        self.class_since = 0;
    }

    /// Takes over what a leaf has measured. Returns whether it does not show that the machine is less than its class, and
    /// whether it makes the machine slow: then all shares are used up.
    #[inline(never)]
    pub fn note_figures(&mut self, leaf: &Leaf, params: &Params, now: i64) -> Result<(bool, bool)> {
        let period_secs = params.period_secs;
        let newest = leaf.period == self.last_report_period;
        if newest {
            self.take_figures(leaf, now);
        }
        if !self.calibrated() {
            return Ok((true, false));
        }
        let end = period_end(leaf.period, period_secs)?;
        let start = end.checked_sub(period_secs as i64).or_overflow()?;
        // It was measured by terms that it did not know then, or for a cause that it was slashed for.
        if start < self.terms_at.max(self.mended_at) {
            return Ok((true, false));
        }
        if !leaf.measured() {
            let free = || self.availability.free_throughout(start, end) == Some(self.spec.gpus);
            if newest && self.class_since != 0 && free() {
                self.class_since = 0;
            }
            return Ok((true, false));
        }
        let share = self.share_of(leaf.operations, leaf.bandwidth);
        self.shares.rotate_right(1);
        if let Some(first) = self.shares.first_mut() {
            *first = share;
        }
        self.shares_len = self.shares_len.saturating_add(1).min(FIGURE_PERIODS as u8);
        let reached = share >= FIGURES_BPS;
        self.slow_periods = if reached { 0 } else { self.slow_periods.saturating_add(1) };
        if self.slow_periods >= params.slow_periods() {
            self.forget_shares();
            return Ok((reached, true));
        }
        if !in_class(self.shares()) {
            self.class_since = 0;
        } else if newest && self.class_since == 0 {
            // It was awake when it was measured, and has been since.
            let awake = matches!(self.status, NODE_ACTIVE | NODE_DRAINING);
            if awake && leaf.period >= period_of(self.available_since, period_secs)? {
                self.class_since = now;
            }
        }
        Ok((reached, false))
    }

    /// The last figures, whatever they are worth.
    fn take_figures(&mut self, leaf: &Leaf, now: i64) {
        if leaf.measured() {
            (self.operations, self.bandwidth) = (leaf.operations, leaf.bandwidth);
            self.measured_period = leaf.period;
            self.figures_at = now;
        }
        if leaf.down_mbps != 0 || leaf.up_mbps != 0 {
            (self.down_mbps, self.up_mbps) = (leaf.down_mbps, leaf.up_mbps);
            self.figures_at = now;
        }
    }

    /// Whether it was of its class before `since` and has been ever since, and with `asked` has had the figures so long.
    pub fn figures_before(&self, since: i64, asked: bool) -> bool {
        (self.class_since < since || !self.calibrated()) && (!asked || self.figures_at < since)
    }

    /// Whether a statement says that the machine is of its class.
    pub fn shows_class(&self, statement: &Statement) -> bool {
        statement.kind == KIND_WORK
            && statement.passed
            && self.share_of(statement.first_figure, statement.second_figure) >= FIGURES_BPS
    }
}
