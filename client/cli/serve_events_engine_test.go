package cli_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/alert"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// told is an event of a server.
type told struct {
	ID, Kind, Change, Address string
	Lease                     *struct {
		Status, Model string
		FundedUntil   int64
	}
}

// events opens a stream behind an event, and returns what waits for the next event that fits.
func (v *served) events(query, last string) (until func(fits func(told) bool) told) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.url+"/v1/events"+query, nil)
	require.NoError(v.t, err)
	r.Header.Set("Authorization", "Bearer "+v.token)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(v.t, err)
	require.Equal(v.t, http.StatusOK, res.StatusCode)
	v.t.Cleanup(func() { _ = res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	require.True(v.t, lines.Scan()) // the server has begun: nothing that comes now is missed
	return func(fits func(told) bool) told {
		v.t.Helper()
		late := time.AfterFunc(time.Minute, func() { _ = res.Body.Close() })
		defer late.Stop()
		for lines.Scan() {
			require.NotEqual(v.t, "event: gap", lines.Text())
			raw, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var e told
			require.NoError(v.t, json.Unmarshal([]byte(raw), &e))
			if fits(e) {
				return e
			}
		}
		v.t.Fatal("the stream ended before the event came")
		return told{}
	}
}

// A client of events misses nothing: what happens while it listens, and what happens while it and the server are away. A
// lease is extended once for a key.
func TestServeEventsAndExtends(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.StartDeadlineSecs, params.AwardDeadlineSecs, params.PeriodSecs = 120, 120, 60
	w.InitMarket(params)
	m := &machine{w: w, keeper: w.Keeper(), output: "done\n", hold: make(chan struct{}), jobs: map[[32]byte]messages.JobSpec{}}
	m.provider = w.Provider(2_000 * market.OneGNT)
	m.payout = market.TokenAddress(m.provider.PublicKey(), w.PaymentMint)
	var node market.Node
	m.key, node = w.Node(m.provider, testmarket.A100, 8, 3_600_000)
	m.serve(t)
	customer := w.Customer(50*market.OneUSDC, 40*market.OneUSDC)
	me, _ := sessionShell(t, w, customer, "20")
	notices := make(chan alert.Notice, 99)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n alert.Notice
		_ = json.NewDecoder(r.Body).Decode(&n)
		notices <- n
	}))
	defer hook.Close()
	me.env = append(me.env, "GANTRY_NOTIFY="+hook.URL)
	v := me.serve()
	next := v.events("", "")
	request := map[string]any{"gpu": "A100", "seconds": 600, "maxPricePerGpuHour": "4", "command": []string{"true"}, "allowSimulated": true}
	answer := v.buy("first", request)
	placed := next(func(e told) bool { return e.Kind == "order" })
	require.Equal(t, "changed", placed.Change)
	lease := m.award(customer.PublicKey(), node)
	at := lease.Address.String()
	running := next(func(e told) bool { return e.Kind == "lease" && e.Lease.Status == "running" })
	require.Equal(t, at, running.Address)
	require.Equal(t, "A100-SXM4-40GB", running.Lease.Model)
	require.Equal(t, at, (<-answer).lease(t))

	// What is bought is shown at once.
	var one struct {
		Status      string
		FundedUntil int64
	}
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/leases/"+at, nil, nil, &one))
	require.Equal(t, "running", one.Status)

	// Without a server the lease is extended; the next server's first event says so, and the client goes on behind its last.
	v.kill()
	me.ok(nil, "extend", at, "--minutes", "1")
	v = v.again(me)
	after := v.events("", running.ID)
	longer := after(func(e told) bool { return e.Kind == "lease" })
	require.Equal(t, one.FundedUntil+60, longer.Lease.FundedUntil)

	// Extended over HTTP: once for a key, also on another server.
	extend := func(key string, seconds int) (int, []byte) {
		status, raw, err := v.try(http.MethodPost, "/v1/leases/"+at+"/extend", map[string]any{"seconds": seconds}, map[string]string{"Idempotency-Key": key})
		require.NoError(t, err)
		return status, raw
	}
	for range 2 {
		for range 2 {
			status, raw := extend("more", 120)
			require.Equal(t, http.StatusOK, status, string(raw))
			require.NoError(t, json.Unmarshal(raw, &one))
			require.Equal(t, longer.Lease.FundedUntil+120, one.FundedUntil)
		}
		v = v.again(me)
	}
	for _, x := range []struct {
		key     string
		seconds int
		status  int
		says    string
	}{
		{"more", 121, http.StatusConflict, "stands for another extension"},
		{"other", 10_000_000, http.StatusConflict, "extension refused"},
		{"", 60, http.StatusUnprocessableEntity, "validation"},
		{"other", 0, http.StatusUnprocessableEntity, "validation"},
	} {
		status, raw := extend(x.key, x.seconds)
		require.Equal(t, x.status, status, string(raw))
		require.Contains(t, string(raw), x.says)
	}
	status, raw, err := v.try(http.MethodPost, "/v1/leases/"+node.Address.String()+"/extend", map[string]any{"seconds": 60}, map[string]string{"Idempotency-Key": "x"})
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, status, string(raw))

	var stats struct {
		Total  struct{ Nodes, Gpus, LeasedGpus int }
		Models []struct{ Model, LowestAsk string }
	}
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/statistics", nil, nil, &stats))
	require.Equal(t, 1, stats.Total.LeasedGpus)
	require.Equal(t, 8, stats.Total.Gpus)
	require.Equal(t, "3.60", stats.Models[0].LowestAsk)
	close(m.hold)
	require.Equal(t, http.StatusOK, v.ask(http.MethodPost, "/v1/leases/"+at+"/stop", nil, nil, nil))
	require.Eventually(t, func() bool { return len(notices) > 0 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, "A lease has ended: by customer", (<-notices).Subject)
	v = v.again(me)
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/leases/"+at, nil, nil, &one))
	require.Equal(t, "ended", one.Status)
	ended := v.events("?after=0", "")(func(e told) bool { return e.Kind == "lease" && e.Lease.Status == "ended" })
	require.Equal(t, at, ended.Address)

	var audit, shown struct {
		Lease string
		OK    bool
		Steps []struct{ Name string }
	}
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/audit/"+at, nil, nil, &audit))
	me.ok(&shown, "audit", at)
	require.Equal(t, shown, audit)
	require.True(t, audit.OK)
	extended := 0
	for _, s := range audit.Steps {
		if s.Name == "extend" {
			extended++
		}
	}
	require.Equal(t, 2, extended, "one by the command, one by its key")
	require.Empty(t, notices, "a notice is sent once, also over a restart")
	require.Equal(t, http.StatusNotFound, v.ask(http.MethodGet, "/v1/audit/"+node.Address.String(), nil, nil, nil))
}
