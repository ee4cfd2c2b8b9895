//! What victims get depends on no order and on no sender: the same faults are opened in several ways on copies, applied
//! and claimed, and every wallet must have as much in each.

use solana_address::Address;

use super::{broken, wealth_of_wallet, ORDER};
use crate::hostile::harness::Harness;
use crate::hostile::rules::Verdict;
use crate::hostile::trace::Step;
use crate::hostile::wind_down::faults_settled;

/// Plays every way on a copy of its own and compares what the wallets have at its end.
pub fn same_by_all(a: &mut Harness, ways: &[Vec<Step>]) -> Verdict {
    let mut first: Option<Vec<i128>> = None;
    for (number, way) in ways.iter().enumerate() {
        let mut copy = a.fork();
        for step in way {
            copy.apply(step)?;
        }
        faults_settled(&mut copy)?;
        a.stats.add(&copy.stats);
        let wallets: Vec<Address> = copy.actors.iter().map(|actor| actor.wallet()).collect();
        let mint = copy.w.stake_mint;
        let has =
            wallets.iter().map(|wallet| wealth_of_wallet(&copy.ledger, wallet, &mint)).collect::<Vec<_>>();
        let Some(known) = &first else {
            first = Some(has);
            continue;
        };
        if let Some(at) = (0..has.len()).find(|at| has[*at] != known[*at]) {
            let less = known[at] - has[at];
            let what = format!("actor {at} gets {less} less when faults are opened in way {number}");
            return a.books.judged(broken(ORDER, what));
        }
    }
    Ok(())
}
