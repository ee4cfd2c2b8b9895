//! Sealed bids: what a node commits to, how bids are ranked, and what the winner is paid.

use anchor_lang::prelude::*;

use crate::constants::{BID_COMMITMENT_TAG, BID_TAG, BPS, REVEAL_ACK_TAG};
use crate::errors::OrOverflow;
use crate::math::hash::sha256_of;
use crate::math::score::factor_bps;

/// `sha256(tag 8 ‖ domain 8 ‖ order 32 ‖ node account 32 ‖ close i64 ‖ price u64 ‖ salt 32)`, integers little-endian.
/// The close tells one life of an order's address from another.
pub fn commitment(
    domain: &[u8; 8],
    order: &Address,
    node: &Address,
    close_at: i64,
    price: u64,
    salt: &[u8; 32],
) -> [u8; 32] {
    sha256_of(&[
        &BID_TAG,
        domain,
        order.as_ref(),
        node.as_ref(),
        &close_at.to_le_bytes(),
        &price.to_le_bytes(),
        salt,
    ])
}

/// What the node signs: tag 8 ‖ commitment 32.
pub fn commitment_message(commitment: &[u8; 32]) -> [u8; 40] {
    let mut message = [0u8; 40];
    for (target, source) in message.iter_mut().zip(BID_COMMITMENT_TAG.iter().chain(commitment)) {
        *target = *source;
    }
    message
}

/// What a keeper signs when a bid's reveal reaches it: tag 8 ‖ commitment 32 ‖ unix second i64.
pub fn reveal_ack_message(commitment: &[u8; 32], received_at: i64) -> [u8; 48] {
    let mut message = [0u8; 48];
    let at = received_at.to_le_bytes();
    for (target, source) in message.iter_mut().zip(REVEAL_ACK_TAG.iter().chain(commitment).chain(&at)) {
        *target = *source;
    }
    message
}

/// A bid's place among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub score: u64,
    pub reputation_bps: u16,
    pub node: Address,
}

/// Whether `one` wins against `other`: the lower score, then the higher reputation, then the smaller `sha256(order ‖
/// node)`.
pub fn beats(order: &Address, one: &Standing, other: &Standing) -> bool {
    if one.score != other.score {
        return one.score < other.score;
    }
    if one.reputation_bps != other.reputation_bps {
        return one.reputation_bps > other.reputation_bps;
    }
    let draw = |standing: &Standing| sha256_of(&[order.as_ref(), standing.node.as_ref()]);
    draw(one) < draw(other)
}

/// The highest price at which a node of this reputation and commitment scores at most `score`: the inverse of
/// [`crate::math::score::score`], so never below the price of a bid with that score or a lower one.
pub fn price_of(score: u64, reputation_bps: u16, guarantee_bps: u16) -> Result<u64> {
    let factor = factor_bps(reputation_bps, guarantee_bps);
    let most = (score as u128)
        .checked_add(1)
        .and_then(|next| next.checked_mul(BPS as u128))
        .and_then(|product| product.checked_sub(1))
        .and_then(|product| product.checked_div(factor as u128))
        .or_overflow()?;
    u64::try_from(most).ok().or_overflow()
}
