package watch_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/watch"
)

// tells has an endpoint say at which slot it is. One that runs grows by a slot with each question.
func (l *ledger) tells(runs bool) {
	l.srv.Handle("getSlot", func([]json.RawMessage) (any, *fakerpc.Error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if runs {
			l.slot++
		}
		return l.slot, nil
	})
}

// far is a slot that no cluster reaches.
const far = 4_000_000_000

// among is a watcher with these endpoints, the first of which lies about the slot, and says that account 1 holds "lie".
func among(t *testing.T, sole time.Duration, all ...*ledger) (*consumer, *logs) {
	var eps []chain.Endpoint
	for i, l := range all {
		l.put(key(1), "a")
		if i == 0 {
			l.slot, l.data[key(1)] = far, "lie"
		}
		l.tells(true)
		eps = append(eps, chain.Endpoint{RPC: l.srv.URL(), WS: l.srv.WS()})
	}
	c, err := chain.New(chain.Options{Endpoints: eps, Timeout: 2 * time.Second})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	said := new(logs)
	w, err := watch.New(watch.Options{Client: c, Program: program, Resnapshot: -1, SoleWord: sole, Log: zerolog.New(said)})
	require.NoError(t, err)
	return all[0].run(t, w), said
}

func (c *consumer) holds(t *testing.T, want string) {
	t.Helper()
	require.Eventually(t, func() bool {
		got, ok := c.store.Get(key(1))
		return ok && got == want
	}, 20*time.Second, 5*time.Millisecond)
}

// An endpoint that names a slot far ahead, while no other answers, and then goes away: what two others agree on counts.
func TestTwoEndpointsBringASlotBack(t *testing.T) {
	t.Parallel()
	liar, a, b := newLedger(t), newLedger(t), newLedger(t)
	a.srv.Down(true)
	b.srv.Down(true)
	c, said := among(t, time.Hour, liar, a, b)
	c.holds(t, "lie")
	require.Greater(t, c.w.Status().Slot, uint64(far)-1)
	liar.srv.Down(true)
	a.srv.Down(false)
	b.srv.Down(false)
	c.holds(t, "a")
	require.Less(t, c.w.Status().Slot, uint64(2000))
	require.Equal(t, 1, said.count("no endpoint knows"))
	for _, l := range []*ledger{a, b} {
		l.put(key(1), "next")
	}
	c.holds(t, "next")
}

// What a single endpoint says counts when it has said it for a while, and its slots grow.
func TestOneEndpointBringsASlotBack(t *testing.T) {
	t.Parallel()
	liar, a := newLedger(t), newLedger(t)
	a.srv.Down(true)
	c, _ := among(t, time.Second, liar, a)
	c.holds(t, "lie")
	liar.srv.Down(true)
	a.srv.Down(false)
	began := time.Now()
	c.holds(t, "a")
	require.Greater(t, time.Since(began), time.Second)
}

// An endpoint whose slots do not grow is one that hangs: it brings nothing back.
func TestAnEndpointThatHangsBringsNothingBack(t *testing.T) {
	t.Parallel()
	ahead, hangs := newLedger(t), newLedger(t)
	hangs.srv.Down(true)
	c, _ := among(t, 500*time.Millisecond, ahead, hangs)
	c.holds(t, "lie")
	hangs.tells(false)
	ahead.srv.Down(true)
	hangs.srv.Down(false)
	c.quiet(t, 3*time.Second)
	ahead.srv.Down(false)
	require.Eventually(t, func() bool { return c.w.Status().Connected }, 20*time.Second, 5*time.Millisecond)
	c.quiet(t, 100*time.Millisecond)
}

// As long as two others answer, one endpoint's slot far ahead is not believed at all.
func TestAMajorityKnowsTheSlot(t *testing.T) {
	t.Parallel()
	liar, a, b := newLedger(t), newLedger(t), newLedger(t)
	c, _ := among(t, time.Hour, liar, a, b)
	c.holds(t, "a")
	require.Less(t, c.w.Status().Slot, uint64(2000))
	c.exactly(t, "1 a")
}
