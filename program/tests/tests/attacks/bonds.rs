//! Attacks on a keeper's bond, and by way of awards.

use gantry_market::constants::{AWARD_VIEW_SECS, FLAG_UNHEALTHY};
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Keeper, Lease};
use gantry_market_tests::leaves::{statement, LeafData};
use gantry_market_tests::{ix, Actor, Machine, Testbed};
use solana_address::Address;

use super::money::{wealth, Usd};
use super::slashes::closed;
use super::{Row, NEW_RULE};

const BOND: u64 = 10_000_000_000;

/// A keeper, its own customer, and its own provider with a cheap node and a dear one of eight GPUs.
struct Owner {
    w: Testbed,
    keeper: Actor,
    provider: Actor,
    customer: Actor,
    cheap: Machine,
    dear: Machine,
}

fn owner() -> Owner {
    let mut w = Testbed::new();
    let (keeper, provider) = (w.keeper(BOND), w.provider(90_000_000_000));
    let cheap = w.machine_of(&provider, ix::spec(1), 1_000_000);
    let dear = w.machine_of(&provider, ix::spec(8), 4_000_000);
    let customer = w.customer(100_000_000);
    w.warp(AWARD_VIEW_SECS + 1);
    Owner { w, keeper, provider, customer, cheap, dear }
}

impl Owner {
    /// Awards 20 orders to the dear node, and starts and ends their leases unpaid.
    fn awards(&mut self) -> Vec<Address> {
        let (w, who) = (&mut self.w, &self.customer);
        (0..20)
            .map(|nonce| {
                let order = w.order(who, OrderArgs { max_price: 4_000_000, ..ix::order_args(nonce) });
                let lease = w.award(&self.keeper, who, &order, &self.provider, &self.dear);
                w.ok(ix::lease_start(w, &lease, [3; 32]), &[&self.dear.key]);
                w.ok(ix::lease_end(w, &who.wallet(), &lease, 0), &[&who.key]);
                lease
            })
            .collect()
    }

    /// Proves as many of these awards unjust as it can, each by the next of the finders.
    fn proves(&mut self, leases: &[Address], finders: &[Actor]) -> usize {
        let prove = |(at, lease): (usize, &Address)| {
            let finder = &finders[at % finders.len()];
            let proof = ix::prove_better_ask(&self.w, finder, lease, &self.cheap.node);
            self.w.send(&[proof], &[&finder.key]).is_ok()
        };
        leases.iter().enumerate().map(prove).filter(|proven| *proven).count()
    }

    fn wealth(&self, finders: &[Actor]) -> i128 {
        let own = [&self.keeper, &self.provider, &self.customer];
        let all: Vec<&Actor> = own.into_iter().chain(finders).collect();
        wealth(&self.w, &all)
    }
}

/// Finding C 1.
pub fn a_keeper_carries_its_bond_out_through_its_customer() -> Row {
    let mut o = owner();
    let before = o.wealth(&[]);
    let leases = o.awards();
    // The customer is the finder too.
    let finders = [o.customer.again()];
    assert_eq!(o.proves(&leases, &finders), 20);
    Row {
        source: "C 1",
        attack: "A keeper with a bond of 10 awards 20 orders of its own customer to its own dear node. Its customer \
                 proves that the cheap one was free",
        instead: "asks for its bond and waits",
        before: "0: 9.885 of 10 was out at once, none burned",
        profit: Usd(o.wealth(&[]) - before),
        assumption: "",
    }
}

/// Finding R 8.
pub fn a_bond_leaves_through_many_finders_and_two_kinds_of_proof() -> Row {
    let mut o = owner();
    let finders: Vec<Actor> = (0..20).map(|_| o.w.actor()).collect();
    let before = o.wealth(&finders);
    let leases = o.awards();
    assert_eq!(o.proves(&leases, &finders), 20);
    let records = [true, false].map(|passed| statement(&Address::new_from_array([5; 32]), 30, 3, passed));
    let proof = ix::equivocation(&o.w, &finders[0], &o.keeper, &records[0], &records[1]);
    o.w.ok_all(&proof, &[&finders[0].key]);
    assert_eq!(o.w.read::<Keeper>(&o.keeper.keeper()).bond, 0);
    Row {
        source: "R 8",
        attack: "A keeper with a bond of 10 lets 20 wallets of its own prove 20 unjust awards, and a contradiction of \
                 its own signatures for what is left",
        instead: "asks for its bond and waits",
        before: "0: 9.885 of 10 was out at once",
        profit: Usd(o.wealth(&finders) - before),
        assumption: "",
    }
}

/// How an award for an hour to an own node, at 3 USDC while another's was free at 2, is proven.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    None,
    /// By a stranger, with the better node.
    Stranger,
    /// By its own keeper first, with a node of its own that is hardly better; then by a stranger.
    Own,
}

/// What the keeper's owner has more when its node asks `price` and gets somebody's order of `gpus` GPUs for `hours`.
fn favoured(price: u64, proof: Proof, gpus: u8, hours: u32) -> i128 {
    let mut w = Testbed::new();
    let keeper = w.keeper(BOND);
    let (honest, own) = (w.provider(100_000_000_000), w.provider(200_000_000_000));
    let better = w.machine_of(&honest, ix::spec(gpus), 2_000_000);
    let worse = w.machine_of(&own, ix::spec(gpus), price);
    let decoy = w.machine_of(&own, ix::spec(gpus), price - 1);
    let (customer, short, finder) = (w.customer(1_000_000_000), w.customer(100_000_000), w.actor());
    let own_finder = w.actor();
    w.warp(AWARD_VIEW_SECS + 1);
    let all = [&keeper, &own, &short, &own_finder];
    let before = wealth(&w, &all);
    let seconds = 3_600 * hours;
    let args =
        OrderArgs { max_price: 4_000_000, gpus_per_node: gpus, duration_secs: seconds, ..ix::order_args(1) };
    let order = w.order(&customer, args);
    let lease = w.award(&keeper, &customer, &order, &own, &worse);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&worse.key]);
    let started = w.now();
    if proof == Proof::Own {
        let proof = ix::prove_better_ask(&w, &own_finder, &lease, &decoy.node);
        w.ok(proof, &[&own_finder.key]);
    }
    w.warp(5);
    let pays = |w: &mut Testbed, sequence, seconds| {
        let receipt = ix::receipt(w, &lease, &worse.key, &customer.key, sequence, seconds);
        w.ok_all(&receipt, &[]);
    };
    pays(&mut w, 1, 5);
    if proof != Proof::None {
        // Its own customer takes the better node for a second, so that it was not free all the time.
        let order = w.order(&short, ix::order_args(1));
        let one = w.award(&keeper, &short, &order, &honest, &better);
        w.ok(ix::lease_start(&w, &one, [3; 32]), &[&better.key]);
        w.warp(1);
        w.ok(ix::lease_end(&w, &short.wallet(), &one, 0), &[&short.key]);
        let stranger = ix::prove_better_ask(&w, &finder, &lease, &better.node);
        w.ok(stranger, &[&finder.key]);
    }
    w.set_now(started + i64::from(seconds));
    pays(&mut w, 2, seconds);
    closed(&mut w, &customer, &lease);
    wealth(&w, &all) - before
}

/// Finding R 9.
pub fn an_own_dear_node_is_favoured() -> Row {
    let (just, unproven) = (favoured(2_000_000, Proof::None, 1, 1), favoured(3_000_000, Proof::None, 1, 1));
    assert_eq!(unproven - just, 892_000_000, "what the row says of it");
    Row {
        source: "C 5f, C 6f, R 9",
        attack: "A keeper awards an order for an hour to its own node at 3 USDC although another's was free at 2. It \
                 takes its share of the fee, and its own customer rents the better node for a second",
        instead: "its node asks 2 USDC",
        before: "+0.892: the short order erased the proof",
        profit: Usd(favoured(3_000_000, Proof::Stranger, 1, 1) - just),
        assumption: "somebody proves it: any keeper can, from what is on chain. An award that nobody proves brings \
                     0.892 for each hour and GPU",
    }
}

/// Finding R 9.
pub fn a_small_proof_shields_from_a_large_one() -> Row {
    let just = favoured(2_000_000, Proof::None, 8, 24);
    Row {
        source: "R 9",
        attack: "A keeper awards an order of eight GPUs for a day to its own node at 3 USDC although another's was \
                 free at 2. Its own finder proves at once that a second node of its own was better by a millionth, and \
                 the lease costs a millionth less. Then a stranger proves the rest",
        instead: "its node asks 2 USDC",
        before: NEW_RULE,
        profit: Usd(favoured(3_000_000, Proof::Own, 8, 24) - just),
        assumption: "somebody proves it: the program takes a further proof that shows a better score than the last one",
    }
}

/// The better node is reported as unhealthy between order and award.
/// Finding R 14.
pub fn unhealthy_after_the_order_excuses_the_award() -> Row {
    let mut w = Testbed::new();
    let keeper = w.keeper(BOND);
    let (honest, own) = (w.provider(20_000_000_000), w.provider(20_000_000_000));
    let better = w.machine_of(&honest, ix::spec(2), 2_000_000);
    let worse = w.machine_of(&own, ix::spec(2), 3_000_000);
    let (customer, finder) = (w.customer(100_000_000), w.actor());
    let period = w.period() + 1;
    w.warp_past_period(period - 1);
    w.warp(AWARD_VIEW_SECS + 20);
    let before = wealth(&w, &[&keeper, &own]);
    let order = w.order(&customer, OrderArgs { max_price: 4_000_000, ..ix::order_args(1) });
    w.warp_past_period(period);
    let good = w.good_leaf(better.node, Address::default(), period);
    let proof = w.finalise(&keeper, &[LeafData { flags: FLAG_UNHEALTHY, ..good }]).remove(0);
    w.ok(ix::report_apply(&proof), &[]);
    let lease = w.award(&keeper, &customer, &order, &own, &worse);
    assert!(w.read::<Lease>(&lease).score > 0);
    let proof = ix::prove_better_ask(&w, &finder, &lease, &better.node);
    w.ok(proof, &[&finder.key]);
    Row {
        source: "R 14",
        attack: "Keepers report the better node as unhealthy when the order is there, so that the award to their own is just",
        instead: "the award to the better node",
        before: "−2",
        profit: Usd(wealth(&w, &[&keeper, &own]) - before),
        assumption: "somebody proves it within the time to contest an award",
    }
}
