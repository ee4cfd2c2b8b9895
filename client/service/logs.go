package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

const (
	// logsTimeout is how long a followed job may write nothing before the stream is opened again.
	logsTimeout = 10 * time.Minute
	// logsAgain is how long Follow waits before it opens a stream again.
	logsAgain = 500 * time.Millisecond
)

// StartTime is how long a container may take to begin after its lease has.
const StartTime = 20 * time.Second

// RefusedByNode is a refusal that the node would repeat.
type RefusedByNode struct{ Why string }

func (e *RefusedByNode) Error() string { return "the machine refuses: " + printable.Text(e.Why) }

// Logs reads the output of leases' jobs from their machines.
type Logs struct {
	Net *p2p.Node
	// Reach connects to a machine.
	Reach func(ctx context.Context, node solana.PublicKey) error
	// Over reports whether a lease has ended, or is closed.
	Over func(lease solana.PublicKey) bool
	// Keys open what a measured guest has sealed, of which one is right; none for other output. May be nil.
	Keys func(lease solana.PublicKey) ([][]byte, error)
	// End is told how a job in a measured guest has ended. May be nil.
	End func(lease solana.PublicKey, end control.End)
}

// Output is a piece of a job's output that begins at an offset, bytes. It is never empty, and belongs to its receiver until
// that returns.
type Output struct {
	Offset uint64
	Data   []byte
}

// Read gives a job's output from an offset on to take, in order and no byte twice, and returns the offset that it has
// reached; ended is true when the output is complete. A machine may begin later than at the offset when it no longer has
// what was before. With follow it goes on until the job ends or the connection breaks.
func (g *Logs) Read(ctx context.Context, l market.Lease, offset uint64, follow bool, take func(Output) error) (reached uint64, ended bool, err error) {
	if g.Keys != nil {
		keys, err := g.Keys(l.Address)
		if err != nil {
			return offset, false, &takeError{err}
		}
		if len(keys) > 0 {
			return g.readSealed(ctx, l, keys, offset, follow, take)
		}
	}
	return g.read(ctx, l, offset, follow, unsealed(take))
}

// read is Read for what the machine has, as it is.
func (g *Logs) read(ctx context.Context, l market.Lease, offset uint64, follow bool, take func(Output) error) (reached uint64, ended bool, err error) {
	if err := g.Reach(ctx, l.NodeKey); err != nil {
		return offset, false, err
	}
	p := p2p.Protocol{ID: messages.Logs, MaxRequest: 256 << 10, MaxResponse: 256 << 10}
	if follow {
		p.Timeout = logsTimeout
	}
	req := messages.LogsRequest{Version: messages.Version, Lease: l.Address, Offset: offset, Follow: follow}
	err = p2p.CallStream(ctx, g.Net, l.NodeKey, p, req, func(c messages.LogChunk) error {
		if c.Refused != "" {
			return &RefusedByNode{c.Refused}
		}
		ended = ended || c.End
		o, next, err := after(c, offset)
		if err != nil || next == offset {
			return err
		}
		if err := take(o); err != nil {
			return &takeError{err}
		}
		offset = next
		return nil
	})
	return offset, ended, err
}

// after is what of a piece is new to somebody who has all before an offset, and the offset behind it.
func after(c messages.LogChunk, offset uint64) (Output, uint64, error) {
	next := c.Offset + uint64(len(c.Data))
	switch {
	case next < c.Offset:
		return Output{}, offset, &RefusedByNode{fmt.Sprintf("its output begins at byte %d, which no output has", c.Offset)}
	case next <= offset || len(c.Data) == 0:
		return Output{}, offset, nil
	case c.Offset < offset:
		return Output{Offset: offset, Data: c.Data[offset-c.Offset:]}, next, nil
	}
	return Output{Offset: c.Offset, Data: c.Data}, next, nil
}

// takeError is an error of who takes the output; it is not the connection's.
type takeError struct{ err error }

func (e *takeError) Error() string { return e.err.Error() }
func (e *takeError) Unwrap() error { return e.err }

// Follow is Read until the output is complete, and connects again when the connection breaks. It ends with the error of
// take, a RefusedByNode, another version of the messages, or ctx.
func (g *Logs) Follow(ctx context.Context, l market.Lease, offset uint64, take func(Output) error) error {
	for {
		reached, ended, err := g.Read(ctx, l, offset, true, take)
		var refusal *RefusedByNode
		var taker *takeError
		switch {
		case errors.As(err, &taker):
			return taker.err
		case ended:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &refusal), errors.Is(err, p2p.ErrVersion):
			return err
		}
		if g.Over(l.Address) && reached == offset {
			return nil // over, and the machine is silent: there is nothing more to come
		}
		offset = reached
		if err := wait.For(ctx, logsAgain); err != nil {
			return err
		}
	}
}

// Unread is why output cannot be read, with what to do; nil for nil.
func Unread(err error) error {
	var f *Failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f): // it says what to do
		return f
	}
	return Network(err.Error(), "the machine may be starting; try again", err)
}
