use gantry_market::errors::MarketError;
use gantry_market::state::Provider;
use gantry_market_tests::errors::Code;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn stake_begins_to_cool() {
    let mut w = Testbed::new();
    let who = w.provider(100);
    w.ok(ix::provider_request_unstake(&who, 40), &[&who.key]);
    let provider: Provider = w.read(&who.provider());
    assert_eq!((provider.stake, provider.unstaking), (60, 40));
    assert_eq!(provider.unstake_at, w.now() + i64::from(w.params.unstake_cooldown_secs));
    assert_eq!(w.tokens(&who.provider_vault()), 100);
}

#[test]
fn asking_again_restarts_the_cooldown_for_all_of_it() {
    let mut w = Testbed::new();
    let who = w.provider(100);
    w.ok(ix::provider_request_unstake(&who, 40), &[&who.key]);
    w.warp(i64::from(w.params.unstake_cooldown_secs) - 1);
    w.ok(ix::provider_request_unstake(&who, 60), &[&who.key]);
    let provider: Provider = w.read(&who.provider());
    assert_eq!((provider.stake, provider.unstaking), (0, 100));
    w.warp(1);
    w.refused(ix::provider_withdraw_stake(&who), &[&who.key], MarketError::TooEarly);
}

#[test]
fn stake_that_nodes_need_stays() {
    let mut w = Testbed::new();
    let who = w.provider(100);
    w.alter(&who.provider(), |p: &mut Provider| p.locked_stake = 70);
    let too_much = ix::provider_request_unstake(&who, 31);
    w.refused(too_much, &[&who.key], MarketError::InsufficientStake);
    w.ok(ix::provider_request_unstake(&who, 30), &[&who.key]);
    let more = ix::provider_request_unstake(&who, 1);
    w.refused(more, &[&who.key], MarketError::InsufficientStake);
}

#[test]
fn a_running_node_holds_its_stake() {
    let mut w = Testbed::new();
    let who = w.provider(20_000_000_000);
    let node = w.fresh_key();
    use solana_signer::Signer;
    let register = ix::node_register(&who, &node.pubkey(), ix::spec(2), 2_000_000);
    w.ok(register, &[&who.key, &node]);
    assert_eq!(w.read::<Provider>(&who.provider()).locked_stake, 20_000_000_000);
    let one = ix::provider_request_unstake(&who, 1);
    w.refused(one, &[&who.key], MarketError::InsufficientStake);
}

#[test]
fn amounts_must_be_there() {
    let mut w = Testbed::new();
    let who = w.provider(100);
    w.refused(ix::provider_request_unstake(&who, 0), &[&who.key], MarketError::ZeroAmount);
    for amount in [101, u64::MAX] {
        let instruction = ix::provider_request_unstake(&who, amount);
        w.refused(instruction, &[&who.key], MarketError::InsufficientStake);
    }
}

#[test]
fn only_the_wallet_may_and_only_for_its_own() {
    let mut w = Testbed::new();
    let (who, other) = (w.provider(100), w.provider(100));
    let good = ix::provider_request_unstake(&who, 10);
    let silent = unsigned(good.clone(), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let (market, provider) = (w.forged(&pda::market()), w.forged(&who.provider()));
    let twin = w.twin(&who.provider_vault());
    let cases: [(_, _, Code); 4] = [
        (who.provider(), other.provider(), MarketError::Unauthorised.into()),
        (who.provider(), provider, InstructionError::IllegalOwner.into()),
        (who.provider_vault(), twin, InstructionError::InvalidSeeds.into()),
        (pda::market(), market, InstructionError::IllegalOwner.into()),
    ];
    for (from, to, code) in cases {
        println!("{code:?}");
        w.refused(swap(good.clone(), &from, &to), &[&who.key], code);
    }
}
