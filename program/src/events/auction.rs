//! Events of sealed auctions.

use anchor_lang::prelude::*;

#[event]
pub struct AuctionOpened {
    pub order: Address,
    pub close_at: i64,
    pub reveal_until: i64,
    pub award_deadline: i64,
}

/// What a sealed award followed from; its lease is in `LeaseAwarded`.
#[event]
pub struct AuctionAwarded {
    pub order: Address,
    pub node: Address,
    pub keeper: Address,
    pub bid: u64,
    pub price: u64,
    pub score: u64,
    pub bar_node: Address,
    pub bar_score: u64,
    pub bids_root: [u8; 32],
}

#[event]
pub struct AuctionClosed {
    pub order: Address,
}
