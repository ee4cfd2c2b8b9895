//! SPL Governance with the functions for memory that programs for Solana need. Its entry point is the crate's own.
#![no_std]
extern crate governance as _;
extern crate solana_compiler_builtins as _;
