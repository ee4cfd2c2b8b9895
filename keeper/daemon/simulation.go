package daemon

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// ErrSimulation: a simulation was asked for on a cluster that is not local.
var ErrSimulation = errors.New("simulations serve local networks only")

// Simulation is how a keeper of a local network is false; the zero value is an honest keeper.
type Simulation struct {
	// ClockAhead is how far this machine's date is ahead, negative where it is behind.
	ClockAhead time.Duration
	// Unmeasured measures no node: hundreds of simulated machines would take all processors of one computer.
	Unmeasured bool
	// OmitBidsOf acknowledges the sealed bids of this node and leaves them out.
	OmitBidsOf solana.PublicKey
}

// check refuses simulations anywhere but on a local network, and labels them in the log. Error: ErrSimulation.
func (s Simulation) check(local bool, log zerolog.Logger) error {
	if s == (Simulation{}) {
		return nil
	}
	if !local {
		return fmt.Errorf("%w: start the keeper without --simulate-…", ErrSimulation)
	}
	log.Warn().Bool("simulated", true).Dur("clock_ahead", s.ClockAhead).Bool("unmeasured", s.Unmeasured).Stringer("omits_bids_of", s.OmitBidsOf).
		Msg("SIMULATION: this keeper is not what it seems")
	return nil
}

// date is this machine's date.
func (s Simulation) date() time.Time { return time.Now().Add(s.ClockAhead) }

// judge is what becomes of bids; see auction.Options.
func (s Simulation) judge(m *market.Market, o *market.Order, bids []messages.Bid, look sealedbid.Lookup, now int64) []messages.JudgedBid {
	if !s.OmitBidsOf.IsZero() {
		bids = slices.DeleteFunc(slices.Clone(bids), func(b messages.Bid) bool { return b.Node == s.OmitBidsOf })
	}
	return sealedbid.Judge(m, o, bids, look, now)
}
