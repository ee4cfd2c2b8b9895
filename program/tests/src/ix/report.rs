use gantry_market::constants::FLAGS_NODE;
use gantry_market::state::{Fault, Lease, Node};
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_signer::Signer;

use super::{build, instructions_sysvar, payouts, system_program};
use crate::leaves::Proof;
use crate::tokens::token_program;
use crate::{pda, Actor, Testbed};

pub fn report_vote(keeper: &Actor, period: u64, root: [u8; 32]) -> Instruction {
    build(
        accounts::ReportVote {
            signer: keeper.signer(),
            keeper: keeper.keeper(),
            market: pda::market(),
            report: pda::report(period),
            system_program: system_program(),
        },
        instruction::ReportVote { period, root },
    )
}

pub fn report_apply(proof: &Proof) -> Instruction {
    build(
        accounts::ReportApply {
            market: pda::market(),
            report: pda::report(proof.leaf.period),
            node: proof.leaf.node,
            lease: proof.leaf.lease(),
            closed_lease: None,
        },
        instruction::ReportApply {
            leaf: proof.leaf.bytes(),
            path: proof.path,
            proof: proof.siblings.clone(),
        },
    )
}

pub fn report_close(period: u64, rent_payer: &Address) -> Instruction {
    build(
        accounts::ReportClose {
            market: pda::market(),
            rewards: pda::rewards(),
            report: pda::report(period),
            rent_payer: *rent_payer,
        },
        instruction::ReportClose {},
    )
}

/// Whether a leaf has a fault of the machine, which comes before what it says of its lease.
pub fn of_node(proof: &Proof) -> bool {
    proof.leaf.flags & FLAGS_NODE != 0
}

/// Where the first fault of a leaf is.
pub fn fault_of(proof: &Proof) -> Address {
    let lease = if of_node(proof) { Address::default() } else { proof.leaf.lease };
    pda::fault(&proof.leaf.node, &lease, proof.leaf.period)
}

/// Signed by `payer`: the leaf's fault of the machine if it has one, else that of its lease.
pub fn fault_open(w: &Testbed, payer: &Address, proof: &Proof) -> Instruction {
    fault_open_of(w, payer, proof, of_node(proof))
}

pub fn fault_open_of(w: &Testbed, payer: &Address, proof: &Proof, of_node: bool) -> Instruction {
    let node: Node = w.read(&proof.leaf.node);
    let lease = if of_node { Address::default() } else { proof.leaf.lease };
    build(
        accounts::FaultOpen {
            payer: *payer,
            market: pda::market(),
            report: pda::report(proof.leaf.period),
            provider: node.provider,
            node: proof.leaf.node,
            gpu_model: pda::gpu_model(node.spec.model),
            lease: named(lease),
            fault: pda::fault(&proof.leaf.node, &lease, proof.leaf.period),
            system_program: system_program(),
        },
        instruction::FaultOpen {
            of_node: u8::from(of_node),
            leaf: proof.leaf.bytes(),
            path: proof.path,
            proof: proof.siblings.clone(),
        },
    )
}

fn named(address: Address) -> Option<Address> {
    (address != Address::default()).then_some(address)
}

/// The testbed pays for the payout.
pub fn slash_apply(w: &Testbed, fault: &Address) -> Instruction {
    slash_apply_by(w, &w.payer.pubkey(), fault)
}

pub fn slash_apply_by(w: &Testbed, payer: &Address, fault: &Address) -> Instruction {
    let state: Fault = w.read(fault);
    build(
        accounts::SlashApply {
            payer: *payer,
            market: pda::market(),
            provider: state.provider,
            stake_vault: pda::stake_vault(&state.provider),
            node: state.node,
            lease: named(state.lease),
            fault: *fault,
            payouts: payouts(w, &state.finder, fault),
        },
        instruction::SlashApply {},
    )
}

/// The testbed pays for the payout.
pub fn slash_compensate(w: &Testbed, fault: &Address, lease: &Address) -> Instruction {
    slash_compensate_by(w, &w.payer.pubkey(), fault, lease)
}

pub fn slash_compensate_by(w: &Testbed, payer: &Address, fault: &Address, lease: &Address) -> Instruction {
    let state: Lease = w.read(lease);
    build(
        accounts::SlashCompensate {
            payer: *payer,
            node: state.node,
            lease: *lease,
            fault: *fault,
            payout: pda::payout(&state.customer, fault),
            system_program: system_program(),
        },
        instruction::SlashCompensate {},
    )
}

pub fn slash_close(w: &Testbed, fault: &Address) -> Instruction {
    let state: Fault = w.read(fault);
    build(
        accounts::SlashClose {
            market: pda::market(),
            rewards: pda::rewards(),
            payout_vault: pda::payout_vault(),
            stake_mint: w.stake_mint,
            lease: named(state.lease).filter(|_| state.compensated == 0),
            fault: *fault,
            rent_payer: state.rent_payer,
            token_program: token_program(),
        },
        instruction::SlashClose {},
    )
}

/// The market's instruction alone, without the signature check before it.
pub fn slash_appeal(w: &Testbed, fault: &Address, keeper: &Actor, statement: [u8; 144]) -> Instruction {
    let state: Fault = w.read(fault);
    build(
        accounts::SlashAppeal {
            market: pda::market(),
            keeper: keeper.keeper(),
            provider: state.provider,
            node: state.node,
            lease: named(state.lease),
            fault: *fault,
            rent_payer: state.rent_payer,
            instructions: instructions_sysvar(),
        },
        instruction::SlashAppeal { statement },
    )
}
