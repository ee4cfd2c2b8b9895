use gantry_market::constants::{FAILURE_PART, PRIOR_FEES};
use gantry_market::errors::MarketError;
use gantry_market::events::{LeaseEnded, LeaseNoticed};
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{
    Credits, Lease, Node, Provider, ENDED_BY_CUSTOMER, ENDED_BY_PROVIDER, ENDED_FAILED, ENDED_JOB_DONE,
    ENDED_UNFUNDED, LEASE_ENDED, LEASE_FAILED, LEASE_RUNNING, NODE_ACTIVE,
};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, Deal, Testbed};
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

/// Ten minutes into a lease, five of them paid.
fn ready() -> (Testbed, Deal) {
    ready_with(ix::order_args(1))
}

fn ready_with(args: OrderArgs) -> (Testbed, Deal) {
    let mut w = Testbed::new();
    let deal = w.running_with(args);
    w.warp(600);
    w.settle(&deal, 1, 300);
    (w, deal)
}

fn by_customer(w: &Testbed, deal: &Deal) -> Instruction {
    ix::lease_end(w, &deal.customer.wallet(), &deal.lease, 0)
}

fn by_provider(w: &Testbed, deal: &Deal, immediate: u8) -> Instruction {
    ix::lease_end(w, &deal.provider.wallet(), &deal.lease, immediate)
}

/// What the provider has received of five minutes: 166,666 µUSDC less 19,999.
const RECEIVED: u64 = 146_667;

#[test]
fn a_customer_ends_at_any_time_and_gets_the_future_back() {
    let (mut w, deal) = ready();
    let meta = w.ok(by_customer(&w, &deal), &[&deal.customer.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.status, lease.end_reason, lease.ended_at), (LEASE_ENDED, ENDED_BY_CUSTOMER, w.now()));
    // Ten minutes may still be owed; what was paid of them is gone.
    assert_eq!(lease.reserved, 333_333 - RECEIVED);
    let released = 2_000_000 - 333_333;
    let credits: Credits = w.read(&deal.customer.credits());
    assert_eq!((credits.reserved, credits.live_leases), (333_333 - RECEIVED, 1));
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.gpu_mask, node.live_leases), (0, 0));
    // It counts once its fee is swept.
    assert_eq!((node.jobs_completed, node.jobs_failed, lease.kept_word), (0, 0, 1));
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).live_leases, 0);
    assert_emitted(
        &meta,
        &LeaseEnded { lease: deal.lease, reason: ENDED_BY_CUSTOMER, ended_at: w.now(), released },
    );
    w.refused(by_customer(&w, &deal), &[&deal.customer.key], MarketError::WrongLeaseStatus);
    assert_eq!(deal.state(&w).kept_word, 1);
}

#[test]
fn a_provider_gives_notice_and_then_keeps_its_word() {
    let (mut w, deal) = ready();
    let meta = w.ok(by_provider(&w, &deal, 0), &[&deal.provider.key]);
    assert_emitted(&meta, &LeaseNoticed { lease: deal.lease, notice_at: w.now() });
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.status, lease.notice_at, lease.ended_at), (LEASE_RUNNING, w.now(), 0));
    w.warp(59);
    w.refused(by_provider(&w, &deal, 0), &[&deal.provider.key], MarketError::TooEarly);
    w.warp(1);
    w.ok(by_provider(&w, &deal, 0), &[&deal.provider.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.status, lease.end_reason, lease.ended_at), (LEASE_ENDED, ENDED_BY_PROVIDER, w.now()));
    assert_eq!(lease.downtime_secs, 0);
    assert_eq!(deal.state(&w).kept_word, 1);
}

#[test]
fn leaving_at_once_costs_the_pay_of_the_notice() {
    let (mut w, deal) = ready();
    w.ok(by_provider(&w, &deal, 1), &[&deal.provider.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.end_reason, lease.downtime_secs, lease.paid_secs), (ENDED_BY_PROVIDER, 60, 300));
    // Of ten minutes nine may be owed.
    assert_eq!(lease.reserved, 300_000 - RECEIVED);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.jobs_failed, node.fees_failed, lease.kept_word), (1, PRIOR_FEES / FAILURE_PART, 0));
    let too_much = ix::receipt(&w, &deal.lease, &deal.machine.key, &deal.customer.key, 2, 541);
    w.refused_all(&too_much, &[], MarketError::ReceiptTooLarge);
    w.settle(&deal, 2, 540);
    assert_eq!(deal.state(&w).reserved, 36_000);
}

#[test]
fn what_is_paid_already_is_not_forfeited() {
    let (mut w, deal) = ready();
    w.settle(&deal, 2, 590);
    w.ok(ix::lease_end(&w, &deal.machine.key.pubkey(), &deal.lease, 1), &[&deal.machine.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.downtime_secs, lease.paid_secs, lease.billable_secs(w.now())), (10, 590, 590));
}

#[test]
fn leaving_at_once_within_the_notice_costs_as_much() {
    let (mut w, deal) = ready();
    w.ok(by_provider(&w, &deal, 0), &[&deal.provider.key]);
    w.warp(59);
    w.ok(by_provider(&w, &deal, 1), &[&deal.provider.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.end_reason, lease.downtime_secs), (ENDED_BY_PROVIDER, 60));
    assert_eq!(w.read::<Node>(&deal.machine.node).jobs_failed, 1);
}

#[test]
fn only_one_means_at_once() {
    let (mut w, deal) = ready();
    w.ok(by_provider(&w, &deal, 2), &[&deal.provider.key]);
    assert_eq!(deal.state(&w).status, LEASE_RUNNING);
}

#[test]
fn a_job_that_is_done_ends_its_lease() {
    let (mut w, deal) = ready_with(OrderArgs { run_to_completion: 1, ..ix::order_args(1) });
    w.ok(ix::lease_end(&w, &deal.machine.key.pubkey(), &deal.lease, 0), &[&deal.machine.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.status, lease.end_reason, lease.ended_at), (LEASE_ENDED, ENDED_JOB_DONE, w.now()));
    assert_eq!(deal.state(&w).kept_word, 1);
}

#[test]
fn anyone_ends_a_lease_without_funds_at_the_time_that_they_lasted_to() {
    let (mut w, deal) = ready();
    let stranger = w.actor();
    let until = deal.state(&w).funded_until;
    w.set_now(until - 1);
    let end = ix::lease_end(&w, &stranger.wallet(), &deal.lease, 0);
    w.refused(end.clone(), &[&stranger.key], MarketError::Unauthorised);
    w.set_now(until + 1_000);
    w.ok(end, &[&stranger.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.end_reason, lease.ended_at), (ENDED_UNFUNDED, until));
    assert_eq!(lease.reserved, 2_000_000 - RECEIVED, "all of the hour may still be owed");
    assert_eq!(deal.state(&w).kept_word, 1);
}

/// A node that was slashed and is not topped up is paid for one period more; then anyone ends its leases.
#[test]
fn a_lease_of_a_node_that_is_not_covered_stops_billing_after_a_period() {
    let (mut w, deal) = ready();
    let stranger = w.actor();
    let until = w.now() + 60;
    // As a slash leaves it.
    w.alter(&deal.machine.node, |n: &mut Node| (n.stake, n.billing_until) = (19_000_000_000, until));
    let has = |p: &mut Provider| (p.stake, p.locked_stake) = (19_000_000_000, 19_000_000_000);
    w.alter(&deal.provider.provider(), has);
    let end = ix::lease_end(&w, &stranger.wallet(), &deal.lease, 0);
    w.warp(59);
    w.refused(end.clone(), &[&stranger.key], MarketError::Unauthorised);
    w.warp(11);
    // It cannot be covered again over the head of leases that have stopped.
    w.ok(ix::provider_stake(&w, &deal.provider, 1_000_000_000), &[&deal.provider.key]);
    let (wallet, provider) = (deal.provider.wallet(), deal.provider.provider());
    let top_up = ix::node_update(&wallet, &provider, &deal.machine.node, 2_000_000, NODE_ACTIVE);
    w.refused(top_up.clone(), &[&deal.provider.key], MarketError::InsufficientStake);
    let mut dear = w.fork();
    w.ok(end.clone(), &[&stranger.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.status, lease.end_reason, lease.ended_at), (LEASE_ENDED, ENDED_FAILED, until));
    assert_eq!(lease.reserved, 366_666 - RECEIVED, "eleven minutes");
    assert_eq!(w.read::<Node>(&deal.machine.node).jobs_failed, 1);
    w.ok(top_up, &[&deal.provider.key]);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.stake, node.billing_until), (20_000_000_000, 0));
    // A receipt for more pays no more than that.
    let mut late = dear.fork();
    late.settle(&deal, 2, 665);
    assert_eq!(deal.state(&late).paid_secs, 660);
    late.ok(end.clone(), &[&stranger.key]);
    assert_eq!(deal.state(&late).ended_at, until);
    // What is paid stays paid.
    dear.alter(&deal.machine.node, |n: &mut Node| n.billing_until = 0);
    dear.settle(&deal, 2, 665);
    dear.alter(&deal.machine.node, |n: &mut Node| n.billing_until = until);
    dear.ok(end, &[&stranger.key]);
    assert_eq!(deal.state(&dear).ended_at, until + 5);
}

#[test]
fn anyone_ends_a_failed_lease_at_the_time_that_it_failed() {
    let (mut w, deal) = ready();
    let (stranger, at) = (w.actor(), w.now() - 100);
    w.alter(&deal.lease, |l: &mut Lease| (l.status, l.ended_at) = (LEASE_FAILED, at));
    let end = ix::lease_end(&w, &stranger.wallet(), &deal.lease, 0);
    // For two periods after its failure it may move to another node.
    w.refused(end.clone(), &[&stranger.key], MarketError::TooEarly);
    let provider = ix::lease_end(&w, &deal.provider.wallet(), &deal.lease, 1);
    w.refused(provider, &[&deal.provider.key], MarketError::TooEarly);
    w.set_now(at + 120);
    w.refused(end.clone(), &[&stranger.key], MarketError::TooEarly);
    w.warp(1);
    w.ok(end, &[&stranger.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.status, lease.end_reason, lease.ended_at), (LEASE_ENDED, ENDED_FAILED, at));
    // 500 seconds may be owed.
    assert_eq!(lease.reserved, 277_777 - RECEIVED);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.jobs_failed, node.gpu_mask), (1, 0));
}

#[test]
fn a_failed_lease_that_cannot_move_ends_at_once() {
    type Case = (&'static str, fn(&mut Lease));
    let cases: [Case; 2] = [
        ("its customer forbade it", |l| l.may_migrate = 0),
        ("all of its time was delivered", |l| l.ended_at = l.funded_until),
    ];
    for (what, change) in cases {
        println!("{what}");
        let (mut w, deal) = ready();
        let (stranger, at) = (w.actor(), w.now() - 100);
        w.alter(&deal.lease, |l: &mut Lease| (l.status, l.ended_at) = (LEASE_FAILED, at));
        w.alter(&deal.lease, change);
        w.ok(ix::lease_end(&w, &stranger.wallet(), &deal.lease, 0), &[&stranger.key]);
    }
    // The customer need not wait for anything.
    let (mut w, deal) = ready();
    let at = w.now() - 100;
    w.alter(&deal.lease, |l: &mut Lease| (l.status, l.ended_at) = (LEASE_FAILED, at));
    w.ok(by_customer(&w, &deal), &[&deal.customer.key]);
    assert_eq!(deal.state(&w).end_reason, ENDED_FAILED);
}

#[test]
fn a_session_key_ends_a_lease_as_its_customer() {
    let (mut w, deal) = ready();
    let session = w.actor();
    let end = ix::lease_end(&w, &session.wallet(), &deal.lease, 0);
    w.refused(end.clone(), &[&session.key], MarketError::Unauthorised);
    let until = w.now() + 60;
    w.ok(ix::credits_set_session_key(&deal.customer, &session.wallet(), 1, until), &[&deal.customer.key]);
    w.warp(60);
    w.refused(end.clone(), &[&session.key], MarketError::Unauthorised);
    w.warp(-1);
    w.ok(end, &[&session.key]);
    assert_eq!(deal.state(&w).end_reason, ENDED_BY_CUSTOMER);
}

#[test]
fn a_lease_that_did_not_start_is_aborted_and_not_ended() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.refused(by_customer(&w, &deal), &[&deal.customer.key], MarketError::WrongLeaseStatus);
}

#[test]
fn a_lease_may_end_in_the_second_it_started() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.ok(by_customer(&w, &deal), &[&deal.customer.key]);
    assert_eq!(deal.state(&w).reserved, 0);
    w.ok(ix::lease_close(&w, &deal.customer.wallet(), &deal.lease), &[&deal.customer.key]);
    assert_eq!(w.read::<Credits>(&deal.customer.credits()).balance, 100_000_000);
}

#[test]
fn a_paused_market_still_ends() {
    let (mut w, deal) = ready();
    w.pause();
    w.ok(by_customer(&w, &deal), &[&deal.customer.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, deal) = ready();
    let (stranger, other) = (w.customer(10_000_000), w.provider(20_000_000_000));
    let others = w.machine(&other, 1);
    let good = by_customer(&w, &deal);
    let silent = unsigned(good.clone(), &deal.customer.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let (credits, node, provider) = (deal.customer.credits(), deal.machine.node, deal.provider.provider());
    for who in [&stranger, &other, &deal.keeper] {
        for immediate in [0, 1] {
            let end = ix::lease_end(&w, &who.wallet(), &deal.lease, immediate);
            w.refused(end, &[&who.key], MarketError::Unauthorised);
        }
    }
    // A provider account of the signer's own does not make it the lease's provider.
    let own = swap(good.clone(), &deal.customer.wallet(), &other.wallet());
    w.refused(swap(own, &provider, &other.provider()), &[&other.key], MarketError::WrongAccount);
    for at in [credits, node, provider, deal.lease] {
        let fake = w.forged(&at);
        let cases = [("program", at, fake, InstructionError::IllegalOwner.into())];
        w.refuses_swaps(&good, &[&deal.customer.key], &cases);
    }
    let cases: [(_, _, _, Code); 3] = [
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("node", node, others.node, MarketError::WrongAccount.into()),
        ("credits", credits, stranger.credits(), MarketError::WrongAccount.into()),
    ];
    w.refuses_swaps(&good, &[&deal.customer.key], &cases);
}

/// What the node was compared by until then stays provable.
#[test]
fn a_failure_at_the_end_moves_the_score_record() {
    let (mut w, deal) = ready();
    let before: Node = w.read(&deal.machine.node);
    w.ok(by_provider(&w, &deal, 1), &[&deal.provider.key]);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.jobs_failed, node.record_since), (1, w.now()));
    assert_eq!((node.previous_since, node.previous.fees_failed), (before.record_since, before.fees_failed));
    assert!(node.fees_failed > before.fees_failed);
}
