use gantry_market::constants::OUTPUT_TAG;
use gantry_market::math::hash::sha256_of;
use gantry_market::state::Lease;
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::{AccountMeta, Instruction};

use super::{build, with_remaining};
use crate::testbed::DOMAIN;
use crate::tokens::token_program;
use crate::{pda, Testbed};

/// What a node commits to.
pub fn output_commitment(lease: &Address, output: &[u8; 32], salt: &[u8; 32]) -> [u8; 32] {
    let parts: [&[u8]; 5] = [&OUTPUT_TAG, &DOMAIN, lease.as_ref(), output, salt];
    sha256_of(&parts)
}

/// Signed by the node's key.
pub fn output_commit(w: &Testbed, lease: &Address, commitment: [u8; 32]) -> Instruction {
    let state: Lease = w.read(lease);
    output_commit_of(&state.node_key, &state.order, lease, commitment)
}

/// The same without a look at the chain.
pub fn output_commit_of(
    node_key: &Address,
    order: &Address,
    lease: &Address,
    commitment: [u8; 32],
) -> Instruction {
    build(
        accounts::OutputCommit { node_key: *node_key, order: *order, lease: *lease },
        instruction::OutputCommit { commitment },
    )
}

/// Signed by the node's key.
pub fn output_reveal(w: &Testbed, lease: &Address, output: [u8; 32], salt: [u8; 32]) -> Instruction {
    let state: Lease = w.read(lease);
    output_reveal_of(&state.node_key, &state.order, lease, output, salt)
}

/// The same without a look at the chain.
pub fn output_reveal_of(
    node_key: &Address,
    order: &Address,
    lease: &Address,
    output: [u8; 32],
    salt: [u8; 32],
) -> Instruction {
    build(
        accounts::OutputReveal { node_key: *node_key, order: *order, lease: *lease },
        instruction::OutputReveal { output, salt },
    )
}

pub fn output_resolve(order: &Address, leases: &[Address]) -> Instruction {
    let resolve = build(accounts::OutputResolve { order: *order }, instruction::OutputResolve {});
    with_remaining(resolve, leases.iter().map(|lease| AccountMeta::new(*lease, false)).collect())
}

pub fn output_forfeit(w: &Testbed, lease: &Address) -> Instruction {
    let state: Lease = w.read(lease);
    build(
        accounts::OutputForfeit {
            market: pda::market(),
            lease: *lease,
            node: state.node,
            provider: state.provider,
            stake_vault: pda::stake_vault(&state.provider),
            stake_mint: w.stake_mint,
            token_program: token_program(),
        },
        instruction::OutputForfeit {},
    )
}
