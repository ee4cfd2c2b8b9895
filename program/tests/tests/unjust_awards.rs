//! What a proof of an unjust award, or of an equivocation, does to the bond, the lease and the keeper's share.

use bytemuck::Zeroable;
use gantry_market::constants::AWARD_VIEW_SECS;
use gantry_market::errors::MarketError;
use gantry_market::events::{LeaseAborted, LeaseClosed};
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{
    Credits, Keeper, Lease, Market, Node, Payout, Rewards, ENDED_BY_PROVIDER, LEASE_ENDED, LEASE_RUNNING,
};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::leaves::statement;
use gantry_market_tests::{ix, pda, Actor, Deal, Machine, Testbed};
use solana_address::Address;
use solana_signer::Signer;

const BOND: u64 = 10_000_000_000;
const DEAR: u64 = 3_000_000;
const CHEAP: u64 = 2_000_000;

/// The deal is one lease of the dear machine, while the cheap one of another provider was free.
struct Case {
    w: Testbed,
    deal: Deal,
    finder: Actor,
    cheap: Machine,
}

fn awarded() -> Case {
    let mut w = Testbed::new();
    let keeper = w.keeper(BOND);
    let (other, provider) = (w.provider(20_000_000_000), w.provider(20_000_000_000));
    let cheap = w.machine_of(&other, ix::spec(2), CHEAP);
    let machine = w.machine_of(&provider, ix::spec(2), DEAR);
    let (customer, finder) = (w.customer(100_000_000), w.actor());
    w.warp(AWARD_VIEW_SECS + 1);
    let order = w.order(&customer, OrderArgs { max_price: 4_000_000, ..ix::order_args(1) });
    let lease = w.award(&keeper, &customer, &order, &provider, &machine);
    Case { w, deal: Deal { keeper, provider, machine, customer, order, lease }, finder, cheap }
}

fn running() -> Case {
    let mut c = awarded();
    c.w.ok(ix::lease_start(&c.w, &c.deal.lease, [3; 32]), &[&c.deal.machine.key]);
    c
}

impl Case {
    fn prove(&mut self) {
        let proof = ix::prove_better_ask(&self.w, &self.finder, &self.deal.lease, &self.cheap.node);
        self.w.ok(proof, &[&self.finder.key]);
    }

    fn lease(&self) -> Lease {
        self.w.read(&self.deal.lease)
    }

    fn bond(&self) -> u64 {
        self.w.read::<Keeper>(&self.deal.keeper.keeper()).bond
    }

    fn end(&mut self, by: &Address, signers: &[&solana_keypair::Keypair]) {
        self.w.ok(ix::lease_end(&self.w, by, &self.deal.lease, 0), signers);
    }
}

#[test]
fn at_most_a_twentieth_of_a_bond_leaves_by_slashes_in_an_exit_period() {
    let mut w = Testbed::new();
    let keeper = w.keeper(BOND);
    let (other, provider) = (w.provider(20_000_000_000), w.provider(240_000_000_000));
    let cheap = w.machine_of(&other, ix::spec(2), CHEAP);
    let dear: Vec<Machine> = (0..3).map(|_| w.machine_of(&provider, ix::spec(8), DEAR)).collect();
    let (customer, finders) = (w.customer(100_000_000), [w.actor(), w.actor(), w.actor()]);
    w.warp(AWARD_VIEW_SECS + 1);
    let leases: Vec<Address> = (0..20)
        .map(|at| {
            let args = OrderArgs { max_price: 4_000_000, ..ix::order_args(at) };
            let order = w.order(&customer, args);
            w.award(&keeper, &customer, &order, &provider, &dear[at as usize / 8])
        })
        .collect();
    let supply = w.supply(&w.stake_mint);
    for (at, lease) in leases.iter().enumerate() {
        let finder = &finders[at % 3];
        w.ok(ix::prove_better_ask(&w, finder, lease, &cheap.node), &[&finder.key]);
    }
    // The last proof of all takes what is left, and pays nothing.
    let records = [true, false].map(|passed| statement(&Address::new_from_array([5; 32]), 30, 3, passed));
    w.ok_all(&ix::equivocation(&w, &finders[0], &keeper, &records[0], &records[1]), &[&finders[0].key]);
    let at = |finder: &Actor| pda::payout(&finder.wallet(), &keeper.keeper());
    let paid: u64 = finders.iter().map(|finder| w.read::<Payout>(&at(finder)).amount).sum();
    assert_eq!(paid, BOND / 20);
    assert_eq!(w.read::<Keeper>(&keeper.keeper()).bond, 0);
    assert_eq!(supply - w.supply(&w.stake_mint), BOND - BOND / 20);
    assert_eq!(w.read::<Rewards>(&pda::rewards()).payouts, BOND / 20);
}

#[test]
fn no_exit_period_however_placed_has_more_than_a_twentieth() {
    let mut keeper = Keeper::zeroed();
    let mut part = |wanted, bond, now| keeper.finder_part(wanted, bond, now, 600).expect("fits");
    assert_eq!(part(30, 1_000, 1_000), 30);
    assert_eq!(part(30, 900, 1_599), 20);
    // What was paid last counts for a whole exit period, and so does the bond before the first of these slashes.
    assert_eq!(part(30, 800, 2_198), 0);
    assert_eq!(part(30, 800, 2_199), 30);
    assert_eq!(part(30, 700, 2_200), 10);
    assert_eq!(part(0, 700, 2_300), 0);
    // A part of nothing begins no new period.
    assert_eq!(part(30, 600, 2_800), 30);
}

#[test]
fn an_unjust_award_is_repriced_to_the_better_ask() {
    let mut c = running();
    c.w.warp(30);
    c.w.settle(&c.deal, 1, 30);
    let before = c.lease();
    assert_eq!((before.price, before.paid), (DEAR, 25_000));
    c.prove();
    let after = c.lease();
    // What was served keeps its price, and the rest of the reservation waits for the end.
    assert_eq!(
        (after.price, after.repriced, after.repriced_secs, after.repriced_paid),
        (CHEAP, 1, 30, 25_000)
    );
    assert_eq!((after.paid, after.reserved, after.award_price), (25_000, before.reserved, DEAR));
    c.w.warp(30);
    c.w.settle(&c.deal, 2, 60);
    assert_eq!(c.lease().paid, 25_000 + 16_666);
    // More time costs the new price.
    let extend = ix::lease_extend(&c.w, &c.deal.lease, 1_800);
    c.w.ok(extend, &[&c.deal.customer.key]);
    assert_eq!(c.lease().reserved, after.reserved + 1_000_000 - (16_666 - 16_666 * 12 / 100));
    let customer = c.deal.customer.again();
    c.end(&customer.wallet(), &[&customer.key]);
    let credits: Credits = c.w.read(&customer.credits());
    assert_eq!(credits.reserved, c.lease().fee_total().expect("fits"));
}

#[test]
fn a_lease_that_ended_is_repriced_too() {
    let mut c = running();
    c.w.warp(30);
    let customer = c.deal.customer.again();
    c.end(&customer.wallet(), &[&customer.key]);
    c.prove();
    // It has served at the price of its award.
    c.w.settle(&c.deal, 1, 30);
    assert_eq!(c.lease().paid, 25_000);
    c.w.warp_to_next_period();
    let meta = c.w.ok(ix::lease_close(&c.w, &customer.wallet(), &c.deal.lease), &[&customer.key]);
    let event = LeaseClosed {
        lease: c.deal.lease,
        fee: 3_000,
        award: 0,
        lost: 0,
        released: 0,
        paid: 25_000,
        paid_secs: 30,
    };
    assert_emitted(&meta, &event);
}

#[test]
fn an_unjust_award_earns_its_keeper_nothing() {
    for unjust in [false, true] {
        let mut c = running();
        c.w.warp(30);
        c.w.settle(&c.deal, 1, 30);
        if unjust {
            c.prove();
        }
        let customer = c.deal.customer.again();
        c.end(&customer.wallet(), &[&customer.key]);
        c.w.warp_to_next_period();
        let meta = c.w.ok(ix::lease_close(&c.w, &customer.wallet(), &c.deal.lease), &[&customer.key]);
        let (fee, award) = (3_000, if unjust { 0 } else { 300 });
        let event = LeaseClosed {
            lease: c.deal.lease,
            fee,
            award,
            lost: 0,
            released: 0,
            paid: 25_000,
            paid_secs: 30,
        };
        assert_emitted(&meta, &event);
        assert_eq!(c.w.read::<Keeper>(&c.deal.keeper.keeper()).earned, award);
        let rewards: Rewards = c.w.read(&pda::rewards());
        assert_eq!((rewards.earned, rewards.pending), (award, fee - award));
    }
}

#[test]
fn the_provider_of_a_repriced_lease_may_end_it_at_once() {
    for unjust in [false, true] {
        let mut c = running();
        c.w.warp(30);
        if unjust {
            c.prove();
        }
        let provider = c.deal.provider.again();
        c.end(&provider.wallet(), &[&provider.key]);
        let lease = c.lease();
        if unjust {
            // It has kept its word, and is paid for what it served.
            assert_eq!(
                (lease.status, lease.end_reason, lease.kept_word),
                (LEASE_ENDED, ENDED_BY_PROVIDER, 1)
            );
            assert_eq!((lease.ended_at, lease.downtime_secs), (c.w.now(), 0));
        } else {
            assert_eq!((lease.status, lease.notice_at), (LEASE_RUNNING, c.w.now()));
        }
    }
}

#[test]
fn a_node_need_not_start_at_a_price_that_fell() {
    for unjust in [false, true] {
        let mut c = awarded();
        if unjust {
            c.prove();
        }
        c.w.warp(i64::from(c.w.params.start_deadline_secs) + 1);
        let before = c.w.read::<Node>(&c.deal.machine.node).record(c.w.now());
        let reserved = c.lease().reserved;
        let meta = c.w.ok(ix::lease_abort(&c.w, &c.deal.lease), &[]);
        let node_failed = u8::from(!unjust);
        // The customer gets back what was reserved at the former price.
        assert_emitted(&meta, &LeaseAborted { lease: c.deal.lease, released: reserved, node_failed });
        assert_eq!(c.w.read::<Credits>(&c.deal.customer.credits()).reserved, 0);
        let after = c.w.read::<Node>(&c.deal.machine.node).record(c.w.now());
        assert_eq!(bytemuck::bytes_of(&before.score) == bytemuck::bytes_of(&after.score), unjust);
    }
}

#[test]
fn the_slash_covers_eight_times_what_the_award_made_dearer() {
    // 1 USDC an hour for the minute in which the award can be contested, eight times.
    let dearer = 16_666 * 8;
    for (stake_price, amount) in
        [(1_000_000, BOND / 5), (50_000, dearer * 1_000_000_000 / 50_000), (1_000, BOND)]
    {
        let mut c = awarded();
        c.w.alter(&pda::market(), |m: &mut Market| m.params.stake_price = stake_price);
        c.prove();
        assert_eq!(BOND - c.bond(), amount);
    }
}

/// A keeper proves itself with a node of its own that is hardly better, before somebody shows the really better one.
#[test]
fn a_small_proof_does_not_shield_from_the_large_one() {
    let mut c = running();
    c.w.alter(&pda::market(), |m: &mut Market| m.params.stake_price = 50_000);
    let own = c.w.provider(20_000_000_000);
    let hardly = c.w.machine_of(&own, ix::spec(2), DEAR - 1);
    let since = c.w.read::<Node>(&c.cheap.node).ask_since;
    c.w.alter(&hardly.node, |n: &mut Node| {
        (n.ask_since, n.available_since, n.covered_since, n.registered_at) = (since, since, since, since);
        (n.record_since, n.terms_at) = (since, since);
        n.availability.since[0] = since;
    });
    let price = |c: &Case| c.lease().price;
    let prove = |c: &mut Case, better: &Address| {
        let proof = ix::prove_better_ask(&c.w, &c.finder, &c.deal.lease, better);
        c.w.ok(proof, &[&c.finder.key]);
    };
    prove(&mut c, &hardly.node);
    assert_eq!((price(&c), c.lease().paid, BOND - c.bond()), (DEAR - 1, 0, BOND / 5));
    c.w.warp(30);
    c.w.settle(&c.deal, 1, 30);
    assert_eq!(c.lease().paid, 24_999);
    let cheap = c.cheap.node;
    prove(&mut c, &cheap);
    // The two together cost what the second alone would have.
    assert_eq!((price(&c), BOND - c.bond()), (CHEAP, 16_666 * 8 * 1_000_000_000 / 50_000));
    assert_eq!((c.lease().repriced_secs, c.lease().repriced_paid), (30, 24_999));
    // The smaller one shows nothing any more.
    let proof = ix::prove_better_ask(&c.w, &c.finder, &c.deal.lease, &hardly.node);
    c.w.refused(proof, &[&c.finder.key], MarketError::NotBetter);
    c.w.warp(30);
    c.w.settle(&c.deal, 2, 60);
    assert_eq!(c.lease().paid, 24_999 + 16_666);
}

#[test]
fn a_worse_record_at_the_same_price_is_dearer_by_what_it_scores_worse() {
    let mut c = awarded();
    c.w.alter(&c.cheap.node.clone(), |n: &mut Node| n.price = DEAR);
    // It scored half as much again: its hour was worth two thirds of what it costs.
    c.w.alter(&c.deal.lease.clone(), |l: &mut Lease| {
        l.score += l.score / 2;
        l.award_score = l.score;
    });
    c.w.alter(&pda::market(), |m: &mut Market| m.params.stake_price = 50_000);
    c.prove();
    assert_eq!(BOND - c.bond(), 16_666 * 8 * 1_000_000_000 / 50_000);
    // No price is better than the customer's own: the lease goes on as agreed, but earns its keeper nothing.
    let lease = c.lease();
    assert_eq!((lease.price, lease.repriced, lease.award_bps), (DEAR, 0, 0));
    let start = ix::lease_start(&c.w, &c.deal.lease, [3; 32]);
    c.w.ok(start, &[&c.deal.machine.key]);
    let key = c.deal.machine.key.pubkey();
    let end = ix::lease_end(&c.w, &key, &c.deal.lease, 0);
    c.w.ok(end, &[&c.deal.machine.key]);
    assert_eq!(c.lease().status, LEASE_RUNNING);
    let end = ix::lease_end(&c.w, &key, &c.deal.lease, 0);
    c.w.warp(1);
    c.w.refused(end, &[&c.deal.machine.key], MarketError::TooEarly);
}

/// What a node has served before it knew is paid at the price of its award, however often the price falls later.
#[test]
fn time_that_was_served_keeps_its_price() {
    let mut c = running();
    c.w.warp(10);
    c.w.settle(&c.deal, 1, 10);
    c.w.warp(20);
    c.prove();
    let lease = c.lease();
    assert_eq!((lease.paid_secs, lease.repriced_secs, lease.repriced_paid), (10, 30, 25_000));
    // A part of it, then the rest, then time at the new price.
    let mut sequence = 1;
    for (warp, seconds, paid) in [(0, 17, 14_166), (0, 30, 25_000), (30, 60, 25_000 + 16_666)] {
        c.w.warp(warp);
        sequence += 1;
        c.w.settle(&c.deal, sequence, seconds);
        assert_eq!(c.lease().paid, paid, "{seconds} s");
    }
}
