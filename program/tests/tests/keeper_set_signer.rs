use gantry_market::errors::MarketError;
use gantry_market::events::KeeperSignerSet;
use gantry_market::state::{Keeper, Lease, Market, Outage, Report, KEEPER_ACTIVE, KEEPER_SLASHED};
use gantry_market_tests::actors::START_STAKE;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::ix::{consent, consent_until, prove_equivocation, signed};
use gantry_market_tests::leaves::{manifest, statement};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_keypair::Keypair;
use solana_signer::Signer;

const BOND: u64 = 4_000_000_000;

/// What a keeper answers for its former signer in a testbed, seconds: a period, a report's retention and an appeal.
const LIABLE: i64 = 60 + 3_600 + 300;

fn state(w: &Testbed, who: &Actor) -> Keeper {
    w.read(&who.keeper())
}

#[test]
fn the_wallet_signs_until_it_names_another_key() {
    let mut w = Testbed::new();
    let mut who = w.keeper(BOND);
    let keeper = state(&w, &who);
    assert_eq!((keeper.signer, keeper.former_signer), (who.wallet(), Address::default()));
    assert_eq!((keeper.signer_since, keeper.signer_until), (keeper.registered_at, 0));
    let hot = w.hot_key();
    w.warp(7);
    let meta = w.ok_all(&ix::keeper_rotation(&w, &who, &hot), &[&who.key]);
    let keeper = state(&w, &who);
    let until = w.now() + LIABLE;
    assert_eq!(
        (keeper.wallet, keeper.signer, keeper.former_signer),
        (who.wallet(), hot.pubkey(), who.wallet())
    );
    assert_eq!((keeper.signer_since, keeper.signer_until), (w.now(), until));
    assert_eq!((keeper.bond, keeper.weight, keeper.status), (BOND, BOND, KEEPER_ACTIVE));
    let event =
        KeeperSignerSet { keeper: who.keeper(), signer: hot.pubkey(), former_signer: who.wallet(), until };
    assert_emitted(&meta, &event);
    // Back to the wallet, which needs no consent, once the former key answers for nothing any more.
    who.hot = Some(hot);
    w.set_now(until);
    w.ok(ix::keeper_set_signer(&who, &who.wallet()), &[&who.key]);
    let keeper = state(&w, &who);
    assert_eq!((keeper.signer, keeper.former_signer), (who.wallet(), who.signer()));
}

/// A bond that takes longer to leave than records count is liable for longer.
#[test]
fn a_former_signer_counts_for_as_long_as_a_bond_takes_to_leave() {
    let mut w = Testbed::new();
    w.alter(&pda::market(), |m: &mut Market| m.params.keeper_exit_secs = 5_000);
    let (mut who, hot) = (w.keeper(BOND), w.hot_key());
    w.rotate(&mut who, &hot);
    assert_eq!(state(&w, &who).signer_until, w.now() + 5_000);
}

#[test]
fn two_keys_at_most_are_liable() {
    let mut w = Testbed::new();
    let mut who = w.keeper(BOND);
    let (first, second) = (w.hot_key(), w.hot_key());
    w.rotate(&mut who, &first);
    w.warp(LIABLE - 1);
    for instructions in
        [ix::keeper_rotation(&w, &who, &second).to_vec(), vec![ix::keeper_set_signer(&who, &who.wallet())]]
    {
        w.refused_all(&instructions, &[&who.key], MarketError::TooEarly);
    }
    w.warp(1);
    w.rotate(&mut who, &second);
    assert_eq!(state(&w, &who).former_signer, first.pubkey());
}

#[test]
fn the_key_that_signs_already_is_refused() {
    let mut w = Testbed::new();
    let mut who = w.keeper(BOND);
    w.refused(ix::keeper_set_signer(&who, &who.wallet()), &[&who.key], MarketError::SignerStands);
    let hot = w.hot_key();
    w.rotate(&mut who, &hot);
    w.warp(LIABLE);
    w.refused_all(&ix::keeper_rotation(&w, &who, &hot), &[&who.key], MarketError::SignerStands);
}

#[test]
fn only_the_wallet_names_a_signer() {
    let mut w = Testbed::new();
    let (who, other) = (w.hot_keeper(BOND), w.keeper(BOND));
    let next = w.hot_key();
    let agreed = signed(&next, &consent(&w, &who.wallet()));
    let good = ix::keeper_set_signer(&who, &next.pubkey());
    w.refused_all(
        &[agreed.clone(), unsigned(good.clone(), &who.wallet())],
        &[],
        InstructionError::MissingRequiredSignature,
    );
    // Neither the signer that it has, nor the one that it would have, nor anybody else.
    for by in [who.signing(), &next, &other.key] {
        let theft = swap(good.clone(), &who.wallet(), &by.pubkey());
        w.refused_all(&[agreed.clone(), theft], &[by], MarketError::Unauthorised);
    }
    w.ok_all(&[agreed, good], &[&who.key]);
}

#[test]
fn wrong_accounts_are_refused() {
    let mut w = Testbed::new();
    let (who, other) = (w.keeper(BOND), w.keeper(BOND));
    let next = w.hot_key();
    let agreed = [signed(&next, &consent(&w, &who.wallet()))];
    let good = ix::keeper_set_signer(&who, &next.pubkey());
    let (market, keeper) = (w.forged(&pda::market()), w.forged(&who.keeper()));
    let (vault_copy, no_sysvar) = (w.twin(&who.keeper_vault()), w.fresh_address());
    let cases: [(_, _, _, Code); 7] = [
        ("market", pda::market(), market, InstructionError::IllegalOwner.into()),
        ("keeper", who.keeper(), keeper, InstructionError::IllegalOwner.into()),
        ("keeper's type", who.keeper(), pda::gpu_model(1), InstructionError::AccountDataTooSmall.into()),
        ("another keeper", who.keeper(), other.keeper(), MarketError::Unauthorised.into()),
        ("vault", who.keeper_vault(), other.keeper_vault(), InstructionError::InvalidSeeds.into()),
        ("vault's address", who.keeper_vault(), vault_copy, InstructionError::InvalidSeeds.into()),
        ("sysvar", ix::instructions_sysvar(), no_sysvar, InstructionError::InvalidArgument.into()),
    ];
    w.refuses_swaps_after(&agreed, &good, &[&who.key], &cases);
}

/// Nobody's key is named against its will: what it has signed for its own keeper would count for another.
#[test]
fn a_key_signs_for_a_keeper_only_if_it_agreed_to() {
    let mut w = Testbed::new();
    let (who, honest) = (w.keeper(BOND), w.hot_keeper(BOND));
    let next = w.hot_key();
    let mut other_cluster = consent(&w, &who.wallet());
    other_cluster[8] ^= 1;
    let mut other_tag = consent(&w, &who.wallet());
    other_tag[0] ^= 1;
    let mut longer = consent(&w, &who.wallet());
    longer.push(0);
    let cases: [Vec<Instruction>; 7] = [
        vec![],
        vec![signed(&who.key, &consent(&w, &who.wallet()))],
        vec![signed(&next, &consent(&w, &honest.wallet()))],
        vec![signed(&next, &other_cluster)],
        vec![signed(&next, &other_tag)],
        vec![signed(&next, &longer)],
        // The consent must stand right before.
        vec![signed(&next, &consent(&w, &who.wallet())), signed(&who.key, &other_cluster)],
    ];
    for mut instructions in cases {
        instructions.push(ix::keeper_set_signer(&who, &next.pubkey()));
        w.refused_all(&instructions, &[&who.key], MarketError::InvalidSignature);
    }
    // What another's signer agreed to with its own owner.
    let theirs = [
        signed(honest.signing(), &consent(&w, &honest.wallet())),
        ix::keeper_set_signer(&who, &honest.signer()),
    ];
    w.refused_all(&theirs, &[&who.key], MarketError::InvalidSignature);
    assert_eq!(state(&w, &who).signer, who.wallet());
}

/// A consent ends before the signer can have changed twice, and before a bond can have left.
#[test]
fn a_consent_is_over_before_its_key_can_be_named_again() {
    let mut w = Testbed::new();
    let who = w.keeper(BOND);
    let next = w.hot_key();
    let longest = w.now() + i64::from(w.params.keeper_exit_secs);
    let named = |until| {
        [signed(&next, &consent_until(&who.wallet(), until)), ix::keeper_set_signer(&who, &next.pubkey())]
    };
    for (until, refusal) in [
        (i64::MIN, MarketError::Overflow),
        (w.now(), MarketError::TooLate),
        (longest + 1, MarketError::TooEarly),
        (i64::MAX, MarketError::TooEarly),
    ] {
        w.refused_all(&named(until), &[&who.key], refusal);
    }
    w.ok_all(&named(longest), &[&who.key]);
    let until = state(&w, &who).signer_until;
    w.set_now(until);
    w.ok(ix::keeper_set_signer(&who, &who.wallet()), &[&who.key]);
    w.set_now(until + LIABLE);
    w.refused_all(&named(longest), &[&who.key], MarketError::TooLate);
    // Nor by a keeper that leaves and comes back.
    w.ok(ix::keeper_request_exit(&who), &[&who.key]);
    let late = w.now() + i64::from(w.params.keeper_exit_secs);
    let (agreed, mut again) = (signed(&next, &consent_until(&who.wallet(), late)), who.again());
    again.hot = Some(next.insecure_clone());
    w.set_now(late);
    w.ok(ix::keeper_withdraw(&who), &[&who.key]);
    w.refused_all(&[agreed, ix::keeper_register(&w, &again, BOND)], &[&who.key], MarketError::TooLate);
}

#[test]
fn a_keeper_registers_with_a_signer() {
    let mut w = Testbed::new();
    let (mut who, hot) = (w.actor(), w.hot_key());
    let [agreed, register] = ix::keeper_register_with(&w, &who, BOND, &hot);
    w.refused(register.clone(), &[&who.key], MarketError::InvalidSignature);
    let wrong = [signed(&hot, &consent(&w, &hot.pubkey())), register.clone()];
    w.refused_all(&wrong, &[&who.key], MarketError::InvalidSignature);
    w.ok_all(&[agreed, register], &[&who.key]);
    let keeper = state(&w, &who);
    assert_eq!(
        (keeper.wallet, keeper.signer, keeper.former_signer),
        (who.wallet(), hot.pubkey(), Address::default())
    );
    assert_eq!((keeper.signer_since, keeper.signer_until), (w.now(), 0));
    who.hot = Some(hot);
    w.warp(i64::from(w.params.keeper_activation_secs));
    // The wallet may be offline from here on, and has no say in what a running keeper does.
    let by_wallet = swap(ix::keeper_activate(&who), &who.signer(), &who.wallet());
    w.refused(by_wallet, &[&who.key], MarketError::Unauthorised);
    w.ok(ix::keeper_activate(&who), &[who.signing()]);
}

/// Work and votes are the signer's, rent comes from it and goes back to it; names and rewards are the wallet's.
#[test]
fn the_signer_runs_the_keeper_and_the_wallet_is_named() {
    let mut w = Testbed::new();
    let keeper = w.hot_keeper(BOND);
    let (provider, customer) = (w.provider(20_000_000_000), w.customer(100_000_000));
    let machine = w.machine(&provider, 2);
    let order = w.order(&customer, ix::order_args(1));
    let cold = w.lamports(&keeper.wallet());
    let award = ix::order_award(&keeper, &customer, &order, &provider.provider(), &machine.node);
    let by_wallet = swap(award.clone(), &keeper.signer(), &keeper.wallet());
    w.refused(by_wallet, &[&keeper.key], MarketError::Unauthorised);
    let before = w.lamports(&keeper.signer());
    w.ok(award, &[keeper.signing()]);
    let lease = pda::lease(&order, &machine.node);
    let made: Lease = w.read(&lease);
    assert_eq!((made.keeper, made.rent_payer), (keeper.wallet(), keeper.signer()));
    assert_eq!(before - w.lamports(&keeper.signer()), w.lamports(&lease));
    let period = w.period();
    w.warp_past_period(period);
    let vote = ix::report_vote(&keeper, period, [5; 32]);
    let by_wallet = swap(vote.clone(), &keeper.signer(), &keeper.wallet());
    w.refused(by_wallet, &[&keeper.key], MarketError::Unauthorised);
    w.ok(vote, &[keeper.signing()]);
    let report: Report = w.read(&pda::report(period));
    assert_eq!((report.candidates[0].proposer, report.rent_payer), (keeper.wallet(), keeper.signer()));
    w.warp(i64::from(w.params.start_deadline_secs) + 1);
    w.ok(ix::lease_abort(&w, &lease), &[]);
    w.warp(i64::from(w.params.report_retention_secs) + 1);
    w.ok(ix::report_close(period, &keeper.signer()), &[]);
    assert_eq!(w.lamports(&keeper.signer()), before, "all rent is back");
    assert_eq!(w.lamports(&keeper.wallet()), cold, "the wallet paid and got nothing");
}

/// A thief of the signer gets neither the bond nor a reward, and cannot keep the keeper.
#[test]
fn theft_of_the_signer_gains_nothing() {
    let mut w = Testbed::new();
    let mut keeper = w.hot_keeper(w.params.min_bond);
    let thief = w.actor();
    let stolen = keeper.signing().insecure_clone();
    // The bond.
    for instruction in [ix::keeper_request_exit(&keeper), ix::keeper_withdraw(&keeper)] {
        let theft = swap(instruction, &keeper.wallet(), &stolen.pubkey());
        w.refused(theft, &[&stolen], MarketError::Unauthorised);
    }
    // Another signer, a key of the thief's.
    let [agreed, change] = ix::keeper_rotation(&w, &keeper, &thief.key);
    let theft = swap(change, &keeper.wallet(), &stolen.pubkey());
    w.refused_all(&[agreed, theft], &[&stolen], MarketError::Unauthorised);
    // What awards and votes have earned goes to the wallet's account alone.
    w.alter(&keeper.keeper(), |k: &mut Keeper| k.earned = 1_000_000);
    w.alter(&pda::rewards(), |r: &mut gantry_market::state::Rewards| r.earned = 1_000_000);
    w.gift(&pda::fee_vault(), 1_000_000);
    let claim = ix::rewards_claim(&keeper, None);
    let own = w.token_account(w.payment_mint, stolen.pubkey(), 0);
    for account in [thief.payment, own] {
        let theft = swap(claim.clone(), &keeper.payment, &account);
        w.refused(theft, &[&stolen], MarketError::WrongTokenOwner);
    }
    let before = w.tokens(&keeper.payment);
    w.ok(claim, &[&stolen]);
    assert_eq!(w.tokens(&keeper.payment), before + 1_000_000);
    // The owner names another key, and the stolen one runs nothing any more.
    let next = w.hot_key();
    w.rotate(&mut keeper, &next);
    let period = w.period();
    w.warp_past_period(period);
    let vote = ix::report_vote(&keeper, period, [6; 32]);
    let theft = swap(vote.clone(), &keeper.signer(), &stolen.pubkey());
    w.refused(theft, &[&stolen], MarketError::Unauthorised);
    w.ok(vote, &[keeper.signing()]);
    // Or it leaves at once.
    w.ok(ix::keeper_request_exit(&keeper), &[&keeper.key]);
    w.warp(i64::from(w.params.keeper_exit_secs));
    w.ok(ix::keeper_withdraw(&keeper), &[&keeper.key]);
    assert_eq!(w.tokens(&keeper.stake), START_STAKE);
}

/// A keeper that changes its signer between its votes votes once.
#[test]
fn a_change_during_a_report_gives_no_second_vote() {
    let mut w = Testbed::new();
    let (mut keeper, other) = (w.hot_keeper(BOND), w.keeper(BOND));
    let period = w.period();
    w.warp_past_period(period);
    w.ok(ix::report_vote(&keeper, period, [1; 32]), &[keeper.signing()]);
    let (former, next) = (keeper.signing().insecure_clone(), w.hot_key());
    w.rotate(&mut keeper, &next);
    let again = ix::report_vote(&keeper, period, [1; 32]);
    let by_former = swap(again.clone(), &keeper.signer(), &former.pubkey());
    w.refused(by_former, &[&former], MarketError::Unauthorised);
    // The same vote is counted once, another root is a move, which a lighter root does not allow.
    w.ok(again, &[keeper.signing()]);
    let report: Report = w.read(&pda::report(period));
    assert_eq!(heaviest(&report), BOND);
    w.ok(ix::report_vote(&other, period, [2; 32]), &[&other.key]);
    w.ok(ix::report_vote(&keeper, period, [2; 32]), &[keeper.signing()]);
    let report: Report = w.read(&pda::report(period));
    assert_eq!(heaviest(&report), 2 * BOND);
    assert_eq!(state(&w, &keeper).votes, 1);
}

fn heaviest(report: &Report) -> u64 {
    report.candidates.iter().map(|candidate| candidate.weight).max().expect("has candidates")
}

fn opposites() -> [Vec<u8>; 2] {
    let node = Address::new_from_array([5; 32]);
    [true, false].map(|passed| statement(&node, 30, 3, passed).to_vec())
}

fn manifests() -> [Vec<u8>; 2] {
    [1, 2].map(|count| manifest(30, count, [7; 32]).to_vec())
}

/// Proves a contradiction of the keeper, of one record by each of the keys.
fn contradiction(
    w: &Testbed,
    finder: &Actor,
    keeper: &Actor,
    by: [&Keypair; 2],
    records: &[Vec<u8>; 2],
) -> [Instruction; 3] {
    let proof = prove_equivocation(w, finder, &keeper.keeper());
    [signed(by[0], &records[0]), signed(by[1], &records[1]), proof]
}

/// A change of the signer is no way to say the opposite: by either key, in every combination.
#[test]
fn a_contradiction_across_two_keys_costs_the_bond() {
    for records in [opposites(), manifests()] {
        for by in [[0, 0], [0, 1], [1, 0], [1, 1]] {
            let mut w = Testbed::new();
            let (mut keeper, finder) = (w.hot_keeper(BOND), w.actor());
            let keys = [keeper.signing().insecure_clone(), w.hot_key()];
            w.rotate(&mut keeper, &keys[1]);
            w.warp(LIABLE - 1);
            let by = by.map(|at| &keys[at]);
            w.ok_all(&contradiction(&w, &finder, &keeper, by, &records), &[&finder.key]);
            let state = state(&w, &keeper);
            assert_eq!((state.bond, state.status), (0, KEEPER_SLASHED));
        }
    }
}

/// Once nothing counts that the former key has signed, its theft costs nothing.
#[test]
fn a_former_signer_is_not_liable_for_ever() {
    for records in [opposites(), manifests()] {
        let mut w = Testbed::new();
        let (mut keeper, finder) = (w.hot_keeper(BOND), w.actor());
        let keys = [keeper.signing().insecure_clone(), w.hot_key()];
        // A key that will be the signer is not liable before.
        let early = contradiction(&w, &finder, &keeper, [&keys[0], &keys[1]], &records);
        w.refused_all(&early, &[&finder.key], MarketError::InvalidSignature);
        w.rotate(&mut keeper, &keys[1]);
        w.warp(LIABLE);
        for by in [[0, 0], [0, 1], [1, 0]] {
            let late = contradiction(&w, &finder, &keeper, by.map(|at| &keys[at]), &records);
            w.refused_all(&late, &[&finder.key], MarketError::InvalidSignature);
        }
        let now = contradiction(&w, &finder, &keeper, [&keys[1], &keys[1]], &records);
        w.ok_all(&now, &[&finder.key]);
    }
}

/// The wallet of a keeper that has a signer from the start signs no records: it is nobody's to contradict.
#[test]
fn a_wallet_that_never_signed_is_not_liable() {
    let mut w = Testbed::new();
    let (keeper, finder) = (w.hot_keeper(BOND), w.actor());
    for by in [[&keeper.key, &keeper.key], [&keeper.key, keeper.signing()], [keeper.signing(), &keeper.key]] {
        let proof = contradiction(&w, &finder, &keeper, by, &opposites());
        w.refused_all(&proof, &[&finder.key], MarketError::InvalidSignature);
    }
}

/// One key may sign for two keepers of one owner, and its contradiction then costs both bonds.
#[test]
fn a_key_that_signs_for_two_keepers_costs_both() {
    let mut w = Testbed::new();
    let (one, finder) = (w.hot_keeper(BOND), w.actor());
    let mut two = w.keeper(BOND);
    let shared = one.signing().insecure_clone();
    w.rotate(&mut two, &shared);
    for keeper in [&one, &two] {
        let proof = contradiction(&w, &finder, keeper, [&shared, &shared], &opposites());
        w.ok_all(&proof, &[&finder.key]);
        assert_eq!(state(&w, keeper).bond, 0);
    }
}

#[test]
fn an_outage_is_the_signers_too() {
    let mut w = Testbed::new();
    let keeper = w.hot_keeper(BOND);
    let deal = w.running();
    w.warp(10);
    let seen = w.now() - 6;
    let vote = ix::outage_vote(&keeper, &deal.machine.node, seen);
    let by_wallet = swap(vote.clone(), &keeper.signer(), &keeper.wallet());
    w.refused(by_wallet, &[&keeper.key], MarketError::Unauthorised);
    w.ok(vote, &[keeper.signing()]);
    let outage: Outage = w.read(&pda::outage(&deal.machine.node));
    assert_eq!(outage.rent_payer, keeper.signer());
}
