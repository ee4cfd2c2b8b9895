//! Every program-derived address of the program.

use std::cell::RefCell;
use std::collections::HashMap;

use gantry_market::{seeds, ID};
use solana_address::Address;

thread_local! {
    /// Addresses found before: random scenarios ask for the same few many thousand times.
    static FOUND: RefCell<HashMap<Vec<u8>, Address>> = RefCell::default();
}

fn find(parts: &[&[u8]]) -> Address {
    let mut name = parts.concat();
    // The first part alone has no fixed length.
    name.push(parts[0].len() as u8);
    FOUND.with_borrow_mut(|found| {
        *found.entry(name).or_insert_with(|| Address::find_program_address(parts, &ID).0)
    })
}

pub fn market() -> Address {
    find(&[seeds::MARKET])
}

pub fn fee_vault() -> Address {
    find(&[seeds::FEE_VAULT])
}

pub fn rewards() -> Address {
    find(&[seeds::REWARDS])
}

pub fn emission_vault() -> Address {
    find(&[seeds::EMISSION_VAULT])
}

pub fn payout_vault() -> Address {
    find(&[seeds::PAYOUT_VAULT])
}

/// `source` is the fault, node or keeper that was slashed for.
pub fn payout(beneficiary: &Address, source: &Address) -> Address {
    find(&[seeds::PAYOUT, beneficiary.as_ref(), source.as_ref()])
}

pub fn dispute(lease: &Address) -> Address {
    find(&[seeds::DISPUTE, lease.as_ref()])
}

/// The fault of a lease's upheld dispute.
pub fn dispute_fault(lease: &Address) -> Address {
    find(&[seeds::DISPUTE_FAULT, lease.as_ref()])
}

pub fn gpu_model(id: u16) -> Address {
    find(&[seeds::GPU_MODEL, &id.to_le_bytes()])
}

pub fn provider(wallet: &Address) -> Address {
    find(&[seeds::PROVIDER, wallet.as_ref()])
}

/// `node_key` is the agent's key.
pub fn node(provider: &Address, node_key: &Address) -> Address {
    find(&[seeds::NODE, provider.as_ref(), node_key.as_ref()])
}

pub fn device(identity: &[u8; 32]) -> Address {
    find(&[seeds::DEVICE, identity])
}

pub fn gpu_key(hash: &[u8; 32]) -> Address {
    find(&[seeds::GPU_KEY, hash])
}

pub fn keeper(wallet: &Address) -> Address {
    find(&[seeds::KEEPER, wallet.as_ref()])
}

/// `owner` is a provider or keeper account.
pub fn stake_vault(owner: &Address) -> Address {
    find(&[seeds::STAKE_VAULT, owner.as_ref()])
}

pub fn credits(customer: &Address) -> Address {
    find(&[seeds::CREDITS, customer.as_ref()])
}

/// `credits` is the credits account, not the wallet.
pub fn credits_vault(credits: &Address) -> Address {
    find(&[seeds::CREDITS_VAULT, credits.as_ref()])
}

pub fn order(customer: &Address, nonce: u64) -> Address {
    find(&[seeds::ORDER, customer.as_ref(), &nonce.to_le_bytes()])
}

/// `order` is the order account.
pub fn auction(order: &Address) -> Address {
    find(&[seeds::AUCTION, order.as_ref()])
}

pub fn lease(order: &Address, node: &Address) -> Address {
    find(&[seeds::LEASE, order.as_ref(), node.as_ref()])
}

pub fn report(period: u64) -> Address {
    find(&[seeds::REPORT, &period.to_le_bytes()])
}

/// `lease` is zero for a fault that is the node's alone.
pub fn fault(node: &Address, lease: &Address, period: u64) -> Address {
    find(&[seeds::FAULT, node.as_ref(), lease.as_ref(), &period.to_le_bytes()])
}

/// Fault of a broken guarantee that ended at `until`.
pub fn guarantee_fault(node: &Address, until: i64) -> Address {
    find(&[seeds::GUARANTEE_FAULT, node.as_ref(), &until.to_le_bytes()])
}

/// Fault of bad work that a wallet has proven by a claim of `period`.
pub fn work_fault(node: &Address, finder: &Address, period: u64) -> Address {
    find(&[seeds::WORK_FAULT, fraud_proof(node, finder).as_ref(), &period.to_le_bytes()])
}

/// `finder` is a wallet.
pub fn fraud_proof(node: &Address, finder: &Address) -> Address {
    find(&[seeds::FRAUD_PROOF, node.as_ref(), finder.as_ref()])
}

/// What keepers say of a silent node.
pub fn outage(node: &Address) -> Address {
    find(&[seeds::OUTAGE, node.as_ref()])
}

/// Fault of the outage that ended a lease.
pub fn outage_fault(lease: &Address) -> Address {
    find(&[seeds::OUTAGE_FAULT, lease.as_ref()])
}
