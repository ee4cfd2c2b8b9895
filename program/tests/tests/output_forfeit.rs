use gantry_market::errors::MarketError;
use gantry_market::events::OutputForfeited;
use gantry_market::state::{Lease, Market, Node, Provider, OUTPUT_REJECTED, OUTPUT_WITHHELD};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::setups::Redundant;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::{ix, pda, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

/// Ten minutes of one GPU at 2 USDC an hour are 0.333333 USDC; twice that, at 1 USDC for a stake token.
const FORFEIT: u64 = 666_666_000;

/// One of three nodes has withheld its output.
fn resolved() -> (Testbed, Redundant) {
    let mut w = Testbed::new();
    let job = w.withheld();
    w.ok(ix::output_resolve(&job.order, &job.leases()), &[]);
    (w, job)
}

/// What the node has of its own, and all that its provider has.
fn stake(w: &Testbed, job: &Redundant, at: usize) -> [u64; 2] {
    let run = &job.runs[at];
    [w.read::<Node>(&run.machine.node).stake, w.read::<Provider>(&run.provider.provider()).stake]
}

#[test]
fn a_withheld_reveal_costs_twice_what_the_lease_was_worth() {
    let (mut w, job) = resolved();
    let run = &job.runs[2];
    assert_eq!(w.read::<Lease>(&run.lease).output, OUTPUT_WITHHELD);
    // The lease stays until its node has paid.
    let close = ix::lease_close(&w, &job.customer.wallet(), &run.lease);
    w.refused(close.clone(), &[&job.customer.key], MarketError::WrongOutputState);
    let (supply, before) = (w.supply(&w.stake_mint), stake(&w, &job, 2));
    let forfeit = ix::output_forfeit(&w, &run.lease);
    let meta = w.ok(forfeit.clone(), &[]);
    let event = OutputForfeited {
        lease: run.lease,
        node: run.machine.node,
        provider: run.provider.provider(),
        amount: FORFEIT,
    };
    assert_emitted(&meta, &event);
    assert_eq!(w.supply(&w.stake_mint), supply - FORFEIT);
    assert_eq!(stake(&w, &job, 2), before.map(|stake| stake - FORFEIT));
    assert_eq!(w.read::<Lease>(&run.lease).output, OUTPUT_REJECTED);
    // Once; and nothing of those that revealed.
    w.refused(forfeit, &[], MarketError::WrongOutputState);
    w.refused(ix::output_forfeit(&w, &job.runs[0].lease), &[], MarketError::WrongOutputState);
    // A report may still show more of its work, which its customer owes to nobody.
    w.refused(close.clone(), &[&job.customer.key], MarketError::Unsettled);
    w.warp(121);
    w.ok(close, &[&job.customer.key]);
}

/// Finding R 16.
#[test]
fn it_costs_as_much_when_nobody_else_revealed() {
    let mut w = Testbed::new();
    let job = w.redundant();
    job.commit(&mut w, 1, 4);
    w.warp(120 + 600 + 120 + 120 + 1);
    w.ok(ix::output_resolve(&job.order, &job.leases()), &[]);
    // Who did not commit has no output to stand for.
    for at in [0, 2] {
        assert_eq!(w.read::<Lease>(&job.runs[at].lease).output, OUTPUT_REJECTED);
    }
    let before = stake(&w, &job, 1);
    w.ok(ix::output_forfeit(&w, &job.runs[1].lease), &[]);
    assert_eq!(stake(&w, &job, 1), before.map(|stake| stake - FORFEIT));
}

/// Finding R 16.
#[test]
fn the_amount_is_that_of_the_award() {
    let (mut w, job) = resolved();
    let before = stake(&w, &job, 2);
    w.alter(&pda::market(), |m: &mut Market| m.params.stake_price = 1);
    w.ok(ix::output_forfeit(&w, &job.runs[2].lease), &[]);
    assert_eq!(stake(&w, &job, 2), before.map(|stake| stake - FORFEIT));
}

#[test]
fn it_takes_no_more_than_the_node_has_of_its_own() {
    let (mut w, job) = resolved();
    let run = &job.runs[2];
    let [own, all] = stake(&w, &job, 2);
    w.alter(&run.lease, |l: &mut Lease| l.forfeit = u64::MAX);
    w.ok(ix::output_forfeit(&w, &run.lease), &[]);
    assert_eq!(stake(&w, &job, 2), [0, all - own]);
}

#[test]
fn a_state_that_cannot_be_is_found() {
    let (mut w, job) = resolved();
    // Compared, and at no time.
    w.alter(&job.runs[2].lease, |l: &mut Lease| l.resolved_at = 0);
    w.refused(ix::output_forfeit(&w, &job.runs[2].lease), &[], MarketError::InvariantBroken);
}

#[test]
fn wrong_accounts_are_refused() {
    let (mut w, job) = resolved();
    let (run, other) = (&job.runs[2], &job.runs[0]);
    let good = ix::output_forfeit(&w, &run.lease);
    for at in [pda::market(), run.lease, run.machine.node, run.provider.provider()] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &[], &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let vaults = [&run.provider, &other.provider].map(|who| pda::stake_vault(&who.provider()));
    let mint = w.payment_mint;
    let cases: [(&str, Address, Address, _); 4] = [
        ("node", run.machine.node, other.machine.node, MarketError::WrongAccount.into()),
        ("provider", run.provider.provider(), other.provider.provider(), MarketError::WrongAccount.into()),
        ("vault", vaults[0], vaults[1], InstructionError::InvalidSeeds.into()),
        ("mint", w.stake_mint, mint, MarketError::WrongMint.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
    let other =
        ("program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into());
    w.refuses_swaps(&good, &[], &[other]);
}
