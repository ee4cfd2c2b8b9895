//! Votes and their moves against a model that knows who stands where.

use std::collections::BTreeMap;

use gantry_market::errors::MarketError;
use gantry_market::state::{Ballot, Candidate, Keeper, Report, REPORT_FINAL, REPORT_OPEN};
use gantry_market_tests::random::Random;
use solana_address::Address;

/// A root of the model.
#[derive(Clone, Copy, Default)]
struct Stand {
    /// What was counted for it.
    weight: u64,
    voters: [u8; 32],
    /// Who came first, at the beginning or after everybody had left it.
    finder: Address,
}

/// A report as the program keeps it, and as it should be.
struct Poll {
    report: Report,
    tail: Vec<Candidate>,
    keepers: Vec<Keeper>,
    /// The root that each keeper stands at.
    choice: Vec<Option<u8>>,
    stands: BTreeMap<u8, Stand>,
    moves: u64,
}

fn bit(voters: &mut [u8; 32], keeper: usize) {
    voters[keeper / 8] ^= 1 << (keeper % 8);
}

impl Poll {
    fn new(weights: &[u64]) -> Self {
        let mut report: Report = bytemuck::Zeroable::zeroed();
        report.total_weight = weights.iter().sum();
        (report.status, report.created_at) = (REPORT_OPEN, 1);
        let keeper = |(at, weight): (usize, &u64)| {
            let mut keeper: Keeper = bytemuck::Zeroable::zeroed();
            keeper.wallet = Address::new_from_array([at as u8; 32]);
            (keeper.index, keeper.weight) = (at as u16, *weight);
            keeper
        };
        Self {
            report,
            tail: vec![],
            keepers: weights.iter().enumerate().map(keeper).collect(),
            choice: vec![None; weights.len()],
            stands: BTreeMap::new(),
            moves: 0,
        }
    }

    fn weight(&self, root: u8) -> u64 {
        self.stands.get(&root).map_or(0, |stand| stand.weight)
    }

    fn squares(&self) -> u128 {
        self.stands.values().map(|stand| u128::from(stand.weight).pow(2)).sum()
    }

    fn is_final(&self) -> bool {
        self.report.status == REPORT_FINAL
    }

    /// A vote as the program counts it, with a place more where it makes the account grow.
    fn count(&mut self, at: usize, root: [u8; 32]) -> anchor_lang::Result<Ballot> {
        let keeper = &self.keepers[at];
        let known = self.report.find(&self.tail, &root);
        let ballot = self.report.ballot(&self.tail, known, keeper)?;
        match ballot {
            Ballot::Again => {}
            Ballot::Moved { from, to } => {
                self.report.recount(&mut self.tail, from, to, &root, keeper).expect("moves")
            }
            Ballot::First => {
                if known.is_none() && self.report.is_full() {
                    self.tail.push(bytemuck::Zeroable::zeroed());
                }
                self.report.count(&mut self.tail, known, &root, keeper).expect("counts");
            }
        }
        Ok(ballot)
    }

    /// A vote in both; whether anything changed.
    fn vote(&mut self, at: usize, root: u8) -> bool {
        let (before, squares, was_final) = (self.choice[at], self.squares(), self.is_final());
        let weight = self.keepers[at].weight;
        let outcome = self.count(at, [root; 32]);
        let Some(left) = before else {
            assert!(matches!(outcome, Ok(Ballot::First)));
            self.stand(at, root);
            return true;
        };
        if left == root {
            assert!(matches!(outcome, Ok(Ballot::Again)));
            return false;
        }
        let heavier = self.stands.contains_key(&root) && self.weight(root) + weight > self.weight(left);
        // Weighs something else than what may have been counted.
        let stuck = was_final || self.keepers[at].weight_since >= self.report.created_at;
        match outcome {
            Ok(Ballot::Moved { .. }) => {
                assert!(heavier && !stuck);
                let old = self.stands.get_mut(&left).expect("stood there");
                old.weight -= weight;
                bit(&mut old.voters, at);
                self.stand(at, root);
                assert!(self.squares() > squares, "votes come together");
                self.moves += 1;
                true
            }
            Err(error) => {
                let want = if stuck { MarketError::AlreadyVoted } else { MarketError::VoteNotHeavier };
                assert_eq!(error, want.into());
                assert!(stuck || !heavier);
                false
            }
            Ok(_) => panic!("a second vote is not a first one"),
        }
    }

    fn stand(&mut self, at: usize, root: u8) {
        let stand = self.stands.entry(root).or_default();
        if stand.voters == [0; 32] {
            stand.finder = self.keepers[at].wallet;
        }
        bit(&mut stand.voters, at);
        stand.weight += self.keepers[at].weight;
        self.choice[at] = Some(root);
    }

    /// What stands is what was voted for, each root once, and nothing behind is heavier than anything in front.
    fn check(&mut self) {
        let was_final = self.report.finalised_at != 0;
        let was = self.report.root;
        self.report.finalise(6_667, 99);
        self.report.invariant(&self.tail).unwrap();
        let front = self.report.candidates.iter().take(self.report.candidate_count.into());
        let standing: Vec<&Candidate> = front.chain(&self.tail).collect();
        assert_eq!(standing.len(), self.stands.len());
        let mut all = [0; 32];
        for (root, stand) in &self.stands {
            let found = standing.iter().find(|c| c.root == [*root; 32]).expect("stands");
            assert_eq!((found.weight, found.voters), (stand.weight, stand.voters));
            assert_eq!(found.proposer, stand.finder);
            for (sum, voters) in all.iter_mut().zip(stand.voters) {
                assert_eq!(*sum & voters, 0, "a keeper stands at one root");
                *sum |= voters;
            }
        }
        assert_eq!(self.report.voters, all);
        let lightest = self.report.candidates.iter().map(|c| c.weight).min().expect("four");
        assert!(self.tail.iter().all(|c| c.weight <= lightest));
        let heaviest = standing.iter().max_by_key(|c| c.weight);
        let enough = heaviest.is_some_and(|c| c.weight * 10_000 >= self.report.total_weight * 6_667);
        assert_eq!(self.report.finalised_at != 0, was_final || enough);
        if let Some(winner) = heaviest.filter(|_| enough) {
            assert!(winner.weight * 3 > self.report.total_weight * 2, "more than two thirds");
            assert_eq!((self.report.root, self.report.proposer), (winner.root, winner.proposer));
        }
        assert!(!was_final || was == self.report.root, "a final root stays");
    }
}

fn weights(r: &mut Random) -> Vec<u64> {
    let (keepers, most) = (1 + r.below(20), [1, 3, 1_000][r.below(3) as usize]);
    (0..keepers).map(|_| 1 + r.below(most)).collect()
}

#[test]
fn votes_count_once_and_a_quorum_is_more_than_two_thirds() {
    let mut r = Random::new(17);
    let (mut moved, mut tails, mut finals) = (0, 0, 0);
    for _ in 0..3_000 {
        let weights = weights(&mut r);
        let mut poll = Poll::new(&weights);
        let roots = 1 + r.below(12);
        for _ in 0..80 {
            // Zero is a root like any other.
            let (at, root) = (r.below(weights.len() as u64) as usize, r.below(roots) as u8);
            if r.below(40) == 0 {
                // A proof takes a part of a bond: what is counted stays counted where it is.
                let keeper = &mut poll.keepers[at];
                let weight = keeper.weight - r.below(keeper.weight);
                keeper.weigh(weight, 2);
            }
            poll.vote(at, root);
            poll.check();
        }
        moved += poll.moves;
        tails += u64::from(!poll.tail.is_empty());
        finals += u64::from(poll.is_final());
    }
    println!("{moved} moves, {tails} reports with a tail, {finals} final");
    assert!(moved > 5_000 && tails > 500 && finals > 500);
}

/// The heaviest root, of several the smallest.
fn heaviest(poll: &Poll) -> Option<u8> {
    let heavier = |root: &&u8| (poll.weight(**root), std::cmp::Reverse(**root));
    poll.stands.keys().max_by_key(heavier).copied()
}

/// A dishonest keeper's move: anything that the program lets it do, or what keeps the heaviest roots as even as may be.
fn mischief(poll: &mut Poll, r: &mut Random, at: usize) {
    let roots: Vec<u8> = poll.stands.keys().copied().collect();
    let target = if r.below(2) == 0 || roots.is_empty() {
        Some(r.below(16) as u8)
    } else {
        let (weight, from) = (poll.keepers[at].weight, poll.choice[at].map_or(0, |root| poll.weight(root)));
        let may = roots.into_iter().filter(|root| poll.weight(*root) + weight > from);
        may.filter(|root| Some(*root) != poll.choice[at]).min_by_key(|root| poll.weight(*root))
    };
    if let Some(root) = target {
        poll.vote(at, root);
    }
}

/// Honest keepers with more than two thirds of the weight need nobody else, whatever was voted for before and whatever
/// the others do meanwhile: who goes to the heaviest root that it knows is never refused, and there is an end to moves.
#[test]
fn honest_keepers_that_go_to_the_heaviest_root_always_come_together() {
    let mut r = Random::new(18);
    let (mut longest, mut most) = (0, 0);
    for _ in 0..3_000 {
        let weights = weights(&mut r);
        let total: u64 = weights.iter().sum();
        let mut honest = vec![];
        let mut left: Vec<usize> = (0..weights.len()).collect();
        let weigh = |all: &[usize]| all.iter().map(|at| weights[*at]).sum::<u64>();
        while weigh(&honest) * 10_000 < total * 6_667 {
            honest.push(left.swap_remove(r.below(left.len() as u64) as usize));
        }
        let dishonest = left;
        let mut poll = Poll::new(&weights);
        for at in 0..weights.len() {
            if r.below(8) != 0 {
                poll.vote(at, r.below(16) as u8);
                poll.check();
            }
        }
        let mut rounds = 0;
        while !poll.is_final() {
            rounds += 1;
            assert!(rounds <= 200, "{weights:?}: no end, {honest:?} are honest");
            for _ in 0..honest.len() {
                if !dishonest.is_empty() {
                    let dishonest = dishonest[r.below(dishonest.len() as u64) as usize];
                    mischief(&mut poll, &mut r, dishonest);
                    poll.check();
                }
                let at = honest[r.below(honest.len() as u64) as usize];
                let root = heaviest(&poll).unwrap_or(7);
                if poll.is_final() {
                    break;
                }
                let moves = poll.choice[at] != Some(root);
                assert_eq!(poll.vote(at, root), moves, "who goes to the heaviest root is not refused");
                poll.check();
            }
        }
        (longest, most) = (longest.max(rounds), most.max(poll.moves));
    }
    println!("at most {longest} rounds and {most} moves");
}
