use gantry_market::errors::MarketError;
use gantry_market::events::WrongCellProven;
use gantry_market::state::{
    Fault, FraudProof, GpuModel, Market, MeasureProfile, Node, Provider, FAULT_WORK, NODE_ACTIVE,
    NODE_RETIRED, NODE_SUSPENDED,
};
use gantry_market_tests::actors::{START_LAMPORTS, START_STAKE};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::measure::{Measured, B200, H100_SXM, PROCESSORS};
use gantry_market_tests::testbed::H100;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_keypair::Keypair;
use solana_signer::Signer;

use crate::measure::{array, bytes, hashes, number, profile, vectors};

/// A node of two GPUs, with 20 tokens of stake, that committed to a measurement; a period later somebody accuses it.
struct Case {
    w: Testbed,
    provider: Actor,
    machine: Machine,
    finder: Actor,
    measured: Measured,
}

fn accused_of(profile: MeasureProfile, at: (u32, u8), wrong: u8) -> Case {
    let mut w = Testbed::new();
    w.alter(&pda::gpu_model(H100), |m: &mut GpuModel| m.profile = profile);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let finder = w.actor();
    w.warp(60);
    let measured = Measured::new(machine.node, w.period(), profile, at, wrong);
    let mut c = Case { w, provider, machine, finder, measured };
    c.accuse();
    c
}

impl Case {
    /// Stores what the proof needs.
    fn accuse(&mut self) {
        self.w.accuse(&self.finder, &self.machine.key, &self.measured);
    }

    /// Another accusation in the place of the one before.
    fn accuse_of(&mut self, measured: Measured) {
        let close = ix::fraud_proof_close(&self.finder.wallet(), &self.machine.node);
        self.w.ok(close, &[&self.finder.key]);
        self.measured = measured;
        self.accuse();
    }

    fn proof(&self) -> Instruction {
        self.proof_with(&self.measured.siblings().1)
    }

    fn proof_with(&self, siblings: &[[u8; 32]]) -> Instruction {
        ix::prove_wrong_cell(&self.w, &self.finder, &self.machine.node, siblings)
    }

    fn refused(&mut self, code: MarketError) {
        let proof = ix::limited(self.proof());
        self.w.refused_all(&proof, &[&self.finder.key], code);
    }

    fn fault(&self) -> Address {
        pda::work_fault(&self.machine.node, &self.finder.wallet(), self.measured.period)
    }

    /// Proves it and applies the fault.
    fn slashed(&mut self) {
        self.w.ok(self.proof(), &[&self.finder.key]);
        self.w.ok(ix::slash_apply_by(&self.w, &self.finder.wallet(), &self.fault()), &[&self.finder.key]);
    }
}

#[test]
fn half_the_stake_is_gone_without_anyones_vote() {
    let mut c = accused_of(PROCESSORS, (1_023, 255), 1);
    let supply = c.w.supply(&c.w.stake_mint);
    let fraud_proof = pda::fraud_proof(&c.machine.node, &c.finder.wallet());
    let meta = c.w.ok(c.proof(), &[&c.finder.key]);
    let event = WrongCellProven {
        node: c.machine.node,
        provider: c.provider.provider(),
        finder: c.finder.wallet(),
        fault: c.fault(),
        period: c.measured.period,
        round: 2,
        leaf: 1_023,
        gpu: 1,
        group: 255,
        claimed: c.measured.claimed(),
        right: c.measured.right(),
        profile: PROCESSORS,
    };
    assert_emitted(&meta, &event);
    assert!(!c.w.exists(&fraud_proof));
    // There is nothing to appeal, and nothing for who brought the proof.
    let fault: Fault = c.w.read(&c.fault());
    assert_eq!((fault.kind, fault.amount, fault.applicable_at), (FAULT_WORK, 10_000_000_000, c.w.now()));
    assert_eq!(fault.window_until, c.w.now().min((c.measured.period as i64 + 1) * 60));
    assert_eq!((fault.finder, fault.rent_payer), (Address::default(), c.finder.wallet()));
    c.w.ok(ix::slash_apply_by(&c.w, &c.finder.wallet(), &c.fault()), &[&c.finder.key]);
    assert_eq!(c.w.supply(&c.w.stake_mint), supply - 6_000_000_000);
    let provider: Provider = c.w.read(&c.provider.provider());
    assert_eq!((provider.stake, provider.slashed_total), (10_000_000_000, 10_000_000_000));
    let node: Node = c.w.read(&c.machine.node);
    assert_eq!((node.status, node.bad_work_period), (NODE_SUSPENDED, c.w.period()));
    let until = c.w.read::<Fault>(&c.fault()).claims_until;
    c.w.set_now(until);
    c.w.ok(ix::slash_close(&c.w, &c.fault()), &[]);
    assert_eq!(c.w.supply(&c.w.stake_mint), supply - 10_000_000_000);
    // Who brought the proof has its rent back, and nothing more.
    assert_eq!(c.w.lamports(&c.finder.wallet()), START_LAMPORTS);
    assert_eq!(c.w.tokens(&c.finder.stake), START_STAKE);
}

/// With the longest paths. The transaction may ask for 1.4 million units.
#[test]
fn a_proof_of_each_order_fits_and_is_cheap_enough() {
    for (profile, most) in [(PROCESSORS, 60_000), (H100_SXM, 340_000), (B200, 400_000)] {
        let leaves = profile.leaves().expect("a profile");
        let mut c = accused_of(profile, (leaves - 1, 255), 1);
        c.accuse_of(c.measured.clone().last());
        let message = solana_message::Message::new(&ix::limited(c.proof()), Some(&c.finder.wallet()));
        let size = 1 + 64 + message.serialize().len();
        println!("{size} bytes");
        assert!(size + 9 <= 1_232, "{size} bytes");
        c.w.ok_all(&ix::limited(c.proof()), &[&c.finder.key]);
        let units = c.w.compute.get("prove_wrong_cell").expect("was used");
        println!("order {}: {units} compute units", profile.order);
        assert!(units <= most, "{units} compute units");
    }
}

#[test]
fn a_right_byte_cannot_be_proven_wrong() {
    let rows = 1 << 18;
    for (profile, at) in [
        (PROCESSORS, (0, 0)),
        (PROCESSORS, (511, 128)),
        (H100_SXM, (8 * rows - 1, 255)),
        (B200, (17 * 32 + 5, 9)),
    ] {
        let mut c = accused_of(profile, at, 0);
        c.refused(MarketError::WorkIsRight);
        assert_eq!(c.w.read::<Node>(&c.machine.node).status, NODE_ACTIVE);
        assert_eq!(c.w.read::<Provider>(&c.provider.provider()).slashed_total, 0);
    }
}

#[test]
fn any_wrong_byte_of_any_shape_of_tree_is_enough() {
    let narrow = MeasureProfile { fold: 2, rows: 2_048, ..PROCESSORS };
    for (profile, at) in
        [(PROCESSORS, (0, 0)), (narrow, (4_095, 255)), (narrow, (1, 128)), (H100_SXM, (1 << 20, 7))]
    {
        for wrong in [1, 0x80, 0xff] {
            let mut c = accused_of(profile, at, wrong);
            c.w.ok_all(&ix::limited(c.proof()), &[&c.finder.key]);
        }
    }
    for (round, rounds) in [(0, 1u32), (0, 2), (4, 5), (4_095, 4_096)] {
        let mut c = accused_of(PROCESSORS, (3, 3), 1);
        let depth = rounds.next_power_of_two().trailing_zeros();
        let round_path = (0..depth).map(|level| [level as u8 + 9; 32]).collect();
        let mut measured = Measured { round, rounds, round_path, ..c.measured.clone() };
        measured.leaf[3] = !measured.right();
        c.accuse_of(measured);
        c.w.ok_all(&ix::limited(c.proof()), &[&c.finder.key]);
    }
}

/// The genuine run of the vectors, of a node whose key signed it, in the market that it was made for.
fn genuine(change: impl FnOnce(&mut Measured)) -> Case {
    let vectors = vectors();
    let run = &vectors["run"];
    let leaf = &run["leaf"];
    let mut c = accused_of(profile(run), (0, 0), 1);
    let node = Address::new_from_array(array(&run["node"]));
    let account = c.w.svm.get_account(&c.machine.node).expect("account exists");
    c.w.svm.set_account(node, account).expect("account is written");
    let key = Keypair::new_from_array(array(&run["node_secret"]));
    c.w.alter(&node, |n: &mut Node| n.node_key = key.pubkey());
    let domain = array(&run["domain"]);
    c.w.alter(&pda::market(), |m: &mut Market| m.domain = domain);
    c.machine = Machine { key, node, gpus: 2 };
    let round = number(&leaf["round"]);
    let roots = run["roots"].as_array().expect("a list");
    let mut measured = Measured {
        domain,
        node,
        round,
        before: array(&roots[round as usize - 1]),
        at: number(&leaf["index"]),
        group: 0,
        leaf: bytes(&leaf["bytes"]).try_into().expect("a leaf"),
        path: hashes(&leaf["path"]),
        round_path: hashes(&run["round_paths"][round as usize]),
        ..c.measured.clone()
    };
    assert_eq!(measured.rounds_root(), array::<32>(&run["rounds_root"]));
    // The run's instant is of no block, so that the fraud proof gets it afterwards.
    measured.instant = measured.block().instant(&domain);
    let instant = array(&run["instant"]);
    change(&mut measured);
    c.measured = measured;
    c.accuse();
    let at = pda::fraud_proof(&node, &c.finder.wallet());
    c.w.alter(&at, |proof: &mut FraudProof| proof.seed = instant);
    c.measured.instant = instant;
    c
}

#[test]
fn no_byte_of_a_genuine_leaf_can_be_proven_wrong() {
    let mut c = genuine(|_| ());
    for group in 0..=255 {
        c.measured.group = group;
        c.w.ok(ix::fraud_proof_leaf(&c.finder.wallet(), &c.measured), &[&c.finder.key]);
        c.refused(MarketError::WorkIsRight);
    }
}

#[test]
fn one_wrong_byte_of_a_genuine_leaf_is_proven() {
    for group in [0, 100, 255] {
        let mut c = genuine(|measured| {
            measured.group = group;
            measured.leaf[usize::from(group)] ^= 4;
        });
        // Its neighbour is right, and stays unproven.
        let wrong = c.measured.clone();
        c.measured.group = group ^ 1;
        c.w.ok(ix::fraud_proof_leaf(&c.finder.wallet(), &c.measured), &[&c.finder.key]);
        c.refused(MarketError::WorkIsRight);
        c.measured = wrong;
        c.w.ok(ix::fraud_proof_leaf(&c.finder.wallet(), &c.measured), &[&c.finder.key]);
        c.w.ok(c.proof(), &[&c.finder.key]);
        assert_eq!(c.w.read::<Node>(&c.machine.node).status, NODE_SUSPENDED);
    }
}

/// A single hash changed anywhere, one too many or too few, or the same bytes said to stand elsewhere: nothing was
/// committed to there.
#[test]
fn an_opening_that_was_not_committed_to_proves_nothing() {
    let mut c = accused_of(H100_SXM, (77_777, 9), 1);
    let good = c.measured.siblings().1;
    assert_eq!(good.len(), 1 + 2);
    let mut wrong = vec![vec![], good[1..].to_vec(), good[..good.len() - 1].to_vec()];
    wrong.push([good.clone(), vec![[0; 32]]].concat());
    wrong.push(good.iter().rev().copied().collect());
    for at in 0..good.len() {
        let mut changed = good.clone();
        changed[at][31] ^= 1;
        wrong.push(changed);
    }
    for siblings in wrong {
        let proof = c.proof_with(&siblings);
        c.w.refused_all(&ix::limited(proof), &[&c.finder.key], MarketError::InvalidProof);
    }
    let own = c.measured.clone();
    let mut elsewhere = vec![
        Measured { round: 1, ..own.clone() },
        Measured { round: 3, ..own.clone() },
        Measured { round: u32::MAX, ..own.clone() },
        Measured { before: [6; 32], ..own.clone() },
        Measured { at: own.at ^ 1, ..own.clone() },
        Measured { at: own.at ^ 1 << 20, ..own.clone() },
        // Beyond the tree, where the path's bits are the same.
        Measured { at: own.at | 1 << 21, ..own.clone() },
    ];
    for level in [0, 19] {
        let mut changed = own.clone();
        changed.path[level][0] ^= 1;
        elsewhere.push(changed);
    }
    let mut changed = own.clone();
    changed.leaf[0] ^= 1;
    elsewhere.push(changed);
    for other in elsewhere {
        // Stored under the commitment to the right one.
        c.w.ok(ix::fraud_proof_leaf(&c.finder.wallet(), &other), &[&c.finder.key]);
        c.refused(MarketError::InvalidProof);
    }
    // A leaf that was never stored, and siblings stored that the tree does not have.
    c.accuse_of(own.clone());
    let at = pda::fraud_proof(&c.machine.node, &c.finder.wallet());
    c.w.alter(&at, |proof: &mut FraudProof| proof.level = 24);
    c.refused(MarketError::InvalidProof);
    c.w.alter(&at, |proof: &mut FraudProof| proof.level = 32);
    c.refused(MarketError::InvalidProof);
    c.w.ok(ix::fraud_proof_close(&c.finder.wallet(), &c.machine.node), &[&c.finder.key]);
    let both = ix::signed_fraud_proof_commitment(&c.finder.wallet(), &c.machine.key, &own);
    c.w.ok_all(&both, &[&c.finder.key]);
    c.refused(MarketError::InvalidProof);
}

/// The byte follows from cluster, instant, node, GPU and profile: what one GPU computed rightly is no other's fault.
#[test]
fn the_entry_of_another_gpu_does_not_hold_the_leaf() {
    let mut c = accused_of(PROCESSORS, (5, 5), 0);
    let own = c.measured.clone();
    let mut other = Measured { gpu: 0, ..own.clone() };
    other.leaf[5] = other.right();
    c.accuse_of(other);
    c.w.ok(ix::fraud_proof_leaf(&c.finder.wallet(), &own), &[&c.finder.key]);
    c.refused(MarketError::InvalidProof);
}

#[test]
fn a_profile_that_the_model_never_had_proves_nothing_and_the_one_before_does() {
    let mut c = accused_of(PROCESSORS, (5, 5), 1);
    let model = pda::gpu_model(H100);
    let other = MeasureProfile { resident: 17, ..PROCESSORS };
    c.w.alter(&model, |m: &mut GpuModel| (m.profile, m.previous_profile) = (other, other));
    c.refused(MarketError::UnknownProfile);
    c.w.alter(&model, |m: &mut GpuModel| m.previous_profile = PROCESSORS);
    c.w.ok(c.proof(), &[&c.finder.key]);
    // A right one of the profile before stays right, whatever the model is measured by now.
    let mut c = accused_of(PROCESSORS, (5, 5), 0);
    let narrow = MeasureProfile { fold: 2, ..PROCESSORS };
    c.w.alter(&model, |m: &mut GpuModel| (m.profile, m.previous_profile) = (narrow, PROCESSORS));
    c.refused(MarketError::WorkIsRight);
}

/// One cause is slashed once, whichever of its signatures shows it.
#[test]
fn one_proof_covers_what_was_signed_before_it() {
    let mut c = accused_of(PROCESSORS, (1, 1), 1);
    let (second, third) = (c.w.actor(), c.w.actor());
    let (node, period) = (c.machine.node, c.measured.period);
    let earlier = Measured::new(node, period, PROCESSORS, (5, 5), 3);
    c.w.accuse(&second, &c.machine.key, &earlier);
    c.w.warp(60);
    // Of the period of the proof.
    let same = Measured::new(node, c.w.period(), PROCESSORS, (2, 2), 1);
    c.w.accuse(&third, &c.machine.key, &same);
    c.slashed();
    let proof = ix::prove_wrong_cell(&c.w, &second, &node, &earlier.siblings().1);
    c.w.refused(proof, &[&second.key], MarketError::AlreadyProven);
    let proof = ix::prove_wrong_cell(&c.w, &third, &node, &same.siblings().1);
    c.w.refused(proof, &[&third.key], MarketError::AlreadyProven);
    // A commitment of a time to come waits for it; as long as the wallet does not say that the node is mended it has the
    // cause that was proven.
    let next = Measured::new(node, c.w.period() + 1, PROCESSORS, (3, 3), 1);
    c.measured = next;
    c.accuse();
    c.refused(MarketError::TooEarly);
    c.w.warp(60);
    c.refused(MarketError::AlreadyProven);
    assert_eq!(c.w.read::<Provider>(&c.provider.provider()).stake, 10_000_000_000);
    // The replayed proof has no account any more.
    let gone = pda::fraud_proof(&node, &c.finder.wallet());
    c.w.ok(ix::fraud_proof_close(&c.finder.wallet(), &node), &[&c.finder.key]);
    assert!(!c.w.exists(&gone));
}

/// What was signed before the node was mended has the old cause; a relapse within a year costs all.
#[test]
fn a_commitment_from_before_the_node_was_mended_is_too_old() {
    let mut c = accused_of(PROCESSORS, (1, 1), 1);
    c.w.ok(ix::provider_stake(&c.w, &c.provider, 10_000_000_000), &[&c.provider.key]);
    c.slashed();
    c.w.warp(60);
    let mended =
        ix::node_update(&c.provider.wallet(), &c.provider.provider(), &c.machine.node, 1, NODE_ACTIVE);
    c.w.ok(mended, &[&c.provider.key]);
    c.measured = Measured::new(c.machine.node, c.w.period(), PROCESSORS, (2, 2), 1);
    c.accuse();
    c.refused(MarketError::AlreadyProven);
    c.w.warp(60);
    c.accuse_of(Measured::new(c.machine.node, c.w.period(), PROCESSORS, (2, 2), 1));
    c.slashed();
    let provider: Provider = c.w.read(&c.provider.provider());
    assert_eq!(provider.slashed_total, 30_000_000_000, "twice the share: all of it");
}

/// What the key of a node that has left signs says nothing about its machine.
/// Finding C 6.
#[test]
fn a_key_of_a_retired_node_proves_nothing() {
    let mut c = accused_of(PROCESSORS, (1, 1), 1);
    c.w.ok(ix::node_retire(&c.provider, &c.machine.node), &[&c.provider.key]);
    c.w.warp(60);
    c.accuse_of(Measured::new(c.machine.node, c.w.period(), PROCESSORS, (2, 2), 1));
    c.refused(MarketError::WrongNodeStatus);
    // What it signed before it left is the machine's.
    c.accuse_of(Measured::new(c.machine.node, c.w.period() - 1, PROCESSORS, (2, 2), 1));
    c.w.ok(c.proof(), &[&c.finder.key]);
}

/// A part for who brings the proof would pay a thief of the node's key.
#[test]
fn proven_bad_work_has_no_finder() {
    let mut c = accused_of(PROCESSORS, (1, 1), 1);
    c.slashed();
    let fault: Fault = c.w.read(&c.fault());
    assert_eq!((fault.finder, fault.rent_payer), (Address::default(), c.finder.wallet()));
    assert!(!c.w.exists(&pda::payout(&c.finder.wallet(), &c.fault())));
    assert!(!c.w.exists(&pda::payout(&Address::default(), &c.fault())));
}

/// Whoever has the node's key can sign a wrong byte in every period: until the wallet says that the node is mended it costs
/// nothing more.
#[test]
fn a_stolen_node_key_costs_half_the_stake_once() {
    let mut c = accused_of(PROCESSORS, (1, 1), 1);
    c.w.ok(ix::provider_stake(&c.w, &c.provider, 10_000_000_000), &[&c.provider.key]);
    c.slashed();
    for _ in 0..3 {
        c.w.warp(60);
        c.measured = Measured::new(c.machine.node, c.w.period(), PROCESSORS, (2, 2), 1);
        c.accuse();
        c.refused(MarketError::AlreadyProven);
        c.w.ok(ix::fraud_proof_close(&c.finder.wallet(), &c.machine.node), &[&c.finder.key]);
    }
    assert_eq!(c.w.read::<Provider>(&c.provider.provider()).slashed_total, 10_000_000_000);
}

/// Relapses are forgotten a year after the node was mended.
#[test]
fn a_relapse_within_a_year_costs_twice_the_share() {
    let mut c = accused_of(PROCESSORS, (1, 1), 1);
    let mended_at = c.w.now() - 31_536_000;
    for (at, amount) in [(mended_at + 1, 20_000_000_000u64), (mended_at, 10_000_000_000)] {
        let mut w = c.w.fork();
        w.alter(&c.machine.node, |n: &mut Node| (n.relapses, n.mended_at) = (1, at));
        w.ok(c.proof(), &[&c.finder.key]);
        w.ok(ix::slash_apply(&w, &c.fault()), &[]);
        assert_eq!(w.read::<Provider>(&c.provider.provider()).slashed_total, amount);
    }
    // A graver finding on the same cause costs the difference.
    c.w.alter(&c.machine.node, |n: &mut Node| n.cause_taken = 4_000_000_000);
    c.slashed();
    assert_eq!(c.w.read::<Provider>(&c.provider.provider()).slashed_total, 6_000_000_000);
}

#[test]
fn what_an_earlier_life_of_the_node_committed_to_does_not_count() {
    let mut w = Testbed::new();
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let finder = w.actor();
    w.warp(60);
    let measured = Measured::new(machine.node, w.period(), PROCESSORS, (5, 5), 3);
    w.ok(ix::node_retire(&provider, &machine.node), &[&provider.key]);
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    let key = machine.key.pubkey();
    w.ok(ix::node_close(&provider, &key, 2), &[&provider.key]);
    let register = ix::node_register(&provider, &key, ix::spec(2), 2_000_000);
    w.ok(register, &[&provider.key, &machine.key]);
    w.accuse(&finder, &machine.key, &measured);
    let proof = ix::prove_wrong_cell(&w, &finder, &machine.node, &measured.siblings().1);
    w.refused(proof, &[&finder.key], MarketError::AlreadyProven);
}

/// Finding R 4.
#[test]
fn other_stake_is_not_touched_and_a_retired_node_stays_retired() {
    let mut c = accused_of(PROCESSORS, (1, 1), 1);
    c.w.alter(&c.machine.node, |n: &mut Node| n.stake = 4_000_000_000);
    c.w.alter(&c.provider.provider(), |p: &mut Provider| {
        (p.stake, p.locked_stake, p.unstaking) = (5_000_000_000, 4_000_000_000, 15_000_000_000);
    });
    c.w.ok(ix::node_retire(&c.provider, &c.machine.node), &[&c.provider.key]);
    c.slashed();
    let provider: Provider = c.w.read(&c.provider.provider());
    assert_eq!(
        (provider.stake, provider.locked_stake, provider.unstaking),
        (1_000_000_000, 0, 15_000_000_000)
    );
    assert_eq!(c.w.read::<Node>(&c.machine.node).status, NODE_RETIRED);
}

#[test]
fn there_is_no_more_to_take_than_there_is() {
    let mut c = accused_of(PROCESSORS, (1, 1), 1);
    c.w.alter(&c.machine.node, |n: &mut Node| n.stake = 7);
    c.w.alter(&c.provider.provider(), |p: &mut Provider| (p.stake, p.locked_stake) = (7, 7));
    c.slashed();
    assert_eq!(c.w.read::<Provider>(&c.provider.provider()).stake, 0);
    assert_eq!(c.w.tokens(&c.finder.stake), START_STAKE);
}

#[test]
fn a_paused_market_still_proves() {
    let mut c = accused_of(PROCESSORS, (1, 1), 1);
    c.w.pause();
    c.w.ok(c.proof(), &[&c.finder.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut c = accused_of(PROCESSORS, (1, 1), 1);
    let other = c.w.provider(20_000_000_000);
    let others = c.w.machine(&other, 1);
    c.w.model(gantry_market::instructions::market::gpu_model_propose::GpuModelArgs { id: 2, ..ix::h100() });
    let good = c.proof();
    let fault = c.fault();
    let w = &mut c.w;
    let silent = unsigned(good.clone(), &c.finder.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    // Nobody else uses the fraud proof: its rent goes to who completes it.
    let theft = swap(good.clone(), &c.finder.wallet(), &other.wallet());
    w.refused(theft, &[&other.key], MarketError::Unauthorised);
    let fraud_proof = pda::fraud_proof(&c.machine.node, &c.finder.wallet());
    let (provider, node, model) = (c.provider.provider(), c.machine.node, pda::gpu_model(H100));
    for at in [pda::market(), fraud_proof, node, provider, model] {
        let fake = w.forged(&at);
        w.refuses_swaps(
            &good,
            &[&c.finder.key],
            &[("program", at, fake, InstructionError::IllegalOwner.into())],
        );
    }
    let elsewhere = pda::work_fault(&node, &c.finder.wallet(), c.measured.period + 1);
    let cases: [(_, _, _, Code); 5] = [
        ("node", node, others.node, MarketError::WrongAccount.into()),
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("model", model, pda::gpu_model(2), MarketError::WrongAccount.into()),
        ("fault", fault, elsewhere, InstructionError::InvalidSeeds.into()),
        ("fraud_proof", fraud_proof, pda::gpu_model(2), InstructionError::AccountDataTooSmall.into()),
    ];
    w.refuses_swaps(&good, &[&c.finder.key], &cases);
    w.ok(good, &[&c.finder.key]);
}
