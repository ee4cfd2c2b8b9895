use gantry_market::state::{Lease, Node, Outage};
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;

use super::{build, system_program};
use crate::{pda, Actor, Testbed};

pub fn outage_vote(keeper: &Actor, node: &Address, last_answer: i64) -> Instruction {
    build(
        accounts::OutageVote {
            signer: keeper.signer(),
            keeper: keeper.keeper(),
            market: pda::market(),
            node: *node,
            outage: pda::outage(node),
            system_program: system_program(),
        },
        instruction::OutageVote { last_answer },
    )
}

/// Signed by the keeper: the lease has failed in the outage of its node.
pub fn lease_outage(w: &Testbed, keeper: &Actor, lease: &Address) -> Instruction {
    let node = w.read::<Lease>(lease).node;
    let state: Node = w.read(&node);
    build(
        accounts::LeaseOutage {
            signer: keeper.signer(),
            keeper: keeper.keeper(),
            market: pda::market(),
            outage: pda::outage(&node),
            provider: state.provider,
            node,
            gpu_model: pda::gpu_model(state.spec.model),
            lease: *lease,
            fault: pda::outage_fault(lease),
            system_program: system_program(),
        },
        instruction::LeaseOutage {},
    )
}

pub fn outage_close(w: &Testbed, node: &Address) -> Instruction {
    outage_close_of(node, &w.read::<Outage>(&pda::outage(node)).rent_payer)
}

pub fn outage_close_of(node: &Address, rent_payer: &Address) -> Instruction {
    let outage = pda::outage(node);
    build(accounts::OutageClose { outage, rent_payer: *rent_payer }, instruction::OutageClose {})
}
