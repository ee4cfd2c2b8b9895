//! Builders for leases take the lease as it stands on chain, so that they name what it names.

use gantry_market::instructions::lease::lease_settle::__client_accounts_settlement::Settlement;
use gantry_market::instructions::lease::lease_settle_receipt::receipt_message;
use gantry_market::state::{Lease, Node, Order, Provider};
use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_keypair::Keypair;

use super::rewards::awarding_keeper;
use super::{build, instructions_sysvar, signed, system_program};
use crate::tokens::token_program;
use crate::{pda, Actor, Testbed};

/// Signed by the node's key.
pub fn lease_start(w: &Testbed, lease: &Address, connection_hash: [u8; 32]) -> Instruction {
    let state: Lease = w.read(lease);
    build(
        accounts::LeaseStart {
            node_key: state.node_key,
            market: pda::market(),
            order: state.order,
            lease: *lease,
        },
        instruction::LeaseStart { connection_hash },
    )
}

/// The same for a lease that is not there yet.
pub fn lease_start_of(node_key: &Address, order: &Address, lease: &Address) -> Instruction {
    build(
        accounts::LeaseStart { node_key: *node_key, market: pda::market(), order: *order, lease: *lease },
        instruction::LeaseStart { connection_hash: [3; 32] },
    )
}

pub fn lease_abort(w: &Testbed, lease: &Address) -> Instruction {
    let state: Lease = w.read(lease);
    let order: Order = w.read(&state.order);
    build(
        accounts::LeaseAbort {
            market: pda::market(),
            order: state.order,
            order_rent_payer: order.rent_payer,
            credits: pda::credits(&state.customer),
            node: state.node,
            provider: state.provider,
            lease: *lease,
            rent_payer: state.rent_payer,
        },
        instruction::LeaseAbort {},
    )
}

/// Signed by the node's key, about the job that was ordered.
pub fn lease_decline(w: &Testbed, lease: &Address, reason: u8) -> Instruction {
    let state: Lease = w.read(lease);
    let order: Order = w.read(&state.order);
    let credits = pda::credits(&state.customer);
    build(
        accounts::LeaseDecline {
            node_key: state.node_key,
            market: pda::market(),
            order: state.order,
            order_rent_payer: order.rent_payer,
            credits,
            credits_vault: pda::credits_vault(&credits),
            fee_vault: pda::fee_vault(),
            rewards: pda::rewards(),
            node: state.node,
            provider: state.provider,
            lease: *lease,
            rent_payer: state.rent_payer,
            token_program: token_program(),
        },
        instruction::LeaseDecline { reason, job: order.image_digest },
    )
}

/// Signed by the customer.
pub fn lease_extend(w: &Testbed, lease: &Address, seconds: u32) -> Instruction {
    let state: Lease = w.read(lease);
    build(
        accounts::LeaseExtend {
            authority: state.customer,
            credits: pda::credits(&state.customer),
            lease: *lease,
        },
        instruction::LeaseExtend { seconds },
    )
}

fn settlement(w: &Testbed, lease: &Address) -> Settlement {
    let state: Lease = w.read(lease);
    let provider: Provider = w.read(&state.provider);
    let credits = pda::credits(&state.customer);
    Settlement {
        lease: *lease,
        credits,
        credits_vault: pda::credits_vault(&credits),
        provider: state.provider,
        node: state.node,
        payout: provider.payout,
        token_program: token_program(),
    }
}

/// The market's instruction alone, without the two signature checks before it.
pub fn lease_settle_receipt(w: &Testbed, lease: &Address, sequence: u64, seconds: u32) -> Instruction {
    build(
        accounts::LeaseSettleReceipt {
            settlement: settlement(w, lease),
            instructions: instructions_sysvar(),
        },
        instruction::LeaseSettleReceipt { sequence, seconds },
    )
}

/// Node's signature, customer's signature, settlement: as they must stand in a transaction.
pub fn receipt(
    w: &Testbed,
    lease: &Address,
    node_key: &Keypair,
    customer: &Keypair,
    sequence: u64,
    seconds: u32,
) -> Vec<Instruction> {
    let state: Lease = w.read(lease);
    let message = receipt_message(&state, lease, sequence, u64::from(seconds));
    vec![
        signed(node_key, &message),
        signed(customer, &message),
        lease_settle_receipt(w, lease, sequence, seconds),
    ]
}

pub fn lease_settle_report(w: &Testbed, lease: &Address) -> Instruction {
    build(accounts::LeaseSettleReport { settlement: settlement(w, lease) }, instruction::LeaseSettleReport {})
}

pub fn lease_end(w: &Testbed, authority: &Address, lease: &Address, immediate: u8) -> Instruction {
    let state: Lease = w.read(lease);
    build(
        accounts::LeaseEnd {
            authority: *authority,
            provider: state.provider,
            node: state.node,
            credits: pda::credits(&state.customer),
            lease: *lease,
        },
        instruction::LeaseEnd { immediate },
    )
}

/// Signed by the node's key.
pub fn lease_checkpoint(w: &Testbed, lease: &Address, hash: [u8; 32]) -> Instruction {
    let state: Lease = w.read(lease);
    build(
        accounts::LeaseCheckpoint { node_key: state.node_key, lease: *lease },
        instruction::LeaseCheckpoint { hash },
    )
}

/// Signed by the keeper: the failed lease's remaining time goes to the node.
pub fn lease_migrate(w: &Testbed, keeper: &Actor, failed: &Address, node: &Address) -> Instruction {
    let state: Lease = w.read(failed);
    let to: Node = w.read(node);
    build(
        accounts::LeaseMigrate {
            signer: keeper.signer(),
            keeper: keeper.keeper(),
            market: pda::market(),
            order: state.order,
            credits: pda::credits(&state.customer),
            failed: *failed,
            failed_node: state.node,
            failed_provider: (to.provider != state.provider).then_some(state.provider),
            node: *node,
            provider: to.provider,
            gpu_model: pda::gpu_model(to.spec.model),
            lease: pda::lease(failed, node),
            system_program: system_program(),
        },
        instruction::LeaseMigrate { max_score: u64::MAX },
    )
}

/// Signed by the customer.
pub fn lease_rate(w: &Testbed, lease: &Address, stars: u8) -> Instruction {
    let state: Lease = w.read(lease);
    build(
        accounts::LeaseRate { customer: state.customer, node: state.node, lease: *lease },
        instruction::LeaseRate { stars },
    )
}

pub fn lease_close(w: &Testbed, authority: &Address, lease: &Address) -> Instruction {
    let state: Lease = w.read(lease);
    let order: Order = w.read(&state.order);
    let credits = pda::credits(&state.customer);
    let (keeper, closed_keeper) = awarding_keeper(w, &state);
    build(
        accounts::LeaseClose {
            authority: *authority,
            market: pda::market(),
            order: state.order,
            order_rent_payer: order.rent_payer,
            credits,
            credits_vault: pda::credits_vault(&credits),
            fee_vault: pda::fee_vault(),
            rewards: pda::rewards(),
            keeper,
            closed_keeper,
            provider: (w.market().params.emission_bps > 0).then_some(state.provider),
            node: state.node,
            lease: *lease,
            rent_payer: state.rent_payer,
            token_program: token_program(),
        },
        instruction::LeaseClose {},
    )
}
