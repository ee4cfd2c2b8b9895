use gantry_market::state::{Lease, Node};
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;

use super::{build, instructions_sysvar, payouts, signed};
use crate::{pda, Actor, Testbed};

pub fn fraud_proof_close(finder: &Address, node: &Address) -> Instruction {
    build(
        accounts::FraudProofClose { finder: *finder, fraud_proof: pda::fraud_proof(node, finder) },
        instruction::FraudProofClose {},
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
    [signed(keeper.signing(), one), signed(keeper.signing(), other), proof]
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
