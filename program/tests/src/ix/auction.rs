//! Sealed orders: their auctions, bids and awards.

use gantry_market::constants::MODE_SEALED;
use gantry_market::instructions::auction::auction_award::Reveal;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::math::bid::{commitment, commitment_message, reveal_ack_message};
use gantry_market::state::{Auction, Lease, Node, Order};
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_keypair::Keypair;

use super::{build, instructions_sysvar, order_args, payouts, signed, system_program};
use crate::testbed::DOMAIN;
use crate::{pda, Actor, Machine, Testbed};

/// The usual order, sealed.
pub fn sealed_args(nonce: u64) -> OrderArgs {
    OrderArgs { mode: MODE_SEALED, ..order_args(nonce) }
}

pub fn auction_open(who: &Actor, order: &Address, auction_secs: u32, reveal_secs: u32) -> Instruction {
    build(
        accounts::AuctionOpen {
            authority: who.wallet(),
            market: pda::market(),
            credits: who.credits(),
            order: *order,
            auction: pda::auction(order),
            system_program: system_program(),
        },
        instruction::AuctionOpen { auction_secs, reveal_secs },
    )
}

pub fn auction_close(order: &Address, rent_payer: &Address) -> Instruction {
    build(
        accounts::AuctionClose { order: *order, auction: pda::auction(order), rent_payer: *rent_payer },
        instruction::AuctionClose {},
    )
}

/// A bid: whose, for how much, hidden by which salt.
#[derive(Clone, Copy)]
pub struct Bid<'a> {
    pub machine: &'a Machine,
    pub price: u64,
    pub salt: [u8; 32],
}

impl Bid<'_> {
    pub fn reveal(&self) -> Reveal {
        Reveal { price: self.price, salt: self.salt }
    }

    /// The bid's hash, for the order's auction.
    pub fn commitment(&self, w: &Testbed, order: &Address) -> [u8; 32] {
        let auction: Auction = w.read(&pda::auction(order));
        commitment(&DOMAIN, order, &self.machine.node, auction.close_at, self.price, &self.salt)
    }

    /// The runtime's check of what the node signed for the order's auction.
    pub fn check(&self, w: &Testbed, order: &Address) -> Instruction {
        let (auction, node) = (w.read::<Auction>(&pda::auction(order)), w.read::<Node>(&self.machine.node));
        self.offer(&node).check(order, auction.close_at)
    }

    fn offer<'a>(&'a self, node: &'a Node) -> Offer<'a> {
        let Bid { machine, price, salt } = *self;
        Offer { node: machine.node, state: node, key: &machine.key, price, salt }
    }
}

/// The same for whoever knows the node's state already.
#[derive(Clone, Copy)]
pub struct Offer<'a> {
    pub node: Address,
    pub state: &'a Node,
    /// Signs the commitment.
    pub key: &'a Keypair,
    pub price: u64,
    pub salt: [u8; 32],
}

impl Offer<'_> {
    fn reveal(&self) -> Reveal {
        Reveal { price: self.price, salt: self.salt }
    }

    pub fn check(&self, order: &Address, close_at: i64) -> Instruction {
        signed(self.key, &commitment_message(&self.commitment(order, close_at)))
    }

    /// The runtime's check of a keeper's acknowledgement that the bid's reveal reached it at this second.
    pub fn ack(&self, keeper: &Keypair, order: &Address, close_at: i64, received_at: i64) -> Instruction {
        signed(keeper, &reveal_ack_message(&self.commitment(order, close_at), received_at))
    }

    fn commitment(&self, order: &Address, close_at: i64) -> [u8; 32] {
        commitment(&DOMAIN, order, &self.node, close_at, self.price, &self.salt)
    }
}

/// The market's instruction alone.
pub fn auction_award(
    w: &Testbed,
    keeper: &Actor,
    order: &Address,
    bid: Bid,
    losing: Option<Bid>,
    bids_root: [u8; 32],
) -> Instruction {
    let customer = w.read::<Order>(order).customer;
    let node: Node = w.read(&bid.machine.node);
    let loser = losing.map(|losing| w.read::<Node>(&losing.machine.node));
    let losing = losing.as_ref().zip(loser.as_ref()).map(|(losing, node)| losing.offer(node));
    auction_award_of(keeper, order, &customer, &bid.offer(&node), losing.as_ref(), bids_root)
}

/// The same without a look at the chain.
pub fn auction_award_of(
    keeper: &Actor,
    order: &Address,
    customer: &Address,
    bid: &Offer,
    losing: Option<&Offer>,
    bids_root: [u8; 32],
) -> Instruction {
    let model = bid.state.spec.model;
    let loser_model = losing.map(|losing| losing.state.spec.model).filter(|other| *other != model);
    build(
        accounts::AuctionAward {
            signer: keeper.signer(),
            keeper: keeper.keeper(),
            market: pda::market(),
            order: *order,
            auction: pda::auction(order),
            credits: pda::credits(customer),
            node: bid.node,
            provider: bid.state.provider,
            gpu_model: pda::gpu_model(model),
            loser: losing.map(|losing| losing.node),
            loser_model: loser_model.map(pda::gpu_model),
            lease: pda::lease(order, &bid.node),
            instructions: instructions_sysvar(),
            system_program: system_program(),
        },
        instruction::AuctionAward {
            bid: bid.reveal(),
            losing_bid: losing.map_or(Reveal { price: 0, salt: [0; 32] }, Offer::reveal),
            bids_root,
        },
    )
}

/// Signature checks and award, as they must stand in a transaction.
pub fn sealed_award(
    w: &Testbed,
    keeper: &Actor,
    order: &Address,
    bid: Bid,
    losing: Option<Bid>,
) -> Vec<Instruction> {
    let mut all: Vec<Instruction> = losing.iter().map(|losing| losing.check(w, order)).collect();
    all.push(bid.check(w, order));
    all.push(auction_award(w, keeper, order, bid, losing, [9; 32]));
    all
}

/// An award that left a bid out, as its proof names it.
#[derive(Clone, Copy)]
pub struct Award {
    pub order: Address,
    pub lease: Address,
    /// Wallet of the keeper that made it.
    pub keeper: Address,
    /// Node of the best losing bid that the keeper named, if it named one.
    pub bar: Option<Address>,
}

/// The market's instruction alone.
pub fn prove_omitted_bid(
    w: &Testbed,
    finder: &Actor,
    lease: &Address,
    bid: Bid,
    received_at: i64,
) -> Instruction {
    let state: Lease = w.read(lease);
    let node: Node = w.read(&bid.machine.node);
    let bar = w.read::<Auction>(&pda::auction(&state.order)).bar_node;
    let bar = (bar != Address::default()).then_some(bar);
    let award = Award { order: state.order, lease: *lease, keeper: state.keeper, bar };
    prove_omitted_bid_of(w, finder, &award, &bid.offer(&node), received_at)
}

/// The same without a look at the chain.
pub fn prove_omitted_bid_of(
    w: &Testbed,
    finder: &Actor,
    award: &Award,
    bid: &Offer,
    received_at: i64,
) -> Instruction {
    let keeper = pda::keeper(&award.keeper);
    build(
        accounts::ProveOmittedBid {
            finder: finder.wallet(),
            market: pda::market(),
            order: award.order,
            auction: pda::auction(&award.order),
            lease: award.lease,
            omitted: bid.node,
            provider: bid.state.provider,
            gpu_model: pda::gpu_model(bid.state.spec.model),
            bar: award.bar,
            keeper,
            stake_vault: pda::stake_vault(&keeper),
            payouts: payouts(w, &finder.wallet(), &keeper),
            instructions: instructions_sysvar(),
        },
        instruction::ProveOmittedBid { bid: bid.reveal(), received_at },
    )
}

/// Signature checks and proof, as they must stand in a transaction; `keeper` acknowledged the reveal.
pub fn omitted(
    w: &Testbed,
    finder: &Actor,
    keeper: &Actor,
    lease: &Address,
    bid: Bid,
    received_at: i64,
) -> [Instruction; 3] {
    let order = w.read::<Lease>(lease).order;
    let ack = reveal_ack_message(&bid.commitment(w, &order), received_at);
    let proof = prove_omitted_bid(w, finder, lease, bid, received_at);
    [bid.check(w, &order), signed(keeper.signing(), &ack), proof]
}
