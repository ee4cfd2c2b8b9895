use gantry_market::errors::MarketError;
use gantry_market::events::FraudProofClosed;
use gantry_market_tests::actors::START_LAMPORTS;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::measure::{Measured, PROCESSORS};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn its_rent_comes_back_to_who_opened_it_and_to_nobody_else() {
    let mut w = Testbed::new();
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let (finder, other) = (w.actor(), w.actor());
    let measured = Measured::new(machine.node, w.period(), PROCESSORS, (1, 2), 0);
    w.accuse(&finder, &machine.key, &measured);
    let fraud_proof = pda::fraud_proof(&machine.node, &finder.wallet());
    let good = ix::fraud_proof_close(&finder.wallet(), &machine.node);
    let silent = unsigned(good.clone(), &finder.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let theft = swap(good.clone(), &finder.wallet(), &other.wallet());
    w.refused(theft, &[&other.key], MarketError::Unauthorised);
    let fake = w.forged(&fraud_proof);
    let cases: [(_, _, _, Code); 2] = [
        ("program", fraud_proof, fake, InstructionError::IllegalOwner.into()),
        ("type", fraud_proof, pda::gpu_model(1), InstructionError::AccountDataTooSmall.into()),
    ];
    w.refuses_swaps(&good, &[&finder.key], &cases);
    let meta = w.ok(good.clone(), &[&finder.key]);
    assert!(!w.exists(&fraud_proof));
    assert_eq!(w.lamports(&finder.wallet()), START_LAMPORTS);
    assert_emitted(&meta, &FraudProofClosed { fraud_proof });
    w.refused(good, &[&finder.key], InstructionError::AccountDataTooSmall);
}
