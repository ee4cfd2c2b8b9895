//! Attacks with silence, and with votes about it.

use gantry_market::constants::{AWARD_VIEW_SECS, FLAG_OFFLINE, OUTAGE_SECS, OUTAGE_VOTE_SECS};
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Lease, Node, LEASE_ENDED, LEASE_RUNNING};
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::setups::Silence;
use gantry_market_tests::{ix, pda, Testbed};

use super::money::{wealth, Usd};
use super::slashes::{closed, punished};
use super::{Row, NEW_RULE};

/// How a provider is rid of a lease whose price it likes no more.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    EndsEarly,
    /// Until a report says so.
    GoesAway,
    FallsSilent,
}

/// What the provider has at the end, and what its node's record says of the lease.
fn rid_of_a_lease(way: Way) -> (i128, (u32, u64)) {
    let mut w = Testbed::new();
    let s = w.silent();
    w.settle(&s.deal, 1, 30);
    let (deal, payer) = (&s.deal, &s.keepers[0].key);
    let fault = match way {
        Way::EndsEarly => {
            let end = ix::lease_end(&w, &deal.provider.wallet(), &deal.lease, 1);
            w.ok(end, &[&deal.provider.key]);
            None
        }
        Way::GoesAway => {
            let period = w.period() + 1;
            w.warp_past_period(period);
            let good = w.good_leaf(deal.machine.node, deal.lease, period);
            let leaf =
                LeafData { flags: FLAG_OFFLINE, up_secs: 0, verified_secs: 0, downtime_secs: 60, ..good };
            let proofs = s.keepers.iter().map(|keeper| w.finalise(keeper, &[leaf])).last().expect("three");
            w.ok(ix::fault_open(&w, &s.keepers[0].wallet(), &proofs[0]), &[payer]);
            let migrate = ix::lease_migrate(&w, &s.keepers[0], &deal.lease, &s.spare.node);
            w.ok(migrate, &[payer]);
            Some(ix::fault_of(&proofs[0]))
        }
        Way::FallsSilent => {
            s.voted(&mut w, 3);
            w.ok_all(&s.moves(&w), &[payer]);
            Some(pda::outage_fault(&deal.lease))
        }
    };
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.status, lease.kept_word, lease.paid_secs), (LEASE_ENDED, 0, 30));
    let node: Node = w.read(&deal.machine.node);
    if let Some(fault) = fault {
        punished(&mut w, &fault, &[deal.lease]);
    }
    closed(&mut w, &deal.customer, &deal.lease);
    (wealth(&w, &[&deal.provider]), (node.jobs_failed, node.fees_failed))
}

fn silence_instead_of(way: Way, attack: &'static str, instead: &'static str) -> Row {
    let (silent, failures) = rid_of_a_lease(Way::FallsSilent);
    let (other, usual) = rid_of_a_lease(way);
    assert_eq!(failures, usual, "the node's record is as bad");
    Row { source: "O 1", attack, instead, before: NEW_RULE, profit: Usd(silent - other), assumption: "" }
}

/// Finding O 1.
pub fn a_provider_falls_silent_instead_of_ending_a_lease() -> Row {
    let attack = "A provider that wants to be rid of a lease since prices rose falls silent for ten seconds";
    silence_instead_of(Way::EndsEarly, attack, "ends it at once")
}

/// Finding O 1.
pub fn a_provider_falls_silent_for_seconds_and_not_for_a_period() -> Row {
    let attack = "The same, with a node that answers again as soon as the lease has moved";
    silence_instead_of(Way::GoesAway, attack, "stays away until a report says so")
}

/// What the owner of keepers, of the machine that waits, and of the customer has after it tried to move a lease that runs.
fn moved_by(voters: usize, tries: impl Fn(&mut Testbed, &Silence)) -> i128 {
    let mut w = Testbed::new();
    let s = w.silent();
    s.voted(&mut w, voters);
    tries(&mut w, &s);
    let _refused = w.send(&s.moves(&w), &[&s.keepers[0].key]);
    assert_eq!(s.deal.state(&w).status, LEASE_RUNNING, "it goes on where it is");
    w.settle(&s.deal, 1, s.deal.state(&w).billable_secs(w.now()));
    closed(&mut w, &s.deal.customer, &s.deal.lease);
    wealth(&w, &[&s.keepers[0], &s.keepers[1], &s.other, &s.deal.customer])
}

/// The others' keepers have not voted. All ways last as long.
fn below_the_quorum(attack: &'static str, tries: impl Fn(&mut Testbed, &Silence)) -> Row {
    let long = OUTAGE_VOTE_SECS + 1;
    let played = moved_by(2, |w, s| {
        let until = w.now() + long;
        tries(w, s);
        w.set_now(until);
    });
    let profit = played - moved_by(0, |w, _| w.warp(long));
    Row { source: "O 2", attack, instead: "nothing", before: NEW_RULE, profit: Usd(profit), assumption: "" }
}

/// Finding O 2.
pub fn two_thirds_move_a_lease_to_their_own_node() -> Row {
    below_the_quorum(
        "Keepers with exactly two thirds of the weight have a customer with a lease of a rival's node. They vote that \
         it is away, to move the lease to their own",
        |w, s| w.warp(s.outage(w).opened_at + OUTAGE_VOTE_SECS - w.now()),
    )
}

/// Finding O 2.
pub fn a_keeper_votes_twice_and_again_after_the_window() -> Row {
    below_the_quorum(
        "The same keepers vote again, at once and after the window of the first votes",
        |w, s| {
            for _ in 0..2 {
                for keeper in 0..2 {
                    let _refused = w.send(&[s.vote(keeper)], &[&s.keepers[keeper].key]);
                }
                w.warp(OUTAGE_VOTE_SECS);
            }
        },
    )
}

/// Finding O 2.
pub fn a_keeper_leaves_so_that_two_thirds_are_enough() -> Row {
    below_the_quorum(
        "After the votes, one of these keepers leaves, so that they weigh more of what is left",
        |w, s| {
            w.ok(ix::keeper_request_exit(&s.keepers[1]), &[&s.keepers[1].key]);
            let _refused = w.send(&[s.vote(0)], &[&s.keepers[0].key]);
            assert_eq!(s.outage(w).seen_at, 0);
        },
    )
}

/// All votes are right, and the node is back before they are used.
/// Finding O 3.
pub fn votes_are_used_after_the_node_has_answered() -> Row {
    let play = |late: bool| {
        let mut w = Testbed::new();
        let s = w.silent();
        s.voted(&mut w, 2);
        assert_eq!(w.now(), s.answer + OUTAGE_SECS);
        w.warp(OUTAGE_VOTE_SECS + 1);
        if late {
            // The third keeper's owner votes about that silence when the others know that it is over.
            w.ok(s.vote(2), &[&s.keepers[2].key]);
            let _refused = w.send(&s.moves(&w), &[&s.keepers[0].key]);
        }
        assert_eq!(s.deal.state(&w).status, LEASE_RUNNING);
        let seconds = s.deal.state(&w).billable_secs(w.now());
        w.settle(&s.deal, 1, seconds);
        closed(&mut w, &s.deal.customer, &s.deal.lease);
        wealth(&w, &[&s.keepers[2], &s.other, &s.deal.customer])
    };
    Row {
        source: "O 3",
        attack:
            "A keeper votes about a silence that is over, to complete what others voted half a minute ago",
        instead: "nothing",
        before: NEW_RULE,
        profit: Usd(play(true) - play(false)),
        assumption: "",
    }
}

/// The first lease and the dear node that it moves to stand at 3 USDC; a node that came meanwhile stands at 1.
/// Finding P 1.
pub fn a_failed_lease_moves_to_an_own_dear_node() -> Row {
    let play = |dear: bool| {
        let mut w = Testbed::new();
        let keeper = w.keeper(10_000_000_000);
        let (first, own, other) =
            (w.provider(20_000_000_000), w.provider(20_000_000_000), w.provider(20_000_000_000));
        let failing = w.machine_of(&first, ix::spec(1), 3_000_000);
        let (customer, finder) = (w.customer(100_000_000), w.actor());
        let args = OrderArgs { max_price: 3_000_000, duration_secs: 7_200, ..ix::order_args(1) };
        let order = w.order(&customer, args);
        let lease = w.award(&keeper, &customer, &order, &first, &failing);
        w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&failing.key]);
        let (worse, better) =
            (w.machine_of(&own, ix::spec(1), 3_000_000), w.machine_of(&other, ix::spec(1), 1_000_000));
        let before = wealth(&w, &[&keeper, &own]);
        w.warp(AWARD_VIEW_SECS + 1);
        w.warp_past_period(w.period());
        let period = w.period();
        w.warp_past_period(period);
        let good = w.good_leaf(failing.node, lease, period);
        let leaf = LeafData { flags: FLAG_OFFLINE, up_secs: 0, verified_secs: 0, downtime_secs: 60, ..good };
        let proof = w.finalise(&keeper, &[leaf]).remove(0);
        w.ok(ix::fault_open(&w, &keeper.wallet(), &proof), &[&keeper.key]);
        let (to, passed_over) = if dear { (&worse, &better) } else { (&better, &worse) };
        w.ok(ix::lease_migrate(&w, &keeper, &lease, &to.node), &[&keeper.key]);
        let moved = pda::lease(&lease, &to.node);
        w.ok(ix::lease_start(&w, &moved, [3; 32]), &[&to.key]);
        let proof = ix::prove_better_ask(&w, &finder, &moved, &passed_over.node);
        assert_eq!(w.send(&[proof], &[&finder.key]).is_ok(), dear);
        w.warp(3_600);
        w.ok_all(&ix::receipt(&w, &moved, &to.key, &customer.key, 1, 3_600), &[]);
        closed(&mut w, &customer, &moved);
        wealth(&w, &[&keeper, &own]) - before
    };
    Row {
        source: "P 1",
        attack: "A keeper moves a failed lease for an hour to its own node at 3 USDC although another's was free at 1",
        instead: "moves it to the node at 1",
        before: "+22.20 in 8.3 hours: it could not be proven",
        profit: Usd(play(true) - play(false)),
        assumption: "somebody proves it",
    }
}
