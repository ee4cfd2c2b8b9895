//! How a refused transaction is compared with what a test expects.

use gantry_market::errors::MarketError;
use litesvm::types::FailedTransactionMetadata;
use solana_instruction_error::InstructionError;
use solana_transaction_error::TransactionError;

/// The framework's own codes, as the program returns them.
pub mod framework {
    use super::Code;

    pub const CONSTRAINT_MUT: Code = Code::Custom(2000);
    pub const CONSTRAINT_ADDRESS: Code = Code::Custom(2012);
    pub const DUPLICATE_MUTABLE: Code = Code::Custom(2040);
}

#[derive(Clone, Debug, PartialEq)]
pub enum Code {
    Custom(u32),
    Builtin(InstructionError),
}

/// The code of one of the market's own errors.
pub fn market(error: MarketError) -> Code {
    Code::Custom(6000 + error as u32)
}

impl From<MarketError> for Code {
    fn from(error: MarketError) -> Self {
        market(error)
    }
}

impl From<InstructionError> for Code {
    fn from(error: InstructionError) -> Self {
        match error {
            InstructionError::Custom(code) => Code::Custom(code),
            other => Code::Builtin(other),
        }
    }
}

/// The code with which an instruction failed; panics when the transaction failed before any ran.
pub fn code_of(failure: &FailedTransactionMetadata) -> Code {
    match &failure.err {
        TransactionError::InstructionError(_, error) => error.clone().into(),
        other => panic!("not an instruction's error: {other:?}\n{}", failure.meta.pretty_logs()),
    }
}
