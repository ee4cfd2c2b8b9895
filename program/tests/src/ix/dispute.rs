use gantry_market::state::{Dispute, Lease, Node, Provider};
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;

use super::{build, system_program};
use crate::tokens::token_program;
use crate::{pda, Actor, Testbed};

pub fn dispute_open(w: &Testbed, lease: &Address, kind: u8, evidence_hash: [u8; 32]) -> Instruction {
    let state: Lease = w.read(lease);
    build(
        accounts::DisputeOpen {
            customer: state.customer,
            market: pda::market(),
            credits: pda::credits(&state.customer),
            node: state.node,
            lease: *lease,
            dispute: pda::dispute(lease),
            system_program: system_program(),
        },
        instruction::DisputeOpen { kind, evidence_hash },
    )
}

pub fn dispute_vote(keeper: &Actor, lease: &Address, uphold: u8) -> Instruction {
    build(
        accounts::DisputeVote {
            signer: keeper.signer(),
            keeper: keeper.keeper(),
            dispute: pda::dispute(lease),
        },
        instruction::DisputeVote { uphold },
    )
}

pub fn dispute_resolve(w: &Testbed, lease: &Address) -> Instruction {
    let state: Lease = w.read(lease);
    let dispute: Dispute = w.read(&pda::dispute(lease));
    let credits = pda::credits(&state.customer);
    build(
        accounts::DisputeResolve {
            market: pda::market(),
            rewards: pda::rewards(),
            fee_vault: pda::fee_vault(),
            credits,
            credits_vault: pda::credits_vault(&credits),
            provider: state.provider,
            payout: w.read::<Provider>(&state.provider).payout,
            node: state.node,
            lease: *lease,
            dispute: pda::dispute(lease),
            customer: dispute.customer,
            token_program: token_program(),
        },
        instruction::DisputeResolve {},
    )
}

/// Signed by `payer`.
pub fn dispute_uphold(w: &Testbed, payer: &Address, lease: &Address) -> Instruction {
    let state: Lease = w.read(lease);
    build(
        accounts::DisputeUphold {
            payer: *payer,
            market: pda::market(),
            credits: pda::credits(&state.customer),
            provider: state.provider,
            node: state.node,
            gpu_model: pda::gpu_model(w.read::<Node>(&state.node).spec.model),
            lease: *lease,
            dispute: pda::dispute(lease),
            customer: state.customer,
            fault: pda::dispute_fault(lease),
            system_program: system_program(),
        },
        instruction::DisputeUphold {},
    )
}
