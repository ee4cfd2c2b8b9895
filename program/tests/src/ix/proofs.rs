use gantry_market::state::{FraudProof, Lease, Node};
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_keypair::Keypair;

use super::{build, instructions_sysvar, payouts, signed, system_program};
use crate::work::Opened;
use crate::{pda, Actor, Testbed};

/// The market's instruction alone, without the signature check before it.
pub fn fraud_proof_open(finder: &Address, opened: &Opened) -> Instruction {
    build(
        accounts::FraudProofOpen {
            finder: *finder,
            market: pda::market(),
            node: opened.node,
            fraud_proof: pda::fraud_proof(&opened.node, finder),
            instructions: instructions_sysvar(),
            system_program: system_program(),
        },
        instruction::FraudProofOpen {
            work_claim: opened.work_claim(),
            row: opened.row,
            column: opened.column,
            chunk: opened.chunk,
        },
    )
}

/// Both instructions: the node's signature over the work claim, and the fraud proof.
pub fn signed_fraud_proof_open(finder: &Address, key: &Keypair, opened: &Opened) -> [Instruction; 2] {
    [signed(key, &opened.work_claim()), fraud_proof_open(finder, opened)]
}

pub fn fraud_proof_close(finder: &Address, node: &Address) -> Instruction {
    build(
        accounts::FraudProofClose { finder: *finder, fraud_proof: pda::fraud_proof(node, finder) },
        instruction::FraudProofClose {},
    )
}

/// `finder` has an fraud_proof of this node.
pub fn prove_bad_work(w: &Testbed, finder: &Actor, node: &Address, siblings: &[[u8; 32]]) -> Instruction {
    let proof: FraudProof = w.read(&pda::fraud_proof(node, &finder.wallet()));
    let provider = w.read::<Node>(&proof.node).provider;
    prove_bad_work_of(finder, (node, &proof.node), proof.period, &provider, siblings)
}

/// The same without a look at the chain: the node by which the fraud_proof is found, the one that it is about, and when
/// that one signed.
pub fn prove_bad_work_of(
    finder: &Actor,
    (node, node_of_proof): (&Address, &Address),
    period: u64,
    provider: &Address,
    siblings: &[[u8; 32]],
) -> Instruction {
    build(
        accounts::ProveBadWork {
            finder: finder.wallet(),
            market: pda::market(),
            fraud_proof: pda::fraud_proof(node, &finder.wallet()),
            node: *node_of_proof,
            provider: *provider,
            fault: pda::work_fault(node, &finder.wallet(), period),
            system_program: system_program(),
        },
        instruction::ProveBadWork { siblings: siblings.to_vec() },
    )
}

/// The market's instruction alone, without the two signature checks before it.
pub fn prove_equivocation(w: &Testbed, finder: &Actor, keeper: &Address) -> Instruction {
    build(
        accounts::ProveEquivocation {
            finder: finder.wallet(),
            market: pda::market(),
            keeper: *keeper,
            stake_vault: pda::stake_vault(keeper),
            payouts: payouts(w, &finder.wallet(), keeper),
            instructions: instructions_sysvar(),
        },
        instruction::ProveEquivocation {},
    )
}

/// All three instructions; the keeper signed two statements or two manifests.
pub fn equivocation(
    w: &Testbed,
    finder: &Actor,
    keeper: &Actor,
    one: &[u8],
    other: &[u8],
) -> [Instruction; 3] {
    let proof = prove_equivocation(w, finder, &keeper.keeper());
    [signed(&keeper.key, one), signed(&keeper.key, other), proof]
}

pub fn prove_better_ask(w: &Testbed, finder: &Actor, lease: &Address, better: &Address) -> Instruction {
    let (state, node): (Lease, Node) = (w.read(lease), w.read(better));
    prove_better_ask_of(w, finder, (&state.order, lease, &state.keeper), (better, &node))
}

/// The same without a look at the chain: order, lease and awarding keeper's wallet; the better node and its state.
pub fn prove_better_ask_of(
    w: &Testbed,
    finder: &Actor,
    (order, lease, awarded_by): (&Address, &Address, &Address),
    (better, node): (&Address, &Node),
) -> Instruction {
    let keeper = pda::keeper(awarded_by);
    build(
        accounts::ProveBetterAsk {
            finder: finder.wallet(),
            market: pda::market(),
            order: *order,
            lease: *lease,
            better: *better,
            provider: node.provider,
            gpu_model: pda::gpu_model(node.spec.model),
            keeper,
            stake_vault: pda::stake_vault(&keeper),
            payouts: payouts(w, &finder.wallet(), &keeper),
        },
        instruction::ProveBetterAsk {},
    )
}
