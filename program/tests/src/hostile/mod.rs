//! Random hostile sequences: many actors send right and wrong instructions, and whatever succeeds must keep every rule.
//!
//! A step is generated from the state, recorded in full, and run. Rules look at every instruction that succeeded. A
//! sequence that breaks one is shortened to what is needed and printed as a regression.

pub mod actions;
pub mod entity;
pub mod harness;
pub mod hunt;
pub mod ledger;
pub mod mutate;
pub mod owners;
pub mod rules;
pub mod run;
pub mod scenario;
pub mod scene;
pub mod shrink;
pub mod trace;
pub mod waits;
pub mod wind_down;
