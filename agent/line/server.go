package line

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/line"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

const (
	// grace is how much longer than a keeper measures the node answers: the answer and the first block are on their way.
	grace = 3 * time.Second
	// skew is how far the clocks of keepers and of this machine may be apart.
	skew = 20 * time.Second
	// turnWait is how long a request waits for its turn: a keeper that has its last answer asks for the other direction at once.
	turnWait = 500 * time.Millisecond
	// turnKept is how long the turn is kept for the other direction.
	turnKept = 2 * time.Second
)

// Draws looks up on chain who may check the line in a period.
type Draws interface {
	// Is reports whether a block is the instant of its period. Error: that cannot be said yet.
	Is(ctx context.Context, claimed instant.Instant) (bool, error)
	// Sits reports whether a keeper sits in the node's committee. Error: that cannot be said yet.
	Sits(ctx context.Context, p records.Period, keeper solana.PublicKey) (bool, error)
}

// Options of New. All but Aside, Now and Log are required.
type Options struct {
	// Node is the node account.
	Node   solana.PublicKey
	Domain records.Domain
	// Member says whether a key may ask at all: that of an active keeper whose records count in this period.
	Member func(solana.PublicKey) bool
	Draws  Draws
	// Busy says whether a lease is live: its customer has the line.
	Busy func() bool
	// Aside calls a function while nothing else of this machine uses the line much; nil calls it at once.
	Aside func(ctx context.Context, f func(context.Context) error) error
	// PeriodSecs is the length of a period; false while the market is not known.
	PeriodSecs func() (uint32, bool)
	Now        func() time.Time
	Log        zerolog.Logger
}

// Server answers the members of the node's committee.
type Server struct {
	o    Options
	turn chan struct{} // a token while a check runs
	look chan struct{} // a token while the chain is read for one

	mu     sync.Mutex
	drawn  *instant.Instant                    // the last one that was found to be right
	served map[solana.PublicKey][3]bool        // directions that were begun, in the period in
	in     records.Period                      // of served
	muted  map[solana.PublicKey]records.Period // who has named a wrong block, and in which period
	keeps  solana.PublicKey                    // whose turn it is until keptTo
	keptTo time.Time
	counts Counts
}

// New checks the options. Error: options.ErrMissing.
func New(o Options) (*Server, error) {
	if err := options.Complete("line", o, "Aside", "Now", "Log"); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Aside == nil {
		o.Aside = func(ctx context.Context, f func(context.Context) error) error { return f(ctx) }
	}
	return &Server{
		o: o, turn: make(chan struct{}, 1), look: make(chan struct{}, 1),
		served: map[solana.PublicKey][3]bool{}, muted: map[solana.PublicKey]records.Period{}, counts: Counts{Refused: map[messages.LineRefusal]uint64{}},
	}, nil
}

// protocol is the node's side of it. A member asks once for each direction, and again when the node was busy.
var protocol = p2p.Protocol{
	ID: messages.Line, MaxRequest: 1 << 10, MaxResponse: 1 << 10, Timeout: 10 * time.Second,
	Rate: 1, Burst: 4, Concurrent: 16, PerPeer: 2,
}

// Register has a peer answer the protocol.
func (s *Server) Register(n *p2p.Node) {
	p := protocol
	p.May = s.o.Member
	p2p.HandleConn(n, p, s.serve)
}

// serve answers a request, and then the blocks or seeds that follow.
func (s *Server) serve(ctx context.Context, from solana.PublicKey, req messages.LineRequest, accept func(messages.LineAnswer) (net.Conn, error)) error {
	if err := s.admit(from, req); err != nil {
		return err
	}
	no := s.decide(ctx, from, req)
	if no == 0 {
		turn := time.NewTimer(turnWait)
		defer turn.Stop()
		select {
		case s.turn <- struct{}{}:
			defer func() { <-s.turn }()
			no = s.begin(from, req)
		case <-turn.C:
			no = messages.LineBusy
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.count(no)
	if no != 0 {
		_, err := accept(messages.LineAnswer{Refused: no})
		return err
	}
	return s.o.Aside(ctx, func(context.Context) error {
		c, err := accept(messages.LineAnswer{})
		if err != nil {
			return err
		}
		return s.move(c, from, req.Direction)
	})
}

// move answers what a keeper sends, for as long as it may measure.
func (s *Server) move(c net.Conn, from solana.PublicKey, d messages.LineDirection) error {
	if err := c.SetDeadline(time.Now().Add(line.Limit + grace)); err != nil {
		return err
	}
	n, err := answer(c, d)
	s.ended(from, n)
	s.o.Log.Debug().Err(err).Stringer("keeper", from).Stringer("direction", d).Int("blocks", n).Msg("the node's line was checked")
	if errors.Is(err, io.EOF) { // the keeper has enough
		return nil
	}
	return err
}

// answer answers blocks with their hashes, or seeds with their blocks, and returns how many.
func answer(c io.ReadWriter, d messages.LineDirection) (n int, err error) {
	block, seed := make([]byte, line.Block), line.Seed{}
	for ; n < line.Blocks; n++ {
		var reply []byte
		if d == messages.LineDown {
			_, err = io.ReadFull(c, block)
			hash := line.Hash(block)
			reply = hash[:]
		} else if _, err = io.ReadFull(c, seed[:]); err == nil {
			line.Expand(seed, block)
			reply = block
		}
		if err == nil {
			_, err = c.Write(reply)
		}
		if err != nil {
			return n, fmt.Errorf("block %d: %w", n, err)
		}
	}
	return n, nil
}

// admit refuses requests of other versions, of keys that may not ask, for other nodes and for what there is not.
func (s *Server) admit(from solana.PublicKey, req messages.LineRequest) error {
	switch {
	case req.Version != messages.Version:
		return p2p.Refuse(p2p.CodeVersion, "this node speaks another version")
	case !s.o.Member(from):
		return p2p.Refuse(p2p.CodeRefused, "only keepers whose records count may ask")
	case req.Node != s.o.Node:
		return p2p.Refuse(p2p.CodeNotFound, "this is another node")
	case int(req.Tick) >= instant.Ticks:
		return p2p.Refuse(p2p.CodeBadRequest, "a period has %d ticks", instant.Ticks)
	case req.Direction != messages.LineDown && req.Direction != messages.LineUp:
		return p2p.Refuse(p2p.CodeBadRequest, "there is no direction %d", uint8(req.Direction))
	}
	return nil
}

// decide says why a keeper may not check the line now; 0 when it may. What the node knows by itself comes before what it
// reads from the chain, and nothing is read for who has named a wrong block.
func (s *Server) decide(ctx context.Context, from solana.PublicKey, req messages.LineRequest) messages.LineRefusal {
	p := records.Period(req.Period)
	secs, ok := s.o.PeriodSecs()
	if !ok || secs == 0 {
		return messages.LineUnready
	}
	now := s.o.Now()
	current := records.Period(now.Unix() / int64(secs))
	if p+1 < current || p > current+1 { // times of far periods would overflow
		return messages.LineOver
	}
	tick, end := instant.Tick(p, int(req.Tick), secs), time.Unix(int64(p+1)*int64(secs), 0)
	if now.Before(tick.Add(-skew)) || now.After(end.Add(skew)) {
		return messages.LineOver
	}
	at, here := instant.Draw(s.o.Domain, p, int(req.Tick), req.Slot, req.BlockHash, tick)
	switch {
	case !here || !at.DrawsLine(s.o.Node, secs) || s.mutes(from, p):
		return messages.LineUndrawn
	case s.o.Busy():
		return messages.LineLease
	case s.spent(from, p, secs, req.Direction):
		return messages.LineSpent
	}
	return s.lookUp(ctx, from, at)
}

// lookUp asks the chain whether the block is the instant and the keeper a member, for one request at a time.
func (s *Server) lookUp(ctx context.Context, from solana.PublicKey, at instant.Instant) messages.LineRefusal {
	select {
	case s.look <- struct{}{}:
		defer func() { <-s.look }()
	case <-ctx.Done():
		return messages.LineUnready
	}
	switch is, err := s.is(ctx, at); {
	case err != nil:
		s.o.Log.Debug().Err(err).Uint64("slot", at.Slot).Msg("the block of a check of the line cannot be looked up yet")
		return messages.LineUnready
	case !is:
		s.mute(from, at.Period)
		return messages.LineUndrawn
	}
	sits, err := s.o.Draws.Sits(ctx, at.Period, from)
	switch {
	case err != nil:
		s.o.Log.Debug().Err(err).Msg("the node's committee cannot be looked up yet")
		return messages.LineUnready
	case !sits:
		return messages.LineUndrawn
	}
	return 0
}

// is reports whether the block is the instant of its period, which is looked up once.
func (s *Server) is(ctx context.Context, at instant.Instant) (bool, error) {
	s.mu.Lock()
	known := s.drawn
	s.mu.Unlock()
	if known != nil && known.Period == at.Period {
		return known.Tick == at.Tick && known.Seed == at.Seed, nil
	}
	is, err := s.o.Draws.Is(ctx, at)
	if err == nil && is {
		s.mu.Lock()
		s.drawn = &at
		s.mu.Unlock()
	}
	return is, err
}
