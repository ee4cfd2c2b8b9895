//! What an owner of several wallets has, and tries that may be refused.

use gantry_market::state::{Credits, Keeper, Payout};
use gantry_market_tests::errors::{code_of, Code};
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::{ix, pda, Actor, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;
use solana_keypair::Keypair;

/// One stake token is worth so many of its base units for a µUSDC.
const STAKE_PER_MICRO: u64 = 1_000;

/// Everything that these wallets own, µUSDC: tokens, credits, stake, bonds, earned fees, and payouts of these sources.
/// A stake token is one USDC, the governance price.
pub fn worth(w: &Testbed, owner: &[&Actor], sources: &[Address]) -> i64 {
    let of = |who: &&Actor| {
        let payment = w.tokens(&who.payment)
            + held::<Credits>(w, &who.credits(), |credits| credits.balance)
            + held::<Keeper>(w, &who.keeper(), |keeper| keeper.earned);
        let paid_out =
            |source: &Address| held::<Payout>(w, &pda::payout(&who.wallet(), source), |payout| payout.amount);
        let stake = w.tokens(&who.stake)
            + w.tokens(&who.provider_vault())
            + w.tokens(&who.keeper_vault())
            + sources.iter().map(paid_out).sum::<u64>();
        (payment + stake / STAKE_PER_MICRO) as i64
    };
    owner.iter().map(of).sum()
}

fn held<T: bytemuck::Pod + anchor_lang::Discriminator>(
    w: &Testbed,
    at: &Address,
    amount: impl Fn(T) -> u64,
) -> u64 {
    match w.svm.get_account(at) {
        Some(account) if account.owner == gantry_market::ID => amount(w.read(at)),
        _ => 0,
    }
}

/// Sends, and says with which code it was refused, if it was.
pub fn attempt(w: &mut Testbed, instructions: &[Instruction], signers: &[&Keypair]) -> Result<(), Code> {
    w.send(instructions, signers).map(|_| ()).map_err(|failure| code_of(&failure))
}

/// Lets the period end, has `voter` report these leaves of it, applies them all, and settles their leases.
pub fn report(w: &mut Testbed, voter: &Actor, leaves: &[LeafData]) {
    w.warp_past_period(leaves[0].period);
    for proof in w.finalise(voter, leaves) {
        w.ok(ix::report_apply(&proof), &[]);
        if let Some(lease) = proof.leaf.lease() {
            if w.exists(&lease) {
                let settle = ix::lease_settle_report(w, &lease);
                let _ = attempt(w, &[settle], &[]);
            }
        }
    }
}

/// A leaf of a machine that was up all period and served its lease for so long.
pub fn served(w: &Testbed, node: Address, lease: Address, period: u64, seconds: u32) -> LeafData {
    LeafData { verified_secs: seconds, ..w.good_leaf(node, lease, period) }
}

/// µUSDC as USDC, for people.
pub fn usdc(micro: i64) -> f64 {
    micro as f64 / 1e6
}
