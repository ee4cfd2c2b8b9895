use gantry_market::errors::MarketError;
use gantry_market::events::FraudProofOpened;
use gantry_market::math::hash::sha256_of;
use gantry_market::state::FraudProof;
use gantry_market_tests::attempts::ALREADY_IN_USE;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::ix::{fraud_proof_open, signed, signed_fraud_proof_open};
use gantry_market_tests::tokens::token_program;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::work::Opened;
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;

fn ready() -> (Testbed, Machine, Actor, Opened) {
    let mut w = Testbed::new();
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let finder = w.actor();
    w.warp(60);
    let opened = Opened::new(machine.node, w.period(), 64, (63, 33), 1);
    (w, machine, finder, opened)
}

#[test]
fn what_the_node_committed_to_is_kept() {
    let (mut w, machine, finder, opened) = ready();
    let meta = w.ok_all(&signed_fraud_proof_open(&finder.wallet(), &machine.key, &opened), &[&finder.key]);
    let fraud_proof = pda::fraud_proof(&machine.node, &finder.wallet());
    let state: FraudProof = w.read(&fraud_proof);
    assert_eq!((state.node, state.finder, state.period), (machine.node, finder.wallet(), opened.period));
    assert_eq!((state.seed, state.root), (opened.seed, opened.root));
    assert_eq!((state.order, state.row, state.column), (64, 63, 33));
    assert_eq!(state.claimed, opened.right() + 1);
    assert_eq!(state.chunk, sha256_of(&[&[0], &opened.chunk]));
    let event = FraudProofOpened {
        fraud_proof,
        node: machine.node,
        finder: finder.wallet(),
        period: opened.period,
        row: 63,
        column: 33,
    };
    assert_emitted(&meta, &event);
}

#[test]
fn one_at_a_time_for_each_finder() {
    let (mut w, machine, finder, opened) = ready();
    let other = w.actor();
    w.prefund(&pda::fraud_proof(&machine.node, &finder.wallet()));
    w.ok_all(&signed_fraud_proof_open(&finder.wallet(), &machine.key, &opened), &[&finder.key]);
    let again = signed_fraud_proof_open(&finder.wallet(), &machine.key, &opened);
    w.refused_all(&again, &[&finder.key], ALREADY_IN_USE);
    w.ok_all(&signed_fraud_proof_open(&other.wallet(), &machine.key, &opened), &[&other.key]);
}

#[test]
fn a_commitment_that_is_not_the_nodes_here_is_refused() {
    let (mut w, machine, finder, opened) = ready();
    let good = opened.work_claim();
    let changed = |at: usize, to: u8| {
        let mut out = good;
        out[at] ^= to;
        out
    };
    let order = |order: u32| {
        let mut out = good;
        out[88..92].copy_from_slice(&order.to_le_bytes());
        out
    };
    let wrong = [
        ("tag", changed(0, 1)),
        ("domain", changed(8, 1)),
        ("node", changed(16, 1)),
        ("reserved", changed(92, 1)),
        ("order", order(0)),
        ("order", order(65)),
        ("order", order(4_128)),
        ("order", order(u32::MAX - 31)),
    ];
    for (what, work_claim) in wrong {
        println!("{what}");
        let mut fraud_proof = fraud_proof_open(&finder.wallet(), &opened);
        fraud_proof.data[8..136].copy_from_slice(&work_claim);
        let both = [signed(&machine.key, &work_claim), fraud_proof];
        w.refused_all(&both, &[&finder.key], MarketError::InvalidWorkClaim);
    }
    for at in [(64, 0), (0, 64), (u16::MAX, 0)] {
        let outside = Opened { row: at.0, column: at.1, ..opened.clone() };
        let both = signed_fraud_proof_open(&finder.wallet(), &machine.key, &outside);
        w.refused_all(&both, &[&finder.key], MarketError::InvalidProof);
    }
}

#[test]
fn the_node_must_have_signed_it() {
    let (mut w, machine, finder, opened) = ready();
    let fraud_proof = fraud_proof_open(&finder.wallet(), &opened);
    let other = Opened { period: opened.period + 1, ..opened.clone() };
    let mut longer = opened.work_claim().to_vec();
    longer.push(0);
    let checks: [Vec<Instruction>; 4] = [
        vec![],
        vec![signed(&finder.key, &opened.work_claim())],
        vec![signed(&machine.key, &other.work_claim())],
        vec![signed(&machine.key, &longer)],
    ];
    for mut instructions in checks {
        instructions.push(fraud_proof.clone());
        w.refused_all(&instructions, &[&finder.key], MarketError::InvalidSignature);
    }
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, machine, finder, opened) = ready();
    let provider = w.provider(20_000_000_000);
    let others = w.machine(&provider, 1);
    let before = [signed(&machine.key, &opened.work_claim())];
    let good = fraud_proof_open(&finder.wallet(), &opened);
    let silent = [before[0].clone(), unsigned(good.clone(), &finder.wallet())];
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
    w.refuses_swaps_after(&before, &good, &[&finder.key], &cases);
    // With the address made for the other node, its key has signed nothing.
    let theft = swap(good.clone(), &machine.node, &others.node);
    let theft = swap(theft, &fraud_proof, &pda::fraud_proof(&others.node, &finder.wallet()));
    let both = [before[0].clone(), theft];
    w.refused_all(&both, &[&finder.key], MarketError::InvalidSignature);
    w.ok_all(&[before[0].clone(), good], &[&finder.key]);
}
