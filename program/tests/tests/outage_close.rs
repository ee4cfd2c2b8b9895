use gantry_market::constants::{OUTAGE_MOVE_SECS, OUTAGE_VOTE_SECS};
use gantry_market::errors::MarketError;
use gantry_market::events::OutageClosed;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::transactions::swap;
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn the_rent_goes_back_when_the_votes_count_no_more() {
    for (voters, lasts) in [(2, OUTAGE_VOTE_SECS), (3, OUTAGE_MOVE_SECS)] {
        let mut w = Testbed::new();
        let s = w.silent();
        s.voted(&mut w, voters);
        let (node, since) = (s.deal.machine.node, w.now());
        w.set_now(since + lasts);
        w.refused(ix::outage_close(&w, &node), &[], MarketError::TooEarly);
        w.warp(1);
        let payer = s.keepers[0].wallet();
        let other = swap(ix::outage_close(&w, &node), &payer, &s.keepers[1].wallet());
        w.refused(other, &[], MarketError::WrongAccount);
        let (had, rent) = (w.lamports(&payer), w.lamports(&pda::outage(&node)));
        let fake = w.forged(&pda::outage(&node));
        let foreign = swap(ix::outage_close(&w, &node), &pda::outage(&node), &fake);
        w.refused(foreign, &[], InstructionError::IllegalOwner);
        let meta = w.ok(ix::outage_close(&w, &node), &[]);
        assert_eq!(w.lamports(&payer), had + rent);
        assert_emitted(&meta, &OutageClosed { node });
    }
}
