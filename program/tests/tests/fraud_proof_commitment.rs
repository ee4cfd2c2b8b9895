use gantry_market::errors::MarketError;
use gantry_market::events::FraudProofCommitted;
use gantry_market::state::FraudProof;
use gantry_market_tests::attempts::ALREADY_IN_USE;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::ix::{fraud_proof_commitment, signed, signed_fraud_proof_commitment};
use gantry_market_tests::measure::{Measured, PROCESSORS};
use gantry_market_tests::tokens::token_program;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;

fn ready() -> (Testbed, Machine, Actor, Measured) {
    let mut w = Testbed::new();
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let finder = w.actor();
    let measured = Measured::new(machine.node, w.period(), PROCESSORS, (1_023, 255), 1);
    (w, machine, finder, measured)
}

#[test]
fn it_keeps_what_the_node_signed_of_the_gpu() {
    let (mut w, machine, finder, measured) = ready();
    let both = signed_fraud_proof_commitment(&finder.wallet(), &machine.key, &measured);
    let meta = w.ok_all(&both, &[&finder.key]);
    let fraud_proof = pda::fraud_proof(&machine.node, &finder.wallet());
    let state: FraudProof = w.read(&fraud_proof);
    assert_eq!((state.node, state.finder), (machine.node, finder.wallet()));
    assert_eq!((state.seed, state.root), (measured.instant, measured.rounds_root()));
    assert_eq!((state.profile, state.rounds, state.gpu), (PROCESSORS.hash(), 3, 1));
    assert_eq!((state.period, state.chunk, state.level), (measured.period, [0; 32], 0));
    let event = FraudProofCommitted {
        fraud_proof,
        node: machine.node,
        finder: finder.wallet(),
        period: measured.period,
        gpu: 1,
    };
    assert_emitted(&meta, &event);
}

#[test]
fn one_at_a_time_for_each_finder_of_either_kind() {
    let (mut w, machine, finder, measured) = ready();
    let both = signed_fraud_proof_commitment(&finder.wallet(), &machine.key, &measured);
    w.prefund(&pda::fraud_proof(&machine.node, &finder.wallet()));
    w.ok_all(&both, &[&finder.key]);
    w.refused_all(&both, &[&finder.key], ALREADY_IN_USE);
    w.ok(ix::fraud_proof_close(&finder.wallet(), &machine.node), &[&finder.key]);
    w.ok_all(&both, &[&finder.key]);
}

#[test]
fn a_commitment_that_is_not_the_nodes_here_is_refused() {
    let (mut w, machine, finder, measured) = ready();
    let good = measured.commitment();
    let changed = |at: usize| {
        let mut out = good.clone();
        out[at] ^= 1;
        out
    };
    let mut nine = Measured { others: vec![[9; 32]; 8], ..measured.clone() }.commitment();
    assert_eq!(nine.len(), 105 + 9 * 32);
    let wrong = [
        ("tag", changed(0)),
        ("domain", changed(32)),
        ("instant", changed(40)),
        ("node", changed(72)),
        ("number of GPUs", changed(104)),
        ("hash of the entry", changed(good.len() - 1)),
        ("shorter", good[..good.len() - 1].to_vec()),
        ("longer", [good.clone(), vec![0]].concat()),
        ("another entry alone", [&good[..104], &[1], &good[105..137]].concat()),
        ("nothing", [&good[..104], &[0]].concat()),
        ("head only", good[..104].to_vec()),
        ("more GPUs than a machine has", std::mem::take(&mut nine)),
    ];
    for (what, commitment) in wrong {
        println!("{what}");
        let both = [signed(&machine.key, &commitment), fraud_proof_commitment(&finder.wallet(), &measured)];
        w.refused_all(&both, &[&finder.key], MarketError::InvalidCommitment);
    }
    // What the instruction itself says: the block, field by field, and the entry.
    for at in [8, 16, 24, 32, 63, 64, 65, 101, 133, 208] {
        println!("byte {at}");
        let mut both = signed_fraud_proof_commitment(&finder.wallet(), &machine.key, &measured);
        both[1].data[at] ^= 1;
        w.refused_all(&both, &[&finder.key], MarketError::InvalidCommitment);
    }
    // Numbers of rounds that no run has, rightly signed.
    for rounds in [0, 4_097] {
        let odd = Measured { rounds, round_path: vec![[1; 32]; 13], ..measured.clone() };
        let both = signed_fraud_proof_commitment(&finder.wallet(), &machine.key, &odd);
        w.refused_all(&both, &[&finder.key], MarketError::InvalidCommitment);
    }
}

/// A commitment of eight GPUs is the longest, and fits: its bytes are read from the signature's instruction.
#[test]
fn a_machine_of_eight_gpus_fits_the_transaction() {
    let (mut w, machine, finder, measured) = ready();
    let measured = Measured { others: vec![[9; 32]; 7], ..measured };
    let both = signed_fraud_proof_commitment(&finder.wallet(), &machine.key, &measured);
    let message = solana_message::Message::new(&both, Some(&finder.wallet()));
    // One signature; room for a compute limit and a price.
    let size = 1 + 64 + message.serialize().len();
    println!("{size} bytes");
    assert!(size + 54 <= 1_232, "{size} bytes");
    w.ok_all(&both, &[&finder.key]);
}

#[test]
fn the_node_must_have_signed_it() {
    let (mut w, _machine, finder, measured) = ready();
    let proof = fraud_proof_commitment(&finder.wallet(), &measured);
    let checks: [Vec<Instruction>; 2] = [vec![], vec![signed(&finder.key, &measured.commitment())]];
    for mut instructions in checks {
        instructions.push(proof.clone());
        w.refused_all(&instructions, &[&finder.key], MarketError::InvalidSignature);
    }
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, machine, finder, measured) = ready();
    let provider = w.provider(20_000_000_000);
    let others = w.machine(&provider, 1);
    let [check, good] = signed_fraud_proof_commitment(&finder.wallet(), &machine.key, &measured);
    let silent = [check.clone(), unsigned(good.clone(), &finder.wallet())];
    w.refused_all(&silent, &[], InstructionError::MissingRequiredSignature);
    let fraud_proof = pda::fraud_proof(&machine.node, &finder.wallet());
    let (market, node) = (w.forged(&pda::market()), w.forged(&machine.node));
    let elsewhere = w.fresh_address();
    let cases: [(_, _, _, Code); 6] = [
        ("market", pda::market(), market, InstructionError::IllegalOwner.into()),
        ("node", machine.node, node, InstructionError::IllegalOwner.into()),
        ("fraud_proof", fraud_proof, elsewhere, InstructionError::InvalidSeeds.into()),
        ("node of the address", machine.node, others.node, InstructionError::InvalidSeeds.into()),
        ("sysvar", ix::instructions_sysvar(), elsewhere, InstructionError::InvalidArgument.into()),
        (
            "system program",
            ix::system_program(),
            token_program(),
            InstructionError::IncorrectProgramId.into(),
        ),
    ];
    w.refuses_swaps_after(std::slice::from_ref(&check), &good, &[&finder.key], &cases);
    // With the address made for the other node, its key has signed nothing; and with a signature of its key, the
    // commitment is of another node.
    let theft = swap(good.clone(), &machine.node, &others.node);
    let theft = swap(theft, &fraud_proof, &pda::fraud_proof(&others.node, &finder.wallet()));
    w.refused_all(&[check.clone(), theft.clone()], &[&finder.key], MarketError::InvalidSignature);
    let resigned = signed(&others.key, &measured.commitment());
    w.refused_all(&[resigned, theft], &[&finder.key], MarketError::InvalidCommitment);
    w.ok_all(&[check, good], &[&finder.key]);
}
