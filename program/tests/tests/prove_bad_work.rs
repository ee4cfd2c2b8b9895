use gantry_market::errors::MarketError;
use gantry_market::events::BadWorkProven;
use gantry_market::state::{Fault, Node, Provider, FAULT_WORK, NODE_ACTIVE, NODE_RETIRED, NODE_SUSPENDED};
use gantry_market_tests::actors::{START_LAMPORTS, START_STAKE};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::work::Opened;
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;
use solana_message::Message;
use solana_signer::Signer;

/// A node of two GPUs, with 20 tokens of stake, that committed to a product; a period later somebody accuses it.
struct Case {
    w: Testbed,
    provider: Actor,
    machine: Machine,
    finder: Actor,
    opened: Opened,
}

fn accused_of(order: u32, at: (u16, u16), wrong: i32) -> Case {
    let mut w = Testbed::new();
    let provider = w.provider(20_000_000_000);
    let machine = w.machine(&provider, 2);
    let finder = w.actor();
    w.warp(60);
    let opened = Opened::new(machine.node, w.period(), order, at, wrong);
    w.ok_all(&ix::signed_fraud_proof_open(&finder.wallet(), &machine.key, &opened), &[&finder.key]);
    Case { w, provider, machine, finder, opened }
}

impl Case {
    fn proof(&self) -> solana_instruction::Instruction {
        ix::prove_bad_work(&self.w, &self.finder, &self.machine.node, &self.opened.siblings)
    }

    fn fault(&self) -> Address {
        pda::work_fault(&self.machine.node, &self.finder.wallet(), self.opened.period)
    }

    /// Proves it and applies the fault.
    fn slashed(&mut self) {
        self.w.ok(self.proof(), &[&self.finder.key]);
        self.w.ok(ix::slash_apply_by(&self.w, &self.finder.wallet(), &self.fault()), &[&self.finder.key]);
    }
}

#[test]
fn half_the_stake_is_gone_without_anyones_vote() {
    let mut c = accused_of(64, (63, 33), 1);
    let supply = c.w.supply(&c.w.stake_mint);
    let fraud_proof = pda::fraud_proof(&c.machine.node, &c.finder.wallet());
    let meta = c.w.ok(c.proof(), &[&c.finder.key]);
    let event = BadWorkProven {
        node: c.machine.node,
        provider: c.provider.provider(),
        finder: c.finder.wallet(),
        fault: c.fault(),
        period: c.opened.period,
        row: 63,
        column: 33,
        claimed: c.opened.claimed(),
        right: c.opened.right(),
    };
    assert_emitted(&meta, &event);
    assert!(!c.w.exists(&fraud_proof));
    // There is nothing to appeal.
    let fault: Fault = c.w.read(&c.fault());
    assert_eq!((fault.kind, fault.amount, fault.applicable_at), (FAULT_WORK, 10_000_000_000, c.w.now()));
    assert_eq!(fault.window_until, c.w.now().min((c.opened.period as i64 + 1) * 60));
    c.w.ok(ix::slash_apply_by(&c.w, &c.finder.wallet(), &c.fault()), &[&c.finder.key]);
    // 20 tokens are required, 10 are slashed: six are burned, and four wait for claims that do not come, since nobody had
    // a lease.
    assert_eq!(c.w.supply(&c.w.stake_mint), supply - 6_000_000_000);
    assert_eq!(c.w.tokens(&c.provider.provider_vault()), 10_000_000_000);
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

#[test]
fn both_transactions_of_the_largest_order_fit_and_are_cheap() {
    let mut c = accused_of(4_096, (4_095, 4_095), -1);
    assert_eq!(c.opened.siblings.len(), 19);
    let budget = 1 + 3 + 1 + 32 + 5 + 12;
    let open = ix::signed_fraud_proof_open(&c.finder.wallet(), &c.machine.key, &c.opened);
    for instructions in [open.to_vec(), vec![c.proof()]] {
        let message = Message::new(&instructions, Some(&c.finder.wallet()));
        // One signature; room for a compute limit and a price.
        let size = 1 + 64 + message.serialize().len();
        println!("{size} bytes");
        assert!(size + budget <= 1_232, "{size} bytes");
    }
    c.w.ok(c.proof(), &[&c.finder.key]);
    let units = c.w.compute.get("prove_bad_work").expect("was used");
    println!("{units} compute units");
    assert!(units <= 120_000, "{units} compute units");
}

#[test]
fn right_work_cannot_be_proven_wrong() {
    for (order, at) in [(32, (0, 0)), (96, (95, 64)), (160, (159, 1)), (4_096, (17, 4_000))] {
        let mut c = accused_of(order, at, 0);
        c.w.refused(c.proof(), &[&c.finder.key], MarketError::WorkIsRight);
        assert_eq!(c.w.read::<Node>(&c.machine.node).status, NODE_ACTIVE);
        assert_eq!(c.w.read::<Provider>(&c.provider.provider()).slashed_total, 0);
    }
}

#[test]
fn any_wrong_entry_of_any_shape_of_tree_is_enough() {
    let places = [(32, (31, 31)), (96, (95, 64)), (96, (95, 95)), (160, (127, 128)), (4_064, (4_063, 4_063))];
    for (order, at) in places {
        for wrong in [1, -1, i32::MIN] {
            let mut c = accused_of(order, at, wrong);
            c.w.ok(c.proof(), &[&c.finder.key]);
        }
    }
}

#[test]
fn an_opening_that_was_not_committed_to_proves_nothing() {
    let mut c = accused_of(160, (77, 159), 1);
    let good = c.opened.siblings.clone();
    let node = c.machine.node;
    let mut wrong = vec![vec![], good[1..].to_vec(), good[..good.len() - 1].to_vec()];
    wrong.push([good.clone(), vec![[0; 32]]].concat());
    wrong.push(good.iter().rev().copied().collect());
    for at in 0..good.len() {
        let mut changed = good.clone();
        changed[at][31] ^= 1;
        wrong.push(changed);
    }
    for siblings in wrong {
        let proof = ix::prove_bad_work(&c.w, &c.finder, &node, &siblings);
        c.w.refused(proof, &[&c.finder.key], MarketError::InvalidProof);
    }
    // The same chunk and path said to stand elsewhere, and a work claim to another root.
    let close = ix::fraud_proof_close(&c.finder.wallet(), &node);
    let elsewhere = [
        Opened { row: 76, ..c.opened.clone() },
        Opened { column: 127, ..c.opened.clone() },
        Opened { order: 192, ..c.opened.clone() },
        Opened { root: [9; 32], ..c.opened.clone() },
    ];
    for opened in elsewhere {
        c.w.ok(close.clone(), &[&c.finder.key]);
        c.w.ok_all(
            &ix::signed_fraud_proof_open(&c.finder.wallet(), &c.machine.key, &opened),
            &[&c.finder.key],
        );
        c.w.refused(c.proof(), &[&c.finder.key], MarketError::InvalidProof);
    }
}

#[test]
fn one_proof_covers_what_was_committed_to_before_it() {
    let mut c = accused_of(64, (1, 1), 1);
    let (second, late) = (c.w.actor(), c.w.actor());
    let node = c.machine.node;
    let earlier = Opened::new(node, c.opened.period, 32, (5, 5), 3);
    c.w.ok_all(&ix::signed_fraud_proof_open(&second.wallet(), &c.machine.key, &earlier), &[&second.key]);
    c.w.warp(60);
    let period = c.w.period();
    c.slashed();
    // Another work claim of the same time, and one of the period of the proof.
    let proof = ix::prove_bad_work(&c.w, &second, &node, &earlier.siblings);
    c.w.refused(proof, &[&second.key], MarketError::AlreadyProven);
    let same = Opened::new(node, period, 64, (2, 2), 1);
    c.w.ok_all(&ix::signed_fraud_proof_open(&late.wallet(), &c.machine.key, &same), &[&late.key]);
    let proof = ix::prove_bad_work(&c.w, &late, &node, &same.siblings);
    c.w.refused(proof, &[&late.key], MarketError::AlreadyProven);
    // A work claim for a time to come waits for it, and counts then.
    let next = Opened::new(node, period + 1, 64, (2, 2), 1);
    c.w.ok_all(&ix::signed_fraud_proof_open(&c.finder.wallet(), &c.machine.key, &next), &[&c.finder.key]);
    let proof = ix::prove_bad_work(&c.w, &c.finder, &node, &next.siblings);
    c.w.refused(proof.clone(), &[&c.finder.key], MarketError::TooEarly);
    c.w.warp(60);
    // It has the cause that was proven, as long as the wallet does not say that the node is mended.
    c.w.refused(proof, &[&c.finder.key], MarketError::AlreadyProven);
    assert_eq!(c.w.read::<Provider>(&c.provider.provider()).stake, 10_000_000_000);
}

/// A part for who brings the proof would pay a thief of the node's key.
#[test]
fn c06_proven_bad_work_has_no_finder() {
    let mut c = accused_of(64, (1, 1), 1);
    c.slashed();
    let fault: Fault = c.w.read(&c.fault());
    assert_eq!((fault.finder, fault.rent_payer), (Address::default(), c.finder.wallet()));
    assert!(!c.w.exists(&pda::payout(&c.finder.wallet(), &c.fault())));
    assert!(!c.w.exists(&pda::payout(&Address::default(), &c.fault())));
}

/// Whoever has the node's key can sign wrong work in every period: until the wallet says that the node is mended it costs
/// nothing more, and afterwards twice as much, as a relapse within a year does.
#[test]
fn c06_a_stolen_node_key_costs_half_the_stake_once() {
    let mut c = accused_of(64, (1, 1), 1);
    c.w.ok(ix::provider_stake(&c.w, &c.provider, 10_000_000_000), &[&c.provider.key]);
    c.slashed();
    let half = 10_000_000_000;
    let slashed = |c: &Case| c.w.read::<Provider>(&c.provider.provider()).slashed_total;
    let accuse = |c: &mut Case| {
        let opened = Opened::new(c.machine.node, c.w.period(), 64, (2, 2), 1);
        let open = ix::signed_fraud_proof_open(&c.finder.wallet(), &c.machine.key, &opened);
        c.w.ok_all(&open, &[&c.finder.key]);
        ix::prove_bad_work(&c.w, &c.finder, &c.machine.node, &opened.siblings)
    };
    for _ in 0..3 {
        c.w.warp(60);
        let proof = accuse(&mut c);
        c.w.refused(proof, &[&c.finder.key], MarketError::AlreadyProven);
        c.w.ok(ix::fraud_proof_close(&c.finder.wallet(), &c.machine.node), &[&c.finder.key]);
    }
    assert_eq!(slashed(&c), half);
    // The wallet mends it; what its key has signed by then has the old cause.
    let mended =
        ix::node_update(&c.provider.wallet(), &c.provider.provider(), &c.machine.node, 1, NODE_ACTIVE);
    c.w.ok(mended, &[&c.provider.key]);
    let proof = accuse(&mut c);
    c.w.refused(proof, &[&c.finder.key], MarketError::AlreadyProven);
    c.w.ok(ix::fraud_proof_close(&c.finder.wallet(), &c.machine.node), &[&c.finder.key]);
    c.w.warp(60);
    let proof = accuse(&mut c);
    c.w.ok(proof, &[&c.finder.key]);
    c.opened.period = c.w.period();
    c.w.ok(ix::slash_apply(&c.w, &c.fault()), &[]);
    assert_eq!(slashed(&c), half + 20_000_000_000, "twice the share: all of it");
}

/// What the key of a node that has left signs says nothing about its machine.
#[test]
fn c06_a_key_of_a_retired_node_proves_nothing() {
    let mut c = accused_of(64, (1, 1), 1);
    c.w.ok(ix::node_retire(&c.provider, &c.machine.node), &[&c.provider.key]);
    c.w.ok(ix::fraud_proof_close(&c.finder.wallet(), &c.machine.node), &[&c.finder.key]);
    c.w.warp(60);
    let opened = Opened::new(c.machine.node, c.w.period(), 64, (2, 2), 1);
    let open = ix::signed_fraud_proof_open(&c.finder.wallet(), &c.machine.key, &opened);
    c.w.ok_all(&open, &[&c.finder.key]);
    let proof = ix::prove_bad_work(&c.w, &c.finder, &c.machine.node, &opened.siblings);
    c.w.refused(proof, &[&c.finder.key], MarketError::WrongNodeStatus);
}

/// Relapses are forgotten a year after the node was mended.
#[test]
fn r03_a_relapse_within_a_year_costs_twice_the_share() {
    let mut c = accused_of(64, (1, 1), 1);
    let mended_at = c.w.now() - 31_536_000;
    for (at, amount) in [(mended_at + 1, 20_000_000_000u64), (mended_at, 10_000_000_000)] {
        let mut w = c.w.fork();
        w.alter(&c.machine.node, |n: &mut Node| (n.relapses, n.mended_at) = (1, at));
        let proof = ix::prove_bad_work(&w, &c.finder, &c.machine.node, &c.opened.siblings);
        w.ok(proof, &[&c.finder.key]);
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
    let opened = Opened::new(machine.node, w.period(), 32, (5, 5), 3);
    w.ok(ix::node_retire(&provider, &machine.node), &[&provider.key]);
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    let key = machine.key.pubkey();
    w.ok(ix::node_close(&provider, &key, 2), &[&provider.key]);
    let register = ix::node_register(&provider, &key, ix::spec(2), 2_000_000);
    w.ok(register, &[&provider.key, &machine.key]);
    w.ok_all(&ix::signed_fraud_proof_open(&finder.wallet(), &machine.key, &opened), &[&finder.key]);
    let proof = ix::prove_bad_work(&w, &finder, &machine.node, &opened.siblings);
    w.refused(proof, &[&finder.key], MarketError::AlreadyProven);
}

#[test]
fn r04_other_stake_is_not_touched_and_a_retired_node_stays_retired() {
    let mut c = accused_of(64, (1, 1), 1);
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
    let mut c = accused_of(64, (1, 1), 1);
    c.w.alter(&c.machine.node, |n: &mut Node| n.stake = 7);
    c.w.alter(&c.provider.provider(), |p: &mut Provider| (p.stake, p.locked_stake) = (7, 7));
    c.slashed();
    assert_eq!(c.w.read::<Provider>(&c.provider.provider()).stake, 0);
    assert_eq!(c.w.tokens(&c.finder.stake), START_STAKE);
}

#[test]
fn a_paused_market_still_proves() {
    let mut c = accused_of(64, (1, 1), 1);
    c.w.pause();
    c.w.ok(c.proof(), &[&c.finder.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut c = accused_of(64, (1, 1), 1);
    let other = c.w.provider(20_000_000_000);
    let others = c.w.machine(&other, 1);
    let good = c.proof();
    let fault = c.fault();
    let w = &mut c.w;
    let silent = unsigned(good.clone(), &c.finder.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    // Nobody else uses the fraud proof: its rent goes to who completes it.
    let theft = swap(good.clone(), &c.finder.wallet(), &other.wallet());
    w.refused(theft, &[&other.key], MarketError::Unauthorised);
    let fraud_proof = pda::fraud_proof(&c.machine.node, &c.finder.wallet());
    let (provider, node) = (c.provider.provider(), c.machine.node);
    for at in [pda::market(), fraud_proof, node, provider] {
        let fake = w.forged(&at);
        w.refuses_swaps(
            &good,
            &[&c.finder.key],
            &[("program", at, fake, InstructionError::IllegalOwner.into())],
        );
    }
    let elsewhere = pda::work_fault(&node, &c.finder.wallet(), c.opened.period + 1);
    let cases: [(_, _, _, Code); 4] = [
        ("node", node, others.node, MarketError::WrongAccount.into()),
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("fault", fault, elsewhere, InstructionError::InvalidSeeds.into()),
        ("fraud_proof", fraud_proof, pda::gpu_model(1), InstructionError::AccountDataTooSmall.into()),
    ];
    w.refuses_swaps(&good, &[&c.finder.key], &cases);
    w.ok(good, &[&c.finder.key]);
}
