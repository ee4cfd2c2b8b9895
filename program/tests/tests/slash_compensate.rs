use gantry_market::constants::{FLAG_BAD_OUTPUT, FLAG_WORK_FAILED};
use gantry_market::errors::MarketError;
use gantry_market::events::SlashCompensated;
use gantry_market::state::{Fault, Lease, Payout};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::transactions::unsigned;
use gantry_market_tests::{ix, pda, Deal, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;

/// An applied fault of these flags; ten minutes of its lease were paid.
fn applied(flags: u16) -> (Testbed, Deal, Address) {
    let (mut w, deal, fault) = opened(flags);
    w.warp(300);
    w.ok(ix::slash_apply(&w, &fault), &[]);
    (w, deal, fault)
}

fn opened(flags: u16) -> (Testbed, Deal, Address) {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.warp(60);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    w.warp(600);
    w.settle(&deal, 1, 600);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = LeafData { flags, ..w.good_leaf(deal.machine.node, deal.lease, period) };
    let proof = w.finalise(&deal.keeper, &[leaf]).remove(0);
    w.ok(ix::fault_open(&w, &deal.keeper.wallet(), &proof), &[&deal.keeper.key]);
    (w, deal, ix::fault_of(&proof))
}

fn compensate(w: &Testbed, deal: &Deal, fault: &Address) -> Instruction {
    ix::slash_compensate_by(w, &deal.keeper.wallet(), fault, &deal.lease)
}

#[test]
fn the_customer_gets_what_it_has_paid_after_the_delay() {
    for flags in [FLAG_WORK_FAILED, FLAG_BAD_OUTPUT] {
        let (mut w, deal, fault) = applied(flags);
        let before: Fault = w.read(&fault);
        let meta = w.ok(compensate(&w, &deal, &fault), &[&deal.keeper.key]);
        let amount = 333_333_000;
        let payout: Payout = w.read(&pda::payout(&deal.customer.wallet(), &fault));
        assert_eq!((payout.beneficiary, payout.source), (deal.customer.wallet(), fault));
        assert_eq!(
            (payout.amount, payout.payable_at),
            (amount, w.now() + i64::from(w.params.unstake_cooldown_secs))
        );
        let after: Fault = w.read(&fault);
        assert_eq!(after.pool_left, before.pool - amount);
        let lease: Lease = deal.state(&w);
        assert_eq!((lease.compensated, lease.pending_faults, lease.cut), (333_333, 0, 1));
        let customer = deal.customer.wallet();
        assert_emitted(&meta, &SlashCompensated { fault, lease: deal.lease, customer, amount });
    }
}

#[test]
fn once_for_each_lease() {
    for flags in [FLAG_WORK_FAILED, FLAG_BAD_OUTPUT] {
        let (mut w, deal, fault) = applied(flags);
        let good = compensate(&w, &deal, &fault);
        w.ok(good.clone(), &[&deal.keeper.key]);
        w.refused(good, &[&deal.keeper.key], MarketError::AlreadyCounted);
    }
}

#[test]
fn not_before_the_fault_was_applied() {
    let (mut w, deal, fault) = opened(FLAG_WORK_FAILED);
    w.refused(compensate(&w, &deal, &fault), &[&deal.keeper.key], MarketError::AppealWindowOpen);
}

#[test]
fn a_lease_that_has_not_started_has_no_part() {
    let (mut w, deal, fault) = applied(FLAG_WORK_FAILED);
    w.alter(&deal.lease, |l: &mut Lease| l.started_at = 0);
    w.refused(compensate(&w, &deal, &fault), &[&deal.keeper.key], MarketError::WrongLeaseStatus);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    for flags in [FLAG_WORK_FAILED, FLAG_BAD_OUTPUT] {
        let (mut w, deal, fault) = applied(flags);
        let other = w.provider(20_000_000_000);
        let machine = w.machine(&other, 1);
        let good = compensate(&w, &deal, &fault);
        let silent = unsigned(good.clone(), &deal.keeper.wallet());
        w.refused(silent, &[], InstructionError::MissingRequiredSignature);
        let key = [&deal.keeper.key];
        for at in [deal.machine.node, deal.lease, fault] {
            let fake = w.forged(&at);
            w.refuses_swaps(&good, &key, &[("program", at, fake, InstructionError::IllegalOwner.into())]);
        }
        let payout = pda::payout(&deal.customer.wallet(), &fault);
        let elsewhere = pda::payout(&deal.keeper.wallet(), &fault);
        let cases: [(_, _, _, Code); 2] = [
            ("node", deal.machine.node, machine.node, MarketError::WrongAccount.into()),
            ("payout", payout, elsewhere, MarketError::WrongAccount.into()),
        ];
        w.refuses_swaps(&good, &key, &cases);
        let foreign = w.twin(&deal.lease);
        w.alter(&foreign, |l: &mut Lease| l.node = machine.node);
        w.refuses_swaps(&good, &key, &[("lease", deal.lease, foreign, MarketError::WrongAccount.into())]);
        if flags == FLAG_BAD_OUTPUT {
            let second = w.twin(&deal.lease);
            w.refuses_swaps(&good, &key, &[("lease", deal.lease, second, MarketError::WrongAccount.into())]);
        }
        w.ok(good, &key);
    }
}
