//! Holders of the stake token govern the market by SPL Governance, which our program knows nothing of.

mod figures;
mod hostile;
mod powers;
mod worst;

use gantry_market::errors::MarketError;
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::state::{GpuModel, Params};
use gantry_market_tests::dao::{state_of, Dao};
use gantry_market_tests::realm::{error, state, Rules, Vote, COOL_OFF, HOLD_UP, TIMELOCK, VOTING};
use gantry_market_tests::testbed::program_path;
use gantry_market_tests::{ix, pda, Testbed};
use solana_account::Account;
use solana_address::Address;
use solana_instruction::Instruction;
use solana_signer::Signer;

/// A market that its holders govern.
fn governed() -> (Testbed, Dao) {
    let mut w = Testbed::new();
    let mut dao = Dao::found(&mut w, Rules::default());
    dao.take_over(&mut w);
    (w, dao)
}

/// The proposal of a fee of 11 %.
fn fee(w: &Testbed, dao: &Dao) -> Instruction {
    dao.realm.own(w, ix::market_propose_params(w, Params { fee_bps: 1_100, ..w.params }))
}

/// A buffer with the program under test in it, which only this authority may use.
fn buffer(w: &mut Testbed, authority: &Address) -> Address {
    let at = w.fresh_address();
    let mut data = vec![1, 0, 0, 0, 1];
    data.extend(authority.as_ref());
    data.extend(std::fs::read(program_path()).expect("the program is there"));
    let owner = ix::upgradeable_loader();
    let account = Account { lamports: 20_000_000_000, data, owner, executable: false, rent_epoch: u64::MAX };
    w.svm.set_account(at, account).expect("account is written");
    at
}

/// The slot of the program's last upgrade.
fn upgraded_at(w: &Testbed) -> u64 {
    let data = w.svm.get_account(&ix::program_data()).expect("program data exists").data;
    u64::from_le_bytes(data[4..12].try_into().expect("eight bytes"))
}

#[test]
fn holders_change_parameters_through_the_timelock() {
    let (mut w, mut dao) = governed();
    assert_eq!(w.market().authority, dao.realm.treasury);
    let change = fee(&w, &dao);
    let proposal = dao.propose(&mut w, vec![vec![change]]);
    dao.vote(&mut w, &proposal, 0, Vote::Yes);
    dao.vote(&mut w, &proposal, 1, Vote::No);
    // Nobody ends a vote early, executes it early, or again.
    w.refused(dao.realm.finalize(&proposal), &[], error::STILL_VOTING);
    w.refused(dao.realm.execute(&proposal, 0), &[], error::CANNOT_EXECUTE);
    w.warp(VOTING + 1);
    let late = &dao.holders[2];
    w.refused(dao.realm.vote(&proposal, &late.wallet(), Vote::Yes), &[&late.key], error::COOL_OFF);
    w.warp(COOL_OFF);
    w.ok(dao.realm.finalize(&proposal), &[]);
    assert_eq!(state_of(&w, &proposal), state::SUCCEEDED);
    w.refused(dao.realm.execute(&proposal, 0), &[], error::HOLD_UP);
    w.warp(HOLD_UP + 1);
    w.ok(dao.realm.execute(&proposal, 0), &[]);
    assert_eq!(state_of(&w, &proposal), state::COMPLETED);
    w.refused(dao.realm.execute(&proposal, 0), &[], error::CANNOT_EXECUTE);
    // The market's own timelock runs from the execution on.
    let market = w.market();
    assert_eq!((market.params.fee_bps, market.pending_eta), (1_200, w.now() + TIMELOCK));
    w.warp(TIMELOCK - 1);
    w.refused(ix::market_apply_params(), &[], MarketError::TimelockRunning);
    w.warp(1);
    w.ok(ix::market_apply_params(), &[]);
    assert_eq!(w.market().params.fee_bps, 1_100);
    // Whoever voted gets its tokens back.
    let voter = &dao.holders[1];
    w.ok(dao.realm.relinquish(&proposal, &voter.wallet()), &[&voter.key]);
    let before = w.tokens(&voter.stake);
    w.ok(dao.realm.withdraw(&voter.wallet(), &voter.stake), &[&voter.key]);
    assert!(w.tokens(&voter.stake) > before);
}

#[test]
fn a_refused_proposal_changes_nothing() {
    let (mut w, mut dao) = governed();
    // Not enough say yes; more say no; the council vetoes what has passed.
    let votes = [
        (vec![(1, Vote::Yes)], 0, state::DEFEATED),
        (vec![(0, Vote::No), (1, Vote::Yes)], 0, state::DEFEATED),
        (vec![(0, Vote::Yes)], 2, state::VETOED),
    ];
    for (votes, vetoes, end) in votes {
        let change = fee(&w, &dao);
        let proposal = dao.propose(&mut w, vec![vec![change]]);
        for (holder, vote) in votes {
            dao.vote(&mut w, &proposal, holder, vote);
        }
        w.warp(VOTING + 1);
        for member in &dao.council[..vetoes] {
            w.ok(dao.realm.vote(&proposal, &member.pubkey(), Vote::Veto), &[member]);
        }
        w.warp(COOL_OFF);
        if end != state::VETOED {
            w.ok(dao.realm.finalize(&proposal), &[]);
        }
        assert_eq!(state_of(&w, &proposal), end);
        w.warp(HOLD_UP + 1);
        w.refused(dao.realm.execute(&proposal, 0), &[], error::CANNOT_EXECUTE);
        assert_eq!((w.market().pending_eta, w.market().params.fee_bps), (0, 1_200));
    }
}

#[test]
fn holders_name_models_roles_and_pay_from_the_treasury() {
    let (mut w, mut dao) = governed();
    let model = GpuModelArgs { id: 7, ..ix::h100() };
    let guardian = w.fresh_address();
    let payee = w.token_account(w.payment_mint, Address::new_from_array([8; 32]), 0);
    let (money, own) = (w.treasury, dao.realm.treasury);
    w.gift(&money, 5_000_000);
    let transactions = vec![
        vec![dao.realm.own(&w, ix::gpu_model_propose(&w, model))],
        vec![dao.realm.own(&w, ix::market_propose_roles(&w, guardian, money))],
        vec![ix::token_transfer(&money, &payee, &own, 3_000_000)],
    ];
    dao.pass(&mut w, transactions).expect("the vote passes");
    // The payment is made at once; what concerns the market waits.
    assert_eq!((w.tokens(&payee), w.tokens(&money)), (3_000_000, 2_000_000));
    w.refused(ix::gpu_model_apply(7), &[], MarketError::TimelockRunning);
    w.refused(ix::market_apply_roles(&w), &[], MarketError::TimelockRunning);
    w.warp(TIMELOCK);
    w.ok(ix::gpu_model_apply(7), &[]);
    w.ok(ix::market_apply_roles(&w), &[]);
    assert_eq!(w.market().guardian, guardian);
    assert_eq!(w.read::<GpuModel>(&pda::gpu_model(7)).since, w.now());
}

#[test]
fn holders_upgrade_the_program() {
    let (mut w, mut dao) = governed();
    let own = dao.realm.treasury;
    let new = buffer(&mut w, &own);
    let before = upgraded_at(&w);
    dao.pass(&mut w, vec![vec![ix::upgrade(&own, &new, &own)]]).expect("the vote passes");
    assert!(upgraded_at(&w) > before && !w.exists(&new));
    // What was put in place works, and has the same accounts.
    w.warp(1);
    let guardian = w.guardian.insecure_clone();
    w.ok(ix::market_pause(&guardian.pubkey(), 1), &[&guardian]);
    assert_eq!(w.market().authority, own);
}

/// Whoever borrows tokens for one transaction decides nothing.
#[test]
fn borrowed_tokens_pass_nothing() {
    for (tipping, passes) in [(2, false), (1, true)] {
        let mut w = Testbed::new();
        let mut dao = Dao::found(&mut w, Rules { tipping });
        let thief = dao.holders[2].again();
        let change = fee(&w, &dao);
        let draft = dao.draft(&mut w, &thief, vec![vec![change]]);
        let loan = 3_000_000_000_000_000;
        w.gift(&thief.stake, loan);
        let (realm, who) = (dao.realm, thief.wallet());
        let flash = [
            realm.deposit(&realm.community, &who, &thief.stake, loan),
            realm.sign_off(&draft.at, &who),
            realm.vote(&draft, &who, Vote::Yes),
            realm.relinquish(&draft, &who),
            realm.withdraw(&who, &thief.stake),
        ];
        if passes {
            // With early ends the loan goes back in the same transaction, and the proposal has passed.
            w.ok_all(&flash, &[&thief.key]);
            assert_eq!(state_of(&w, &draft), state::SUCCEEDED);
        } else {
            w.refused_all(&flash, &[&thief.key], error::PROPOSAL_OPEN);
            assert_eq!(state_of(&w, &draft), state::DRAFT);
        }
    }
}
