use gantry_market::errors::MarketError;
use gantry_market::events::FraudProofLeafAdded;
use gantry_market::math::merkle::root_of;
use gantry_market::state::FraudProof;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::measure::{Measured, H100_SXM};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_instruction_error::InstructionError;

fn ready() -> (Testbed, Machine, Actor, Measured) {
    let mut w = Testbed::new();
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let finder = w.actor();
    let measured = Measured::new(machine.node, w.period(), H100_SXM, ((1 << 21) - 1, 77), 1);
    let both = ix::signed_fraud_proof_commitment(&finder.wallet(), &machine.key, &measured);
    w.ok_all(&both, &[&finder.key]);
    (w, machine, finder, measured)
}

#[test]
fn it_keeps_the_byte_and_where_the_first_siblings_lead() {
    let (mut w, machine, finder, measured) = ready();
    let meta = w.ok(ix::fraud_proof_leaf(&finder.wallet(), &measured), &[&finder.key]);
    let fraud_proof = pda::fraud_proof(&machine.node, &finder.wallet());
    let state: FraudProof = w.read(&fraud_proof);
    assert_eq!((state.round, state.before, state.row, state.column), (2, [5; 32], measured.at, 77));
    assert_eq!((state.claimed, state.level), (i32::from(measured.claimed()), 20));
    assert_eq!(state.chunk, root_of(&measured.leaf, measured.at, &measured.siblings().0));
    let event = FraudProofLeafAdded {
        fraud_proof,
        round: 2,
        leaf: measured.at,
        group: 77,
        claimed: measured.claimed(),
    };
    assert_emitted(&meta, &event);
    // A mistake is mended by another leaf.
    let other = Measured { group: 3, ..measured };
    w.ok(ix::fraud_proof_leaf(&finder.wallet(), &other), &[&finder.key]);
    assert_eq!(w.read::<FraudProof>(&fraud_proof).column, 3);
}

#[test]
fn the_longest_path_fits_the_transaction() {
    let (_, _, finder, measured) = ready();
    let leaf = ix::fraud_proof_leaf(&finder.wallet(), &measured);
    let message = solana_message::Message::new(&[leaf], Some(&finder.wallet()));
    let size = 1 + 64 + message.serialize().len();
    println!("{size} bytes");
    assert!(size + 54 <= 1_232, "{size} bytes");
}

#[test]
fn a_path_deeper_than_any_tree_is_refused() {
    let (mut w, _, finder, measured) = ready();
    // Only a larger transaction would have room for it; the program counts for itself.
    let mut leaf = ix::fraud_proof_leaf(&finder.wallet(), &measured);
    let at = leaf.data.len() - 20 * 32 - 4;
    assert_eq!(leaf.data[at..at + 4], 20u32.to_le_bytes());
    leaf.data.extend_from_slice(&[4; 5 * 32]);
    leaf.data[at..at + 4].copy_from_slice(&25u32.to_le_bytes());
    w.refused(leaf, &[&finder.key], MarketError::InvalidProof);
}

#[test]
fn nobody_else_writes_it() {
    let (mut w, machine, finder, measured) = ready();
    let other = w.actor();
    let good = ix::fraud_proof_leaf(&finder.wallet(), &measured);
    let silent = unsigned(good.clone(), &finder.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let theft = swap(good.clone(), &finder.wallet(), &other.wallet());
    w.refused(theft, &[&other.key], MarketError::Unauthorised);
    let fraud_proof = pda::fraud_proof(&machine.node, &finder.wallet());
    let fake = w.forged(&fraud_proof);
    let cases: [(_, _, _, Code); 2] = [
        ("program", fraud_proof, fake, InstructionError::IllegalOwner.into()),
        ("type", fraud_proof, pda::gpu_model(1), InstructionError::AccountDataTooSmall.into()),
    ];
    w.refuses_swaps(&good, &[&finder.key], &cases);
    w.ok(good, &[&finder.key]);
}
