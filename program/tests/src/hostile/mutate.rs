//! What attackers do to a right transaction, and around it.

use gantry_market::ID;
use solana_address::Address;
use solana_instruction::Instruction;

use super::entity::Token;
use super::harness::{ATTACKER, MACHINES};
use super::scene::Scene;
use super::trace::{Step, TokenTrick};
use crate::testbed::key;
use crate::tokens::token_2022_program;
use crate::{ix, pda};
use solana_signer::Signer;

/// Changes one thing or more about a transaction.
pub fn spoil(s: &mut Scene, instructions: &mut Vec<Instruction>) {
    loop {
        spoil_once(s, instructions);
        if !s.once_in(4) {
            return;
        }
    }
}

fn spoil_once(s: &mut Scene, instructions: &mut Vec<Instruction>) {
    let Some(target) = instructions.iter().position(|i| i.program_id == ID) else { return };
    let count = instructions[target].accounts.len();
    if count == 0 {
        return;
    }
    let at = s.below(count);
    let now = instructions[target].accounts[at].pubkey;
    match s.below(14) {
        0 | 1 => {
            if let Some(other) = relative(s, &now) {
                instructions[target].accounts[at].pubkey = other;
            }
        }
        2 => {
            if let Some(other) = anything(s) {
                instructions[target].accounts[at].pubkey = other;
            }
        }
        // A signature that is missing.
        3 | 4 => {
            if let Some(meta) = instructions[target].accounts.iter_mut().find(|meta| meta.is_signer) {
                meta.is_signer = false;
            }
        }
        // The attacker signs in somebody's place.
        5 | 6 => {
            let thief = s.a.actors[ATTACKER].wallet();
            if let Some(meta) = instructions[target].accounts.iter_mut().find(|meta| meta.is_signer) {
                meta.pubkey = thief;
            }
        }
        7 => {
            let meta = &mut instructions[target].accounts[at];
            meta.is_writable = !meta.is_writable;
        }
        8 => {
            let other = s.below(count);
            instructions[target].accounts[at].pubkey = instructions[target].accounts[other].pubkey;
        }
        9 => instructions[target].accounts[at].pubkey = key(60_000 + s.r.below(8)).pubkey(),
        // Governance may set times without an upper bound (docs/protocol/threat-model.md): money would be safe and
        // stuck.
        10 if crate::ix::name_of(&instructions[target].data) == Some("market_propose_params") => {}
        10 => {
            let data = &mut instructions[target].data;
            if data.len() > 8 {
                let byte = 8 + s.below(data.len() - 8);
                match s.below(3) {
                    0 => data[byte] ^= 1 << s.below(8),
                    _ => {
                        let edge = [0u64, 1, u64::MAX, u64::MAX / 2, 1 << 32][s.below(5)];
                        let end = data.len().min(byte + 8);
                        data[byte..end].copy_from_slice(&edge.to_le_bytes()[..end - byte]);
                    }
                }
            }
        }
        11 => signatures(s, instructions),
        12 => {
            if let Some(meta) = instructions[target]
                .accounts
                .iter_mut()
                .find(|meta| meta.pubkey == crate::tokens::token_program())
            {
                meta.pubkey = token_2022_program();
            }
        }
        _ => {
            if s.once_in(2) {
                instructions[target].accounts.pop();
            } else {
                let extra = instructions[target].accounts[at].clone();
                instructions[target].accounts.push(extra);
            }
        }
    }
}

/// Tricks around the signature checks before an instruction.
fn signatures(s: &mut Scene, instructions: &mut Vec<Instruction>) {
    let checks: Vec<usize> =
        (0..instructions.len()).filter(|at| instructions[*at].program_id == ix::ed25519_program()).collect();
    let Some(at) = s.one(checks) else { return };
    match s.below(5) {
        0 => {
            instructions.remove(at);
        }
        1 => {
            let check = instructions.remove(at);
            instructions.push(check);
        }
        2 => {
            let copy = instructions[at].clone();
            instructions.insert(at, copy);
        }
        3 if instructions[at].data.len() > 112 => {
            // A check of the attacker's own signature, dressed up with the right key and message.
            let message = instructions[at].data[112..].to_vec();
            let decoy = ix::signed(&s.a.actors[ATTACKER].key, &message);
            instructions.push(decoy);
            let index = (instructions.len() as u16 - 1).to_le_bytes();
            for place in [4, 8, 14] {
                instructions[at].data[place..place + 2].copy_from_slice(&index);
            }
        }
        _ => {
            let last = instructions.len() - 1;
            instructions.swap(at, last);
        }
    }
}

/// Another account of the same kind.
fn relative(s: &mut Scene, of: &Address) -> Option<Address> {
    let kind = std::mem::discriminant(&s.a.ledger.held(of)?.entity);
    let all: Vec<Address> =
        s.a.ledger
            .iter()
            .filter(|(at, held)| *at != of && std::mem::discriminant(&held.entity) == kind)
            .map(|(at, _)| *at)
            .collect();
    s.one(all)
}

fn anything(s: &mut Scene) -> Option<Address> {
    let all: Vec<Address> = s.a.ledger.iter().map(|(at, _)| *at).collect();
    s.one(all)
}

/// Something that needs no instruction of the market: gifts, and what holders do to their token accounts.
pub fn around(s: &mut Scene) -> Option<Step> {
    let amount = 1 + s.r.below(3_000_000);
    match s.below(6) {
        // Lamports to a place where an account was or will be.
        0 => {
            let who = s.actor();
            let mut places = s.a.places_of(who);
            let (owner, number, _) = MACHINES[s.below(MACHINES.len())];
            let node = pda::node(&s.a.actors[owner].provider(), &key(number).pubkey());
            let nonce = s.r.below(4);
            places.push(pda::lease(&pda::order(&who.wallet(), nonce), &node));
            places.push(pda::report(s.a.w.period()));
            let to = s.one(places)?;
            // Never a wallet of the cast alone: that would be a gift without a point.
            Some(Step::Lamports(to, amount))
        }
        1 | 2 => {
            let vaults: Vec<Address> = s.a.ledger.all::<Token>().map(|(at, _)| *at).collect();
            Some(Step::Tokens(s.one(vaults)?, amount))
        }
        _ => {
            let payment = s.a.w.payment_mint;
            let own = |token: &Token| s.a.keys.contains_key(&token.owner);
            // What is frozen does not stay so for long: it would hold up everyone who waits for it.
            let frozen: Vec<Address> =
                s.a.ledger.all::<Token>().filter(|(_, token)| token.frozen).map(|(at, _)| *at).collect();
            if let Some(at) = s.one(frozen).filter(|_| !s.once_in(3)) {
                return Some(Step::Token(at, TokenTrick::Thaw));
            }
            if s.once_in(6) {
                // The issuer of the payment token freezes the vault of a customer, or the one of all fees.
                let vaults = s.a.ledger.all::<Token>().filter(|(_, t)| t.mint == payment && !own(t));
                let vaults = vaults.map(|(at, _)| *at).collect();
                return Some(Step::Token(s.one(vaults)?, TokenTrick::Freeze));
            }
            let own = s.a.ledger.all::<Token>().filter(|(_, token)| own(token)).map(|(at, _)| *at).collect();
            let at = s.one(own)?;
            let thief = s.a.actors[ATTACKER].wallet();
            let trick = match s.below(8) {
                0 => TokenTrick::Freeze,
                1..=4 => TokenTrick::Thaw,
                5 => TokenTrick::Delegate(thief),
                6 => TokenTrick::CloseAuthority(thief),
                _ if s.once_in(4) => TokenTrick::Owner(s.actor().wallet()),
                _ => TokenTrick::Thaw,
            };
            Some(Step::Token(at, trick))
        }
    }
}
