package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func openEvents(t *testing.T, path string) *Events {
	t.Helper()
	e, err := OpenEvents(path, solana.PublicKey{1})
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// seenLease is a lease's account that says what; nothing for one that is gone.
func seenLease(key byte, what byte) sight {
	s := sight{address: solana.PublicKey{key}, event: Event{Kind: kindLease, Change: changeChanged, Address: solana.PublicKey{key}.String(), At: int64(what)}}
	if s.hash[0] = what; what == 0 {
		s.event.Change = changeGone
	} else {
		s.event.Lease = &service.Lease{Address: s.event.Address, PaidSecs: uint32(what)}
	}
	return s
}

// told are the numbers that events say, in their order.
func told(events []Event) (out []string) {
	for _, e := range events {
		out = append(out, fmt.Sprintf("%s %s %d", e.Address[:1], e.Change, e.At))
	}
	return out
}

// What is known is noted once, also by a server that runs later, and what went missing meanwhile is gone.
func TestEventsAreNotedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	e := openEvents(t, path)
	require.NoError(t, e.note(seenLease(1, 5), seenLease(2, 6), seenLease(1, 5)))
	require.NoError(t, e.note(seenLease(2, 6), seenLease(3, 0)))
	require.NoError(t, e.note(seenLease(2, 7)))
	require.NoError(t, e.Close())

	e = openEvents(t, path)
	gone, err := e.missing([]sight{seenLease(1, 5)}, 9)
	require.NoError(t, err)
	require.Len(t, gone, 1)
	require.Len(t, e.known(), 2)
	for range 2 {
		require.NoError(t, e.note(seenLease(1, 5)))
		require.NoError(t, e.note(gone...))
	}
	all, err := e.after(0, 100)
	require.NoError(t, err)
	require.Len(t, all, 4)
	require.Equal(t, []string{"changed 5", "changed 6", "changed 7", "gone 9"}, func() (out []string) {
		for _, s := range told(all) {
			out = append(out, s[2:])
		}
		return out
	}())
	require.Equal(t, kindLease, all[3].Kind)
	for i, ev := range all {
		n, ours := e.number(ev.ID)
		require.True(t, ours)
		require.EqualValues(t, i+1, n)
	}
	other := openEvents(t, filepath.Join(t.TempDir(), "events.db"))
	_, ours := other.number(all[0].ID)
	require.False(t, ours, "another file is another series")
}

// The oldest events go, and no more are kept than so many.
func TestEventsAreBounded(t *testing.T) {
	e := openEvents(t, filepath.Join(t.TempDir(), "events.db"))
	e.keep = 3
	for i := range byte(5) {
		require.NoError(t, e.note(seenLease(1, i+1)))
	}
	first, last, _ := e.bounds()
	require.EqualValues(t, 3, first)
	require.EqualValues(t, 5, last)
	all, err := e.after(0, 100)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.EqualValues(t, 3, all[0].At)
}

// eventsServer is a server with events, and a function that opens a stream of them.
func eventsServer(t *testing.T, e *Events) func(query, last string) (*http.Response, *bufio.Reader) {
	t.Helper()
	store := testStore(t)
	token, err := store.NewToken()
	require.NoError(t, err)
	l := httptest.NewServer(New(Options{Store: store, Events: e, Log: zerolog.Nop()}))
	t.Cleanup(l.Close)
	return func(query, last string) (*http.Response, *bufio.Reader) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.URL+eventsPath+query, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = res.Body.Close() })
		return res, bufio.NewReader(res.Body)
	}
}

// A stream that breaks off behind any event goes on behind it, on a server that has opened the file anew, and shows what
// comes later.
func TestEventsResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	e := openEvents(t, path)
	for i := range byte(4) {
		require.NoError(t, e.note(seenLease(i+1, i+1)))
	}
	last, query := "", "?after=0"
	for want := int64(1); want <= 4; want++ {
		require.NoError(t, e.Close())
		e = openEvents(t, path)
		_, b := eventsServer(t, e)(query, last)
		ready, ok := nextEvent(b)
		require.True(t, ok)
		require.Equal(t, "ready", ready.kind)
		got, ok := nextEvent(b)
		require.True(t, ok)
		require.Equal(t, kindLease, got.kind)
		var ev Event
		require.NoError(t, json.Unmarshal([]byte(got.data), &ev))
		require.Equal(t, want, ev.At)
		require.EqualValues(t, want, ev.Lease.PaidSecs)
		require.Equal(t, got.id, ev.ID)
		last, query = got.id, ""
	}
	get := eventsServer(t, e)
	for _, from := range []string{last, ""} { // behind the last one, and from now on
		_, b := get("", from)
		ready, _ := nextEvent(b)
		require.Equal(t, last, ready.id)
	}
	_, b := get("", "")
	ready, _ := nextEvent(b)
	require.Equal(t, "ready", ready.kind)
	require.NoError(t, e.note(seenLease(9, 9)))
	got, ok := nextEvent(b)
	require.True(t, ok)
	require.Contains(t, got.data, `"at":9`)
}

// Events that are not kept are a gap, which says what to do; the stream goes on with what comes.
func TestEventsSayWhatIsMissing(t *testing.T) {
	e := openEvents(t, filepath.Join(t.TempDir(), "events.db"))
	e.keep = 2
	for i := range byte(5) {
		require.NoError(t, e.note(seenLease(1, i+1)))
	}
	get := eventsServer(t, e)
	for _, last := range []string{e.id(2), e.id(6), "0123456789abcdef-4"} {
		_, b := get("", last)
		gap, ok := nextEvent(b)
		require.True(t, ok)
		require.Equal(t, "gap", gap.kind, last)
		require.Equal(t, e.id(5), gap.id)
		require.Contains(t, gap.data, "/v1/leases")
	}
	for _, last := range []string{e.id(3), e.id(5)} {
		_, b := get("", last)
		ready, _ := nextEvent(b)
		require.Equal(t, "ready", ready.kind, last)
	}
	for _, query := range []string{"?after=x", "?after=1", "?after=0123456789abcdef-99999999999999999999"} {
		res, _ := get(query, "")
		if res.StatusCode != http.StatusUnprocessableEntity {
			_, b := get(query, "")
			gap, _ := nextEvent(b)
			require.Equal(t, "gap", gap.kind, query)
		}
	}
}

// What a server that starts does not see is gone only if the account says so: the list of its endpoint may be empty.
func TestAnEmptyListAnnouncesNothingGone(t *testing.T) {
	e := openEvents(t, filepath.Join(t.TempDir(), "events.db"))
	require.NoError(t, e.note(seenLease(1, 5), seenLease(2, 6)))
	closed := seenLease(2, 6).address
	srv := fakerpc.New(t)
	srv.Handle("getMultipleAccounts", func(p []json.RawMessage) (any, *fakerpc.Error) {
		var keys []solana.PublicKey
		_ = json.Unmarshal(p[0], &keys)
		out := make([]any, len(keys))
		for i, k := range keys {
			if k != closed {
				out[i] = map[string]any{"lamports": 1, "owner": market.ProgramID, "executable": false, "data": []string{"", "base64"}}
			}
		}
		return map[string]any{"context": map[string]any{"slot": 7}, "value": out}, nil
	})
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: srv.URL(), WS: srv.WS()}}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s := New(Options{Service: service.New(c, zerolog.Nop()), Store: testStore(t), Events: e, Customer: benchCustomer, Log: zerolog.Nop()})
	f := &feed{s: s, v: view.New(view.Options{}), now: time.Now}
	require.NoError(t, f.all(t.Context()))
	after, err := e.after(2, 100)
	require.NoError(t, err)
	require.Len(t, after, 1)
	require.Equal(t, closed.String(), after[0].Address)

	// As long as nobody answers, nothing is said.
	require.NoError(t, e.note(seenLease(2, 6)))
	srv.Down(true)
	require.Error(t, f.all(t.Context()))
	_, last, _ := e.bounds()
	require.EqualValues(t, 4, last)
}
