use gantry_market::errors::MarketError;
use gantry_market::state::{Keeper, KEEPER_PENDING, NO_PLACE};
use gantry_market_tests::actors::START_STAKE;
use gantry_market_tests::errors::{framework, Code};
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn bonds_a_keeper_that_does_not_count_yet() {
    let mut w = Testbed::new();
    let (first, second) = (w.actor(), w.actor());
    let bond = w.params.min_bond;
    for who in [&first, &second] {
        w.ok(ix::keeper_register(&w, who, bond), &[&who.key]);
        let keeper: Keeper = w.read(&who.keeper());
        assert_eq!(keeper.wallet, who.wallet());
        assert_eq!((keeper.bond, keeper.weight), (bond, 0));
        assert_eq!((keeper.registered_at, keeper.active_since), (w.now(), 0));
        assert_eq!(keeper.index, NO_PLACE);
        assert_eq!((keeper.status, keeper.version), (KEEPER_PENDING, 1));
        assert_eq!(&keeper.multiaddr[..keeper.multiaddr_len as usize], ix::HOME.as_bytes());
        assert_eq!(w.tokens(&who.keeper_vault()), bond);
        assert_eq!(w.tokens(&who.stake), START_STAKE - bond);
    }
    let market = w.market();
    assert_eq!((market.keeper_count, market.keeper_slots, market.total_weight), (0, [0; 32], 0));
}

#[test]
fn the_bond_must_be_enough_and_there() {
    let mut w = Testbed::new();
    let who = w.actor();
    let small = ix::keeper_register(&w, &who, w.params.min_bond - 1);
    w.refused(small, &[&who.key], MarketError::BondTooSmall);
    for bond in [START_STAKE + 1, u64::MAX] {
        let instruction = ix::keeper_register(&w, &who, bond);
        w.refused(instruction, &[&who.key], MarketError::InsufficientFunds);
    }
}

#[test]
fn once_only() {
    let mut w = Testbed::new();
    let who = w.pending_keeper(w.params.min_bond);
    let again = ix::keeper_register(&w, &who, w.params.min_bond);
    w.refused(again, &[&who.key], Code::Custom(0));
}

/// Addresses that are none.
pub fn bad_multiaddrs() -> Vec<([u8; 128], u8)> {
    let good = ix::multiaddr(ix::HOME);
    let mut tail = good;
    tail.0[127] = b'x';
    let (no_slash, spaced) = (ix::multiaddr("ip4/1.2.3.4"), ix::multiaddr("/ip4/1.2 .3.4"));
    let mut control = good;
    control.0[3] = 0x1b;
    vec![
        (good.0, 0),
        (good.0, good.1 - 1),
        (good.0, good.1 + 1),
        (good.0, 129),
        tail,
        no_slash,
        spaced,
        control,
    ]
}

#[test]
fn the_address_must_be_one() {
    let mut w = Testbed::new();
    let who = w.actor();
    for (bytes, len) in bad_multiaddrs() {
        println!("{len} of {bytes:?}");
        let instruction = ix::keeper_register_at(&w, &who, w.params.min_bond, bytes, len);
        w.refused(instruction, &[&who.key], MarketError::InvalidMultiaddr);
    }
    let mut longest = [b'a'; 128];
    longest[0] = b'/';
    w.ok(ix::keeper_register_at(&w, &who, w.params.min_bond, longest, 128), &[&who.key]);
}

#[test]
fn wrong_accounts_are_refused() {
    let mut w = Testbed::new();
    let (who, other) = (w.actor(), w.actor());
    let market = w.forged(&pda::market());
    let foreign = w.foreign_token_account(w.stake_mint, who.wallet(), START_STAKE);
    let good = ix::keeper_register(&w, &who, w.params.min_bond);
    let silent = unsigned(good.clone(), &who.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let cases: [(_, _, Code); 9] = [
        (pda::market(), market, InstructionError::IllegalOwner.into()),
        (w.stake_mint, w.payment_mint, MarketError::WrongMint.into()),
        (who.keeper(), other.keeper(), InstructionError::InvalidSeeds.into()),
        (who.keeper_vault(), other.keeper_vault(), InstructionError::InvalidSeeds.into()),
        (who.stake, who.payment, MarketError::WrongMint.into()),
        (who.stake, other.stake, MarketError::WrongTokenOwner.into()),
        (who.stake, foreign, InstructionError::IllegalOwner.into()),
        (who.stake, pda::market(), framework::DUPLICATE_MUTABLE),
        (token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    for (from, to, code) in cases {
        println!("{code:?}");
        w.refused(swap(good.clone(), &from, &to), &[&who.key], code);
    }
}
