use gantry_market::constants::DAY;
use gantry_market::errors::MarketError;
use gantry_market::events::Emitted;
use gantry_market::state::{Market, Node, Params, Provider, Rewards};
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::testbed::test_params;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::{ix, pda, Deal, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

/// A market that pays emission worth a fifth of the fee, and a provider whose customer paid 39,999 µUSDC of it: at one USDC
/// a token that is 7.999 thousandths of one.
fn earned(cap: u64, in_vault: u64) -> (Testbed, Deal) {
    let mut w = Testbed::with(Params { emission_bps: 2_000, emission_cap: cap, ..test_params() });
    let deal = w.swept();
    w.gift(&pda::emission_vault(), in_vault);
    (w, deal)
}

fn provider(w: &Testbed, deal: &Deal) -> Provider {
    w.read(&deal.provider.provider())
}

#[test]
fn fees_become_stake() {
    let (mut w, deal) = earned(u64::MAX, 1_000_000_000);
    let before = provider(&w, &deal).stake;
    let meta = w.ok(ix::emission_claim(&deal.provider.provider()), &[]);
    let amount = 7_999_000;
    assert_emitted(&meta, &Emitted { provider: deal.provider.provider(), amount, left: 0 });
    assert_eq!((provider(&w, &deal).stake, provider(&w, &deal).emission), (before + amount, 0));
    assert_eq!(w.tokens(&deal.provider.provider_vault()), before + amount);
    let rewards: Rewards = w.read(&pda::rewards());
    assert_eq!((rewards.emitted_today, rewards.emitted_total), (amount, amount));
    w.refused(ix::emission_claim(&deal.provider.provider()), &[], MarketError::NothingOwed);
}

#[test]
fn the_cap_of_a_day_leaves_the_rest_for_the_next() {
    let (mut w, deal) = earned(3_000_000, 1_000_000_000);
    let claim = ix::emission_claim(&deal.provider.provider());
    w.ok(claim.clone(), &[]);
    assert_eq!(provider(&w, &deal).emission, 4_999_000);
    w.refused(claim.clone(), &[], MarketError::NothingOwed);
    w.warp(DAY as i64);
    w.ok(claim.clone(), &[]);
    w.warp(DAY as i64);
    w.ok(claim, &[]);
    let rewards: Rewards = w.read(&pda::rewards());
    assert_eq!((rewards.emitted_total, provider(&w, &deal).emission), (7_999_000, 0), "in parts as at once");
}

#[test]
fn an_empty_vault_leaves_everything_for_later() {
    let (mut w, deal) = earned(u64::MAX, 0);
    w.refused(ix::emission_claim(&deal.provider.provider()), &[], MarketError::NothingOwed);
    assert_eq!(provider(&w, &deal).emission, 7_999_000);
}

#[test]
fn it_is_off_by_default() {
    let mut w = Testbed::new();
    let deal = w.swept();
    w.gift(&pda::emission_vault(), 1_000_000_000);
    assert_eq!(provider(&w, &deal).emission, 0);
    w.refused(ix::emission_claim(&deal.provider.provider()), &[], MarketError::NothingOwed);
}

/// Finding P 8.
#[test]
fn it_is_earned_by_the_parameters_at_the_close() {
    let (mut w, deal) = earned(u64::MAX, 1_000_000_000);
    w.alter(&pda::market(), |m: &mut Market| {
        (m.params.emission_bps, m.params.stake_price) = (0, m.params.stake_price / 2);
    });
    w.ok(ix::emission_claim(&deal.provider.provider()), &[]);
    assert_eq!(w.read::<Rewards>(&pda::rewards()).emitted_total, 7_999_000);
}

/// A node that was up for nine tenths of its time earns its provider nine tenths of what the fee would have brought.
#[test]
fn it_is_weighed_by_uptime() {
    for (uptime, want) in [(10_000, 7_999_000), (9_000, 7_199_000), (1, 0), (0, 0)] {
        let mut w = Testbed::with(Params { emission_bps: 2_000, emission_cap: u64::MAX, ..test_params() });
        let deal = w.running();
        w.warp(600);
        w.settle(&deal, 1, 600);
        w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
        w.alter(&deal.machine.node, |n: &mut Node| n.uptime_bps = uptime);
        let close = ix::lease_close(&w, &deal.customer.wallet(), &deal.lease);
        w.ok(close, &[&deal.customer.key]);
        assert_eq!(provider(&w, &deal).emission, want, "{uptime}");
    }
}

/// More than there can be tokens of: the lease closes all the same.
#[test]
fn what_fits_no_number_keeps_no_lease_open() {
    let mut w = Testbed::with(Params { emission_bps: 2_000, ..test_params() });
    let deal = w.running();
    w.warp(600);
    w.settle(&deal, 1, 600);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.alter(&deal.provider.provider(), |p: &mut Provider| p.emission = u64::MAX - 1);
    let close = ix::lease_close(&w, &deal.customer.wallet(), &deal.lease);
    w.ok(close, &[&deal.customer.key]);
    assert_eq!(provider(&w, &deal).emission, u64::MAX);
}

#[test]
fn a_vault_that_is_short_is_found() {
    let (mut w, deal) = earned(u64::MAX, 1_000_000_000);
    w.alter(&deal.provider.provider(), |p: &mut Provider| p.stake += 1);
    w.refused(ix::emission_claim(&deal.provider.provider()), &[], MarketError::InvariantBroken);
}

#[test]
fn wrong_accounts_are_refused() {
    let (mut w, deal) = earned(u64::MAX, 1_000_000_000);
    let (at, vault) = (deal.provider.provider(), deal.provider.provider_vault());
    let good = ix::emission_claim(&at);
    for account in [pda::market(), pda::rewards(), at] {
        let fake = w.forged(&account);
        w.refuses_swaps(&good, &[], &[("program", account, fake, InstructionError::IllegalOwner.into())]);
    }
    let (rewards, emission) = (w.twin(&pda::rewards()), w.twin(&pda::emission_vault()));
    let other = w.provider(1_000);
    let cases: [(&str, Address, Address, Code); 4] = [
        ("rewards", pda::rewards(), rewards, MarketError::WrongAccount.into()),
        ("emission vault", pda::emission_vault(), emission, MarketError::WrongAccount.into()),
        ("stake vault", vault, other.provider_vault(), InstructionError::InvalidSeeds.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
}
