//! What instructions cost: compute units of a typical success of each, the binary's size, and rent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gantry_market::constants::{
    AWARD_VIEW_SECS, FLAG_OFFLINE, FLAG_WORK_FAILED, IDLE_REPORTS, OUTAGE_MOVE_SECS, OUTAGE_SECS,
};
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::math::evidence::device_root;
use gantry_market::math::merkle::root_of;
use gantry_market::state::{
    GpuModel, Market, Node, Outage, Provider, DECLINED_JOB, DISPUTE_BAD_OUTPUT, NODE_ACTIVE, NODE_DRAINING,
};
use serde_json::{json, Map, Value};
use solana_address::Address;
use solana_signer::Signer;

use crate::ix::signed;
use crate::leaves::{manifest, statement, LeafData, Proof};
use crate::measure::{Measured, B200, PROCESSORS};
use crate::setups::ASK;
use crate::testbed::{program_path, H100};
use crate::{ix, pda, Actor, Testbed};

/// Siblings in a proof of one leaf among 40,000.
const DEPTH: usize = 16;

/// Every figure, by name.
pub struct Figures {
    /// The most that a successful call used.
    pub compute_units: BTreeMap<String, u64>,
    /// The least: the call that has found its addresses at the first try, of the simplest kind.
    pub least_units: BTreeMap<String, u64>,
    pub binary_bytes: u64,
    pub lease: Held,
    pub order: Held,
}

/// What an account holds while it lives.
#[derive(Clone, Copy)]
pub struct Held {
    pub bytes: u64,
    pub lamports: u64,
}

impl Held {
    fn of(w: &Testbed, at: &Address) -> Self {
        let account = w.svm.get_account(at).expect("account exists");
        Self { bytes: account.data.len() as u64, lamports: account.lamports }
    }

    /// The same at the rate that clusters charged until it was lowered.
    fn at_full_rate(self) -> u64 {
        (self.bytes + 128) * 6_960
    }
}

/// Where the committed figures are.
pub fn results_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../bench/results.json")
}

/// Where the same figures are for readers.
pub fn docs_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reports/compute-units.md")
}

/// Plays one scenario in which every instruction succeeds, and reads what each cost at most.
pub fn measure() -> Figures {
    let mut w = Testbed::new();
    let (lease, order) = play(&mut w);
    let compute_units = w.compute.iter().map(|(name, (_, most))| (name.to_owned(), most)).collect();
    let least_units = w.compute.iter().map(|(name, (least, _))| (name.to_owned(), least)).collect();
    let binary = std::fs::metadata(program_path()).expect("the program is built");
    Figures { compute_units, least_units, binary_bytes: binary.len(), lease, order }
}

/// The scenario itself. Returns what a lease and an order hold.
pub fn play(w: &mut Testbed) -> (Held, Held) {
    govern(w);
    let keepers = [3, 1, 1].map(|weight| w.keeper(weight * w.params.min_bond));
    let multiaddr = ix::multiaddr(ix::HOME);
    w.ok(ix::keeper_update(&keepers[0], multiaddr.0, multiaddr.1), &[&keepers[0].key]);
    let held = lease_by_receipts(w, &keepers[0]);
    lapses(w, &keepers[0]);
    sealed(w, &keepers[0]);
    faults(w, &keepers);
    outage(w, &keepers);
    evidence(w, &keepers);
    fees(w, &keepers);
    disputes(w, &keepers);
    outputs(w);
    commits(w, &keepers);
    proofs(w, &keepers);
    omitted(w, &keepers[0]);
    leave(w, keepers);
    held
}

fn govern(w: &mut Testbed) {
    let (authority, guardian, heir) =
        (w.authority.insecure_clone(), w.guardian.insecure_clone(), w.fresh_key());
    w.ok(ix::market_pause(&guardian.pubkey(), 3), &[&guardian]);
    w.ok(ix::market_pause(&guardian.pubkey(), 0), &[&guardian]);
    let params = w.params;
    w.ok(ix::market_propose_params(w, params), &[&authority]);
    w.warp(i64::from(w.params.timelock_secs));
    w.ok(ix::market_apply_params(), &[]);
    terms(w);
    let roles = ix::market_propose_successor(w, heir.pubkey(), guardian.pubkey(), w.treasury);
    w.ok(roles, &[&authority]);
    w.warp(i64::from(w.params.timelock_secs));
    w.ok(ix::market_apply_roles_by(&heir.pubkey()), &[&heir]);
}

/// A lease that is extended, settled by receipt, ended, rated and closed. Returns what lease and order hold.
fn lease_by_receipts(w: &mut Testbed, keeper: &Actor) -> (Held, Held) {
    let provider = w.provider(20_000_000_000);
    w.ok(ix::provider_set_payout(&provider, provider.payment), &[&provider.key]);
    let machine = w.machine(&provider, 2);
    let key = machine.key.pubkey();
    for status in [NODE_DRAINING, NODE_ACTIVE] {
        let update = ix::node_update(&key, &provider.provider(), &machine.node, 2_000_000, status);
        w.ok(update, &[&machine.key]);
    }
    let customer = w.customer(100_000_000);
    w.ok(ix::credits_withdraw(&customer, 1), &[&customer.key]);
    let (session, until) = (w.actor(), w.now() + 10_000);
    let name = ix::credits_set_session_key(&customer, &session.wallet(), 100_000_000, until);
    w.ok(name, &[&customer.key]);
    let unwanted = w.order(&customer, ix::order_args(9));
    w.ok(ix::order_cancel(&customer, &unwanted), &[&customer.key]);
    let order = w.order(&customer, ix::order_args(1));
    let lease = w.award(keeper, &customer, &order, &provider, &machine);
    let held = (Held::of(w, &lease), Held::of(w, &order));
    w.ok(ix::lease_start(w, &lease, [3; 32]), &[&machine.key]);
    let extend = ix::by_session(ix::lease_extend(w, &lease, 600), &session.wallet());
    w.ok(extend, &[&session.key]);
    w.warp(600);
    let settle = ix::receipt(w, &lease, &machine.key, &customer.key, 1, 600);
    w.ok_all(&settle, &[]);
    w.ok(ix::lease_end(w, &customer.wallet(), &lease, 0), &[&customer.key]);
    w.ok(ix::lease_rate(w, &lease, 5), &[&customer.key]);
    w.ok(ix::lease_close(w, &customer.wallet(), &lease), &[&customer.key]);
    w.ok(ix::credits_close(&customer), &[&customer.key]);
    w.ok(ix::node_retire(&provider, &machine.node), &[&provider.key]);
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    w.ok(ix::node_close(&provider, &key, 2), &[&provider.key]);
    w.ok(ix::provider_request_unstake(&provider, 20_000_000_000), &[&provider.key]);
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    w.ok(ix::provider_withdraw_stake(&provider), &[&provider.key]);
    w.ok(ix::provider_close(&provider), &[&provider.key]);
    held
}

/// An order that nobody takes, and a lease that does not start.
fn lapses(w: &mut Testbed, keeper: &Actor) {
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 1);
    let customer = w.customer(100_000_000);
    let (ignored, taken) = (w.order(&customer, ix::order_args(1)), w.order(&customer, ix::order_args(2)));
    let lease = w.award(keeper, &customer, &taken, &provider, &machine);
    w.warp(121);
    w.ok(ix::order_expire(&customer, &ignored), &[]);
    w.ok(ix::lease_abort(w, &lease), &[]);
    w.ok(ix::order_reopen(&customer, &taken), &[&customer.key]);
    let other = w.machine(&provider, 1);
    let lease = w.award(keeper, &customer, &taken, &provider, &other);
    w.warp(2);
    w.ok(ix::lease_decline(w, &lease, DECLINED_JOB), &[&other.key]);
}

/// A sealed order with a losing bid.
fn sealed(w: &mut Testbed, keeper: &Actor) {
    let provider = w.provider(20_000_000_000);
    let (winner, loser) = (w.machine(&provider, 1), w.machine(&provider, 1));
    let customer = w.customer(100_000_000);
    let order = w.order(&customer, ix::sealed_args(1));
    w.ok(ix::auction_open(&customer, &order, 30, 20), &[&customer.key]);
    w.warp(51);
    let bid = ix::Bid { machine: &winner, price: 1_000_000, salt: [1; 32] };
    let losing = ix::Bid { machine: &loser, price: 1_500_000, salt: [2; 32] };
    let award = ix::sealed_award(w, keeper, &order, bid, Some(losing));
    w.ok_all(&award, &[&keeper.key]);
    w.warp(i64::from(w.params.challenge_secs) + 1);
    w.ok(ix::auction_close(&order, &customer.wallet()), &[]);
}

/// A good period, then one with a fault of node and lease: the node's part is appealed, the lease's applied.
fn faults(w: &mut Testbed, keepers: &[Actor; 3]) {
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 1);
    let customer = w.customer(100_000_000);
    w.warp(60 - w.now() % 60);
    let order = w.order(&customer, ix::order_args(1));
    let lease = w.award(&keepers[0], &customer, &order, &provider, &machine);
    w.ok(ix::lease_start(w, &lease, [3; 32]), &[&machine.key]);
    w.ok(ix::lease_checkpoint(w, &lease, [4; 32]), &[&machine.key]);
    let period = w.period();
    measured(w, &machine.node);
    let good = LeafData {
        operations: 1_000,
        bandwidth: 500,
        down_mbps: 900,
        up_mbps: 300,
        ..w.good_leaf(machine.node, lease, period)
    };
    let proof = report(w, keepers, good);
    w.ok(ix::report_apply(&proof), &[]);
    w.ok(ix::lease_settle_report(w, &lease), &[]);
    let bad = LeafData {
        flags: FLAG_OFFLINE | FLAG_WORK_FAILED,
        period: period + 1,
        verified_secs: 10,
        downtime_secs: 50,
        ..good
    };
    let proof = report(w, keepers, bad);
    let payer = keepers[0].wallet();
    w.ok(ix::fault_open(w, &payer, &proof), &[&keepers[0].key]);
    w.ok(ix::fault_open_of(w, &payer, &proof, false), &[&keepers[0].key]);
    let other = w.provider(10_000_000_000);
    let spare = w.machine(&other, 1);
    let migrate = ix::lease_migrate(w, &keepers[0], &lease, &spare.node);
    w.ok(migrate, &[&keepers[0].key]);
    let (fault, of_lease) = (ix::fault_of(&proof), pda::fault(&machine.node, &lease, bad.period));
    let passed = statement(&machine.node, bad.period, 3, true);
    let appeal = ix::slash_appeal(w, &fault, &keepers[0], passed);
    w.ok_all(&[signed(&keepers[0].key, &passed), appeal], &[]);
    w.warp(i64::from(w.params.appeal_secs));
    let payer = w.actor();
    w.ok(ix::slash_apply_by(w, &payer.wallet(), &of_lease), &[&payer.key]);
    w.ok(ix::slash_compensate_by(w, &payer.wallet(), &of_lease, &lease), &[&payer.key]);
    w.warp(i64::from(w.params.report_retention_secs.max(w.params.unstake_cooldown_secs)));
    w.ok(ix::slash_close(w, &of_lease), &[]);
    w.ok(ix::report_close(period, &keepers[0].wallet()), &[]);
    let payout = pda::payout(&customer.wallet(), &of_lease);
    w.ok(ix::payout_claim(w, &payout, customer.stake), &[]);
}

/// A node falls silent: its lease goes on elsewhere before any report.
fn outage(w: &mut Testbed, keepers: &[Actor; 3]) {
    let (provider, other) = (w.provider(10_000_000_000), w.provider(10_000_000_000));
    let (machine, spare) = (w.machine(&provider, 1), w.machine(&other, 1));
    let customer = w.customer(100_000_000);
    let order = w.order(&customer, ix::order_args(1));
    let lease = w.award(&keepers[0], &customer, &order, &provider, &machine);
    w.ok(ix::lease_start(w, &lease, [3; 32]), &[&machine.key]);
    let last_answer = w.now();
    w.warp(OUTAGE_SECS);
    for keeper in keepers {
        if w.exists(&pda::outage(&machine.node)) && w.read::<Outage>(&pda::outage(&machine.node)).seen_at != 0
        {
            break;
        }
        w.ok(ix::outage_vote(keeper, &machine.node, last_answer), &[&keeper.key]);
    }
    w.ok(ix::lease_outage(w, &keepers[0], &lease), &[&keepers[0].key]);
    let migrate = ix::lease_migrate(w, &keepers[0], &lease, &spare.node);
    w.ok(migrate, &[&keepers[0].key]);
    w.warp(OUTAGE_MOVE_SECS + 1);
    w.ok(ix::outage_close(w, &machine.node), &[]);
}

/// A machine of two GPUs whose evidence takes them from who claimed them first.
fn evidence(w: &mut Testbed, keepers: &[Actor; 3]) {
    let (squatter, owner) = (w.provider(20_000_000_000), w.provider(20_000_000_000));
    let (key, junk) = (w.fresh_key(), w.fresh_key());
    let devices = ix::devices(&key.pubkey(), 2);
    let squat = ix::node_register_with(&squatter, &junk.pubkey(), ix::spec(2), ASK, devices);
    w.ok(squat, &[&squatter.key, &junk]);
    let machine = w.fresh_key();
    let register = ix::node_register_with(&owner, &machine.pubkey(), ix::spec(2), ASK, devices);
    w.ok(register, &[&owner.key, &machine]);
    let node = pda::node(&owner.provider(), &machine.pubkey());
    let device_root = device_root(&devices[..2]).expect("ascending");
    // With evidence and figures a leaf costs most.
    measured(w, &node);
    let leaf = LeafData {
        tier: 2,
        device_root,
        evidence_hash: [8; 32],
        operations: 1_000,
        bandwidth: 500,
        down_mbps: 900,
        up_mbps: 300,
        ..w.good_leaf(node, Address::default(), w.period() + 1)
    };
    let proof = report(w, keepers, leaf);
    w.ok(ix::report_apply(&proof), &[]);
    let held = pda::node(&squatter.provider(), &junk.pubkey());
    let payer = keepers[0].wallet();
    w.ok(ix::node_set_evidence(&payer, &node, devices, 2, &[held]), &[&keepers[0].key]);
}

/// The machine is of a calibrated class and was measured for six periods.
fn measured(w: &mut Testbed, node: &Address) {
    w.alter(node, |node: &mut Node| {
        (node.min_operations, node.min_bandwidth, node.terms_at) = (1_000, 500, 0);
        (node.shares, node.shares_len, node.class_since) = ([9_000; 6], 6, 1);
    });
}

/// A machine whose model changes accepts the new terms.
fn terms(w: &mut Testbed) {
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 1);
    w.warp(60);
    w.model(ix::h100());
    let accept = ix::node_accept_terms(w, &machine.key.pubkey(), &machine.node);
    w.ok(accept, &[&machine.key]);
}

/// A machine of eight GPUs that computed a byte of the largest order wrongly, in the last of the most rounds.
fn cells(w: &mut Testbed) {
    let model = pda::gpu_model(H100);
    w.alter(&model, |m: &mut GpuModel| m.profile = B200);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 1);
    let finder = w.actor();
    w.warp(60);
    let at = (B200.rows * 32 - 1, 255);
    let measured = Measured::new(machine.node, w.period(), B200, at, 1).last();
    let measured = Measured { others: vec![[9; 32]; 7], ..measured };
    let both = ix::signed_fraud_proof_commitment(&finder.wallet(), &machine.key, &measured);
    w.ok_all(&both, &[&finder.key]);
    w.ok(ix::fraud_proof_leaf(&finder.wallet(), &measured), &[&finder.key]);
    let proof = ix::prove_wrong_cell(w, &finder, &machine.node, &measured.siblings().1);
    w.ok_all(&ix::limited(proof), &[&finder.key]);
    w.ok(ix::slash_apply(w, &pda::work_fault(&machine.node, &finder.wallet(), measured.period)), &[]);
}

/// What is proven without anyone's vote: a wrong byte of a measurement, and a keeper that equivocates.
fn proofs(w: &mut Testbed, keepers: &[Actor; 3]) {
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 1);
    let finder = w.actor();
    w.warp(60);
    let measured = Measured::new(machine.node, w.period(), PROCESSORS, (5, 5), 1);
    w.accuse(&finder, &machine.key, &measured);
    w.ok(ix::fraud_proof_close(&finder.wallet(), &machine.node), &[&finder.key]);
    cells(w);
    let worse = w.machine_of(&provider, ix::spec(1), 2 * ASK);
    let better = w.provider(10_000_000_000);
    let better = w.machine_of(&better, ix::spec(1), ASK);
    let customer = w.customer(100_000_000);
    w.warp(AWARD_VIEW_SECS + 1);
    let order = w.order(&customer, OrderArgs { max_price: 3 * ASK, ..ix::order_args(1) });
    let lease = w.award(&keepers[1], &customer, &order, &provider, &worse);
    let proof = ix::prove_better_ask(w, &finder, &lease, &better.node);
    w.ok(proof, &[&finder.key]);
    let records = [true, false].map(|passed| statement(&machine.node, 1, 3, passed));
    let proof = ix::equivocation(w, &finder, &keepers[2], &records[0], &records[1]);
    w.ok_all(&proof, &[&finder.key]);
    let equivocating = w.keeper(w.params.min_bond);
    let records = [1, 2].map(|count| manifest(1, count, [7; 32]));
    let proof = ix::equivocation(w, &finder, &equivocating, &records[0], &records[1]);
    w.ok_all(&proof, &[&finder.key]);
}

/// An auction in which the keeper acknowledged three bids and awarded as if the second did not exist.
fn omitted(w: &mut Testbed, keeper: &Actor) {
    let provider = w.provider(30_000_000_000);
    let machines = [0; 3].map(|_| w.machine(&provider, 1));
    let (customer, finder) = (w.customer(100_000_000), w.actor());
    w.warp(AWARD_VIEW_SECS);
    let order = w.order(&customer, ix::sealed_args(1));
    w.ok(ix::auction_open(&customer, &order, 30, 20), &[&customer.key]);
    w.warp(51);
    let [winner, left_out, bar] = [1_000_000, 1_500_000, 2_000_000];
    let bid = |at: usize, price| ix::Bid { machine: &machines[at], price, salt: [at as u8; 32] };
    let award = ix::sealed_award(w, keeper, &order, bid(0, winner), Some(bid(2, bar)));
    w.ok_all(&award, &[&keeper.key]);
    let lease = pda::lease(&order, &machines[0].node);
    let at = w.now() - 10;
    let proof = ix::omitted(w, &finder, keeper, &lease, bid(1, left_out), at);
    w.ok_all(&proof, &[&finder.key]);
}

/// A final report in which this leaf is one of 40,000.
fn report(w: &mut Testbed, keepers: &[Actor; 3], leaf: LeafData) -> Proof {
    let siblings: Vec<[u8; 32]> = (0..DEPTH as u8).map(|i| [i; 32]).collect();
    let proof = Proof { leaf, path: 0b1010_0101_1100_0011, siblings };
    let root = root_of(&leaf.bytes(), proof.path, &proof.siblings);
    w.warp_past_period(leaf.period);
    for keeper in keepers {
        w.ok(ix::report_vote(keeper, leaf.period, root), &[&keeper.key]);
    }
    proof
}

/// Swept fees on their ways.
fn fees(w: &mut Testbed, keepers: &[Actor; 3]) {
    let [first, ..] = keepers;
    let period = w.ripe(&keepers.each_ref());
    w.ok(ix::rewards_accrue(w, period), &[]);
    w.ok(ix::rewards_claim(first, Some(period)), &[]);
    let buyer = w.actor();
    w.ok(ix::rewards_buy_back(w, &buyer, u64::MAX), &[&buyer.key]);
    let provider = w.provider(1_000_000_000).provider();
    w.alter(&provider, |p: &mut Provider| p.emission = 1_000_000);
    w.alter(&pda::market(), |m: &mut Market| m.params.emission_bps = 1_000);
    w.gift(&pda::emission_vault(), 1_000_000_000);
    w.ok(ix::emission_claim(&provider), &[]);
    w.alter(&pda::market(), |m: &mut Market| m.params.emission_bps = 0);
}

/// A dispute that keepers reject, and one that they uphold.
fn disputes(w: &mut Testbed, keepers: &[Actor; 3]) {
    for uphold in [0, 1] {
        let provider = w.provider(20_000_000_000);
        let machine = w.machine(&provider, 1);
        let customer = w.customer(100_000_000);
        let order = w.order(&customer, ix::order_args(1));
        let lease = w.award(&keepers[0], &customer, &order, &provider, &machine);
        w.ok(ix::lease_start(w, &lease, [3; 32]), &[&machine.key]);
        w.ok(ix::dispute_open(w, &lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&customer.key]);
        for keeper in keepers {
            w.ok(ix::dispute_vote(keeper, &lease, uphold), &[&keeper.key]);
        }
        if uphold == 1 {
            w.ok(ix::dispute_uphold(w, &keepers[0].wallet(), &lease), &[&keepers[0].key]);
            // The dearest slash: the payout of the claimant is made with it.
            w.warp(i64::from(w.params.appeal_secs));
            w.ok(ix::slash_apply(w, &pda::dispute_fault(&lease)), &[]);
        } else {
            w.ok(ix::dispute_resolve(w, &lease), &[]);
        }
    }
}

/// Three nodes that show the same output, then three of which one withholds it.
fn outputs(w: &mut Testbed) {
    let job = w.withheld();
    w.ok(ix::output_resolve(&job.order, &job.leases()), &[]);
    w.ok(ix::output_forfeit(w, &job.leases()[2]), &[]);
    let job = w.redundant();
    for at in 0..3 {
        job.commit(w, at, 4);
    }
    for at in 0..3 {
        job.reveal(w, at, 4);
    }
    w.ok(ix::output_resolve(&job.order, &job.leases()), &[]);
}

/// An uptime guarantee that the node breaks.
fn commits(w: &mut Testbed, keepers: &[Actor; 3]) {
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 1);
    let finder = w.actor();
    let until = w.now() + i64::from(w.params.unstake_cooldown_secs) + 60;
    w.ok(ix::node_guarantee(&provider, &machine.node, until, 9_900), &[&provider.key]);
    let leaf = w.good_leaf(machine.node, Address::default(), w.period() + 1);
    let proof = report(w, keepers, LeafData { up_secs: 30, ..leaf });
    w.ok(ix::report_apply(&proof), &[]);
    w.set_now(until + i64::from(w.params.appeal_secs) + 120);
    w.ok(ix::guarantee_resolve(w, &finder, &machine.node), &[&finder.key]);
}

fn leave(w: &mut Testbed, keepers: [Actor; 3]) {
    let provider = w.provider(20_000_000_000);
    let broken = w.machine(&provider, 2);
    w.ok(ix::node_report_dead(w, &broken.key.pubkey(), &broken.node), &[&broken.key]);
    let [keeper, other, ..] = keepers;
    let hot = w.hot_key();
    w.ok_all(&ix::keeper_rotation(w, &other, &hot), &[&other.key]);
    w.alter(&pda::market(), |m: &mut Market| m.final_reports += IDLE_REPORTS + 1);
    w.warp(i64::from(w.params.period_secs) * (IDLE_REPORTS as i64 + 1));
    w.ok(ix::keeper_suspend(&keeper.keeper()), &[]);
    w.ok(ix::keeper_request_exit(&keeper), &[&keeper.key]);
    w.warp(i64::from(w.params.keeper_exit_secs));
    w.ok(ix::keeper_withdraw(&keeper), &[&keeper.key]);
}

impl Figures {
    pub fn to_json(&self) -> Value {
        let object = |units: &BTreeMap<String, u64>| -> Map<String, Value> {
            units.iter().map(|(name, units)| (name.clone(), json!(units))).collect()
        };
        json!({
            "account_bytes": { "lease": self.lease.bytes, "order": self.order.bytes },
            "binary_bytes": self.binary_bytes,
            "compute_units": object(&self.compute_units),
            "least_units": object(&self.least_units),
            "rent_lamports": { "lease": self.lease.lamports, "order": self.order.lamports },
        })
    }

    pub fn from_json(value: &Value) -> Self {
        let number = |value: &Value| value.as_u64().expect("a figure is a whole number");
        let held = |name: &str| Held {
            bytes: number(&value["account_bytes"][name]),
            lamports: number(&value["rent_lamports"][name]),
        };
        let units = |key: &str| {
            let units = value[key].as_object().expect("compute units by instruction");
            units.iter().map(|(name, units)| (name.clone(), number(units))).collect()
        };
        Self {
            compute_units: units("compute_units"),
            least_units: units("least_units"),
            binary_bytes: number(&value["binary_bytes"]),
            lease: held("lease"),
            order: held("order"),
        }
    }

    /// The figures of commit 8d2375ff, the program before its third review.
    fn before() -> Self {
        let value =
            serde_json::from_str(include_str!("../../bench/before.json")).expect("before.json is JSON");
        Self::from_json(&value)
    }

    /// What has a target, the most and the least compute units, and the target.
    fn targets(&self) -> [(&'static str, u64, u64, u64); 7] {
        let row = |what: &'static str, names: &[&str], target: u64| {
            let of = |units: &BTreeMap<String, u64>| -> u64 {
                let one =
                    |name: &&str| *units.get(*name).unwrap_or_else(|| panic!("{name} was not measured"));
                names.iter().map(one).sum()
            };
            (what, of(&self.compute_units), of(&self.least_units), target)
        };
        let settle =
            ["lease_settle_receipt", "lease_settle_report"].map(|name| row("settle", &[name], 12_000));
        [
            row("create an order", &["order_create"], 15_000),
            row("award it, lease included", &["order_award"], 40_000),
            settle.into_iter().max_by_key(|(_, most, ..)| *most).expect("two kinds"),
            row("end and close", &["lease_end", "lease_close"], 15_000),
            row("vote on a report", &["report_vote"], 6_000),
            row("apply a leaf of a report of 40,000", &["report_apply"], 12_000),
            row("prove a wrong byte of a measurement, order 16,384", &["prove_wrong_cell"], 400_000),
        ]
    }

    /// What accounts of a lease hold, lamports.
    fn rents(&self) -> [(&'static str, u64); 3] {
        let (lease, both) = (self.lease.lamports, self.lease.lamports + self.order.lamports);
        let full = self.lease.at_full_rate() + self.order.at_full_rate();
        [
            ("rent that a live lease holds", lease),
            ("the same with its order, which several leases may share", both),
            ("the same at the older rate of 6,960 lamports a byte", full),
        ]
    }

    /// docs/reports/compute-units.md.
    pub fn to_markdown(&self) -> String {
        let before = Self::before();
        let references =
            ["300,000", "250,000, and 150,000 a bid", "250,000", "400,000", "none", "none", "none"];
        let rows = self.targets().into_iter().zip(before.targets()).zip(references);
        let mut out = String::from(HEAD);
        out.push_str("## Targets\n\n");
        out.push_str("| what | least | least before | most | most before | target | met | Akash's Solana specification |\n");
        out.push_str("| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |\n");
        for (((what, most, least, target), (_, most_was, least_was, _)), reference) in rows {
            let met = if most <= target { "yes" } else { "no" };
            let units = [least, least_was, most, most_was, target].map(grouped).join(" | ");
            out.push_str(&format!("| {what} | {units} | {met} | {reference} |\n"));
        }
        let kib = self.binary_bytes.div_ceil(1_024);
        let met = if kib <= BINARY_KIB { "yes" } else { "no" };
        out.push_str("\n| what | measured | before | target | met |\n| --- | ---: | ---: | ---: | --- |\n");
        let was = before.binary_bytes.div_ceil(1_024);
        out.push_str(&format!("| program binary | {kib} KiB | {was} KiB | {BINARY_KIB} KiB | {met} |\n"));
        for ((what, lamports), (_, was)) in self.rents().into_iter().zip(before.rents()) {
            let met = if lamports <= 6_000_000 { "yes" } else { "no" };
            out.push_str(&format!(
                "| {what} | {} SOL | {} SOL | 0.006 SOL | {met} |\n",
                sol(lamports),
                sol(was)
            ));
        }
        let rent = sol((self.binary_bytes + 45 + 128) * 6_960);
        out.push_str(&format!(
            "\nThe binary costs its deployer rent once: {rent} SOL at 6,960 lamports a byte. It is built with optimisation level 2: \
             level 3 is a tenth larger and saves no compute units; the pinned linker refuses the levels that build for size.\n"
        ));
        out.push_str("\n## Every instruction\n\n| instruction | compute units |\n| --- | ---: |\n");
        for (name, units) in &self.compute_units {
            out.push_str(&format!("| `{name}` | {} |\n", grouped(*units)));
        }
        out
    }
}

/// The most that the binary may have, in KiB.
const BINARY_KIB: u64 = 768;

const HEAD: &str = "\
# Compute units

Generated from [program/bench/results.json](../../program/bench/results.json) by the program's tests; \
`GANTRY_WRITE_BENCH=1 cargo test --test all bench` in program/tests writes both. The tests fail when a figure is more \
than 2 % away from what is committed.

Each figure is of a successful call in one sequence on LiteSVM with mainnet's feature set: the most, where nothing else is said. It is the \
whole instruction with events and token transfers. It leaves out signature checks by the Ed25519 program, which the \
runtime charges apart. An address that is searched for when an account is created costs about 350 units a try: the most has \
more tries with some keys than with others. So the least says what a change of the program costs. The most of an award is one of \
a redundant order. *Before* is commit `8d2375ff`, the program before its third review \
([program/bench/before.json](../../program/bench/before.json)).

";

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Lamports as SOL, rounded up to the sixth decimal.
fn sol(lamports: u64) -> String {
    let micro = lamports.div_ceil(1_000);
    format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000)
}
