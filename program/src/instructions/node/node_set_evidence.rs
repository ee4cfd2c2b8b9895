//! Anyone updates a node's device claims after a report: evidence of tier 2 or 3 outranks a claim without it, so that
//! nobody can block another provider's GPU by registering it first.
//!
//! The sender decides nothing: an applied leaf gave the node its tier and named the devices that the node registered.
//! The node takes claims from holders with evidence of a lower tier; these keep their leases and their stake, and are
//! awarded nothing until they hold all their claims again. A holder with evidence of the same tier keeps its claim.
//!
//! Tier 3 needs the claims of the GPUs' own keys too, which the leaf's evidence hash names, all of them: a GPU is of one
//! node as long as evidence of that stands.

use anchor_lang::prelude::*;

use crate::constants::MAX_GPUS;
use crate::errors::{MarketError, OrOverflow};
use crate::events::{DeviceTaken, EvidenceSet};
use crate::instructions::node::claims::{claim_of, create_claim};
use crate::math::evidence::{device_root, key_root};
use crate::records;
use crate::state::{Node, NODE_RETIRED, NODE_SUSPENDED};

/// The claims follow, writable and in the order of `devices`; then, of devices, every other node that loses one.
#[derive(Accounts)]
pub struct NodeSetEvidence {
    /// Pays the rent of claims that nobody has, and gets that of devices back when the node closes.
    #[account(mut)]
    pub payer: Signer,
    #[account(mut)]
    pub node: Account<Node>,
    pub system_program: Program<System>,
}

/// Whether the claims are of keys, and the tier that they get. For devices it is the tier that stands now, which must be
/// one that more than the node itself vouches for.
fn validate(node: &Node, devices: &[[u8; 32]], now: i64) -> Result<(bool, u8)> {
    require!(!matches!(node.status, NODE_RETIRED | NODE_SUSPENDED), MarketError::WrongNodeStatus);
    let root = device_root(devices).ok_or(MarketError::WrongDevices)?;
    let keys = root != node.device_root;
    let tier = if keys { node.tier } else { node.tier_at(now) };
    let sound =
        if keys { tier == 3 && now <= node.evidence_expiry } else { tier >= 2 && node.devices_seen != 0 };
    require!(!keys || root.starts_with(key_root(&node.evidence_hash)), MarketError::WrongDevices);
    require!(sound, MarketError::EvidenceTooWeak);
    Ok((keys, tier))
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
    let count = devices.iter().take_while(|device| **device != [0; 32]).count();
    let devices = devices.get(..count).unwrap_or_default();
    let (keys, tier) = validate(&accounts.node, devices, now)?;
    let until = accounts.node.evidence_expiry;
    let (claims, losers) = views.split_at_checked(count).ok_or(MarketError::DeviceCountMismatch)?;
    let (mut gained, mut changed) = (0u8, false);
    for (view, device) in claims.iter().zip(devices) {
        let mut claim = match claim_of(view, device, keys)? {
            Some(claim) => claim,
            None => {
                create_claim(accounts.payer.account(), view, device, keys, &address, tier, until)?;
                gained = gained.checked_add(1).or_overflow()?;
                continue;
            }
        };
        let standing = claim.tier_at(now);
        if claim.node != address {
            if standing >= tier {
                require!(!keys, MarketError::DeviceClaimed);
                continue;
            }
            // Who had a key has no tier 3 by it any more: that lapsed with the claim.
            if !keys {
                take_from(losers, &claim.node)?;
            }
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
    let node = &mut accounts.node;
    if keys {
        require!(node.keys_until < until, MarketError::ClaimsStand);
        let record = node.record(now);
        node.keys_until = until;
        node.keep_record(&record, now);
    } else {
        require!(gained != 0 || changed, MarketError::ClaimsStand);
        node.claims_missing = node.claims_missing.checked_sub(gained).or_overflow()?;
        if gained > 0 && node.claims_missing == 0 {
            // It could not be awarded before: no award is measured by it that was made until now.
            node.available_since = now;
        }
    }
    emit!(EvidenceSet { node: address, tier, until, gained, missing: node.claims_missing });
    node.invariant()
}
