use gantry_market::errors::MarketError;
use gantry_market::events::EquivocationProven;
use gantry_market::state::{Keeper, Payout, KEEPER_SLASHED};
use gantry_market_tests::actors::START_STAKE;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::ix::{equivocation, prove_equivocation, signed};
use gantry_market_tests::leaves::{manifest, statement};
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;
use solana_message::Message;

const BOND: u64 = 4_000_000_000;

/// The keeper that equivocates, another one, and a finder.
fn ready() -> (Testbed, Actor, Actor, Actor) {
    let mut w = Testbed::new();
    let (keeper, other) = (w.keeper(BOND), w.keeper(BOND));
    let finder = w.actor();
    (w, keeper, other, finder)
}

/// "passed" and "failed" about one check.
fn both() -> [[u8; 144]; 2] {
    let node = Address::new_from_array([5; 32]);
    let make = |passed| {
        let mut out = statement(&node, 30, 3, passed);
        out[72..80].copy_from_slice(&1_800_000_007i64.to_le_bytes());
        out[80..112].copy_from_slice(&[6; 32]);
        out
    };
    [make(true), make(false)]
}

#[test]
fn the_bond_and_the_vote_are_gone_at_once() {
    let (mut w, keeper, _, finder) = ready();
    let [yes, no] = both();
    let supply = w.supply(&w.stake_mint);
    let proof = equivocation(&w, &finder, &keeper, &no, &yes);
    let message = Message::new(&proof, Some(&finder.wallet()));
    let size = 1 + 64 + message.serialize().len();
    println!("{size} bytes");
    assert!(size + 54 <= 1_232, "{size} bytes, and a compute limit and price");
    let meta = w.ok_all(&proof, &[&finder.key]);
    let state: Keeper = w.read(&keeper.keeper());
    assert_eq!((state.bond, state.weight, state.status), (0, 0, KEEPER_SLASHED));
    assert_eq!(state.exit_at, w.now() + i64::from(w.params.keeper_exit_secs));
    assert_eq!(w.market().total_weight, BOND);
    assert_eq!(w.tokens(&keeper.keeper_vault()), 0);
    assert_eq!(w.tokens(&finder.stake), START_STAKE);
    let payout: Payout = w.read(&pda::payout(&finder.wallet(), &keeper.keeper()));
    let due = w.now() + i64::from(w.params.keeper_exit_secs);
    // A tenth would be 0.4; a twentieth of the bond may leave.
    assert_eq!((payout.amount, payout.payable_at), (200_000_000, due));
    assert_eq!(w.supply(&w.stake_mint), supply - 3_800_000_000);
    let event = EquivocationProven {
        keeper: keeper.keeper(),
        finder: finder.wallet(),
        node: Address::new_from_array([5; 32]),
        lease: Address::new_from_array([6; 32]),
        period: 30,
        kind: 3,
        checked_at: 1_800_000_007,
        amount: BOND,
        finder_share: 200_000_000,
        burned: 3_800_000_000,
    };
    assert_emitted(&meta, &event);
}

#[test]
fn who_was_expelled_has_no_say_any_more_and_leaves_with_the_rest() {
    let mut params = gantry_market_tests::testbed::test_params();
    params.slash_equivocation_bps = 5_000;
    let mut w = Testbed::with(params);
    let (keeper, other, finder) = (w.keeper(BOND), w.keeper(BOND), w.actor());
    let [yes, no] = both();
    let period = w.period();
    w.warp_past_period(period);
    w.ok_all(&equivocation(&w, &finder, &keeper, &yes, &no), &[&finder.key]);
    let vote = ix::report_vote(&keeper, period, [1; 32]);
    w.refused(vote, &[&keeper.key], MarketError::KeeperNotActive);
    w.refused(ix::keeper_activate(&keeper), &[&keeper.key], MarketError::WrongKeeperStatus);
    w.refused(ix::keeper_request_exit(&keeper), &[&keeper.key], MarketError::WrongKeeperStatus);
    // The other one is all the weight there is now.
    w.ok(ix::report_vote(&other, period, [1; 32]), &[&other.key]);
    w.refused(ix::keeper_withdraw(&keeper), &[&keeper.key], MarketError::TooEarly);
    w.warp(i64::from(w.params.keeper_exit_secs));
    w.ok(ix::keeper_withdraw(&keeper), &[&keeper.key]);
    assert_eq!(w.tokens(&keeper.stake), START_STAKE - BOND / 2);
    assert_eq!(w.market().keeper_count, 1);
}

#[test]
fn a_second_proof_takes_nothing() {
    let (mut w, keeper, _, finder) = ready();
    let [yes, no] = both();
    w.ok_all(&equivocation(&w, &finder, &keeper, &yes, &no), &[&finder.key]);
    let again = equivocation(&w, &finder, &keeper, &no, &yes);
    w.refused_all(&again, &[&finder.key], MarketError::WrongKeeperStatus);
    assert_eq!(w.tokens(&finder.stake), START_STAKE);
    let payout: Payout = w.read(&pda::payout(&finder.wallet(), &keeper.keeper()));
    let due = w.now() + i64::from(w.params.keeper_exit_secs);
    assert_eq!((payout.amount, payout.payable_at), (200_000_000, due));
    assert_eq!(w.market().total_weight, BOND);
}

#[test]
fn pending_and_leaving_keepers_are_not_spared() {
    let (mut w, leaving, _, finder) = ready();
    let pending = w.pending_keeper(BOND);
    let [yes, no] = both();
    w.ok(ix::keeper_request_exit(&leaving), &[&leaving.key]);
    let exit_at = w.read::<Keeper>(&leaving.keeper()).exit_at;
    w.warp(300);
    for keeper in [&leaving, &pending] {
        w.ok_all(&equivocation(&w, &finder, keeper, &yes, &no), &[&finder.key]);
        let state: Keeper = w.read(&keeper.keeper());
        assert_eq!((state.bond, state.status), (0, KEEPER_SLASHED));
    }
    // Its exit is not put off.
    assert_eq!(w.read::<Keeper>(&leaving.keeper()).exit_at, exit_at);
    assert_eq!(w.market().total_weight, BOND);
    // Once withdrawn there is nothing left to take.
    w.warp(300);
    w.ok(ix::keeper_withdraw(&leaving), &[&leaving.key]);
    let late = equivocation(&w, &finder, &leaving, &yes, &no);
    w.refused_all(&late, &[&finder.key], InstructionError::AccountDataTooSmall);
}

/// What a keeper may honestly sign, before and after a restart.
#[test]
fn different_checks_and_different_details_are_no_contradiction() {
    let (mut w, keeper, _, finder) = ready();
    let [yes, no] = both();
    // Node, period, kind, second of the check, lease: another check. The result is the opposite in all.
    for at in [16, 48, 56, 72, 80] {
        let mut other = no;
        other[at] ^= 1;
        let proof = equivocation(&w, &finder, &keeper, &yes, &other);
        w.refused_all(&proof, &[&finder.key], MarketError::NoEquivocation);
    }
    // The same result: measured, latency, covered seconds and details may differ.
    for at in [60, 64, 68, 112] {
        let mut other = yes;
        other[at] ^= 1;
        let proof = equivocation(&w, &finder, &keeper, &yes, &other);
        w.refused_all(&proof, &[&finder.key], MarketError::NoEquivocation);
    }
    let same = equivocation(&w, &finder, &keeper, &yes, &yes);
    w.refused_all(&same, &[&finder.key], MarketError::NoEquivocation);
    // Of another cluster, both or one.
    let foreign = [yes, no].map(|mut text| {
        text[8] ^= 1;
        text
    });
    let pairs = [[foreign[0], foreign[1]], [yes, foreign[1]], [foreign[0], no]];
    for [one, other] in pairs {
        let proof = equivocation(&w, &finder, &keeper, &one, &other);
        w.refused_all(&proof, &[&finder.key], MarketError::NoEquivocation);
    }
    // Shorter or longer than a statement, though signed.
    let mut longer = no.to_vec();
    longer.push(0);
    for other in [&no[..143], &longer[..], &[]] {
        let proof = equivocation(&w, &finder, &keeper, &yes, other);
        w.refused_all(&proof, &[&finder.key], MarketError::NoEquivocation);
    }
    let mut broken = no;
    broken[57] = 2;
    let proof = equivocation(&w, &finder, &keeper, &yes, &broken);
    w.refused_all(&proof, &[&finder.key], MarketError::IrrelevantStatement);
    assert_eq!(w.read::<Keeper>(&keeper.keeper()).bond, BOND);
}

#[test]
fn two_manifests_of_a_period_cost_the_bond() {
    let (mut w, keeper, _, finder) = ready();
    let [one, other] = [1, 2].map(|fill| manifest(30, 12, [fill; 32]));
    let supply = w.supply(&w.stake_mint);
    let meta = w.ok_all(&equivocation(&w, &finder, &keeper, &one, &other), &[&finder.key]);
    let state: Keeper = w.read(&keeper.keeper());
    assert_eq!((state.bond, state.weight, state.status), (0, 0, KEEPER_SLASHED));
    assert_eq!(w.market().total_weight, BOND);
    assert_eq!(w.tokens(&finder.stake), START_STAKE);
    let payout: Payout = w.read(&pda::payout(&finder.wallet(), &keeper.keeper()));
    let due = w.now() + i64::from(w.params.keeper_exit_secs);
    assert_eq!((payout.amount, payout.payable_at), (200_000_000, due));
    assert_eq!(w.supply(&w.stake_mint), supply - 3_800_000_000);
    let event = EquivocationProven {
        keeper: keeper.keeper(),
        finder: finder.wallet(),
        node: Address::default(),
        lease: Address::default(),
        period: 30,
        kind: 0,
        checked_at: 0,
        amount: BOND,
        finder_share: 200_000_000,
        burned: 3_800_000_000,
    };
    assert_emitted(&meta, &event);
    let [yes, no] = both();
    for again in
        [equivocation(&w, &finder, &keeper, &other, &one), equivocation(&w, &finder, &keeper, &yes, &no)]
    {
        w.refused_all(&again, &[&finder.key], MarketError::WrongKeeperStatus);
    }
}

/// What says how many, how long and which: any of the three makes another manifest.
#[test]
fn manifests_differ_in_number_size_or_digest() {
    let (mut w, _, _, finder) = ready();
    let one = manifest(30, 12, [1; 32]);
    for at in [24, 27, 28, 31, 32, 63] {
        let dishonest = w.keeper(BOND);
        let mut other = one;
        other[at] ^= 1;
        w.ok_all(&equivocation(&w, &finder, &dishonest, &one, &other), &[&finder.key]);
        assert_eq!(w.read::<Keeper>(&dishonest.keeper()).bond, 0);
    }
}

/// What an honest keeper signs: one manifest a period, however often, and statements besides.
#[test]
fn one_manifest_a_period_is_no_contradiction() {
    let (mut w, keeper, _, finder) = ready();
    let [one, other] = [1, 2].map(|fill| manifest(30, 12, [fill; 32]));
    let [yes, no] = both();
    let change = |text: &[u8; 64], at: usize| {
        let mut changed = *text;
        changed[at] ^= 1;
        changed
    };
    // The same, of two periods, of another network: one or both.
    let pairs = [
        [one, one],
        [one, change(&other, 16)],
        [one, change(&other, 23)],
        [one, change(&one, 16)],
        [one, change(&other, 8)],
        [change(&one, 8), other],
        [change(&one, 15), change(&other, 15)],
    ];
    for [one, other] in pairs {
        let proof = equivocation(&w, &finder, &keeper, &one, &other);
        w.refused_all(&proof, &[&finder.key], MarketError::NoEquivocation);
    }
    // With a statement, and shorter or longer than a manifest.
    let mut longer = other.to_vec();
    longer.push(0);
    let mixed: [[&[u8]; 2]; 6] =
        [[&one, &yes], [&no, &one], [&one, &other[..63]], [&longer, &one], [&longer, &longer], [&one, &[]]];
    for [one, other] in mixed {
        let proof = equivocation(&w, &finder, &keeper, one, other);
        w.refused_all(&proof, &[&finder.key], MarketError::NoEquivocation);
    }
    // Something else that is as long.
    for at in [0, 7] {
        for [one, other] in [[one, change(&other, at)], [change(&one, at), other]] {
            let proof = equivocation(&w, &finder, &keeper, &one, &other);
            w.refused_all(&proof, &[&finder.key], MarketError::IrrelevantStatement);
        }
    }
    assert_eq!(w.read::<Keeper>(&keeper.keeper()).bond, BOND);
}

#[test]
fn both_must_be_signed_by_the_keeper() {
    let (mut w, keeper, other, finder) = ready();
    let [yes, no] = both();
    let [one, another] = [1, 2].map(|count| manifest(30, count, [7; 32]));
    let proof = prove_equivocation(&w, &finder, &keeper.keeper());
    let cases = [
        vec![],
        vec![signed(&keeper.key, &no)],
        vec![signed(&other.key, &yes), signed(&keeper.key, &no)],
        vec![signed(&keeper.key, &yes), signed(&other.key, &no)],
        vec![signed(&other.key, &one), signed(&keeper.key, &another)],
        vec![signed(&keeper.key, &one), signed(&other.key, &another)],
    ];
    for mut instructions in cases {
        instructions.push(proof.clone());
        w.refused_all(&instructions, &[&finder.key], MarketError::InvalidSignature);
    }
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, keeper, other, finder) = ready();
    let [yes, no] = both();
    let before = [signed(&keeper.key, &yes), signed(&keeper.key, &no)];
    let good = prove_equivocation(&w, &finder, &keeper.keeper());
    let silent = [before[0].clone(), before[1].clone(), unsigned(good.clone(), &finder.wallet())];
    w.refused_all(&silent, &[], InstructionError::MissingRequiredSignature);
    for at in [pda::market(), keeper.keeper()] {
        let fake = w.forged(&at);
        let case = [("program", at, fake, InstructionError::IllegalOwner.into())];
        w.refuses_swaps_after(&before, &good, &[&finder.key], &case);
    }
    let vault = keeper.keeper_vault();
    let (twin, fake_mint, mint) = (w.twin(&vault), w.twin(&w.stake_mint.clone()), w.stake_mint);
    let elsewhere = w.fresh_address();
    let payout = pda::payout(&finder.wallet(), &keeper.keeper());
    let cases: [(_, _, _, Code); 8] = [
        ("vault", vault, other.keeper_vault(), InstructionError::InvalidSeeds.into()),
        ("vault's address", vault, twin, InstructionError::InvalidSeeds.into()),
        ("mint", mint, fake_mint, MarketError::WrongMint.into()),
        ("payment mint", mint, w.payment_mint, MarketError::WrongMint.into()),
        ("payout", payout, pda::payout(&other.wallet(), &keeper.keeper()), MarketError::WrongAccount.into()),
        ("keeper's type", keeper.keeper(), pda::gpu_model(1), InstructionError::AccountDataTooSmall.into()),
        ("sysvar", ix::instructions_sysvar(), elsewhere, InstructionError::InvalidArgument.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps_after(&before, &good, &[&finder.key], &cases);
    // Another keeper with its own vault has signed nothing.
    let theft = swap(good.clone(), &keeper.keeper(), &other.keeper());
    let theft = swap(theft, &vault, &other.keeper_vault());
    let instructions = [before[0].clone(), before[1].clone(), theft];
    w.refused_all(&instructions, &[&finder.key], MarketError::InvalidSignature);
    w.ok_all(&[before[0].clone(), before[1].clone(), good], &[&finder.key]);
}
