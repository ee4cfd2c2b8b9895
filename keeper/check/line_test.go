package check

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/line"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// liner says what became of checks of lines, and counts them.
type liner struct {
	says func(n line.Node, at instant.Instant) line.Result

	mu    sync.Mutex
	asked []instant.Instant
}

func (m *liner) Measure(_ context.Context, n line.Node, at instant.Instant) line.Result {
	m.mu.Lock()
	m.asked = append(m.asked, at)
	m.mu.Unlock()
	return m.says(n, at)
}

// lining is a checker that measures lines, in windows whose node is drawn first in a period of the test's choice.
type lining struct {
	*leasing
	liner *liner
	tasks []func()
	// known says which instants this keeper can read.
	known func(records.Period) bool
}

// instantOf is an instant of a period that draws the node, or does not.
func (l *lining) instantOf(p records.Period, draws bool) instant.Instant {
	for i := uint64(0); ; i++ {
		at := instant.Instant{
			Period: p, At: time.Unix(int64(p)*3600, 0), Slot: 100,
			Seed: sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("seed"), i)),
		}
		if at.DrawsLine(l.what.node.Address, 3600) == draws {
			return at
		}
	}
}

// newLining is a keeper in the period before the one that draws the node first, the third of a window.
func newLining(t *testing.T, says func(line.Node, instant.Instant) line.Result) *lining {
	l := &lining{leasing: newLeasing(t, 3600, 0.2), liner: &liner{says: says}, known: func(records.Period) bool { return true }}
	window := instant.WindowOf(l.drawn.Period, 3600)
	require.Equal(t, l.drawn.Period, window+8, "the fixture's period")
	l.now = time.Unix(int64(window+1)*3600, 0)
	l.says = refusing("not at hand")
	o := l.o
	o.Line, o.Tasks = l.liner, inTurn{passing{now: &l.now}, &l.tasks}
	o.Instants = func(p records.Period) (instant.Instant, bool) {
		return l.instantOf(p, p >= window+2), l.known(p)
	}
	c, err := NewChecker(o)
	require.NoError(t, err)
	l.Checker = c
	return l
}

// inTurn runs tasks one after the other, when it is asked to.
type inTurn struct {
	passing
	tasks *[]func()
}

func (r inTurn) Go(f func()) { *r.tasks = append(*r.tasks, f) }

// hour makes the checks of an hour.
func (l *lining) hour(t *testing.T) {
	t.Helper()
	for range 360 {
		l.Tick(t.Context())
		for len(l.tasks) > 0 {
			f := l.tasks[0]
			l.tasks = l.tasks[1:]
			f()
		}
		l.now = l.now.Add(10 * time.Second)
	}
}

func (l *lining) lines() (out []Finding) {
	for _, f := range l.got.all {
		if f.Kind == records.CheckNetwork {
			out = append(out, f)
		}
	}
	return out
}

func moves(line.Node, instant.Instant) line.Result {
	return line.Result{Outcome: line.Measured, Down: 900, Up: 400}
}

func declines(why messages.LineRefusal) func(line.Node, instant.Instant) line.Result {
	return func(line.Node, instant.Instant) line.Result {
		return line.Result{Outcome: line.Refused, Refused: why, Why: &line.RefusedError{Why: why}}
	}
}

// A node's line is measured once in a window, when it is first drawn.
func TestALineIsMeasuredOnceAWindow(t *testing.T) {
	l := newLining(t, moves)
	l.hour(t)
	require.Empty(t, l.liner.asked, "not drawn")
	for range 8 {
		l.hour(t)
	}
	got := l.lines()
	require.Len(t, got, 1)
	require.True(t, got[0].Passed)
	require.Equal(t, records.Figures{First: 900, Second: 400}, got[0].Figures)
	require.Equal(t, instant.WindowOf(l.drawn.Period, 3600)+2, got[0].Period)
	require.Len(t, l.liner.asked, 1)
	s := records.CheckStatement{Node: got[0].Node, Kind: got[0].Kind, Passed: true, Figures: got[0].Figures, Period: got[0].Period}
	require.NoError(t, s.Validate())
}

// A keeper that starts in the middle of a period may have measured in it already: it waits for the next.
func TestAKeeperThatStartsMeasuresNoLine(t *testing.T) {
	l := newLining(t, moves)
	l.now = l.now.Add(time.Hour)
	l.hour(t)
	require.Empty(t, l.liner.asked)
}

// What draws before this one cannot be read is not taken for none.
func TestUnknownInstantsMeasureNoLine(t *testing.T) {
	l := newLining(t, moves)
	first := instant.WindowOf(l.drawn.Period, 3600)
	l.known = func(p records.Period) bool { return p != first }
	l.hour(t)
	l.hour(t)
	require.Empty(t, l.liner.asked)
}

// What a node puts off is made again; a node that only puts off, or refuses, has the least figure, but one with a lease has none.
func TestWhatBecameOfALine(t *testing.T) {
	least := records.Figures{First: 1, Second: 1}
	for name, c := range map[string]struct {
		says   func(line.Node, instant.Instant) line.Result
		before func(l *lining)
		asked  int
		want   []records.Figures
	}{
		"measured":           {says: moves, asked: 1, want: []records.Figures{{First: 900, Second: 400}}},
		"refused":            {says: declines(messages.LineSpent), asked: 1, want: []records.Figures{least}},
		"no reason":          {says: declines(0), asked: 1, want: []records.Figures{least}},
		"busy without end":   {says: declines(messages.LineBusy), asked: lineTries, want: []records.Figures{least}},
		"unready":            {says: declines(messages.LineUnready), asked: lineTries, want: []records.Figures{least}},
		"a lease that is no": {says: declines(messages.LineLease), asked: lineTries, want: []records.Figures{least}},
		"a lease":            {says: moves, before: func(l *lining) { l.leases(600, live) }},
		"not reached":        {says: func(line.Node, instant.Instant) line.Result { return line.Result{} }, asked: lineLosses},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLining(t, c.says)
			l.hour(t)
			if c.before != nil {
				c.before(l)
			}
			l.hour(t)
			var got []records.Figures
			for _, f := range l.lines() {
				require.True(t, f.Passed)
				got = append(got, f.Figures)
			}
			require.Equal(t, c.want, got)
			require.Len(t, l.liner.asked, c.asked)
		})
	}
}

// A lease that begins after the node has said so excuses it.
func TestALeaseThatTheKeeperSeesLateExcusesALine(t *testing.T) {
	l := newLining(t, declines(messages.LineLease))
	says := l.liner.says
	l.liner.says = func(n line.Node, at instant.Instant) line.Result {
		if len(l.liner.asked) == 2 {
			l.leases(60, live)
		}
		return says(n, at)
	}
	l.hour(t)
	l.hour(t)
	require.Empty(t, l.lines())
	require.Len(t, l.liner.asked, 2)
}

// Two lines at once would be measured too low: one is begun when the one before is over.
func TestOneLineAtATime(t *testing.T) {
	l := newLining(t, moves)
	other := *l.what.node
	other.Address[0]++
	l.o.View.Put(other.Address, &other)
	l.hour(t)
	running, most := 0, 0
	l.liner.says = func(n line.Node, at instant.Instant) line.Result {
		running++
		most = max(most, running)
		l.Tick(t.Context())
		running--
		return moves(n, at)
	}
	for range 22 {
		l.hour(t)
	}
	require.Equal(t, 1, most)
	nodes := map[solana.PublicKey]bool{}
	for _, f := range l.lines() {
		nodes[f.Node] = true
	}
	require.Len(t, nodes, 2)
}
