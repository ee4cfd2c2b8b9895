package group

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// mate is a lease that was awarded at 50 and started at 60.
func mate(n byte, status market.LeaseStatus) market.Lease {
	l := market.Lease{Meta: market.Meta{Address: solana.PublicKey{n}}}
	l.Lease.Order, l.Lease.Status, l.AwardedAt, l.StartedAt, l.FundedUntil = solana.PublicKey{9}, uint8(status), 50, 60, 100_000
	if status == market.LeaseAwarded {
		l.StartedAt = 0
	}
	return l
}

func ended(n byte, why market.EndReason, at int64) market.Lease {
	l := mate(n, market.LeaseEnded)
	l.EndReason, l.EndedAt = uint8(why), at
	return l
}

// failed is a lease that another machine may take over.
func failed(n byte, at int64) market.Lease {
	l := mate(n, market.LeaseFailed)
	l.EndedAt, l.MayMigrate = at, 1
	return l
}

func TestHowManyMachinesOfAGroupRun(t *testing.T) {
	runs := func(n byte) market.Lease { return mate(n, market.LeaseRunning) }
	replaced := runs(4)
	replaced.StartedAt, replaced.Continues = 900, 1
	for name, c := range map[string]struct {
		leases []market.Lease
		since  int64
		live   bool
	}{
		"all run":                         {[]market.Lease{runs(1), runs(2), runs(3)}, 0, true},
		"one has failed":                  {[]market.Lease{runs(1), runs(2), failed(3, 500)}, 0, true},
		"two have failed":                 {[]market.Lease{runs(1), failed(2, 700), failed(3, 500)}, 700, true},
		"two have left":                   {[]market.Lease{runs(1), ended(2, market.EndedByProvider, 700), ended(3, market.EndedFailed, 500)}, 700, true},
		"their customer has stopped two":  {[]market.Lease{runs(1), ended(2, market.EndedByCustomer, 700), ended(3, market.EndedByCustomer, 500)}, 700, true},
		"one never ran, and is closed":    {[]market.Lease{runs(1), func() market.Lease { l := ended(2, 0, 0); l.AwardedAt, l.StartedAt = 0, 0; return l }()}, 50, true},
		"one was replaced":                {[]market.Lease{runs(1), ended(2, market.EndedFailed, 700), ended(3, market.EndedFailed, 500), replaced}, 0, true},
		"one that was replaced, and left": {[]market.Lease{runs(1), ended(2, market.EndedFailed, 700), ended(3, market.EndedFailed, 500), func() market.Lease { l := replaced; l.Status, l.EndedAt = uint8(market.LeaseFailed), 950; return l }()}, 950, true},
		"a replacement starts":            {[]market.Lease{runs(1), ended(2, market.EndedFailed, 700), ended(3, market.EndedFailed, 500), mate(4, market.LeaseAwarded)}, 700, true},
		"two jobs are done":               {[]market.Lease{runs(1), ended(2, market.EndedJobDone, 700), ended(3, market.EndedJobDone, 500)}, 0, true},
		"one job is done, one failed":     {[]market.Lease{runs(1), ended(2, market.EndedJobDone, 700), failed(3, 500)}, 0, true},
		"the time of two is over":         {[]market.Lease{runs(1), ended(2, market.EndedUnfunded, 700), ended(3, market.EndedUnfunded, 500)}, 0, true},
		"all have failed":                 {[]market.Lease{failed(1, 400), failed(2, 700), failed(3, 500)}, 500, true},
		"all are over":                    {[]market.Lease{ended(1, market.EndedFailed, 400), ended(2, market.EndedByCustomer, 700), ended(3, market.EndedFailed, 500)}, 500, false},
		"enough never ran":                {[]market.Lease{runs(1), mate(2, market.LeaseAwarded), mate(3, market.LeaseAwarded)}, 50, true},
	} {
		m := Count(2, c.leases)
		require.Equal(t, c.since, m.Since, name)
		require.Equal(t, c.live, m.Live, name)
	}
}

// fakeGroup is a group of three machines of which two have to run, with a market, a record and a clock of a test.
type fakeGroup struct {
	*Group
	st       State
	leases   []market.Lease // on chain
	history  map[solana.PublicKey]market.Lease
	at       int64
	err      error
	ends     int
	left     []string
	said     []string
	recorded []Short // when the end began
}

func newFakeGroup() *fakeGroup {
	f := &fakeGroup{at: 1000, history: map[solana.PublicKey]market.Lease{}, st: State{Least: 2}}
	for n := byte(1); n <= 3; n++ {
		f.leases = append(f.leases, mate(n, market.LeaseRunning))
		f.st.Places = append(f.st.Places, solana.PublicKey{n})
	}
	f.restart()
	return f
}

// restart is what a program that starts again knows: the record.
func (f *fakeGroup) restart() {
	f.Group = New(Options{
		State: func() State { return f.st },
		Seen:  func() []market.Lease { return f.leases },
		Fresh: func(context.Context) ([]market.Lease, error) { return f.leases, f.err },
		Closed: func(_ context.Context, l solana.PublicKey) (market.Lease, error) {
			if gone, ok := f.history[l]; ok {
				return gone, nil
			}
			return market.Lease{}, chain.ErrUnreadable
		},
		Now: func(context.Context) (int64, error) { return f.at, nil }, Start: 60,
		Store: func(s *Short) error { f.st.Short = s; return nil },
		End: func(context.Context) ([]string, error) {
			f.ends++
			f.recorded = append(f.recorded, *f.st.Short)
			return f.left, nil
		},
		Tell: func(m Muster, s *Short) {
			f.said = append(f.said, fmt.Sprint(m.Running, " ", s != nil, " ", s.Broken()))
		},
	})
}

func (f *fakeGroup) looks(t *testing.T, want Verdict) {
	t.Helper()
	got, err := f.Look(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Two of three machines fail, and nobody takes their place: the third is ended when the time is over, and the record says why. A program
// that starts in between continues from the record.
func TestAGroupWithTooFewMachinesIsEnded(t *testing.T) {
	f := newFakeGroup()
	f.looks(t, Enough)
	f.leases[1] = failed(2, 990)
	f.looks(t, Enough)
	require.Nil(t, f.st.Short)
	f.leases[2] = failed(3, 995)
	f.looks(t, TooFew)
	require.Equal(t, &Short{Since: 995, Until: 995 + 5*60}, f.st.Short)
	for _, f.at = range []int64{1001, 1294} {
		f.restart()
		f.looks(t, TooFew)
	}
	require.Zero(t, f.ends)
	f.restart()
	f.at, f.left = 1295, []string{"node-0 starts"}
	_, err := f.Look(t.Context())
	require.ErrorContains(t, err, "node-0 starts")
	require.Equal(t, "too few machines ran for 5m0s: 1, and the group needs 2; the others were ended", f.recorded[0].Says)
	require.EqualValues(t, 1295, f.recorded[0].EndedAt, "it is recorded before anything ends")
	require.Equal(t, []solana.PublicKey{{1}, {2}, {3}}, f.recorded[0].Leases, "another machine must not take over those that failed")
	f.restart() // it was killed: what was decided is done, whatever runs now
	f.leases, f.left, f.err = []market.Lease{mate(1, market.LeaseRunning), mate(2, market.LeaseRunning), mate(3, market.LeaseRunning)}, nil, errors.New("no answer")
	f.looks(t, AllOver)
	require.Equal(t, 2, f.ends)
	require.Equal(t, []string{"1 true false", "1 true true"}, f.said)
}

// A group that has what it needs is never ended, whatever a node of the chain answers.
func TestAGroupThatIsWholeIsNotEnded(t *testing.T) {
	t.Run("the chain cannot be read, or is read from a node that lags", func(t *testing.T) {
		f := newFakeGroup()
		f.o.Seen = func() []market.Lease { return f.leases[:1] } // the view has lost two
		for _, f.err = range []error{errors.New("no answer"), ErrLags} {
			f.at += 10_000
			_, err := f.Look(t.Context())
			require.ErrorIs(t, err, f.err)
		}
		require.Nil(t, f.st.Short)
	})
	t.Run("a node answers with no leases at all", func(t *testing.T) {
		f := newFakeGroup()
		f.o.Fresh = func(context.Context) ([]market.Lease, error) { return nil, nil }
		f.st.Short = &Short{Since: 1, Until: 2}
		_, err := f.Look(t.Context())
		require.ErrorIs(t, err, chain.ErrUnreadable, "no history says that they are over")
		require.Zero(t, f.ends)
	})
	t.Run("a read error while it is short", func(t *testing.T) {
		f := newFakeGroup()
		f.leases[1], f.leases[2] = failed(2, 990), failed(3, 990)
		f.looks(t, TooFew)
		f.at, f.err = 5000, errors.New("no answer")
		_, err := f.Look(t.Context())
		require.Error(t, err)
		require.Zero(t, f.ends)
	})
	t.Run("a machine takes the place in time", func(t *testing.T) {
		f := newFakeGroup()
		f.leases[1], f.leases[2] = failed(2, 990), failed(3, 990)
		f.looks(t, TooFew)
		next := mate(4, market.LeaseRunning)
		next.StartedAt = 1280
		f.leases[1], f.at = ended(2, market.EndedFailed, 990), 1289
		f.leases = append(f.leases, next)
		f.st.Places[1] = next.Address
		f.looks(t, Enough)
		require.Nil(t, f.st.Short)
		require.Equal(t, "2 false false", f.said[1])
		f.at = 9000
		f.looks(t, Enough)
	})
	t.Run("it was whole in between, while no program looked", func(t *testing.T) {
		f := newFakeGroup()
		f.st.Short = &Short{Since: 200, Until: 500}
		f.leases[1], f.leases[2] = failed(2, 990), failed(3, 200)
		next := mate(4, market.LeaseRunning)
		next.StartedAt, next.Status, next.EndedAt = 300, uint8(market.LeaseFailed), 999
		f.leases = append(f.leases, next)
		f.looks(t, TooFew)
		require.Equal(t, &Short{Since: 999, Until: 1299}, f.st.Short)
	})
	t.Run("a loss that is known late leaves time for the next machine", func(t *testing.T) {
		f := newFakeGroup()
		f.at = 9000
		f.leases[1], f.leases[2] = failed(2, 990), failed(3, 990)
		f.looks(t, TooFew)
		require.EqualValues(t, 9060, f.st.Short.Until)
	})
	t.Run("jobs that are done", func(t *testing.T) {
		f := newFakeGroup()
		for i, left := range []int{2, 1, 0} {
			f.leases[i] = ended(byte(i+1), market.EndedJobDone, f.at)
			f.at += 10_000
			f.looks(t, Enough)
			require.Nil(t, f.st.Short, "%d run", left)
		}
	})
	t.Run("jobs that are done and closed", func(t *testing.T) {
		f := newFakeGroup()
		f.history[solana.PublicKey{1}], f.history[solana.PublicKey{2}] = ended(1, market.EndedJobDone, 700), ended(2, market.EndedUnfunded, 800)
		f.leases = f.leases[2:]
		for range 3 {
			f.looks(t, Enough)
			f.at += 10_000
		}
		require.Nil(t, f.st.Short)
		require.Zero(t, f.ends)
	})
	t.Run("two jobs are done, one is lost, and all leases are closed", func(t *testing.T) {
		f := newFakeGroup()
		f.history[solana.PublicKey{1}], f.history[solana.PublicKey{2}], f.history[solana.PublicKey{3}] = ended(1, market.EndedJobDone, 700), ended(2, market.EndedJobDone, 800), ended(3, market.EndedFailed, 600)
		f.leases = nil
		f.looks(t, Enough)
		require.False(t, f.Last().Short)
		never := ended(2, 0, 0)
		never.AwardedAt, never.StartedAt = 0, 0
		f.history[solana.PublicKey{2}] = never
		f.restart()
		f.looks(t, Enough)
		require.True(t, f.Last().Short, "it is over without enough")
		require.Zero(t, f.ends)
	})
	t.Run("its customer has ended all", func(t *testing.T) {
		f := newFakeGroup()
		for i := range f.leases {
			f.leases[i] = ended(byte(i+1), market.EndedByCustomer, 990)
		}
		f.at = 9000
		f.looks(t, Enough)
		require.Zero(t, f.ends)
	})
}

// A node that is behind the others says nothing about a group.
func TestLeasesOfAGroupAreNotReadFromANodeThatLags(t *testing.T) {
	slots := map[bool]uint64{false: 1000, true: 1000}
	serve := func(ahead bool) *fakerpc.Server {
		s := fakerpc.New(t)
		s.Handle("getSlot", func([]json.RawMessage) (any, *fakerpc.Error) { return slots[ahead], nil })
		s.Handle("getProgramAccounts", func([]json.RawMessage) (any, *fakerpc.Error) {
			l := mate(1, market.LeaseRunning).Lease
			l.Version = market.LayoutVersion
			raw, err := l.Marshal()
			require.NoError(t, err)
			data := []string{base64.StdEncoding.EncodeToString(append(bindings.Account_Lease[:], raw...)), "base64"}
			account := map[string]any{"lamports": 1, "owner": market.ProgramID, "executable": false, "data": data}
			return map[string]any{"context": map[string]any{"slot": 1000}, "value": []any{map[string]any{"pubkey": solana.PublicKey{1}, "account": account}}}, nil
		})
		s.Handle("getMultipleAccounts", func(p []json.RawMessage) (any, *fakerpc.Error) {
			var keys []solana.PublicKey
			_ = json.Unmarshal(p[0], &keys)
			return map[string]any{"context": map[string]any{"slot": 1000}, "value": make([]any, len(keys))}, nil
		})
		return s
	}
	one, other := serve(false), serve(true)
	client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: one.URL(), WS: one.WS()}, {RPC: other.URL(), WS: other.WS()}}})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	orders := []solana.PublicKey{{9}}
	leases, err := Leases(t.Context(), client, orders)
	require.NoError(t, err)
	require.Len(t, leases, 1)
	slots[true] = 1033
	_, err = Leases(t.Context(), client, orders)
	require.ErrorIs(t, err, ErrLags)
}
