package measure

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/market/instant"
	asking "github.com/gantry-market/gantry/sdk/measure"
	"github.com/gantry-market/gantry/sdk/records"
)

// What came of a measurement, as sdk/measure says it. Refused means here that nothing on chain excuses the node.
type (
	Outcome      = asking.Outcome
	Result       = asking.Result
	Proof        = asking.Proof
	Record       = asking.Record
	RefusedError = asking.RefusedError
)

// The outcomes.
const (
	Unknown  = asking.Unknown
	Measured = asking.Measured
	Wrong    = asking.Wrong
	Refused  = asking.Refused
)

// Node is who is measured.
type Node struct {
	// Account is the node's account, Key the machine's.
	Account, Key solana.PublicKey
	// GPUs are asked for in ascending order: 1 to 8.
	GPUs []format.Asked
	// Simulated GPUs are measured by the times that the machine states.
	Simulated bool
}

// Options of New. Domain, Network and Owes are required.
type Options struct {
	Domain  records.Domain
	Network Network
	// Owes says, when the node has not done what it was asked for, whether it had to: false when a lease is live or has
	// been, or when it had left before the block (docs/adr/0018-instants.md).
	Owes func(node solana.PublicKey, at instant.Instant) bool
	// Rand, Now, Slack, Pause, Wait and Overrun are those of sdk/measure.
	Rand                        io.Reader
	Now                         func() time.Time
	Slack, Pause, Wait, Overrun time.Duration
	Log                         zerolog.Logger
}

// Member measures nodes. It is safe for concurrent use.
type Member struct {
	o     Options
	asker *asking.Asker
}

// New checks the options. Error: options.ErrMissing.
func New(o Options) (*Member, error) {
	if err := options.Complete("measure", o, "Rand", "Now", "Slack", "Pause", "Wait", "Overrun", "Log"); err != nil {
		return nil, err
	}
	return &Member{o: o, asker: asking.New(asking.Options{Rand: o.Rand, Now: o.Now, Slack: o.Slack, Pause: o.Pause, Wait: o.Wait, Overrun: o.Overrun})}, nil
}

// Measure measures a node at an instant whose block this keeper saw at a time of its own clock. It asks for at
// most twice the profiles' times, the slack and half a minute after saw, and verifies then.
func (m *Member) Measure(ctx context.Context, n Node, at instant.Instant, saw time.Time) Result {
	place := format.Place{Domain: m.o.Domain, Instant: at.Seed, Node: n.Account}
	r := m.asker.Measure(ctx, asking.Asked{Place: place, Key: n.Key, GPUs: n.GPUs, Simulated: n.Simulated, Start: saw, Together: true}, line{m.o.Network, n, at})
	if r.Outcome == Measured {
		return r
	}
	if r.Record != nil {
		r.Record.Of(at)
	}
	var refused *RefusedError
	idle := r.Outcome == Refused || errors.As(r.Why, &refused) || errors.Is(r.Why, asking.ErrUnopened)
	if idle && !m.o.Owes(n.Account, at) {
		r.Outcome = Unknown
	}
	m.o.Log.Info().Stringer("node", n.Account).Stringer("outcome", r.Outcome).AnErr("why", r.Why).Msg("node is not measured")
	return r
}
