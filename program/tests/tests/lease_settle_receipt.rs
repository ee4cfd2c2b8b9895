use gantry_market::errors::MarketError;
use gantry_market::events::LeaseSettled;
use gantry_market::instructions::lease::lease_settle::SOURCE_RECEIPT;
use gantry_market::state::{Credits, Lease, LEASE_ENDED};
use gantry_market_tests::actors::START_PAYMENT;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::ix::{signed, signed_raw};
use gantry_market_tests::leaves::receipt;
use gantry_market_tests::testbed::DOMAIN;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::{ix, Deal, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_keypair::Keypair;
use solana_signer::Signer;

/// Ten minutes into a lease.
fn ready() -> (Testbed, Deal) {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(600);
    (w, deal)
}

fn settle(w: &Testbed, deal: &Deal, sequence: u64, seconds: u32) -> Vec<Instruction> {
    ix::receipt(w, &deal.lease, &deal.machine.key, &deal.customer.key, sequence, seconds)
}

/// A receipt over any message, settled as if it were the right one.
fn over(w: &Testbed, deal: &Deal, node: &Keypair, customer: &Keypair, message: &[u8]) -> Vec<Instruction> {
    vec![signed(node, message), signed(customer, message), ix::lease_settle_receipt(w, &deal.lease, 1, 600)]
}

fn message(w: &Testbed, deal: &Deal) -> [u8; 72] {
    receipt(&DOMAIN, &deal.lease, deal.state(w).started_at, 1, 600)
}

#[test]
fn what_both_signed_for_is_paid_at_once() {
    let (mut w, deal) = ready();
    let meta = w.ok_all(&settle(&w, &deal, 7, 600), &[]);
    // Ten minutes at 2 USDC an hour: 333,333 µUSDC, of which 39,999 are the fee.
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.paid_secs, lease.receipt_secs, lease.receipt_sequence), (600, 600, 7));
    assert_eq!((lease.paid, lease.reserved), (333_333, 2_000_000 - 293_334));
    assert_eq!(w.tokens(&deal.payout()), START_PAYMENT + 293_334);
    let credits: Credits = w.read(&deal.customer.credits());
    assert_eq!((credits.balance, credits.reserved), (100_000_000 - 293_334, 2_000_000 - 293_334));
    assert_eq!(w.tokens(&deal.customer.credits_vault()), credits.balance);
    assert_emitted(
        &meta,
        &LeaseSettled {
            lease: deal.lease,
            source: SOURCE_RECEIPT,
            paid_secs: 600,
            paid: 333_333,
            provider_amount: 293_334,
            fee_total: 39_999,
        },
    );
}

#[test]
fn rounding_never_adds_up() {
    let (mut w, deal) = ready();
    for seconds in 1..=90 {
        w.settle(&deal, u64::from(seconds), seconds);
    }
    let lease: Lease = deal.state(&w);
    assert_eq!(lease.paid, 50_000);
    assert_eq!(w.tokens(&deal.payout()), START_PAYMENT + 44_000);
    assert_eq!(lease.reserved, 2_000_000 - 44_000);
}

#[test]
fn a_receipt_must_be_newer_and_not_smaller() {
    let (mut w, deal) = ready();
    w.settle(&deal, 5, 300);
    for (sequence, seconds) in [(5, 300), (5, 400), (4, 400), (6, 299)] {
        let instructions = settle(&w, &deal, sequence, seconds);
        w.refused_all(&instructions, &[], MarketError::StaleReceipt);
    }
    // The same seconds again pay nothing.
    let before = w.tokens(&deal.payout());
    w.settle(&deal, 6, 300);
    assert_eq!(w.tokens(&deal.payout()), before);
    assert_eq!(deal.state(&w).receipt_sequence, 6);
}

#[test]
fn no_more_than_has_passed_or_is_funded_or_was_up() {
    let (mut w, deal) = ready();
    let instructions = settle(&w, &deal, 1, 601);
    w.refused_all(&instructions, &[], MarketError::ReceiptTooLarge);
    w.alter(&deal.lease, |l: &mut Lease| l.downtime_secs = 100);
    let instructions = settle(&w, &deal, 1, 501);
    w.refused_all(&instructions, &[], MarketError::ReceiptTooLarge);
    w.settle(&deal, 1, 500);
    w.alter(&deal.lease, |l: &mut Lease| l.downtime_secs = 0);
    w.warp(10_000);
    let instructions = settle(&w, &deal, 2, 3_601);
    w.refused_all(&instructions, &[], MarketError::ReceiptTooLarge);
    w.settle(&deal, 2, 3_600);
    assert_eq!(deal.state(&w).paid, 2_000_000);
}

#[test]
fn not_before_the_start_but_after_the_end() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let instructions = settle(&w, &deal, 1, 0);
    w.refused_all(&instructions, &[], MarketError::WrongLeaseStatus);
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    w.warp(600);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    assert_eq!(deal.state(&w).status, LEASE_ENDED);
    w.warp(60);
    let instructions = settle(&w, &deal, 1, 601);
    w.refused_all(&instructions, &[], MarketError::ReceiptTooLarge);
    w.settle(&deal, 1, 600);
    assert_eq!(deal.state(&w).reserved, 39_999, "only the fee is left");
}

#[test]
fn both_signatures_are_needed_in_their_order() {
    let (mut w, deal) = ready();
    let good = settle(&w, &deal, 1, 600);
    let [node, customer, market] = &good[..] else { panic!("three instructions") };
    let broken: [&[&Instruction]; 7] = [
        &[market],
        &[node, market],
        &[customer, market],
        &[customer, node, market],
        &[node, node, market],
        &[customer, customer, market],
        &[market, node, customer],
    ];
    for instructions in broken {
        let instructions: Vec<Instruction> = instructions.iter().map(|i| (*i).clone()).collect();
        w.refused_all(&instructions, &[], MarketError::InvalidSignature);
    }
    assert_eq!(deal.state(&w).paid_secs, 0);
    w.ok_all(&good, &[]);
}

#[test]
fn nobody_else_signs_for_them() {
    let (mut w, deal) = ready();
    let (node, customer) = (deal.machine.key.insecure_clone(), deal.customer.key.insecure_clone());
    let (stranger, owner) = (w.fresh_key(), deal.provider.key.insecure_clone());
    let text = message(&w, &deal);
    for (first, second) in [(&stranger, &customer), (&node, &stranger), (&owner, &customer), (&node, &node)] {
        let instructions = over(&w, &deal, first, second, &text);
        w.refused_all(&instructions, &[], MarketError::InvalidSignature);
    }
    w.ok_all(&over(&w, &deal, &node, &customer, &text), &[]);
}

#[test]
fn a_receipt_is_about_one_life_of_one_lease_on_one_cluster() {
    let (mut w, deal) = ready();
    let (node, customer) = (deal.machine.key.insecure_clone(), deal.customer.key.insecure_clone());
    let started_at = deal.state(&w).started_at;
    let other = Address::new_from_array([8; 32]);
    let mut tag = message(&w, &deal);
    tag[0] = b'g';
    let wrong: [(&str, [u8; 72]); 7] = [
        ("tag", tag),
        ("cluster", receipt(b"mainnet1", &deal.lease, started_at, 1, 600)),
        ("lease", receipt(&DOMAIN, &other, started_at, 1, 600)),
        ("life", receipt(&DOMAIN, &deal.lease, started_at - 1, 1, 600)),
        ("sequence", receipt(&DOMAIN, &deal.lease, started_at, 2, 600)),
        ("seconds", receipt(&DOMAIN, &deal.lease, started_at, 1, 599)),
        ("large seconds", receipt(&DOMAIN, &deal.lease, started_at, 1, 600 + (1 << 32))),
    ];
    for (what, text) in wrong {
        println!("wrong {what}");
        let instructions = over(&w, &deal, &node, &customer, &text);
        w.refused_all(&instructions, &[], MarketError::InvalidSignature);
    }
    let text = message(&w, &deal);
    let longer = [&text[..], &[0]].concat();
    for text in [&longer[..], &text[..71]] {
        let instructions = over(&w, &deal, &node, &customer, text);
        w.refused_all(&instructions, &[], MarketError::InvalidSignature);
    }
}

#[test]
fn the_signed_bytes_are_those_that_were_checked() {
    let (mut w, deal) = ready();
    let text = message(&w, &deal);
    let market = ix::lease_settle_receipt(&w, &deal.lease, 1, 600);
    let customer = signed(&deal.customer.key, &text);
    // The check reads its parts from the customer's instruction, which holds a good signature, while its own bytes name
    // the node's key: what the program would read is not what was verified.
    let mut borrowed = signed_raw(&deal.machine.key.pubkey().to_bytes(), &[0; 64], &text);
    for at in [4, 8, 14] {
        borrowed.data[at..at + 2].copy_from_slice(&1u16.to_le_bytes());
    }
    let instructions = [borrowed, customer.clone(), market.clone()];
    w.refused_all(&instructions, &[], MarketError::InvalidSignature);
    // No signature at all, in an instruction of the right shape.
    let mut none = signed(&deal.machine.key, &text);
    none.data[0] = 0;
    assert!(w.send(&[none, customer.clone(), market.clone()], &[]).is_err());
    // The right bytes in an instruction of another program.
    let mut elsewhere = signed(&deal.machine.key, &text);
    elsewhere.program_id = Address::from_str_const("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
    assert!(w.send(&[elsewhere, customer.clone(), market.clone()], &[]).is_err());
    // Two signatures in one instruction.
    let mut double = signed(&deal.machine.key, &text);
    double.data[0] = 2;
    assert!(w.send(&[double, customer, market], &[]).is_err());
    assert_eq!(deal.state(&w).paid_secs, 0);
}

#[test]
fn an_old_receipt_is_worth_nothing_in_the_next_life_of_the_address() {
    let (mut w, deal) = ready();
    let old = message(&w, &deal);
    w.settle(&deal, 1, 600);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.ok(ix::lease_close(&w, &deal.customer.wallet(), &deal.lease), &[&deal.customer.key]);
    assert!(!w.exists(&deal.lease) && !w.exists(&deal.order));
    // The same nonce and the same node: the same addresses.
    let order = w.order(&deal.customer, ix::order_args(1));
    let lease = w.award(&deal.keeper, &deal.customer, &order, &deal.provider, &deal.machine);
    assert_eq!((order, lease), (deal.order, deal.lease));
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&deal.machine.key]);
    w.warp(600);
    let replay = over(&w, &deal, &deal.machine.key, &deal.customer.key, &old);
    w.refused_all(&replay, &[], MarketError::InvalidSignature);
    assert_eq!(deal.state(&w).paid_secs, 0);
    w.settle(&deal, 1, 600);
}

#[test]
fn one_receipt_settles_once_in_a_transaction_too() {
    let (mut w, deal) = ready();
    let mut instructions = settle(&w, &deal, 1, 600);
    instructions.extend(settle(&w, &deal, 1, 600));
    w.refused_all(&instructions, &[], MarketError::StaleReceipt);
}

#[test]
fn a_paused_market_still_pays() {
    let (mut w, deal) = ready();
    w.pause();
    w.settle(&deal, 1, 600);
}

#[test]
fn a_vault_that_is_short_pays_nothing() {
    let (mut w, deal) = ready();
    w.alter(&deal.customer.credits(), |c: &mut Credits| c.balance += 1);
    let instructions = settle(&w, &deal, 1, 600);
    w.refused_all(&instructions, &[], MarketError::InvariantBroken);
}

#[test]
fn books_that_do_not_cover_the_payment_pay_nothing() {
    let (mut w, deal) = ready();
    w.alter(&deal.customer.credits(), |c: &mut Credits| c.reserved = 293_333);
    let instructions = settle(&w, &deal, 1, 600);
    w.refused_all(&instructions, &[], MarketError::Overflow);
}

#[test]
fn wrong_accounts_are_refused() {
    let (mut w, deal) = ready();
    let (stranger, other) = (w.customer(10_000_000), w.provider(20_000_000_000));
    let good = settle(&w, &deal, 1, 600);
    let market = good[2].clone();
    let (credits, vault, provider) =
        (deal.customer.credits(), deal.customer.credits_vault(), deal.provider.provider());
    for at in [deal.lease, credits, provider] {
        let fake = w.forged(&at);
        let cases = [("program", at, fake, InstructionError::IllegalOwner.into())];
        w.refuses_swaps_after(&good[..2], &market, &[], &cases);
    }
    let (twin, second) = (w.twin(&vault), w.token_account(w.payment_mint, deal.provider.wallet(), 0));
    let sysvar = w.fresh_address();
    let cases: [(_, _, _, Code); 9] = [
        ("credits", credits, stranger.credits(), MarketError::WrongAccount.into()),
        ("vault", vault, stranger.credits_vault(), InstructionError::InvalidSeeds.into()),
        ("vault's address", vault, twin, InstructionError::InvalidSeeds.into()),
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("payout", deal.payout(), other.payment, MarketError::WrongAccount.into()),
        ("payout of the same owner", deal.payout(), second, MarketError::WrongAccount.into()),
        ("payout's mint", deal.payout(), deal.provider.stake, MarketError::WrongAccount.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
        ("instructions", ix::instructions_sysvar(), sysvar, InstructionError::InvalidArgument.into()),
    ];
    w.refuses_swaps_after(&good[..2], &market, &[], &cases);
}
