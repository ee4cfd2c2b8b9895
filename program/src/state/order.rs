//! An order: what a customer asks for, and the credits that are reserved for it.

use anchor_lang::prelude::*;

use crate::constants::{ANY_MODEL, BPS, MAX_GPUS, MAX_ISOLATION, MAX_ORDER_NODES};
use crate::errors::{MarketError, OrOverflow};
use crate::math::reputation::reputation_of;
use crate::state::{GpuModel, Node, NodeRecord};

/// Waits for awards.
pub const ORDER_OPEN: u8 = 1;
/// Every node it wanted is awarded.
pub const ORDER_AWARDED: u8 = 2;
/// Its award deadline passed: leases that it has may only be aborted.
pub const ORDER_EXPIRED: u8 = 3;
/// A lease of it was aborted because its node did not start.
pub const ORDER_LAPSED: u8 = 4;

/// A node satisfies it or not, by fields on chain alone.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, AnchorSerialize, AnchorDeserialize, IdlType)]
pub struct Requirement {
    /// Prefix of the node's region; zero bytes end it.
    pub region: [u8; 16],
    /// Per GPU; 0 for any.
    pub min_vram_mib: u32,
    /// Dense FP16 TFLOPS × 10 of the model; 0 for any.
    pub min_tflops_x10: u32,
    /// Id of the GPU model; 0 for any that has the TFLOPS or the operations.
    pub model: u16,
    pub min_uptime_bps: u16,
    pub min_reputation_bps: u16,
    /// At least this class: 0 PCIe, 1 NVLink, 2 NVSwitch.
    pub min_interconnect: u8,
    pub min_tier: u8,
    /// 1 when all nodes of the order must share a site.
    pub same_site: u8,
    /// 1 when simulated GPUs will do.
    pub allow_simulated: u8,
    /// 1 when a node must be guaranteed until the latest end that the order can have.
    pub guaranteed: u8,
    /// At least this isolation, see `NodeSpec::isolation`.
    pub min_isolation: u8,
    /// What keepers must have measured at least, when they last did: 10⁹ int8 operations and 10⁶ bytes of memory a second
    /// of the weakest GPU, and Mbit/s of the network; 0 for any.
    pub min_operations: u32,
    pub min_bandwidth: u32,
    pub min_down_mbps: u32,
    pub min_up_mbps: u32,
}

impl Requirement {
    pub fn validate(&self) -> Result<()> {
        let sound = (self.model != ANY_MODEL || self.min_tflops_x10 > 0 || self.min_operations > 0)
            && (self.min_uptime_bps as u64) <= BPS
            && (self.min_reputation_bps as u64) <= BPS
            && self.min_interconnect <= 2
            && self.min_tier <= 3
            && self.same_site <= 1
            && self.allow_simulated <= 1
            && self.guaranteed <= 1
            && self.min_isolation <= MAX_ISOLATION;
        require!(sound, MarketError::InvalidRequirement);
        Ok(())
    }

    /// Whether it asks for what keepers have measured.
    pub fn asks_for_figures(&self) -> bool {
        (self.min_operations | self.min_bandwidth | self.min_down_mbps | self.min_up_mbps) != 0
    }

    /// Whether the node may serve `gpus` GPUs with this record from `now` to `end` at the latest. Its status, price and
    /// stake are checked elsewhere.
    #[allow(clippy::too_many_arguments)]
    pub fn satisfied_by(
        &self,
        node: &Node,
        model: &GpuModel,
        gpus: u8,
        site: &[u8; 16],
        record: &NodeRecord,
        now: i64,
        end: i64,
    ) -> Result<()> {
        require!(node.free_gpus() >= gpus, MarketError::NotEnoughGpus);
        self.suited_by(node, model, site, record, now, end)
    }

    /// The same, whichever of its GPUs are free.
    pub fn suited_by(
        &self,
        node: &Node,
        model: &GpuModel,
        site: &[u8; 16],
        record: &NodeRecord,
        now: i64,
        end: i64,
    ) -> Result<()> {
        let NodeRecord { score: record, guarantee } = record;
        // A node that does not know its model's terms cannot be held to them: it gets nothing new until it does.
        let model_suits = (self.model == ANY_MODEL || self.model == model.id)
            && model.tflops_x10 >= self.min_tflops_x10
            && node.terms_at >= model.since;
        require!(model_suits && node.spec.model == model.id, MarketError::UnsuitableModel);
        require!(node.claims_missing == 0, MarketError::DevicesMissing);
        let hardware_suits = node.spec.vram_mib >= self.min_vram_mib
            && node.spec.interconnect >= self.min_interconnect
            && record.tier >= self.min_tier
            && record.tier >= model.min_tier
            && node.spec.simulated <= self.allow_simulated
            && node.spec.isolation >= self.min_isolation;
        require!(hardware_suits, MarketError::UnsuitableHardware);
        let figures_suit = (node.class_since != 0 || !model.calibrated())
            && node.operations >= self.min_operations
            && node.bandwidth >= self.min_bandwidth
            && node.down_mbps >= self.min_down_mbps
            && node.up_mbps >= self.min_up_mbps;
        require!(figures_suit, MarketError::UnsuitableFigures);
        let region_suits = self
            .region
            .iter()
            .zip(node.spec.region.iter())
            .all(|(wanted, given)| *wanted == 0 || wanted == given);
        let site_suits = self.same_site == 0 || (*site != [0; 16] && *site == node.spec.site);
        require!(region_suits && site_suits, MarketError::UnsuitableLocation);
        let reputation = reputation_of(record, node.registered_at, now);
        require!(
            record.uptime_bps >= self.min_uptime_bps && reputation >= self.min_reputation_bps,
            MarketError::UnsuitableReputation
        );
        require!(self.guaranteed != 1 || guarantee.until >= end, MarketError::UnsuitableGuarantee);
        Ok(())
    }
}

#[account]
pub struct Order {
    pub customer: Address,
    pub rent_payer: Address,
    /// sha256 of the image reference and command that the customer sends to the node.
    pub image_digest: [u8; 32],
    pub nonce: u64,
    /// µUSDC that the parts not yet awarded hold.
    pub reserved: u64,
    /// µUSDC per GPU-hour.
    pub max_price: u64,
    pub created_at: i64,
    pub award_deadline: i64,
    /// When its last node was awarded; 0 before.
    pub awarded_at: i64,
    /// When its auction takes no more commitments; 0 without one.
    pub auction_close: i64,
    /// Of a redundant order that is awarded in full: the last second in which outputs may be committed, and the last one
    /// in which they may be revealed. Once a lease of it has started, nothing moves them.
    pub outputs_by: i64,
    pub reveal_by: i64,
    /// A bit for each node that it was awarded to, which other nodes may share: a node without it never had a part of it.
    pub awarded_nodes: [u64; 2],
    pub requirement: Requirement,
    /// Site of the first node, when all must share it.
    pub site: [u8; 16],
    pub duration_secs: u32,
    /// Terms: from its last award to each lease's start, and what its leases have to settle.
    pub start_secs: u32,
    pub settle_secs: u32,
    pub nodes_wanted: u8,
    pub nodes_awarded: u8,
    /// Leases not yet closed.
    pub live_leases: u8,
    pub gpus_per_node: u8,
    pub mode: u8,
    /// 1 when the lease ends with its job: then the node may end it without notice.
    pub run_to_completion: u8,
    pub status: u8,
    /// The session key that placed the order, see [`crate::state::Credits::actor`]: what comes back is its again.
    pub session_slot: u8,
    /// Leases that continue a failed one and were not aborted.
    pub migrations: u8,
    /// 1 when a failed lease of this order must not move to another node.
    pub no_migration: u8,
    pub version: u8,
    pub bump: u8,
    /// 1 when all its nodes run the same job and their outputs are compared.
    pub redundant: u8,
    /// Outputs committed.
    pub outputs: u8,
    /// Leases that have started, those that continue another apart.
    pub started: u8,
    /// 1 when another keeper had to make awards that the keeper of the first one did not: that one earns nothing by it.
    pub stopped: u8,
}

impl Order {
    /// Nodes that are still to be awarded.
    pub fn nodes_missing(&self) -> Result<u8> {
        self.nodes_wanted.checked_sub(self.nodes_awarded).or_overflow()
    }

    /// The bit of a node in `awarded_nodes`.
    fn bit(node: &Address) -> (bool, u64) {
        let [byte, ..] = node.to_bytes();
        (byte & 64 != 0, 1u64 << (byte & 63))
    }

    /// Notes that a node has a part of it.
    pub fn note_award(&mut self, node: &Address) {
        let [low, high] = &mut self.awarded_nodes;
        match Self::bit(node) {
            (false, bit) => *low |= bit,
            (true, bit) => *high |= bit,
        }
    }

    /// False when the node certainly never had a part of it.
    pub fn may_have(&self, node: &Address) -> bool {
        let [low, high] = self.awarded_nodes;
        match Self::bit(node) {
            (false, bit) => low & bit != 0,
            (true, bit) => high & bit != 0,
        }
    }

    /// The site at which a better node would have had to stand, where all must share one.
    pub fn site_wanted<'a>(&'a self, own: &'a [u8; 16]) -> &'a [u8; 16] {
        if self.nodes_wanted > 1 {
            &self.site
        } else {
            own
        }
    }

    /// When it asked for nodes: what a report said of their health by then counts. For a sealed order that is the close
    /// of its auction.
    pub fn asked_at(&self) -> i64 {
        self.created_at.max(self.auction_close)
    }

    /// The end of a lease that starts as late as it may after an award at `awarded_at`, short of extensions.
    fn end_after(&self, awarded_at: i64) -> Result<i64> {
        awarded_at
            .checked_add(self.start_secs as i64)
            .and_then(|at| at.checked_add(self.duration_secs as i64))
            .or_overflow()
    }

    /// The latest end that a lease of it can have, short of extensions, by the terms that it was made under.
    pub fn latest_end(&self) -> Result<i64> {
        self.end_after(self.award_deadline)
    }

    /// Every node that it wanted is awarded.
    pub fn complete(&mut self, now: i64) -> Result<()> {
        self.status = ORDER_AWARDED;
        self.awarded_at = now;
        if self.redundant == 1 {
            let settle = self.settle_secs as i64;
            self.outputs_by = self.end_after(now)?.checked_add(settle).or_overflow()?;
            self.reveal_by = self.outputs_by.checked_add(settle).or_overflow()?;
        }
        Ok(())
    }

    /// Until when a lease must start that was awarded, with the whole order or as the continuation of another, at
    /// `awarded_at`.
    pub fn start_by(&self, awarded_at: i64) -> Result<i64> {
        awarded_at.checked_add(self.start_secs as i64).or_overflow()
    }

    /// Whether every node that can still commit to its output has: then nobody is left to copy what is revealed.
    pub fn outputs_are_committed(&self, now: i64) -> bool {
        self.outputs >= self.nodes_awarded || now > self.outputs_by
    }

    #[inline(never)]
    pub fn invariant(&self) -> Result<()> {
        let sound = self.nodes_wanted >= 1
            && self.nodes_wanted <= MAX_ORDER_NODES
            && self.nodes_awarded <= self.nodes_wanted
            && self.live_leases as u16 <= (self.nodes_awarded as u16).saturating_add(self.migrations as u16)
            && self.gpus_per_node >= 1
            && self.gpus_per_node <= MAX_GPUS
            && (self.status == ORDER_OPEN || self.reserved == 0)
            && self.redundant <= 1
            && self.outputs <= self.started
            && self.started <= self.nodes_awarded
            && (ORDER_OPEN..=ORDER_LAPSED).contains(&self.status);
        require!(sound, MarketError::InvariantBroken);
        Ok(())
    }
}
