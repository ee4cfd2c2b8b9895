//! Sealed orders: their auctions, bids and awards.

use gantry_market::constants::MODE_SEALED;
use gantry_market::instructions::auction_award::Reveal;
use gantry_market::instructions::order_create::OrderArgs;
use gantry_market::math::bid::{commitment, commitment_message};
use gantry_market::state::{Auction, Node, Order};
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;

use super::{build, instructions_sysvar, order_args, signed, system_program};
use crate::world::DOMAIN;
use crate::{pda, Actor, Machine, World};

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
    fn reveal(&self) -> Reveal {
        Reveal { price: self.price, salt: self.salt }
    }

    /// The runtime's check of what the node signed for the order's auction.
    pub fn check(&self, w: &World, order: &Address) -> Instruction {
        let auction: Auction = w.read(&pda::auction(order));
        let hidden = commitment(&DOMAIN, order, &self.machine.node, auction.close_at, self.price, &self.salt);
        signed(&self.machine.key, &commitment_message(&hidden))
    }
}

/// The market's instruction alone.
pub fn auction_award(
    w: &World,
    keeper: &Actor,
    order: &Address,
    bid: Bid,
    losing: Option<Bid>,
    bids_root: [u8; 32],
) -> Instruction {
    let state: Order = w.read(order);
    let node: Node = w.read(&bid.machine.node);
    let loser = losing.map(|losing| losing.machine.node);
    let loser_model =
        loser.map(|at| w.read::<Node>(&at).spec.model).filter(|model| *model != node.spec.model);
    build(
        accounts::AuctionAward {
            wallet: keeper.wallet(),
            keeper: keeper.keeper(),
            market: pda::market(),
            order: *order,
            auction: pda::auction(order),
            credits: pda::credits(&state.customer),
            node: bid.machine.node,
            provider: node.provider,
            gpu_model: pda::gpu_model(node.spec.model),
            loser,
            loser_model: loser_model.map(pda::gpu_model),
            lease: pda::lease(order, &bid.machine.node),
            instructions: instructions_sysvar(),
            system_program: system_program(),
        },
        instruction::AuctionAward {
            bid: bid.reveal(),
            losing_bid: losing.map_or(Reveal { price: 0, salt: [0; 32] }, |losing| losing.reveal()),
            bids_root,
        },
    )
}

/// Signature checks and award, as they must stand in a transaction.
pub fn sealed_award(
    w: &World,
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
