//! The finder closes a fraud proof that it cannot or need not complete any more, and gets its rent back.

use anchor_lang::prelude::*;

use crate::errors::MarketError;
use crate::events::FraudProofClosed;
use crate::state::FraudProof;

#[derive(Accounts)]
pub struct FraudProofClose {
    #[account(mut, address = fraud_proof.finder @ MarketError::Unauthorised)]
    pub finder: Signer,
    #[account(mut, close = finder)]
    pub fraud_proof: Account<FraudProof>,
}

pub(crate) fn handler(ctx: &mut Context<FraudProofClose>) -> Result<()> {
    emit!(FraudProofClosed { fraud_proof: *ctx.accounts.fraud_proof.address() });
    Ok(())
}
