use gantry_market::errors::MarketError;
use gantry_market::events::OutputsResolved;
use gantry_market::state::{
    Credits, Lease, Order, Rewards, OUTPUT_ACCEPTED, OUTPUT_REJECTED, OUTPUT_WITHHELD,
};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::setups::Redundant;
use gantry_market_tests::{ix, pda, Testbed};
use solana_address::Address;
use solana_instruction_error::InstructionError;

/// The three nodes have committed to these outputs, ten minutes of each are on a receipt, and all leases are over.
fn committed(outputs: [u8; 3]) -> (Testbed, Redundant) {
    let mut w = Testbed::new();
    let job = w.redundant();
    w.warp(600);
    for run in &job.runs {
        w.ok_all(&ix::receipt(&w, &run.lease, &run.machine.key, &job.customer.key, 1, 600), &[]);
        w.ok(ix::lease_end(&w, &job.customer.wallet(), &run.lease, 0), &[&job.customer.key]);
    }
    for (at, output) in outputs.into_iter().enumerate() {
        job.commit(&mut w, at, output);
    }
    (w, job)
}

/// The same, and they have shown them.
fn shown(outputs: [u8; 3]) -> (Testbed, Redundant) {
    let (mut w, job) = committed(outputs);
    for (at, output) in outputs.into_iter().enumerate() {
        job.reveal(&mut w, at, output);
    }
    (w, job)
}

fn outcomes(w: &Testbed, job: &Redundant) -> Vec<u8> {
    job.leases().iter().map(|lease| w.read::<Lease>(lease).output).collect()
}

/// Settles and closes every lease; returns what the providers got, and the fee with what lost work was worth.
fn wound_up(w: &mut Testbed, job: &Redundant) -> (Vec<u64>, u64) {
    let before: Vec<u64> = job.runs.iter().map(|run| w.tokens(&run.provider.payment)).collect();
    let fees = w.tokens(&pda::fee_vault());
    for lease in job.leases() {
        w.ok(ix::lease_settle_report(w, &lease), &[]);
    }
    // What is claimed of work that lost is known when the time to settle is over.
    w.warp(121);
    for lease in job.leases() {
        w.ok(ix::lease_close(w, &job.customer.wallet(), &lease), &[&job.customer.key]);
    }
    let paid =
        job.runs.iter().zip(before).map(|(run, before)| w.tokens(&run.provider.payment) - before).collect();
    (paid, w.tokens(&pda::fee_vault()) - fees)
}

#[test]
fn the_majority_is_paid_and_the_minority_is_not() {
    let (mut w, job) = shown([4, 9, 4]);
    let meta = w.ok(ix::output_resolve(&job.order, &job.leases()), &[]);
    assert_emitted(&meta, &OutputsResolved { order: job.order, output: [4; 32], accepted: 2, of: 3 });
    assert_eq!(outcomes(&w, &job), [OUTPUT_ACCEPTED, OUTPUT_REJECTED, OUTPUT_ACCEPTED]);
    assert_eq!(wound_up(&mut w, &job), (vec![293_334, 0, 293_334], 2 * 39_999 + 333_333));
    // The customer pays all three; what the third one's work was worth is for the buy-back.
    let credits: Credits = w.read(&job.customer.credits());
    assert_eq!((credits.balance, credits.reserved), (100_000_000 - 3 * 333_333, 0));
    assert_eq!(w.read::<Rewards>(&pda::rewards()).buy_back, 333_333);
    w.ok(ix::credits_close(&job.customer), &[&job.customer.key]);
}

#[test]
fn a_withheld_reveal_does_not_let_accepted_work_go_unpaid() {
    let mut w = Testbed::new();
    // The longest that the withholder can delay the resolution. Every time to settle after the leases' ends is over.
    let job = w.withheld();
    assert_eq!(w.now(), w.read::<Lease>(&job.runs[0].lease).awarded_at + 120 + 600 + 120 + 120 + 1);
    let customer = &job.customer;
    let [a, b, _] = job.leases().try_into().expect("three");
    let close = [a, b].map(|lease| ix::lease_close(&w, &customer.wallet(), &lease));
    let resolve = ix::output_resolve(&job.order, &job.leases());
    let at_once = [resolve.clone(), close[0].clone(), close[1].clone()];
    w.refused_all(&at_once, &[&customer.key], MarketError::Unsettled);
    w.ok(resolve, &[]);
    assert_eq!(outcomes(&w, &job), [OUTPUT_ACCEPTED, OUTPUT_ACCEPTED, OUTPUT_WITHHELD]);
    // Two deadlines from the resolution, as for any lease from its end: what is claimed cannot be left unpaid before.
    w.warp(240);
    w.refused(close[0].clone(), &[&customer.key], MarketError::Unsettled);
    for (run, close) in job.runs.iter().zip(close) {
        let before = w.tokens(&run.provider.payment);
        w.ok(ix::lease_settle_report(&w, &run.lease), &[]);
        assert_eq!(w.tokens(&run.provider.payment) - before, 29_334);
        w.ok(close, &[&customer.key]);
    }
}

/// Two of three agree already. The third still has its time. Otherwise the fast ones decide that it withheld its output.
#[test]
fn a_majority_waits_for_the_last_one() {
    let (mut w, job) = committed([4, 4, 4]);
    let resolve = ix::output_resolve(&job.order, &job.leases());
    for at in [0, 1] {
        job.reveal(&mut w, at, 4);
        w.refused(resolve.clone(), &[], MarketError::TooEarly);
    }
    job.reveal(&mut w, 2, 4);
    w.ok(resolve, &[]);
    assert_eq!(outcomes(&w, &job), [OUTPUT_ACCEPTED; 3]);
}

#[test]
fn all_agree() {
    let (mut w, job) = shown([4, 4, 4]);
    w.ok(ix::output_resolve(&job.order, &job.leases()), &[]);
    assert_eq!(outcomes(&w, &job), [OUTPUT_ACCEPTED; 3]);
    assert_eq!(wound_up(&mut w, &job).0, [293_334; 3]);
}

#[test]
fn without_a_majority_nobody_is_paid() {
    let (mut w, job) = shown([4, 9, 7]);
    let meta = w.ok(ix::output_resolve(&job.order, &job.leases()), &[]);
    assert_emitted(&meta, &OutputsResolved { order: job.order, output: [0; 32], accepted: 0, of: 3 });
    assert_eq!(wound_up(&mut w, &job), (vec![0; 3], 3 * 333_333));
    assert_eq!(w.read::<Credits>(&job.customer.credits()).balance, 100_000_000 - 3 * 333_333);
    assert_eq!(w.read::<Rewards>(&pda::rewards()).buy_back, 3 * 333_333);
}

#[test]
fn a_majority_of_those_who_answered_is_none_of_all() {
    let mut w = Testbed::new();
    let job = w.redundant();
    job.commit(&mut w, 0, 4);
    let resolve = ix::output_resolve(&job.order, &job.leases());
    w.warp(120 + 600 + 120 + 1);
    job.reveal(&mut w, 0, 4);
    w.warp(119);
    w.refused(resolve.clone(), &[], MarketError::TooEarly);
    w.warp(1);
    w.ok(resolve, &[]);
    assert_eq!(outcomes(&w, &job), [OUTPUT_REJECTED; 3]);
}

/// The first two of the three nodes belong to one provider.
fn of_one_provider(w: &mut Testbed, job: &Redundant) {
    let owner = w.read::<Lease>(&job.runs[0].lease).provider;
    w.alter(&job.runs[1].lease, |l: &mut Lease| l.provider = owner);
}

#[test]
fn nodes_of_one_provider_are_one_voice() {
    for order in [[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0], [2, 0, 1], [0, 2, 1]] {
        for (outputs, wins) in [
            // Two nodes, one voice: no majority of three against the third node's.
            ([4, 4, 9], [false; 3]),
            ([4, 4, 4], [true; 3]),
            // A provider whose nodes contradict each other has no voice, whatever it shows besides.
            ([4, 9, 4], [false; 3]),
            ([9, 4, 4], [false; 3]),
        ] {
            let (mut w, job) = shown(outputs);
            of_one_provider(&mut w, &job);
            let leases = order.map(|at: usize| job.leases()[at]);
            w.ok(ix::output_resolve(&job.order, &leases), &[]);
            let expected = wins.map(|wins| if wins { OUTPUT_ACCEPTED } else { OUTPUT_REJECTED });
            assert_eq!(outcomes(&w, &job), expected, "{outputs:?} in order {order:?}");
        }
    }
}

/// Finding R 16.
#[test]
fn a_silent_node_takes_no_voice_from_the_other_of_its_provider() {
    let mut w = Testbed::new();
    let job = w.withheld();
    w.alter(&job.runs[2].lease, |l: &mut Lease| l.provider = Address::new_from_array([1; 32]));
    let owner = w.read::<Lease>(&job.runs[2].lease).provider;
    w.alter(&job.runs[0].lease, |l: &mut Lease| l.provider = owner);
    w.ok(ix::output_resolve(&job.order, &job.leases()), &[]);
    assert_eq!(outcomes(&w, &job), [OUTPUT_ACCEPTED, OUTPUT_ACCEPTED, OUTPUT_WITHHELD]);
}

#[test]
fn once_and_with_all_leases_of_the_order() {
    let (mut w, job) = shown([4, 4, 4]);
    let [a, b, c] = job.leases().try_into().expect("three");
    let foreign = w.running();
    let twin = w.twin(&a);
    w.alter(&twin, |l: &mut Lease| l.order = Address::new_from_array([1; 32]));
    let forged = w.forged(&c);
    for leases in [
        vec![a, b],
        vec![a, b, b],
        vec![a, b, foreign.lease],
        vec![a, b, twin],
        vec![a, b, forged],
        vec![a, b, job.order],
        vec![],
    ] {
        w.refused(ix::output_resolve(&job.order, &leases), &[], MarketError::WrongAccount);
    }
    let ordinary = ix::output_resolve(&foreign.order, &[foreign.lease]);
    w.refused(ordinary, &[], MarketError::WrongAccount);
    w.ok(ix::output_resolve(&job.order, &[c, a, b]), &[]);
    w.refused(ix::output_resolve(&job.order, &[a, b, c]), &[], MarketError::WrongOutputState);
}

#[test]
fn a_state_that_cannot_be_is_found() {
    let (mut w, job) = shown([4, 4, 4]);
    // Paid before it was compared.
    let lease = job.runs[2].lease;
    w.alter(&lease, |l: &mut Lease| (l.paid_secs, l.paid) = (600, 333_333));
    let resolve = ix::output_resolve(&job.order, &job.leases());
    w.alter(&job.runs[1].lease, |l: &mut Lease| l.output_hash = [9; 32]);
    w.alter(&lease, |l: &mut Lease| l.output_hash = [8; 32]);
    w.refused(resolve.clone(), &[], MarketError::InvariantBroken);
    w.alter(&job.order, |o: &mut Order| o.live_leases = 2);
    w.refused(resolve, &[], MarketError::WrongAccount);
}

#[test]
fn accounts_of_other_programs_are_refused() {
    let (mut w, job) = shown([4, 4, 4]);
    let good = ix::output_resolve(&job.order, &job.leases());
    let fake = w.forged(&job.order);
    w.refuses_swaps(&good, &[], &[("program", job.order, fake, InstructionError::IllegalOwner.into())]);
}
