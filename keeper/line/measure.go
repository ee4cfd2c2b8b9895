package line

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/options"
	format "github.com/gantry-market/gantry/sdk/line"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// Network reaches nodes by their keys.
type Network interface {
	// Dial asks a node for a direction. The caller closes the connection.
	Dial(ctx context.Context, node solana.PublicKey, req messages.LineRequest) (net.Conn, messages.LineAnswer, error)
	// Direct reports whether the node is reached without a relay, whose line would be measured.
	Direct(node solana.PublicKey) bool
}

// Peers is the market's network.
type Peers struct{ Node *p2p.Node }

var _ Network = Peers{}

var protocol = p2p.Protocol{ID: messages.Line, MaxRequest: 1 << 10, MaxResponse: 1 << 10, Timeout: 10 * time.Second}

// Dial implements Network.
func (p Peers) Dial(ctx context.Context, node solana.PublicKey, req messages.LineRequest) (net.Conn, messages.LineAnswer, error) {
	return p2p.Dial[messages.LineRequest, messages.LineAnswer](ctx, p.Node, node, protocol, req)
}

// Direct implements Network.
func (p Peers) Direct(node solana.PublicKey) bool { return p.Node.Path(node) == p2p.Direct }

// Outcome is what became of a check.
type Outcome uint8

const (
	// Unknown: the node was not reached, or not directly, or this keeper ended. It says nothing of the node.
	Unknown Outcome = iota
	// Measured: there are figures.
	Measured
	// Refused: the node's handler refused.
	Refused
)

// String is the outcome in a word.
func (o Outcome) String() string { return [...]string{"unknown", "measured", "refused"}[o] }

// Result is what a member of a committee says of a node's line.
type Result struct {
	Outcome Outcome
	// Down and Up are Mbit/s, at least 1, where they were measured.
	Down, Up uint32
	// Refused is why the node's handler refused; 0 when it did without one of the protocol's reasons.
	Refused messages.LineRefusal
	// Why says what ended a check early.
	Why error
}

// Node is whose line is checked.
type Node struct {
	Account, Key solana.PublicKey
}

// Errors in [Result.Why].
var (
	ErrRelayed = errors.New("the node is reached through a relay, whose line is not the node's")
	// ErrWrong: the node answered what no honest one does.
	ErrWrong = errors.New("the node's answer does not belong to what it was sent")
)

// RefusedError is a refusal by the node's handler.
type RefusedError struct{ Why messages.LineRefusal }

func (e *RefusedError) Error() string { return "the node refuses: " + e.Why.String() }

// Options of New. All but Limit are required.
type Options struct {
	Network Network
	// Limit is how long a direction may take; 0 for the one that the format has.
	Limit time.Duration
}

// Member measures lines as a member of their committees. It is safe for concurrent use, but two checks at a time share this
// keeper's line.
type Member struct {
	o Options

	mu sync.Mutex
	// half are nodes whose line was measured one way at an instant, and then put the other off: they answer each way once.
	half map[solana.PublicKey]half
}

// half is the figure down at an instant.
type half struct {
	seed [32]byte
	down uint32
}

// New checks the options. Error: options.ErrMissing.
func New(o Options) (*Member, error) {
	if err := options.Complete("line", o, "Limit"); err != nil {
		return nil, err
	}
	if o.Limit <= 0 {
		o.Limit = format.Limit
	}
	return &Member{o: o, half: map[solana.PublicKey]half{}}, nil
}

// Measure checks both directions of a node's line, one after the other, at a period's instant that draws it.
func (m *Member) Measure(ctx context.Context, n Node, at instant.Instant) Result {
	r := Result{Down: m.before(n, at)}
	for _, d := range []messages.LineDirection{messages.LineDown, messages.LineUp} {
		if d == messages.LineDown && r.Down > 0 {
			continue
		}
		mbps, err := m.direction(ctx, n, at, d)
		var refused *RefusedError
		var answered *p2p.Error
		switch {
		case ctx.Err() != nil:
			return Result{Why: ctx.Err()}
		case errors.As(err, &refused):
			return Result{Outcome: Refused, Refused: refused.Why, Why: err}
		case errors.As(err, &answered) && answered.Code != p2p.CodeRateLimited && answered.Code != p2p.CodeInternal, errors.Is(err, p2p.ErrProtocol):
			return Result{Outcome: Refused, Why: err}
		case mbps == 0:
			return Result{Why: err}
		}
		if d == messages.LineDown {
			r.Down = mbps
			m.note(n, at, mbps)
		} else {
			r.Up = mbps
		}
		r.Why = errors.Join(r.Why, err)
	}
	r.Outcome = Measured
	return r
}

// before is what was measured down at this instant; 0 when it was not. Those of other instants are forgotten.
func (m *Member) before(n Node, at instant.Instant) uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, h := range m.half {
		if h.seed != at.Seed {
			delete(m.half, key)
		}
	}
	return m.half[n.Account].down
}

func (m *Member) note(n Node, at instant.Instant, down uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.half[n.Account] = half{at.Seed, down}
}

// direction checks one direction. The figure is 0 when nothing was begun; once the node has accepted, whatever ends the
// transfer early counts against the line, or a node could leave out the checks that go badly for it.
func (m *Member) direction(ctx context.Context, n Node, at instant.Instant, d messages.LineDirection) (uint32, error) {
	if !m.o.Network.Direct(n.Key) {
		return 0, ErrRelayed
	}
	c, answer, err := m.o.Network.Dial(ctx, n.Key, messages.LineRequest{
		Version: messages.Version, Node: n.Account, Period: uint64(at.Period), Tick: uint8(at.Tick), Slot: at.Slot, BlockHash: at.Hash, Direction: d,
	})
	if err != nil {
		return 0, err
	}
	if answer.Refused != 0 {
		return 0, errors.Join(&RefusedError{answer.Refused}, c.Close())
	}
	t := newTransfer(c, d)
	err = t.run(ctx, m.o.Limit)
	if err != nil {
		err = fmt.Errorf("%s: %w", d, err)
	}
	return t.meter.Mbps(), err
}
