//! What a generator sees: the state, a source of chance, and a memory of proofs and earlier transactions.

use std::collections::BTreeMap;

use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Keeper, Node, Order, Provider, NODE_ACTIVE};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_keypair::Keypair;

use super::entity::{Kind, Token};
use super::harness::Harness;
use super::scenario::Scenario;
use super::trace::Step;
use crate::ix::Award;
use crate::leaves::Proof;
use crate::measure::Measured;
use crate::random::Random;
use crate::Actor;

/// Steps to run one after the other.
pub type Plan = Vec<Step>;

/// What generators remember. Recorded steps need none of it.
#[derive(Default)]
pub struct Memory {
    /// Leaves that keepers voted for, with their proofs.
    pub proofs: Vec<Proof>,
    /// The second halves of fraud_proofs, by the fraud_proof's address.
    pub fraud_proofs: BTreeMap<Address, Vec<[u8; 32]>>,
    /// Measurements of which a fraud proof holds the commitment, by the fraud proof's address.
    pub measured: BTreeMap<Address, Measured>,
    /// When the auctions of each order closed, in all lives of its address.
    pub closes: BTreeMap<Address, Vec<i64>>,
    /// Bids that keepers acknowledged and did not take.
    pub passed: Vec<Passed>,
    /// Transactions sent before.
    pub sent: Vec<Vec<Instruction>>,
    /// What is left of the scenario that has begun.
    pub scenario: Scenario,
}

/// A sealed bid: its node, its price in µUSDC per GPU-hour, and the salt that hides it.
pub type SealedBid = (Address, u64, [u8; 32]);

/// A bid that a keeper acknowledged, and its award to another.
#[derive(Clone, Copy)]
pub struct Passed {
    pub award: Award,
    pub customer: Address,
    pub close_at: i64,
    pub reveal_until: i64,
    pub bid: SealedBid,
    pub won: SealedBid,
}

impl Memory {
    /// The last few are worth a proof.
    pub fn pass_over(&mut self, passed: Passed) {
        if self.passed.len() >= 8 {
            self.passed.remove(0);
        }
        self.passed.push(passed);
    }

    pub fn remember(&mut self, instructions: &[Instruction]) {
        if self.sent.len() >= 64 {
            self.sent.remove(0);
        }
        self.sent.push(instructions.to_vec());
    }
}

/// What an order asks of a node.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub most: u64,
    pub gpus: u8,
    pub simulated: u8,
}

impl Wanted {
    pub fn by(order: &Order) -> Self {
        let simulated = order.requirement.allow_simulated;
        Self { most: order.max_price, gpus: order.gpus_per_node, simulated }
    }

    pub fn of(args: &OrderArgs) -> Self {
        let simulated = args.requirement.allow_simulated;
        Self { most: args.max_price, gpus: args.gpus_per_node, simulated }
    }
}

pub struct Scene<'a> {
    pub a: &'a Harness,
    pub r: &'a mut Random,
    pub memory: &'a mut Memory,
}

impl<'a> Scene<'a> {
    pub fn below(&mut self, bound: usize) -> usize {
        self.r.below(bound as u64) as usize
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.r.below(n) == 0
    }

    /// One of many; none of none.
    pub fn one<T>(&mut self, mut all: Vec<T>) -> Option<T> {
        if all.is_empty() {
            return None;
        }
        let at = self.below(all.len());
        Some(all.swap_remove(at))
    }

    /// Any entity of a kind.
    pub fn any<T: Kind + Copy>(&mut self) -> Option<(Address, T)> {
        let all = self.a.ledger.all::<T>().map(|(at, found)| (*at, *found)).collect();
        self.one(all)
    }

    /// Any entity of a kind that fits.
    pub fn any_where<T: Kind + Copy>(&mut self, fits: impl Fn(&T) -> bool) -> Option<(Address, T)> {
        let all = self
            .a
            .ledger
            .all::<T>()
            .filter(|(_, found)| fits(found))
            .map(|(at, found)| (*at, *found))
            .collect();
        self.one(all)
    }

    /// Whether a node could have work of this size at this price.
    pub fn fits(harness: &Harness, node: &Node, wanted: &Wanted) -> bool {
        node.status == NODE_ACTIVE
            && node.price <= wanted.most
            && node.free_gpus() >= wanted.gpus
            && node.spec.simulated <= wanted.simulated
            && node.claims_missing == 0
            && node.covered()
            && harness.ledger.get::<Provider>(&node.provider).is_some()
    }

    pub fn actor(&mut self) -> &'a Actor {
        let at = self.below(self.a.actors.len());
        &self.a.actors[at]
    }

    /// One of the actors with these numbers; now and then anyone.
    pub fn actor_of(&mut self, usual: &[usize]) -> &'a Actor {
        if self.once_in(12) {
            return self.actor();
        }
        let at = usual[self.below(usual.len())];
        &self.a.actors[at]
    }

    pub fn who(&self, wallet: &Address) -> Option<&'a Actor> {
        self.a.actors.iter().find(|actor| actor.wallet() == *wallet)
    }

    /// The key that signs for an actor's keeper now, or, where it has none, its wallet's.
    pub fn signing(&self, actor: &'a Actor) -> &'a Keypair {
        let keeper = self.a.ledger.get::<Keeper>(&actor.keeper());
        keeper.and_then(|keeper| self.key(&keeper.signer)).unwrap_or(&actor.key)
    }

    pub fn key(&self, of: &Address) -> Option<&'a Keypair> {
        self.a.keys.get(of)
    }

    /// A token account of an owner and mint.
    pub fn tokens_of(&mut self, owner: &Address, mint: &Address) -> Option<Address> {
        let all: Vec<Address> = self
            .a
            .ledger
            .all::<Token>()
            .filter(|(_, token)| token.owner == *owner && token.mint == *mint)
            .map(|(at, _)| *at)
            .collect();
        self.one(all)
    }

    /// An amount of about this size; sometimes an edge.
    pub fn about(&mut self, usual: u64) -> u64 {
        match self.r.below(24) {
            0 => self.r.magnitude(),
            1 => 0,
            2 => 1,
            3 => u64::MAX - self.r.below(2),
            _ => self.r.below(usual.max(1)),
        }
    }
}

/// A plan of one transaction.
pub fn send(instructions: Vec<Instruction>) -> Option<Plan> {
    Some(vec![Step::Send(instructions)])
}

/// A plan of one instruction.
pub fn one(instruction: Instruction) -> Option<Plan> {
    send(vec![instruction])
}
