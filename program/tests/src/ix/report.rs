use gantry_market::state::{Fault, Node};
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_signer::Signer;

use super::{build, instructions_sysvar, payouts, system_program};
use crate::leaves::Proof;
use crate::{pda, Actor, Testbed};

pub fn report_vote(keeper: &Actor, period: u64, root: [u8; 32]) -> Instruction {
    build(
        accounts::ReportVote {
            wallet: keeper.wallet(),
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

/// Signed by `payer`.
pub fn fault_open(w: &Testbed, payer: &Address, proof: &Proof) -> Instruction {
    let node: Node = w.read(&proof.leaf.node);
    build(
        accounts::FaultOpen {
            payer: *payer,
            market: pda::market(),
            report: pda::report(proof.leaf.period),
            provider: node.provider,
            node: proof.leaf.node,
            lease: proof.leaf.lease(),
            closed_lease: None,
            fault: pda::fault(&proof.leaf.node, &proof.leaf.lease, proof.leaf.period),
            system_program: system_program(),
        },
        instruction::FaultOpen { leaf: proof.leaf.bytes(), path: proof.path, proof: proof.siblings.clone() },
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
            rent_payer: state.rent_payer,
            payouts: payouts(w, &state.customer, fault),
        },
        instruction::SlashApply {},
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
