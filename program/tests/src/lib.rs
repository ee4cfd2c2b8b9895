//! Harness for the market program's tests: one LiteSVM testbed with mainnet's features, an upgradeable program, mints,
//! a market, actors, and a builder for every instruction.
//!
//! Tests fail loudly: helpers panic with the transaction's logs.

pub mod actors;
pub mod attempts;
pub mod bench;
pub mod compute;
pub mod dao;
pub mod errors;
pub mod events;
pub mod gates;
pub mod hostile;
pub mod idl;
pub mod ix;
pub mod leaves;
pub mod matrix;
pub mod measure;
pub mod mutants;
pub mod pda;
pub mod random;
pub mod random_mutants;
pub mod realm;
pub mod recorder;
pub mod reports;
pub mod setups;
pub mod shapes;
pub mod testbed;
pub mod tokens;
pub mod transactions;
pub mod vectors;

pub use actors::Actor;
pub use errors::{framework, market, Code};
pub use setups::{Deal, Machine, Redundant, Run};
pub use testbed::Testbed;

/// A change to an account's state.
pub type Change<T> = fn(&mut T);
