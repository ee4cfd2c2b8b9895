//! Anyone updates a node's device claims after a report: evidence of tier 2 or 3 outranks a claim without it, so that
//! nobody can block another provider's GPU by registering it first.
//!
//! The sender decides nothing: an applied leaf gave the node its tier and named the devices that the node registered.
//! The node takes claims from holders with evidence of a lower tier; these keep their leases and their stake, and are
//! awarded nothing until they hold all their claims again. A holder with evidence of the same tier keeps its claim.

use anchor_lang::prelude::*;

use crate::constants::MAX_GPUS;
use crate::errors::{MarketError, OrOverflow};
use crate::events::{DeviceTaken, EvidenceSet};
use crate::instructions::node::claims::{claim_of, create_claim};
use crate::math::evidence::device_root;
use crate::records;
use crate::state::{Node, NODE_RETIRED, NODE_SUSPENDED};

/// The claims of the node's devices follow, writable and in the order of `devices`; then every other node that loses
/// one.
#[derive(Accounts)]
pub struct NodeSetEvidence {
    /// Pays the rent of claims that nobody has, and gets it back when the node closes.
    #[account(mut)]
    pub payer: Signer,
    #[account(mut)]
    pub node: Account<Node>,
    pub system_program: Program<System>,
}

/// The tier that stands now, which must be one that more than the node itself vouches for.
fn validate(node: &Node, devices: &[[u8; 32]], now: i64) -> Result<u8> {
    require!(!matches!(node.status, NODE_RETIRED | NODE_SUSPENDED), MarketError::WrongNodeStatus);
    let tier = node.tier_at(now);
    require!(tier >= 2 && node.devices_seen != 0, MarketError::EvidenceTooWeak);
    require!(device_root(devices) == Some(node.device_root), MarketError::WrongDevices);
    Ok(tier)
}

/// Takes one claim from the node that has it, among the accounts given.
fn take_from(losers: &[AccountView], holder: &Address) -> Result<()> {
    let view = losers.iter().find(|view| view.address() == holder).ok_or(MarketError::MissingAccount)?;
    let mut loser: Node = records::read(view)?;
    loser.claims_missing = loser.claims_missing.checked_add(1).or_overflow()?;
    loser.invariant()?;
    records::write(view, &loser)
}

pub(crate) fn handler(
    ctx: &mut Context<NodeSetEvidence>,
    devices: [[u8; 32]; MAX_GPUS as usize],
) -> Result<()> {
    let now = Clock::get()?.unix_timestamp;
    let views = ctx.remaining_accounts()?;
    let accounts = &mut ctx.accounts;
    let address = *accounts.node.address();
    let gpus = accounts.node.spec.gpus as usize;
    let devices = devices.get(..gpus).unwrap_or_default();
    let tier = validate(&accounts.node, devices, now)?;
    let until = accounts.node.evidence_expiry;
    let (claims, losers) = views.split_at_checked(gpus).ok_or(MarketError::DeviceCountMismatch)?;
    let (mut gained, mut changed) = (0u8, false);
    for (view, device) in claims.iter().zip(devices) {
        let mut claim = match claim_of(view, device)? {
            Some(claim) => claim,
            None => {
                create_claim(accounts.payer.account(), view, device, &address, tier, until)?;
                gained = gained.checked_add(1).or_overflow()?;
                continue;
            }
        };
        let standing = claim.tier_at(now);
        if claim.node != address {
            if standing >= tier {
                continue;
            }
            take_from(losers, &claim.node)?;
            emit!(DeviceTaken { device: *device, from: claim.node, to: address, tier });
            claim.node = address;
            gained = gained.checked_add(1).or_overflow()?;
        } else if standing > tier || (claim.tier == tier && claim.expires() >= until) {
            continue;
        }
        claim.set(tier, until)?;
        records::write(view, &claim)?;
        changed = true;
    }
    require!(gained != 0 || changed, MarketError::ClaimsStand);
    let node = &mut accounts.node;
    node.claims_missing = node.claims_missing.checked_sub(gained).or_overflow()?;
    if gained > 0 && node.claims_missing == 0 {
        // It could not be awarded before: no award is measured by it that was made until now.
        node.available_since = now;
    }
    emit!(EvidenceSet { node: address, tier, until, gained, missing: node.claims_missing });
    node.invariant()
}
