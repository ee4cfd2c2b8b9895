use gantry_market::{accounts, instruction};
use solana_address::Address;
use solana_instruction::Instruction;

use super::{build, system_program};
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
            token_program: token_program(),
            system_program: system_program(),
        },
        instruction::KeeperRegister { bond, multiaddr, multiaddr_len },
    )
}

pub fn keeper_update(who: &Actor, multiaddr: [u8; 128], multiaddr_len: u8) -> Instruction {
    build(
        accounts::KeeperUpdate { wallet: who.wallet(), keeper: who.keeper() },
        instruction::KeeperUpdate { multiaddr, multiaddr_len },
    )
}

pub fn keeper_activate(who: &Actor) -> Instruction {
    build(
        accounts::KeeperActivate {
            wallet: who.wallet(),
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
            keeper: who.keeper(),
            stake_vault: who.keeper_vault(),
            to: who.stake,
            token_program: token_program(),
        },
        instruction::KeeperWithdraw {},
    )
}
