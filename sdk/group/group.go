package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	// starts is how many start deadlines too few machines may run before the others are ended: as long as keepers need to find another
	// machine, and that one to start, with some to spare.
	starts = 5
	// Every is the time between two looks at a group.
	Every = 3 * time.Second
)

// Short says that too few machines of a group run. Times are the chain's, unix seconds.
type Short struct {
	Since int64 `json:"since"`
	Until int64 `json:"until"` // the others are ended then
	// EndedAt is when that was decided; 0 before. Leases are those that were ended, and Says is why, in words.
	EndedAt int64              `json:"endedAt,omitempty"`
	Leases  []solana.PublicKey `json:"leases,omitempty"`
	Says    string             `json:"says,omitempty"`
}

// Broken reports whether the machines that were left were ended, or are.
func (s *Short) Broken() bool { return s != nil && s.EndedAt != 0 }

// State is what is recorded of a group.
type State struct {
	Least  int                // machines that have to run; 0: nothing is known of the group
	Places []solana.PublicKey // the leases of its places
	Short  *Short
}

// Options are how a group reaches its market and its record. All but Gone are required.
type Options struct {
	State func() State
	// Seen are the leases as far as they are known without asking, Fresh those that are on chain, and Closed is one that is not.
	Seen   func() []market.Lease
	Fresh  func(context.Context) ([]market.Lease, error)
	Closed func(context.Context, solana.PublicKey) (market.Lease, error)
	Now    func(context.Context) (int64, error) // the chain's time
	Start  int64                                // the market's start deadline, seconds
	Store  func(*Short) error                   // nil: enough run again
	// End ends the leases and orders of the group. It returns a sentence for each that cannot be ended yet.
	End func(context.Context) (left []string, err error)
	// Tell hears what changes; s is as it was stored.
	Tell func(m Muster, s *Short)
	// Gone are leases that are known to be closed, by their addresses; the group adds to them. Nil for none.
	Gone map[solana.PublicKey]market.Lease
}

// Group is a group of machines of which some number has to run.
type Group struct {
	o    Options
	last Muster
}

// Last is what the last look counted. It is for the caller of Look and Keep.
func (g *Group) Last() Muster { return g.last }

// New is a group.
func New(o Options) *Group {
	if o.Gone == nil {
		o.Gone = map[solana.PublicKey]market.Lease{}
	}
	return &Group{o: o}
}

// Verdict is what a look at a group has found.
type Verdict uint8

// The verdicts.
const (
	Enough  Verdict = iota // or no lease is left to end
	TooFew                 // or it is not known whether enough run
	AllOver                // all leases of the group are ended
)

// Look counts the machines. Where too few have run for too long, it ends all leases of the group. An error ends nothing.
func (g *Group) Look(ctx context.Context) (Verdict, error) {
	st := g.o.State()
	if st.Least == 0 {
		return Enough, nil
	}
	if st.Short.Broken() { // a program before has decided that
		return g.end(ctx)
	}
	if g.last = Count(st.Least, g.withClosed(st.Places, g.o.Seen())); st.Short == nil && !g.last.Short {
		return Enough, nil
	}
	leases, err := g.all(ctx, st.Places)
	if err != nil {
		return TooFew, err
	}
	now, err := g.o.Now(ctx)
	if err != nil {
		return TooFew, err
	}
	m := Count(st.Least, leases)
	g.last = m
	switch was := st.Short; {
	case m.Enough() && was == nil:
		return Enough, nil
	case m.Enough():
		return Enough, g.store(m, nil)
	case was == nil || was.Since < m.Since: // or enough ran in between
		// A loss may be known late: then the machine that takes over has the time to start.
		return TooFew, g.store(m, &Short{Since: m.Since, Until: max(m.Since+starts*g.o.Start, now+g.o.Start)})
	case now < was.Until:
		return TooFew, nil
	default:
		s := *was
		s.EndedAt = now
		s.Says = fmt.Sprintf("too few machines ran for %s: %d, and the group needs %d; the others were ended", time.Duration(now-s.Since)*time.Second, m.Running, st.Least)
		for i := range leases {
			if live(&leases[i]) {
				s.Leases = append(s.Leases, leases[i].Address)
			}
		}
		if err := g.store(m, &s); err != nil { // before anything ends: who comes after a crash goes on
			return TooFew, err
		}
		return g.end(ctx)
	}
}

func (g *Group) store(m Muster, s *Short) error {
	err := g.o.Store(s)
	if err == nil {
		g.o.Tell(m, s)
	}
	return err
}

// end ends all leases of the group.
func (g *Group) end(ctx context.Context) (Verdict, error) {
	left, err := g.o.End(ctx)
	if err == nil && len(left) > 0 {
		err = errors.New(left[0])
	}
	if err != nil {
		return TooFew, fmt.Errorf("some leases of the group are not ended yet: %w", err)
	}
	return AllOver, nil
}

// all are the leases on chain, and those of places whose lease is closed.
func (g *Group) all(ctx context.Context, places []solana.PublicKey) ([]market.Lease, error) {
	leases, err := g.o.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		if _, closed := g.o.Gone[p]; closed || has(leases, p) {
			continue
		}
		l, err := g.o.Closed(ctx, p)
		if err != nil {
			return nil, err
		}
		g.o.Gone[p] = l
	}
	return g.withClosed(places, leases), nil
}

// withClosed are leases on chain, and those of places whose lease is known to be closed.
func (g *Group) withClosed(places []solana.PublicKey, leases []market.Lease) []market.Lease {
	for _, p := range places {
		if l, closed := g.o.Gone[p]; closed && !has(leases, p) {
			leases = append(leases, l)
		}
	}
	return leases
}

func has(leases []market.Lease, address solana.PublicKey) bool {
	return slices.ContainsFunc(leases, func(l market.Lease) bool { return l.Address == address })
}

// Keep looks at the group again and again until its machines are ended or ctx ends, and where settled says so, until enough run. An error
// is told once.
func (g *Group) Keep(ctx context.Context, settled bool, failed func(error)) Verdict {
	said := ""
	for {
		v, err := g.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return TooFew
		case err != nil && err.Error() != said:
			said = err.Error()
			failed(err)
		case err != nil:
		case v == AllOver || settled && v == Enough:
			return v
		}
		if wait.For(ctx, Every) != nil {
			return TooFew
		}
	}
}
