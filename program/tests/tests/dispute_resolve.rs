use gantry_market::errors::MarketError;
use gantry_market::events::DisputeResolved;
use gantry_market::state::{Credits, Dispute, Lease, Node, Provider, Rewards, DISPUTE_BAD_OUTPUT};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::{ix, pda, Deal, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

/// A disputed lease of which an hour was paid, 2 USDC; the one keeper has said `uphold` about it, if anything.
pub(crate) fn disputed(uphold: Option<u8>) -> (Testbed, Deal) {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(3_600);
    w.settle(&deal, 1, 3_600);
    w.ok(ix::dispute_open(&w, &deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&deal.customer.key]);
    if let Some(uphold) = uphold {
        w.ok(ix::dispute_vote(&deal.keeper, &deal.lease, uphold), &[&deal.keeper.key]);
    }
    (w, deal)
}

fn holds_nothing(w: &Testbed, deal: &Deal) {
    assert!(!w.exists(&pda::dispute(&deal.lease)));
    assert_eq!(w.read::<Lease>(&deal.lease).pending_faults, 0);
    assert_eq!(w.read::<Node>(&deal.machine.node).pending_faults, 0);
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).pending_faults, 0);
}

#[test]
fn a_rejected_one_costs_the_deposit_half_for_the_provider_half_for_the_buy_back() {
    let (mut w, deal) = disputed(Some(0));
    let before: Credits = w.read(&deal.customer.credits());
    let wallet = w.lamports(&deal.customer.wallet());
    let rent = w.lamports(&pda::dispute(&deal.lease));
    let earned = w.tokens(&deal.provider.payment);
    let meta = w.ok(ix::dispute_resolve(&w, &deal.lease), &[]);
    let (dispute, lease) = (pda::dispute(&deal.lease), deal.lease);
    let (to_provider, to_buy_back, rejected_weight) = (100_000, 100_000, w.params.min_bond);
    let upheld_weight = 0;
    assert_emitted(
        &meta,
        &DisputeResolved {
            dispute,
            lease,
            upheld: 0,
            to_provider,
            to_buy_back,
            upheld_weight,
            rejected_weight,
        },
    );
    let after: Credits = w.read(&deal.customer.credits());
    assert_eq!(after.balance, before.balance - 200_000);
    assert_eq!(after.reserved, before.reserved - 200_000);
    assert_eq!(w.tokens(&deal.customer.credits_vault()), after.balance);
    assert_eq!(w.tokens(&deal.provider.payment), earned + 100_000);
    assert_eq!(w.tokens(&pda::fee_vault()), 100_000);
    let rewards: Rewards = w.read(&pda::rewards());
    assert_eq!((rewards.pending, rewards.buy_back, rewards.buy_back_since), (0, 100_000, w.now()));
    assert_eq!(w.lamports(&deal.customer.wallet()), wallet + rent);
    holds_nothing(&w, &deal);
}

#[test]
fn an_undecided_one_costs_a_quarter_of_the_deposit_for_the_provider() {
    let (mut w, deal) = disputed(None);
    let before: Credits = w.read(&deal.customer.credits());
    w.refused(ix::dispute_resolve(&w, &deal.lease), &[], MarketError::TooEarly);
    w.warp(299);
    w.refused(ix::dispute_resolve(&w, &deal.lease), &[], MarketError::TooEarly);
    w.warp(1);
    let earned = w.tokens(&deal.provider.payment);
    w.ok(ix::dispute_resolve(&w, &deal.lease), &[]);
    let after: Credits = w.read(&deal.customer.credits());
    assert_eq!((after.balance, after.reserved), (before.balance - 50_000, before.reserved - 200_000));
    assert_eq!(w.tokens(&deal.provider.payment), earned + 50_000);
    assert_eq!(w.read::<Rewards>(&pda::rewards()).buy_back, 0);
    holds_nothing(&w, &deal);
}

/// Finding R 15.
#[test]
fn a_payout_account_that_is_gone_or_frozen_holds_nobodys_deposit() {
    for state in [0, 2] {
        let (mut w, deal) = disputed(None);
        w.warp(300);
        let at = deal.provider.payment;
        let mut account = w.svm.get_account(&at).expect("exists");
        account.data[108] = state;
        w.svm.set_account(at, account).expect("is written");
        w.ok(ix::dispute_resolve(&w, &deal.lease), &[]);
        assert_eq!(w.read::<Rewards>(&pda::rewards()).buy_back, 50_000);
        holds_nothing(&w, &deal);
    }
}

/// Finding P 23.
#[test]
fn a_frozen_vault_holds_no_lease_and_no_stake() {
    // Rejected, half of the deposit each: what cannot move stays with the customer.
    for (fees, to_provider, left) in [(false, 0, 0), (true, 100_000, 100_000)] {
        let (mut w, deal) = disputed(Some(0));
        let (earned, before) =
            (w.tokens(&deal.provider.payment), w.read::<Credits>(&deal.customer.credits()));
        w.freeze(&if fees { pda::fee_vault() } else { deal.customer.credits_vault() }, true);
        w.ok(ix::dispute_resolve(&w, &deal.lease), &[]);
        assert_eq!(w.tokens(&deal.provider.payment), earned + to_provider);
        let credits: Credits = w.read(&deal.customer.credits());
        assert_eq!(before.balance - credits.balance, left);
        assert_eq!(before.reserved - credits.reserved, 200_000);
        assert_eq!(w.read::<Rewards>(&pda::rewards()).buy_back, 0);
        holds_nothing(&w, &deal);
    }
}

#[test]
fn two_thirds_decide_and_less_do_not() {
    let (mut w, deal) = disputed(Some(0));
    let total = w.params.min_bond;
    w.alter(&pda::dispute(&deal.lease), |d: &mut Dispute| d.rejected_weight = total / 3 * 2);
    w.refused(ix::dispute_resolve(&w, &deal.lease), &[], MarketError::TooEarly);
    w.alter(&pda::dispute(&deal.lease), |d: &mut Dispute| d.rejected_weight = total * 6_667 / 10_000);
    w.ok(ix::dispute_resolve(&w, &deal.lease), &[]);
}

#[test]
fn an_upheld_one_becomes_a_fault_instead() {
    let (mut w, deal) = disputed(Some(1));
    w.warp(100_000);
    w.refused(ix::dispute_resolve(&w, &deal.lease), &[], MarketError::DisputeUpheld);
}

#[test]
fn vaults_that_are_short_are_found() {
    let (mut w, deal) = disputed(Some(0));
    w.alter(&pda::rewards(), |r: &mut Rewards| r.earned += 1);
    w.refused(ix::dispute_resolve(&w, &deal.lease), &[], MarketError::InvariantBroken);
}

#[test]
fn wrong_accounts_are_refused() {
    let (mut w, deal) = disputed(Some(0));
    let good = ix::dispute_resolve(&w, &deal.lease);
    let (credits, vault) = (deal.customer.credits(), deal.customer.credits_vault());
    let (provider, node) = (deal.provider.provider(), deal.machine.node);
    let dispute = pda::dispute(&deal.lease);
    for at in [pda::market(), pda::rewards(), credits, provider, node, deal.lease, dispute] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &[], &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let stranger = w.customer(10_000_000);
    let other = w.provider(20_000_000_000);
    let machine = w.machine(&other, 1);
    let (rewards, fees, lease) = (w.twin(&pda::rewards()), w.twin(&pda::fee_vault()), w.twin(&deal.lease));
    let cases: [(&str, Address, Address, Code); 10] = [
        ("rewards", pda::rewards(), rewards, MarketError::WrongAccount.into()),
        ("fee vault", pda::fee_vault(), fees, MarketError::WrongAccount.into()),
        ("credits", credits, stranger.credits(), MarketError::WrongAccount.into()),
        ("vault", vault, stranger.credits_vault(), InstructionError::InvalidSeeds.into()),
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("payout", deal.provider.payment, other.payment, MarketError::WrongAccount.into()),
        ("node", node, machine.node, MarketError::WrongAccount.into()),
        ("lease", deal.lease, lease, MarketError::WrongAccount.into()),
        ("rent", deal.customer.wallet(), stranger.wallet(), MarketError::WrongAccount.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
}
