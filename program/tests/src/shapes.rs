//! Right calls among many others: each account of a call has relatives of the same type, some of the same actors, and
//! some calls come in shapes that the scenario of compute units does not need.

use gantry_market::constants::{FLAG_WORK_FAILED, OUTAGE_SECS};
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{DISPUTE_BAD_OUTPUT, NODE_ACTIVE, NODE_DRAINING};
use solana_address::Address;
use solana_signer::Signer;

use crate::leaves::LeafData;
use crate::{ix, pda, Actor, Testbed};

/// Plays in a testbed of its own, whose only active keeper is the one that it makes.
pub fn play(w: &mut Testbed) {
    // Another model, at another price.
    let h100 = ix::h100();
    w.model(GpuModelArgs { id: 2, reference_price: h100.reference_price * 2, ..h100 });
    let crowd = w.running();
    let open = w.order(&crowd.customer, ix::order_args(7));
    let keeper = &crowd.keeper;
    let provider = w.provider(200_000_000_000);
    let (machine, sibling) = (w.machine(&provider, 2), w.machine(&provider, 2));
    let key = machine.key.pubkey();
    for status in [NODE_DRAINING, NODE_ACTIVE] {
        let update = ix::node_update(&key, &provider.provider(), &machine.node, 2_000_000, status);
        w.ok(update, &[&machine.key]);
    }
    let customer = w.customer(100_000_000);
    w.ok(ix::credits_withdraw(&customer, 1), &[&customer.key]);
    let args = |nonce| OrderArgs { duration_secs: 1_200, ..ix::order_args(nonce) };
    let other = w.order(&customer, args(1));
    let other_lease = w.award(keeper, &customer, &other, &provider, &sibling);
    w.ok(ix::lease_start(w, &other_lease, [3; 32]), &[&sibling.key]);
    let late = w.order(&customer, args(2));
    let late_lease = w.award(keeper, &customer, &late, &provider, &sibling);
    let order = w.order(&customer, args(3));
    let lease = w.award(keeper, &customer, &order, &provider, &machine);
    w.ok(ix::lease_start(w, &lease, [3; 32]), &[&machine.key]);
    w.ok(ix::lease_extend(w, &lease, 60), &[&customer.key]);
    w.warp(30);
    let period = w.period();
    let (idle, of_lease) =
        (w.good_leaf(machine.node, Address::default(), period), w.good_leaf(machine.node, lease, period));
    w.warp_past_period(period + 1);
    w.finalise(keeper, &[w.good_leaf(sibling.node, other_lease, period + 1)]);
    let proofs = w.finalise(keeper, &[of_lease, w.good_leaf(sibling.node, other_lease, period)]);
    w.ok(ix::report_apply(&proofs[0]), &[]);
    w.ok(ix::lease_settle_report(w, &lease), &[]);
    let seconds = w.read::<gantry_market::state::Lease>(&lease).billable_secs(w.now());
    let settle = ix::receipt(w, &lease, &machine.key, &customer.key, 1, seconds);
    w.ok_all(&settle, &[]);
    w.warp_past_period(w.period() + 1);
    // The crowd's orders and the late lease have run out of time as well.
    w.ok(ix::lease_abort(w, &late_lease), &[]);
    w.ok(ix::order_cancel(&customer, &late), &[&customer.key]);
    w.ok(ix::order_expire(&crowd.customer, &open), &[]);
    w.ok(ix::lease_end(w, &customer.wallet(), &lease, 0), &[&customer.key]);
    w.ok(ix::lease_end(w, &customer.wallet(), &other_lease, 0), &[&customer.key]);
    let seconds = w.read::<gantry_market::state::Lease>(&other_lease).billable_secs(w.now());
    let settle = ix::receipt(w, &other_lease, &sibling.key, &customer.key, 1, seconds);
    w.ok_all(&settle, &[]);
    w.ok(ix::lease_rate(w, &lease, 4), &[&customer.key]);
    w.warp(i64::from(w.params.rating_secs) + 400);
    w.ok(ix::lease_close(w, &customer.wallet(), &lease), &[&customer.key]);

    // A leaf of the node alone, and one of a lease that is closed.
    let period = w.period();
    w.warp_past_period(period + 1);
    let proofs = w.finalise(keeper, &[LeafData { period, ..idle }]);
    w.ok(ix::report_apply(&proofs[0]), &[]);
    let proofs = w.finalise(keeper, &[LeafData { period: period + 1, ..of_lease }]);
    let mut apply = ix::report_apply(&proofs[0]);
    (apply.accounts[3].pubkey, apply.accounts[3].is_writable) = (gantry_market::ID, false);
    apply.accounts[4].pubkey = lease;
    w.ok(apply, &[]);

    // Faults of two machines, one of them applied.
    let period = w.period();
    w.warp_past_period(period);
    let bad = |node| LeafData { period, flags: FLAG_WORK_FAILED, node, ..idle };
    let proofs = w.finalise(keeper, &[bad(machine.node), bad(sibling.node)]);
    for proof in &proofs {
        w.ok(ix::fault_open(w, &keeper.wallet(), proof), &[&keeper.key]);
    }
    let fault = pda::fault(&machine.node, &Address::default(), period);
    w.warp(i64::from(w.params.appeal_secs));
    let payer = w.actor();
    w.ok(ix::slash_apply_by(w, &payer.wallet(), &fault), &[&payer.key]);
    w.warp(i64::from(w.params.period_secs) * 4);
    w.ok(ix::slash_close(w, &fault), &[]);
    away(w, keeper);
    complained(w, keeper);
}

/// A lease of an hour that runs on a machine of its own.
fn lease_of_its_own(w: &mut Testbed, keeper: &Actor) -> (Actor, Address, Address) {
    let (provider, customer) = (w.provider(20_000_000_000), w.customer(100_000_000));
    let machine = w.machine(&provider, 1);
    let order = w.order(&customer, ix::order_args(1));
    let lease = w.award(keeper, &customer, &order, &provider, &machine);
    w.ok(ix::lease_start(w, &lease, [3; 32]), &[&machine.key]);
    (customer, machine.node, lease)
}

/// Two machines fall silent, and the lease of one fails.
fn away(w: &mut Testbed, keeper: &Actor) {
    let (_, first, lease) = lease_of_its_own(w, keeper);
    let (_, second, _) = lease_of_its_own(w, keeper);
    let last_answer = w.now();
    w.warp(OUTAGE_SECS);
    for node in [first, second] {
        w.ok(ix::outage_vote(keeper, &node, last_answer), &[&keeper.key]);
    }
    w.ok(ix::lease_outage(w, keeper, &lease), &[&keeper.key]);
}

/// Two customers complain, and one is right.
fn complained(w: &mut Testbed, keeper: &Actor) {
    let leases = [0; 2].map(|_| {
        let (customer, _, lease) = lease_of_its_own(w, keeper);
        w.ok(ix::dispute_open(w, &lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&customer.key]);
        w.ok(ix::dispute_vote(keeper, &lease, 1), &[&keeper.key]);
        lease
    });
    let payer = w.actor();
    w.ok(ix::dispute_uphold(w, &payer.wallet(), &leases[0]), &[&payer.key]);
}
