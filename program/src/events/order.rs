//! Events of orders.

use anchor_lang::prelude::*;

#[event]
pub struct OrderCreated {
    pub order: Address,
    pub customer: Address,
    pub reserved: u64,
    pub max_price: u64,
    pub nodes: u8,
    pub gpus: u8,
    pub duration_secs: u32,
    /// Seconds at the maximum price that are reserved for each node.
    pub held_secs: u32,
}

#[event]
pub struct OrderCancelled {
    pub order: Address,
    pub released: u64,
}

#[event]
pub struct OrderExpired {
    pub order: Address,
    pub released: u64,
}

#[event]
pub struct OrderReopened {
    pub order: Address,
    pub reserved: u64,
    pub nodes: u8,
    pub award_deadline: i64,
}

#[event]
pub struct OrderClosed {
    pub order: Address,
}
