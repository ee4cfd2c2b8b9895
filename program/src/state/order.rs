//! An order: what a customer asks for, and the credits that are reserved for it.

use anchor_lang::prelude::*;

use crate::constants::{
    ANY_MODEL, BPS, MAX_GPUS, MAX_ISOLATION, MAX_ORDER_MODELS, MAX_ORDER_NODES, PART_SECS, WHOLE_SECS,
};
use crate::errors::{MarketError, OrOverflow};
use crate::math::hash::sha256_of;
use crate::math::pricing::cost;
use crate::math::reputation::reputation_of;
use crate::state::{GpuModel, Node, NodeRecord};

/// Waits for awards.
pub const ORDER_OPEN: u8 = 1;
/// Every node it wanted is awarded.
pub const ORDER_AWARDED: u8 = 2;
/// Its time to be awarded passed: leases that it has may only be aborted.
pub const ORDER_EXPIRED: u8 = 3;
/// A node declined its lease, or did not start it.
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
    /// Ids of the GPU models of which any will do, ascending, then zeros; only zeros for any model that has the TFLOPS or
    /// the operations.
    pub models: [u16; MAX_ORDER_MODELS],
    pub min_uptime_bps: u16,
    pub min_reputation_bps: u16,
    /// CUDA of the driver, see [`NodeSpec::cuda`]; 0 for any.
    pub min_cuda: u16,
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
    /// What the order's GPUs bring along on each node, see [`NodeSpec::shares`]; 0 for any.
    pub min_cpu_cores: u32,
    pub min_ram_mib: u32,
    pub min_disk_gib: u32,
}

impl Requirement {
    pub fn validate(&self) -> Result<()> {
        let named = self.models != [ANY_MODEL; MAX_ORDER_MODELS];
        let sound = (named || self.min_tflops_x10 > 0 || self.min_operations > 0)
            && self.models_ascend()
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

    /// Whether each id is above the one before it, and nothing follows a zero: one set of models is written in one way.
    fn models_ascend(&self) -> bool {
        self.models
            .iter()
            .zip(self.models.iter().skip(1))
            .all(|(id, next)| *next == ANY_MODEL || (*id != ANY_MODEL && id < next))
    }

    /// Whether GPUs of a model will do.
    pub fn takes(&self, model: u16) -> bool {
        self.models == [ANY_MODEL; MAX_ORDER_MODELS] || self.models.contains(&model)
    }

    /// Whether it asks for what keepers have measured.
    pub fn asks_for_figures(&self) -> bool {
        (self.min_operations | self.min_bandwidth | self.min_down_mbps | self.min_up_mbps) != 0
    }

    /// Whether the node may serve `gpus` GPUs with this record from `now` to `end` at the latest. Its status, price and
    /// stake are checked elsewhere. Returns the reputation that the record gives at `now`.
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
    ) -> Result<u16> {
        require!(node.free_gpus() >= gpus, MarketError::NotEnoughGpus);
        self.suited_by(node, model, gpus, site, record, now, end)
    }

    /// The same, whichever of its GPUs are free.
    #[allow(clippy::too_many_arguments)]
    pub fn suited_by(
        &self,
        node: &Node,
        model: &GpuModel,
        gpus: u8,
        site: &[u8; 16],
        record: &NodeRecord,
        now: i64,
        end: i64,
    ) -> Result<u16> {
        let NodeRecord { score: record, guarantee } = record;
        // A node that does not know its model's terms cannot be held to them: it gets nothing new until it does.
        let model_suits =
            self.takes(model.id) && model.tflops_x10 >= self.min_tflops_x10 && node.terms_at >= model.since;
        require!(model_suits && node.spec.model == model.id, MarketError::UnsuitableModel);
        require!(node.claims_missing == 0, MarketError::DevicesMissing);
        let hardware_suits = node.spec.vram_mib >= self.min_vram_mib
            && node.spec.interconnect >= self.min_interconnect
            && record.tier >= self.min_tier
            && record.tier >= model.min_tier
            && node.spec.simulated <= self.allow_simulated
            && node.spec.isolation >= self.min_isolation;
        require!(hardware_suits, MarketError::UnsuitableHardware);
        let wanted = [self.min_cpu_cores, self.min_ram_mib, self.min_disk_gib];
        let share_suits = node.spec.cuda >= self.min_cuda && node.spec.shares(gpus, wanted);
        require!(share_suits, MarketError::UnsuitableShare);
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
        let reputation = reputation_of(record, now);
        require!(
            record.shown_uptime_bps() >= self.min_uptime_bps && reputation >= self.min_reputation_bps,
            MarketError::UnsuitableReputation
        );
        require!(self.guaranteed != 1 || guarantee.until >= end, MarketError::UnsuitableGuarantee);
        Ok(reputation)
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
    /// While a part of it is awarded and another is missing: when it is over. 0 where all have until the award deadline.
    pub parts_by: i64,
    /// When its auction takes no more commitments; 0 without one.
    pub auction_close: i64,
    /// Of a redundant order that is awarded in full: the last second in which outputs may be committed, and the last one
    /// in which they may be revealed. Once a lease of it has started, nothing moves them.
    pub outputs_by: i64,
    pub reveal_by: i64,
    /// Three bits for each node that it was awarded to, see [`bits_of`]: a node that lacks one never had a part of it.
    pub awarded_nodes: [u64; 2],
    /// First bytes of the addresses of nodes that declined a lease of it or did not start it: none of them gets a part of it
    /// again. 0 where there is none yet.
    pub unserved_by: [u64; 6],
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
    /// 1 when its leases may end at a short notice, for nodes' spot prices.
    pub interruptible: u8,
    pub pad: [u8; 3],
}

/// A node's bits in `Order::awarded_nodes`. Those of another order are others: nobody can register nodes that share the
/// bits of a rival.
fn bits_of(order: &Address, node: &Address) -> [u64; 2] {
    let [first, second, third, ..] = sha256_of(&[order.as_ref(), node.as_ref()]);
    let mut bits = [0u64; 2];
    let [low, high] = &mut bits;
    for byte in [first, second, third] {
        let half = if byte & 64 == 0 { &mut *low } else { &mut *high };
        *half |= 1u64 << (byte & 63);
    }
    bits
}

impl Order {
    /// Nodes that are still to be awarded.
    pub fn nodes_missing(&self) -> Result<u8> {
        self.nodes_wanted.checked_sub(self.nodes_awarded).or_overflow()
    }

    /// Notes that a node has a part of it.
    pub fn note_award(&mut self, order: &Address, node: &Address) {
        for (noted, bits) in self.awarded_nodes.iter_mut().zip(bits_of(order, node)) {
            *noted |= bits;
        }
    }

    /// False when the node certainly never had a part of it.
    pub fn may_have(&self, order: &Address, node: &Address) -> bool {
        self.awarded_nodes.iter().zip(bits_of(order, node)).all(|(noted, bits)| noted & bits == bits)
    }

    /// What an address has in `unserved_by`.
    fn head(node: &Address) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = node.to_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// Notes that a node declined a lease of it, or did not start it.
    pub fn note_unserved(&mut self, node: &Address) {
        let head = Self::head(node);
        if let Some(place) = self.unserved_by.iter_mut().find(|known| **known == 0 || **known == head) {
            *place = head;
        }
    }

    /// Whether the node had its chance.
    pub fn was_unserved_by(&self, node: &Address) -> bool {
        self.unserved_by.contains(&Self::head(node))
    }

    /// Whether a further node that does not serve can be remembered.
    pub fn remembers_more(&self) -> bool {
        self.unserved_by.contains(&0)
    }

    /// Seconds that one node's part of it holds money for: the time that is ordered, and at least the longest that its
    /// machine may wait for the job.
    pub fn held_secs(&self) -> u32 {
        self.duration_secs.max(self.start_secs)
    }

    /// µUSDC of them at a price.
    pub fn held_for(&self, price: u64) -> Result<u64> {
        cost(price, self.gpus_per_node, self.held_secs())
    }

    /// The same for all nodes that it misses, at its maximum price.
    pub fn held_for_missing(&self) -> Result<u64> {
        self.held_for(self.max_price)?.checked_mul(self.nodes_missing()? as u64).or_overflow()
    }

    /// The site at which a better node would have had to stand, where all must share one.
    pub fn site_wanted<'a>(&'a self, own: &'a [u8; 16]) -> &'a [u8; 16] {
        if self.nodes_wanted > 1 {
            &self.site
        } else {
            own
        }
    }

    /// Whether it is settled who gets it: bids are open, or its nodes are drawn. From then on it is awarded or it expires:
    /// nobody tries again for free.
    pub fn decided(&self, now: i64) -> bool {
        let drawn = self.redundant == 1 && now > self.created_at;
        drawn || (self.auction_close != 0 && now >= self.auction_close)
    }

    /// Counts a part that is awarded. Machines that have one do not wait until the award deadline for parts that nobody
    /// awards. Where it is settled who gets it they do: nobody tries again sooner.
    pub fn note_part(&mut self, now: i64) -> Result<()> {
        self.nodes_awarded = self.nodes_awarded.checked_add(1).or_overflow()?;
        if self.redundant == 1 || self.auction_close != 0 {
            return Ok(());
        }
        if self.parts_by == 0 {
            self.parts_by = now.checked_add(WHOLE_SECS).or_overflow()?;
        }
        self.parts_by = self.parts_by.checked_add(PART_SECS).or_overflow()?;
        Ok(())
    }

    /// The last second in which it waits for awards, or of a lapsed order for its customer.
    pub fn open_until(&self) -> i64 {
        if self.parts_by == 0 {
            return self.award_deadline;
        }
        self.parts_by.min(self.award_deadline)
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
        self.parts_by = 0;
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
            && (self.parts_by == 0 || matches!(self.status, ORDER_OPEN | ORDER_EXPIRED))
            && self.redundant <= 1
            && self.outputs <= self.started
            && self.started <= self.nodes_awarded
            && (ORDER_OPEN..=ORDER_LAPSED).contains(&self.status);
        require!(sound, MarketError::InvariantBroken);
        Ok(())
    }
}
