//! A10: a failed lease goes to the keeper's own dear node.

use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market_tests::{ix, pda, Testbed};

use crate::sums::{attempt, usdc, worth};

/// The keeper moves a failed lease of `hours` to its own node, which asks so much; a stranger proves that a spare one was
/// free. The waits are those between the vote and the move, and between the move and the proof.
fn play(price: u64, hours: u32, proof_after: i64, proves: bool) -> (i64, bool) {
    let mut w = Testbed::new();
    let args = OrderArgs { duration_secs: hours * 3_600, ..ix::order_args(1) };
    let it = w.silent_with(args);
    let own = w.provider(20_000_000_000);
    let node = w.machine_of(&own, ix::spec(2), price);
    let finder = w.actor();
    let owner = [&it.keepers[0], &own];
    let before = worth(&w, &owner, &[]);
    it.voted(&mut w, 3);
    let fail = it.fail(&w);
    w.ok(fail, &[it.keepers[0].signing()]);
    let migrate = ix::lease_migrate(&w, &it.keepers[0], &it.deal.lease, &node.node);
    if let Err(code) = attempt(&mut w, &[migrate], &[it.keepers[0].signing()]) {
        println!("migrate: {code:?}");
        return (0, false);
    }
    let lease = pda::lease(&it.deal.lease, &node.node);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&node.key]);
    let start = w.now();
    w.warp(proof_after);
    let mut proven = false;
    if proves {
        let proof = ix::prove_better_ask(&w, &finder, &lease, &it.spare.node);
        let outcome = attempt(&mut w, &[proof], &[&finder.key]);
        println!("proof: {outcome:?}");
        proven = outcome.is_ok();
    }
    let seconds = (hours * 3_600 - 200) as i64;
    w.set_now(start + seconds);
    let receipt = ix::receipt(&w, &lease, &node.key, &it.deal.customer.key, 1, seconds as u32);
    let paid = attempt(&mut w, &receipt, &[]);
    println!("paid {paid:?}");
    let gain = worth(&w, &owner, &[]) - before;
    println!("asks {price}, {hours} h, proof after {proof_after} s: owner {:.6}", usdc(gain));
    (gain, proven)
}

/// A move may not cost more than the lease that failed; and below that, a cheaper node that was free shows it.
#[test]
fn a_move_to_a_dear_node_is_contestable() {
    assert_eq!(play(2_990_000, 1, 1, false), (0, false), "dearer than what failed");
    for hours in [1, 8] {
        let (honest, _) = play(1_899_999, hours, 1, false);
        for proof_after in [1, 30, 59] {
            let (gain, proven) = play(2_000_000, hours, proof_after, true);
            println!("{hours} h: profit {}", gain - honest);
            assert!(proven, "nobody can show the spare node");
            assert!(gain <= honest, "the move pays {}", gain - honest);
        }
    }
}
