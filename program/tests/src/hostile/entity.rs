//! What an account is: one of the program's, a token account, a mint, a wallet.

use anchor_lang::Discriminator;
use gantry_market::state::{
    Auction, Candidate, Credits, DeviceClaim, Dispute, Fault, FraudProof, GpuModel, Keeper, Lease, Market,
    Node, Order, Outage, Payout, Provider, Report, Rewards,
};
use gantry_market::ID;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_address::Address;

use crate::reports::split;
use crate::tokens::token_program;

/// A token account, as far as the rules read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub mint: Address,
    pub owner: Address,
    pub amount: u64,
    /// Who may move tokens besides the owner; zero for nobody.
    pub delegate: Address,
    pub frozen: bool,
}

/// A kind of entity that rules ask for by type.
pub trait Kind: Sized + 'static {
    fn of(entity: &Entity) -> Option<&Self>;
}

macro_rules! entities {
    ($($kind:ident),* $(,)?) => {
        #[derive(Clone)]
        pub enum Entity {
            $($kind(Box<$kind>),)*
            Token(Token),
            Mint { supply: u64 },
            /// An account of the system program, or none.
            Wallet,
            /// Of another program: nothing that the market may touch.
            Foreign,
            /// Of the market, of a type that has no rules yet: the tests name those.
            Unruled,
        }

        $(impl Kind for $kind {
            fn of(entity: &Entity) -> Option<&Self> {
                match entity {
                    Entity::$kind(found) => Some(found),
                    _ => None,
                }
            }
        })*

        /// Discriminators of the account types that the rules know.
        pub fn known() -> Vec<&'static [u8]> {
            vec![$($kind::DISCRIMINATOR),*]
        }

        fn of_program(data: &[u8]) -> Entity {
            $(if data.starts_with($kind::DISCRIMINATOR) {
                let body = &data[$kind::DISCRIMINATOR.len()..];
                return sized(body).map_or(Entity::Unruled, |body| Entity::$kind(Box::new(body)));
            })*
            Entity::Unruled
        }
    };
}

entities!(
    Market,
    GpuModel,
    Provider,
    Node,
    DeviceClaim,
    Keeper,
    Credits,
    Order,
    Lease,
    Report,
    Fault,
    Payout,
    Rewards,
    Dispute,
    FraudProof,
    Auction,
    Outage,
);

impl Kind for Token {
    fn of(entity: &Entity) -> Option<&Self> {
        match entity {
            Entity::Token(found) => Some(found),
            _ => None,
        }
    }
}

/// The account's content.
fn sized<T: bytemuck::Pod>(body: &[u8]) -> Option<T> {
    bytemuck::try_pod_read_unaligned(body).ok()
}

fn address(data: &[u8], at: usize) -> Address {
    Address::new_from_array(data[at..at + 32].try_into().expect("32 bytes"))
}

fn amount(data: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(data[at..at + 8].try_into().expect("eight bytes"))
}

impl Entity {
    pub fn of(account: &AccountSharedData) -> Self {
        let (owner, data) = (account.owner(), account.data());
        if *owner == ID {
            return split(data).map_or(Self::Unruled, |(own, _)| of_program(own));
        }
        if *owner == token_program() && data.len() == 165 {
            let delegated = data[72] == 1;
            return Self::Token(Token {
                mint: address(data, 0),
                owner: address(data, 32),
                amount: amount(data, 64),
                delegate: if delegated { address(data, 76) } else { Address::default() },
                frozen: data[108] == 2,
            });
        }
        if *owner == token_program() && data.len() == 82 {
            return Self::Mint { supply: amount(data, 36) };
        }
        if *owner == Address::default() && data.is_empty() {
            Self::Wallet
        } else {
            Self::Foreign
        }
    }
}

/// An entity and its lamports.
#[derive(Clone)]
pub struct Held {
    pub entity: Entity,
    pub lamports: u64,
    /// Of a report: the roots for which its struct has no place.
    pub tail: Vec<Candidate>,
}

impl Held {
    /// None where there is no account.
    pub fn of(account: Option<&AccountSharedData>) -> Option<Self> {
        let account = account.filter(|account| account.lamports() > 0)?;
        let behind = split(account.data()).filter(|_| *account.owner() == ID);
        Some(Self {
            entity: Entity::of(account),
            lamports: account.lamports(),
            tail: behind.map_or(vec![], |(_, tail)| tail),
        })
    }

    /// Of a report: all roots that have a place, those that everybody has left too.
    pub fn roots(&self) -> Vec<Candidate> {
        let Some(report) = Report::of(&self.entity) else { return vec![] };
        let front = report.candidates.iter().take(usize::from(report.candidate_count));
        front.chain(&self.tail).copied().collect()
    }
}
