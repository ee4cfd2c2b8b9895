use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_signer::Signer;

use super::{build, instructions_sysvar, signed, system_program};
use crate::testbed::DOMAIN;
use crate::tokens::token_program;
use crate::{pda, Actor, Testbed};

/// A libp2p address as the program stores it, and its length.
pub fn multiaddr(text: &str) -> ([u8; 128], u8) {
    let mut bytes = [0; 128];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    (bytes, text.len() as u8)
}

pub const HOME: &str = "/ip4/127.0.0.1/tcp/4001";

pub fn keeper_register(w: &Testbed, who: &Actor, bond: u64) -> Instruction {
    let (bytes, len) = multiaddr(HOME);
    keeper_register_at(w, who, bond, bytes, len)
}

pub fn keeper_register_at(
    w: &Testbed,
    who: &Actor,
    bond: u64,
    multiaddr: [u8; 128],
    multiaddr_len: u8,
) -> Instruction {
    build(
        accounts::KeeperRegister {
            wallet: who.wallet(),
            market: pda::market(),
            stake_mint: w.stake_mint,
            keeper: who.keeper(),
            stake_vault: who.keeper_vault(),
            from: who.stake,
            instructions: instructions_sysvar(),
            token_program: token_program(),
            system_program: system_program(),
        },
        instruction::KeeperRegister { bond, multiaddr, multiaddr_len, signer: who.signer() },
    )
}

/// What a key signs to sign for the keeper of a wallet on this cluster, if it is named within a minute.
pub fn consent(w: &Testbed, wallet: &Address) -> Vec<u8> {
    consent_until(wallet, w.now() + 60)
}

pub fn consent_until(wallet: &Address, until: i64) -> Vec<u8> {
    [&b"GANTRYH1"[..], &DOMAIN, wallet.as_ref(), &until.to_le_bytes()].concat()
}

/// The consent of the key, and the registration that names it.
pub fn keeper_register_with(w: &Testbed, who: &Actor, bond: u64, hot: &Keypair) -> [Instruction; 2] {
    let mut named = who.again();
    named.hot = Some(hot.insecure_clone());
    [signed(hot, &consent(w, &who.wallet())), keeper_register(w, &named, bond)]
}

/// The wallet names another signer; without the consent that a key other than the wallet's must have given before.
pub fn keeper_set_signer(who: &Actor, signer: &Address) -> Instruction {
    build(
        accounts::KeeperSetSigner {
            wallet: who.wallet(),
            market: pda::market(),
            keeper: who.keeper(),
            stake_vault: who.keeper_vault(),
            instructions: instructions_sysvar(),
        },
        instruction::KeeperSetSigner { signer: *signer },
    )
}

/// The consent of the new signer, and the change.
pub fn keeper_rotation(w: &Testbed, who: &Actor, to: &Keypair) -> [Instruction; 2] {
    [signed(to, &consent(w, &who.wallet())), keeper_set_signer(who, &to.pubkey())]
}

pub fn keeper_update(who: &Actor, multiaddr: [u8; 128], multiaddr_len: u8) -> Instruction {
    build(
        accounts::KeeperUpdate { signer: who.signer(), keeper: who.keeper() },
        instruction::KeeperUpdate { multiaddr, multiaddr_len },
    )
}

pub fn keeper_activate(who: &Actor) -> Instruction {
    build(
        accounts::KeeperActivate {
            signer: who.signer(),
            market: pda::market(),
            keeper: who.keeper(),
            stake_vault: who.keeper_vault(),
        },
        instruction::KeeperActivate {},
    )
}

/// Anyone may send it.
pub fn keeper_suspend(keeper: &Address) -> Instruction {
    build(
        accounts::KeeperSuspend {
            market: pda::market(),
            keeper: *keeper,
            stake_vault: pda::stake_vault(keeper),
        },
        instruction::KeeperSuspend {},
    )
}

pub fn keeper_request_exit(who: &Actor) -> Instruction {
    build(
        accounts::KeeperRequestExit {
            wallet: who.wallet(),
            market: pda::market(),
            keeper: who.keeper(),
            stake_vault: who.keeper_vault(),
        },
        instruction::KeeperRequestExit {},
    )
}

pub fn keeper_withdraw(who: &Actor) -> Instruction {
    build(
        accounts::KeeperWithdraw {
            wallet: who.wallet(),
            market: pda::market(),
            rewards: pda::rewards(),
            fee_vault: pda::fee_vault(),
            keeper: who.keeper(),
            stake_vault: who.keeper_vault(),
            to: who.stake,
            token_program: token_program(),
        },
        instruction::KeeperWithdraw {},
    )
}
