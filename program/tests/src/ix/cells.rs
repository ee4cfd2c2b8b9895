use gantry_market::state::{FraudProof, Node};
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_keypair::Keypair;

use super::{build, instructions_sysvar, signed, system_program};
use crate::measure::Measured;
use crate::{pda, Actor, Testbed};

/// The market's instruction alone, without the signature check before it.
pub fn fraud_proof_commitment(finder: &Address, measured: &Measured) -> Instruction {
    build(
        accounts::FraudProofCommitment {
            finder: *finder,
            market: pda::market(),
            node: measured.node,
            fraud_proof: pda::fraud_proof(&measured.node, finder),
            instructions: instructions_sysvar(),
            system_program: system_program(),
        },
        instruction::FraudProofCommitment { block: measured.block(), entry: measured.entry() },
    )
}

/// Both instructions: the node's signature over the commitment, and the fraud proof.
pub fn signed_fraud_proof_commitment(
    finder: &Address,
    key: &Keypair,
    measured: &Measured,
) -> [Instruction; 2] {
    [signed(key, &measured.commitment()), fraud_proof_commitment(finder, measured)]
}

pub fn fraud_proof_leaf(finder: &Address, measured: &Measured) -> Instruction {
    build(
        accounts::FraudProofLeaf { finder: *finder, fraud_proof: pda::fraud_proof(&measured.node, finder) },
        instruction::FraudProofLeaf {
            place: measured.place(),
            leaf: measured.leaf,
            siblings: measured.siblings().0,
        },
    )
}

/// The proof with the limit of compute units that it needs at larger orders than the smallest.
pub fn limited(proof: Instruction) -> [Instruction; 2] {
    let program_id = Address::from_str_const("ComputeBudget111111111111111111111111111111");
    let data = [&[2], &500_000u32.to_le_bytes()[..]].concat();
    [Instruction { program_id, accounts: vec![], data }, proof]
}

/// `finder` has a fraud proof of this node.
pub fn prove_wrong_cell(w: &Testbed, finder: &Actor, node: &Address, siblings: &[[u8; 32]]) -> Instruction {
    let proof: FraudProof = w.read(&pda::fraud_proof(node, &finder.wallet()));
    let state: Node = w.read(&proof.node);
    prove_wrong_cell_of(finder, node, proof.period, (&state.provider, state.spec.model), siblings)
}

/// The same without a look at the chain: when the node signed, its provider and its model.
pub fn prove_wrong_cell_of(
    finder: &Actor,
    node: &Address,
    period: u64,
    (provider, model): (&Address, u16),
    siblings: &[[u8; 32]],
) -> Instruction {
    build(
        accounts::ProveWrongCell {
            finder: finder.wallet(),
            market: pda::market(),
            fraud_proof: pda::fraud_proof(node, &finder.wallet()),
            node: *node,
            provider: *provider,
            gpu_model: pda::gpu_model(model),
            fault: pda::work_fault(node, &finder.wallet(), period),
            system_program: system_program(),
        },
        instruction::ProveWrongCell { siblings: siblings.to_vec() },
    )
}
