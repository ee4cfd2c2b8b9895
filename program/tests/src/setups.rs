//! Setups: the instructions that lead to a machine on offer, an order, an award, a running lease, a final report.

use gantry_market::constants::OUTAGE_SECS;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Lease, Node, NodeSpec, Order, Outage};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_signer::Signer;

use crate::leaves::{evidence_hash, tree, LeafData, Proof};
use crate::{ix, pda, Actor, Testbed};

/// 2 USDC per GPU-hour.
pub const ASK: u64 = 2_000_000;

/// A registered node and the key of its agent.
pub struct Machine {
    pub key: Keypair,
    pub node: Address,
    pub gpus: u8,
}

/// One customer's lease of one machine, and everyone in it.
pub struct Deal {
    pub keeper: Actor,
    pub provider: Actor,
    pub machine: Machine,
    pub customer: Actor,
    pub order: Address,
    pub lease: Address,
}

impl Testbed {
    /// A node of `gpus` GPUs at the usual ask. The provider needs 10 stake tokens a GPU.
    pub fn machine(&mut self, provider: &Actor, gpus: u8) -> Machine {
        self.machine_of(provider, ix::spec(gpus), ASK)
    }

    pub fn machine_of(&mut self, provider: &Actor, spec: NodeSpec, price: u64) -> Machine {
        let key = self.fresh_key();
        let register = ix::node_register(provider, &key.pubkey(), spec, price);
        self.ok(register, &[&provider.key, &key]);
        let node = pda::node(&provider.provider(), &key.pubkey());
        Machine { key, node, gpus: spec.gpus }
    }

    /// Has nodes registered before an order.
    pub fn before<const N: usize>(&mut self, order: &Address, nodes: [Address; N]) {
        let created: i64 = self.read::<Order>(order).created_at;
        for node in nodes {
            self.alter(&node, |n: &mut Node| n.registered_at = created - 1);
        }
    }

    /// Places an order and returns its address. One over several nodes that are not drawn is younger than the nodes that are there.
    pub fn order(&mut self, customer: &Actor, args: OrderArgs) -> Address {
        if args.nodes > 1 && args.redundant == 0 {
            self.warp(1);
        }
        self.ok(ix::order_create(customer, args), &[&customer.key]);
        pda::order(&customer.wallet(), args.nonce)
    }

    /// Awards an order to a machine and returns the lease's address.
    pub fn award(
        &mut self,
        keeper: &Actor,
        customer: &Actor,
        order: &Address,
        provider: &Actor,
        machine: &Machine,
    ) -> Address {
        let award = ix::order_award(keeper, customer, order, &provider.provider(), &machine.node);
        self.ok(award, &[keeper.signing()]);
        pda::lease(order, &machine.node)
    }

    /// Keeper, provider with one machine of two GPUs, customer with 100 USDC, and an awarded lease of one GPU for an
    /// hour that has not started.
    pub fn awarded(&mut self) -> Deal {
        self.awarded_with(ix::order_args(1))
    }

    pub fn awarded_with(&mut self, args: OrderArgs) -> Deal {
        let keeper = self.keeper(self.params.min_bond);
        let provider = self.provider(20_000_000_000);
        let machine = self.machine(&provider, 2);
        let customer = self.customer(100_000_000);
        let order = self.order(&customer, args);
        let lease = self.award(&keeper, &customer, &order, &provider, &machine);
        Deal { keeper, provider, machine, customer, order, lease }
    }

    /// The same, started.
    pub fn running(&mut self) -> Deal {
        self.running_with(ix::order_args(1))
    }

    pub fn running_with(&mut self, args: OrderArgs) -> Deal {
        let deal = self.awarded_with(args);
        self.ok(ix::lease_start(self, &deal.lease, [3; 32]), &[&deal.machine.key]);
        deal
    }

    /// A deal of which ten minutes were paid and whose lease is closed: its fee, 39,999 µUSDC, is swept, 3,999 of it
    /// for the keeper.
    pub fn swept(&mut self) -> Deal {
        let deal = self.running();
        self.warp(600);
        self.settle(&deal, 1, 600);
        self.ok(ix::lease_end(self, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
        let close = ix::lease_close(self, &deal.customer.wallet(), &deal.lease);
        self.ok(close, &[&deal.customer.key]);
        deal
    }

    /// Lets the running period end, has these keepers vote the same root for it, and returns it.
    pub fn voted(&mut self, keepers: &[&Actor]) -> u64 {
        let period = self.period();
        self.warp_past_period(period);
        for keeper in keepers {
            self.ok(ix::report_vote(keeper, period, [5; 32]), &[keeper.signing()]);
        }
        period
    }

    /// The same, and the next period ends too, so that the report's reward may be accrued.
    pub fn ripe(&mut self, keepers: &[&Actor]) -> u64 {
        let period = self.voted(keepers);
        self.warp_past_period(period + 1);
        period
    }

    /// Three machines of three providers that run one redundant job; the first of `Deal` and the others beside it.
    pub fn redundant(&mut self) -> Redundant {
        let redundant = self.redundant_awarded();
        for run in &redundant.runs {
            self.ok(ix::lease_start(self, &run.lease, [3; 32]), &[&run.machine.key]);
        }
        redundant
    }

    /// The three were done after a minute and committed to the same output, the last one did not reveal it, and all time
    /// for it is over.
    pub fn withheld(&mut self) -> Redundant {
        let job = self.redundant();
        self.warp(60);
        for (at, run) in job.runs.iter().enumerate() {
            let receipt = ix::receipt(self, &run.lease, &run.machine.key, &job.customer.key, 1, 60);
            self.ok_all(&receipt, &[]);
            job.commit(self, at, 4);
            let end = ix::lease_end(self, &run.machine.key.pubkey(), &run.lease, 0);
            self.ok(end, &[&run.machine.key]);
        }
        job.reveal(self, 0, 4);
        job.reveal(self, 1, 4);
        let order: Order = self.read(&job.order);
        self.set_now(order.reveal_by + 1);
        job
    }

    /// The same as `redundant`, before any of them starts.
    pub fn redundant_awarded(&mut self) -> Redundant {
        let keeper = self.keeper(self.params.min_bond);
        let customer = self.customer(100_000_000);
        let args = OrderArgs {
            nodes: 3,
            run_to_completion: 1,
            redundant: 1,
            no_migration: 1,
            duration_secs: 600,
            ..ix::order_args(1)
        };
        let order = self.order(&customer, args);
        let mut redundant = Redundant { keeper, customer, order, runs: vec![] };
        for _ in 0..3 {
            let provider = self.provider(20_000_000_000);
            let machine = self.machine(&provider, 1);
            let lease = self.award(&redundant.keeper, &redundant.customer, &order, &provider, &machine);
            redundant.runs.push(Run { provider, machine, lease });
        }
        redundant
    }

    /// Three keepers of equal weight, and a deal of the first whose lease runs; its node falls silent. Another provider's
    /// machine is free, and a little cheaper.
    pub fn silent_with(&mut self, args: OrderArgs) -> Silence {
        let keepers = [0; 2].map(|_| self.keeper(self.params.min_bond));
        let other = self.provider(20_000_000_000);
        let spare = self.machine_of(&other, ix::spec(2), ASK - 100_000);
        let deal = self.running_with(args);
        let [second, third] = keepers;
        self.warp(30);
        let answer = self.now();
        Silence { keepers: [deal.keeper.again(), second, third], deal, other, spare, answer }
    }

    pub fn silent(&mut self) -> Silence {
        self.silent_with(ix::order_args(1))
    }

    /// Settles a receipt of node and customer.
    pub fn settle(&mut self, deal: &Deal, sequence: u64, seconds: u32) {
        let key = &deal.machine.key;
        let instructions = ix::receipt(self, &deal.lease, key, &deal.customer.key, sequence, seconds);
        self.ok_all(&instructions, &[]);
    }

    /// One keeper's vote makes a report over these leaves final: it must hold all the weight. All leaves are of the
    /// same period, which must have ended.
    pub fn finalise(&mut self, keeper: &Actor, leaves: &[LeafData]) -> Vec<Proof> {
        let (root, proofs) = tree(leaves);
        self.ok(ix::report_vote(keeper, leaves[0].period, root), &[keeper.signing()]);
        proofs
    }

    /// A final report of the running period says that the machine has this evidence, and names its devices. Keys of its
    /// GPUs are claimed where they make the tier.
    pub fn show_evidence(&mut self, keeper: &Actor, node: &Address, tier: u8, device_root: [u8; 32]) {
        let state = self.read::<Node>(node);
        let keys = ix::gpu_keys(node, state.spec.gpus);
        self.show_gpus(keeper, node, tier, device_root, &keys[..state.spec.gpus as usize]);
        if tier == 3 && state.spec.simulated == 0 {
            let claim = ix::node_set_keys(&keeper.wallet(), node, keys, state.spec.gpus);
            self.ok(claim, &[keeper.signing()]);
        }
    }

    /// The same, with GPUs that have these keys, which nobody claims.
    pub fn show_gpus(
        &mut self,
        keeper: &Actor,
        node: &Address,
        tier: u8,
        device_root: [u8; 32],
        keys: &[[u8; 32]],
    ) {
        // Not of the period in which the node was registered, nor of one that is reported on already.
        let last = self.read::<Node>(node).last_report_period;
        let period = self.period().max(last + 1);
        self.warp_past_period(period);
        let leaf = self.good_leaf(*node, Address::default(), period);
        let proofs = self.finalise(
            keeper,
            &[LeafData { tier, device_root, evidence_hash: evidence_hash([8; 32], keys), ..leaf }],
        );
        self.ok(ix::report_apply(&proofs[0]), &[]);
    }

    /// What keepers would say of a machine that was up all period, for a lease or for none.
    pub fn good_leaf(&self, node: Address, lease: Address, period: u64) -> LeafData {
        let verified_secs = if lease == Address::default() { 0 } else { self.params.period_secs };
        LeafData {
            node,
            period,
            checks_passed: 5,
            checks_total: 5,
            tier: 1,
            up_secs: self.params.period_secs,
            lease,
            verified_secs,
            ..LeafData::default()
        }
    }
}

/// A redundant job.
pub struct Redundant {
    pub keeper: Actor,
    pub customer: Actor,
    pub order: Address,
    pub runs: Vec<Run>,
}

/// One machine's part of it.
pub struct Run {
    pub provider: Actor,
    pub machine: Machine,
    pub lease: Address,
}

impl Redundant {
    pub fn leases(&self) -> Vec<Address> {
        self.runs.iter().map(|run| run.lease).collect()
    }

    /// Run `at` commits to an output of which every byte is `output`; the salt is the run's number.
    pub fn commit(&self, w: &mut Testbed, at: usize, output: u8) {
        let run = &self.runs[at];
        let commitment = ix::output_commitment(&run.lease, &[output; 32], &[at as u8; 32]);
        w.ok(ix::output_commit(w, &run.lease, commitment), &[&run.machine.key]);
    }

    pub fn reveal(&self, w: &mut Testbed, at: usize, output: u8) {
        let run = &self.runs[at];
        let reveal = ix::output_reveal(w, &run.lease, [output; 32], [at as u8; 32]);
        w.ok(reveal, &[&run.machine.key]);
    }
}

impl Deal {
    pub fn state(&self, w: &Testbed) -> Lease {
        w.read(&self.lease)
    }

    /// Where the provider is paid.
    pub fn payout(&self) -> Address {
        self.provider.payment
    }
}

/// A node that does not answer any more.
pub struct Silence {
    pub keepers: [Actor; 3],
    pub deal: Deal,
    pub other: Actor,
    pub spare: Machine,
    /// When it last answered.
    pub answer: i64,
}

impl Silence {
    pub fn vote(&self, keeper: usize) -> Instruction {
        ix::outage_vote(&self.keepers[keeper], &self.deal.machine.node, self.answer)
    }

    /// So many keepers vote, as soon as they may.
    pub fn voted(&self, w: &mut Testbed, keepers: usize) {
        w.set_now(w.now().max(self.answer + OUTAGE_SECS));
        for keeper in &self.keepers[..keepers] {
            let vote = ix::outage_vote(keeper, &self.deal.machine.node, self.answer);
            w.ok(vote, &[keeper.signing()]);
        }
    }

    /// The lease fails.
    pub fn fail(&self, w: &Testbed) -> Instruction {
        ix::lease_outage(w, &self.keepers[0], &self.deal.lease)
    }

    /// It moves, in the same transaction.
    pub fn moves(&self, w: &Testbed) -> [Instruction; 2] {
        let migrate = ix::lease_migrate(w, &self.keepers[0], &self.deal.lease, &self.spare.node);
        [self.fail(w), migrate]
    }

    pub fn outage(&self, w: &Testbed) -> Outage {
        w.read(&pda::outage(&self.deal.machine.node))
    }
}
