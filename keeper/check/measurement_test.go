package check

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/measure"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/market/ix"
	asking "github.com/gantry-market/gantry/sdk/measure"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// measurer says what became of measurements, and remembers what was asked.
type measurer struct {
	says func(n measure.Node, at instant.Instant) measure.Result

	mu    sync.Mutex
	asked []measure.Node
	saw   []time.Time
}

func (m *measurer) Measure(_ context.Context, n measure.Node, at instant.Instant, saw time.Time) measure.Result {
	m.mu.Lock()
	m.asked, m.saw = append(m.asked, n), append(m.saw, saw)
	m.mu.Unlock()
	return m.says(n, at)
}

var testProfile = bindings.MeasureProfile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1000, Resident: 16, WalkMs: 500, Lanes: 16}

// newMeasuring is a checker that measures its node, at an instant that is there at once.
func newMeasuring(t *testing.T, says func(n measure.Node, at instant.Instant) measure.Result) (*leasing, *measurer) {
	l := newLeasing(t, 3600, 0.2)
	m := &measurer{says: says}
	o := l.o
	o.Measure = m
	o.Steady = o.Now
	o.Instants = func(records.Period) (instant.Instant, bool) { return l.drawn, true }
	c, err := NewChecker(o)
	require.NoError(t, err)
	l.Checker = c
	model := *l.what.model
	model.Since, model.Profile = l.now.Unix()-5000, testProfile
	l.o.View.Put(solana.PublicKey{50}, &model)
	l.says = func(req messages.ChallengeRequest) messages.ChallengeResponse {
		require.NotEqual(t, messages.CheckWork, req.Kind, "work is measured, and not asked for")
		return refusing("an inventory is not at hand")(req)
	}
	return l, m
}

// worked is what was found of the node's work.
func (l *leasing) worked() (out []Finding) {
	l.wg.Wait()
	for _, f := range l.got.all {
		if f.Kind == records.CheckWork {
			out = append(out, f)
		}
	}
	return out
}

func sayRefused(why messages.MeasureRefusal) func(measure.Node, instant.Instant) measure.Result {
	return func(measure.Node, instant.Instant) measure.Result {
		return measure.Result{Outcome: measure.Refused, Why: &measure.RefusedError{Why: why}}
	}
}

// sayUnopened says that the machine has signed a commitment, and refuses to open it.
func sayUnopened(why messages.MeasureRefusal) func(measure.Node, instant.Instant) measure.Result {
	return sayFailed(measure.Wrong, fmt.Errorf("%w: %w", asking.ErrUnopened, &measure.RefusedError{Why: why}))
}

func sayFailed(o measure.Outcome, why error) func(measure.Node, instant.Instant) measure.Result {
	return func(measure.Node, instant.Instant) measure.Result { return measure.Result{Outcome: o, Why: why} }
}

func sayMeasured(measure.Node, instant.Instant) measure.Result {
	return measure.Result{Outcome: measure.Measured, Figures: format.Figures{Operations: 1.2501e12, Memory: 1 << 24, Bandwidth: 1e9}}
}

// Every free node is measured once, at the period's instant, with all its GPUs, and asked for no work otherwise.
func TestEachFreeNodeIsMeasuredOnceAPeriod(t *testing.T) {
	l, m := newMeasuring(t, sayMeasured)
	for range 3 {
		l.Tick(t.Context())
		l.wg.Wait()
		l.now = l.now.Add(time.Second)
	}
	got := l.worked()
	require.Len(t, got, 1)
	require.True(t, got[0].Passed)
	require.Equal(t, records.Figures{First: 1_251, Second: 1_000}, got[0].Figures, "in 10⁹ and 10⁶ a second, rounded up")
	require.Equal(t, l.drawn.Period, got[0].Period)
	require.Len(t, m.asked, 1)
	require.Equal(t, measure.Node{Account: l.what.node.Address, Key: l.what.node.NodeKey, GPUs: []format.Asked{
		{GPU: 0, Profile: market.ProfileOf(testProfile)}, {GPU: 1, Profile: market.ProfileOf(testProfile)},
	}}, m.asked[0])
	require.Equal(t, l.drawn.At, m.saw[0], "the clock begins when the instant is known")

	l.now = l.now.Add(time.Hour)
	l.drawn = instant.Instant{Period: l.drawn.Period + 1, At: l.now, Slot: 9000, Seed: [32]byte{4}}
	l.Tick(t.Context())
	require.Len(t, l.worked(), 2, "and again in the next period")
}

// A keeper's clock may go back past the start of a period when its endpoint lags. A node that has opened a draw of a period
// refuses another one, so that the keeper must not measure it again.
func TestAClockThatGoesBackMeasuresNothingAgain(t *testing.T) {
	l, m := newMeasuring(t, sayMeasured)
	first := l.drawn
	second := instant.Instant{Period: first.Period + 1, At: first.At.Add(time.Hour), Slot: 9000, Seed: [32]byte{4}}
	for _, at := range []instant.Instant{first, second, first, second} {
		l.drawn, l.now = at, at.At
		l.Tick(t.Context())
		l.wg.Wait()
	}
	require.Len(t, l.worked(), 2)
	require.Len(t, m.asked, 2, "once for each of the two periods")
}

// A keeper notes whose process has computed: that of evidence of tier 3, or another.
// It holds finding B 3.
func TestTheGuestOfAMeasurementIsNoted(t *testing.T) {
	for name, own := range map[string][32]byte{"a guest": {7}, "none": {}} {
		l, _ := newMeasuring(t, func(n measure.Node, at instant.Instant) measure.Result {
			r := sayMeasured(n, at)
			r.Guest = own
			return r
		})
		j := &judge{}
		l.Checker.o.Evidence = j
		l.Tick(t.Context())
		require.Len(t, l.worked(), 1, name)
		require.Equal(t, [][32]byte{own}, j.guests, name)
	}
}

// What a node did itself fails it; what may be the network's doing, a lease's or this keeper's says nothing.
func TestWhatBecameOfAMeasurement(t *testing.T) {
	wrong := func(measure.Node, instant.Instant) measure.Result {
		return measure.Result{Outcome: measure.Wrong, Why: format.ErrCell}
	}
	for name, c := range map[string]struct {
		says   func(measure.Node, instant.Instant) measure.Result
		before func(l *leasing)
		want   string
	}{
		"no such protocol": {says: sayFailed(measure.Refused, p2p.ErrProtocol)},
		"measured":         {says: sayMeasured, want: "passed"},
		"wrong":            {says: wrong, want: "failed"},
		"refused":          {says: sayRefused(messages.MeasureUnready), want: "evaded"},
		"unknown": {says: func(measure.Node, instant.Instant) measure.Result {
			return measure.Result{Outcome: measure.Unknown, Why: asking.ErrLost}
		}},
		"another block":                          {says: sayRefused(messages.MeasureBlock)},
		"another block, after the commitment":    {says: sayUnopened(messages.MeasureBlock)},
		"another time":                           {says: sayRefused(messages.MeasureOver)},
		"too many other keepers":                 {says: sayRefused(messages.MeasureTooMany)},
		"a keeper that it does not know":         {says: sayFailed(measure.Refused, p2p.Refuse(p2p.CodeRefused, "not known"))},
		"another node":                           {says: sayFailed(measure.Refused, p2p.Refuse(p2p.CodeNotFound, "another node"))},
		"silence of the handler":                 {says: sayFailed(measure.Refused, p2p.Refuse(p2p.CodeUnavailable, "")), want: "evaded"},
		"unopened in silence":                    {says: sayFailed(measure.Wrong, asking.ErrUnopened), want: "failed"},
		"unopened for too many questions":        {says: sayUnopened(messages.MeasureTooMany), want: "failed"},
		"unopened for a broken GPU":              {says: sayUnopened(messages.MeasureFailed), want: "failed"},
		"unopened after a restart":               {says: sayUnopened(messages.MeasureOver)},
		"unopened for a lease that nobody knows": {says: sayUnopened(messages.MeasureLease), want: "failed"},
		"unopened for a lease that was over":     {says: sayUnopened(messages.MeasureLease), before: func(l *leasing) { l.leases(600, 1) }},
		"a lease that nobody knows":              {says: sayRefused(messages.MeasureLease), want: "evaded"},
		"a lease that was over":                  {says: sayRefused(messages.MeasureLease), before: func(l *leasing) { l.leases(600, 1) }},
		"a lease that was long over": {
			says: sayRefused(messages.MeasureLease), before: func(l *leasing) { l.leases(4000, 3000) }, want: "evaded",
		},
		"another refusal after a lease": {says: sayRefused(messages.MeasureUnready), before: func(l *leasing) { l.leases(600, 1) }, want: "evaded"},
		"leased":                        {says: wrong, before: func(l *leasing) { l.leases(600, live) }},
		"the terms have just changed": {says: wrong, before: func(l *leasing) {
			model := *l.what.model
			model.Since, model.Profile = l.drawn.At.Unix()-5, testProfile
			l.o.View.Put(solana.PublicKey{50}, &model)
		}},
		"the keeper is late": {says: wrong, before: func(l *leasing) { l.now = l.drawn.At.Add(31 * time.Second) }},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := newMeasuring(t, c.says)
			if c.before != nil {
				c.before(l)
			}
			l.Tick(t.Context())
			got := ""
			for _, f := range l.worked() {
				switch {
				case f.Passed:
					got += "passed"
				case f.Evaded:
					got += "evaded"
				default:
					got += "failed"
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}

// A lease that began before the node refused may reach this keeper a moment later, whether the node had committed or not.
func TestALeaseThatBeginsExcusesAMeasurement(t *testing.T) {
	for name, says := range map[string]func(measure.Node, instant.Instant) measure.Result{
		"refused": sayRefused(messages.MeasureLease), "unopened": sayUnopened(messages.MeasureLease),
	} {
		t.Run(name, func(t *testing.T) {
			var once sync.Once
			l, _ := newMeasuring(t, says)
			began := l.now
			l.o.Now = func() time.Time {
				if l.now.Sub(began) > 3*time.Second {
					once.Do(func() { l.leases(int64(l.now.Sub(began).Seconds()), live) })
				}
				return l.now
			}
			l.Tick(t.Context())
			require.Empty(t, l.worked())
			require.Greater(t, l.now.Sub(began), 3*time.Second, "it was waited for")
		})
	}
}

// A keeper whose endpoint has not reached the moment of a refusal does not know whether a lease had begun. Its copy of the
// market may be older than the endpoint's answers: the node's account decides, of the slot that has the time.
func TestAKeeperThatIsBehindJudgesNoLease(t *testing.T) {
	for name, c := range map[string]struct {
		behind time.Duration
		leased bool // in the account that the endpoint shows, and not in the copy
		err    error
		want   int
	}{
		"up to date":             {want: 1},
		"behind":                 {behind: time.Hour},
		"its copy is behind":     {leased: true},
		"both are":               {behind: time.Hour, leased: true},
		"its endpoint is silent": {err: errors.New("no answer")},
	} {
		for _, says := range []func(measure.Node, instant.Instant) measure.Result{sayRefused(messages.MeasureLease), sayUnopened(messages.MeasureLease)} {
			l, _ := newMeasuring(t, says)
			began := l.now.Unix() - 1
			l.o.NodeAt = func(_ context.Context, node solana.PublicKey) (*market.Node, time.Time, error) {
				require.Equal(t, l.what.node.Address, node)
				n := *l.what.node
				if c.leased {
					n.GpuMask, n.LiveLeases = 1<<n.Spec.Gpus-1, 1
					n.NoteFree(began)
				}
				return &n, l.now.Add(-c.behind), c.err
			}
			l.Tick(t.Context())
			require.Len(t, l.worked(), c.want, name)
		}
	}
}

// An agent that starts again has lost what it signed. That is excused once in a row of periods: a machine that restarts, or
// names another block, whenever a draw does not suit it has failed.
func TestARestartAfterTheCommitmentIsExcusedOnce(t *testing.T) {
	for _, why := range []messages.MeasureRefusal{messages.MeasureOver, messages.MeasureBlock} {
		t.Run(why.String(), func(t *testing.T) { excusedOnce(t, sayUnopened(why)) })
	}
}

func excusedOnce(t *testing.T, says func(measure.Node, instant.Instant) measure.Result) {
	t.Helper()
	l, _ := newMeasuring(t, says)
	next := func(periods int) {
		l.now = l.now.Add(time.Duration(periods) * time.Hour)
		l.drawn = instant.Instant{Period: l.drawn.Period + records.Period(periods), At: l.now, Slot: l.drawn.Slot + 9000, Seed: [32]byte{4}}
		l.Tick(t.Context())
	}
	l.Tick(t.Context())
	require.Empty(t, l.worked(), "the first time")
	next(1)
	require.Len(t, l.worked(), 1, "the next period")
	require.False(t, l.worked()[0].Passed)
	next(16)
	require.Len(t, l.worked(), 1, "much later")
}

// A wrong byte that the node has signed goes on chain, and then no statement is made; if that fails, there is a statement.
func TestAWrongByteIsProven(t *testing.T) {
	proof := &measure.Proof{
		Signed: format.Signed{Commitment: []byte("commitment"), Signature: make([]byte, 64), Entries: []format.Entry{{GPU: 0}, {GPU: 1, Rounds: 20}}},
		Entry:  1,
		Cell: &format.WrongCell{
			GPU: 1, LeafAt: format.LeafAt{Round: 3, Leaf: 5}, Group: 7, Before: format.Hash{8}, RoundPath: []format.Hash{{9}},
			LeafOpening: format.LeafOpening{Path: []format.Hash{{6}, {7}}},
		},
	}
	for _, stored := range []error{nil, errors.New("the disk is full")} {
		var sent []ix.WrongCell
		l, _ := newMeasuring(t, func(measure.Node, instant.Instant) measure.Result {
			return measure.Result{Outcome: measure.Wrong, Why: proof.Cell, Proof: proof}
		})
		l.o.ProveWrongCell = func(w ix.WrongCell) error { sent = append(sent, w); return stored }
		l.drawn.Tick, l.drawn.Hash = 4, [32]byte{5}
		l.Tick(t.Context())
		findings := l.worked()
		require.Len(t, sent, 1)
		w := sent[0]
		require.Equal(t, ix.InstantBlock{Period: uint64(l.drawn.Period), Tick: 4, Slot: l.drawn.Slot, Hash: [32]byte{5}}, w.Block)
		require.Equal(t, proof.Signed.Entries[1].Bytes(), w.Entry)
		require.Equal(t, []byte("commitment"), w.Commitment)
		require.Equal(t, []any{uint32(3), uint32(5), uint8(7)}, []any{w.Round, w.Leaf, w.Group})
		require.Equal(t, [][32]byte{{6}, {7}}, w.Path)
		require.Equal(t, [][32]byte{{9}}, w.RoundPath)
		if stored == nil {
			require.Empty(t, findings)
			continue
		}
		require.Len(t, findings, 1)
		require.False(t, findings[0].Passed)
		require.False(t, findings[0].Evaded)
	}
}

// Another keeper's failed measurement is not verified by asking again: its moment is over.
func TestAPeersFailedMeasurementIsNotRepeated(t *testing.T) {
	l, m := newMeasuring(t, sayMeasured)
	l.Tick(t.Context())
	l.wg.Wait()
	l.PeerFailure(solana.PublicKey{71}, records.CheckStatement{Node: l.what.node.Address, Period: l.drawn.Period, Kind: records.CheckWork})
	l.now = l.now.Add(10 * time.Minute)
	l.Tick(t.Context())
	l.wg.Wait()
	require.Len(t, m.asked, 1)
}
