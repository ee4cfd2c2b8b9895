package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// answered is how a request for an order was answered.
type answered struct {
	status int
	raw    []byte
	err    error
}

// bought is an order as answered.
type bought struct {
	Phase, Order string
	Leases       []struct{ Address, Status string }
}

// buy sends a request for an order; the answer comes later.
func (v *served) buy(key string, request any) <-chan answered {
	out := make(chan answered, 1)
	go func() {
		status, raw, err := v.try(http.MethodPost, "/v1/orders", request, map[string]string{"Idempotency-Key": key})
		out <- answered{status, raw, err}
	}()
	return out
}

// lease is the lease with which a request for an order was answered.
func (a answered) lease(t *testing.T) string {
	t.Helper()
	require.NoError(t, a.err)
	require.Equal(t, http.StatusCreated, a.status, string(a.raw))
	var b bought
	require.NoError(t, json.Unmarshal(a.raw, &b), string(a.raw))
	require.Equal(t, "bought", b.Phase)
	require.NotEmpty(t, b.Order)
	require.Len(t, b.Leases, 1)
	return b.Leases[0].Address
}

// again starts the server anew after kill -9; the token stays.
func (v *served) again(me shell) *served {
	v.kill()
	next := me.serve()
	next.token = v.token
	return next
}

// A purchase over HTTP is bought once for its key: also when it is asked for twice at once, and when the server is killed
// between the order and the award, between the award and the handover of the job, and after the answer.
func TestServeBuysOnce(t *testing.T) {
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
	v := me.serve("--metrics", "127.0.0.1:0")
	request := map[string]any{
		"gpu": "A100", "seconds": 600, "maxPricePerGpuHour": "4", "command": []string{"sh", "-c", "true"}, "env": map[string]string{"SEED": "1,2"}, "allowSimulated": true,
	}
	for what, c := range map[string]struct {
		key    string
		body   map[string]any
		status int
		detail string
	}{
		"no key":        {"", request, http.StatusUnprocessableEntity, "validation"},
		"a path":        {"../x", request, http.StatusUnprocessableEntity, "validation"},
		"no model":      {"k", map[string]any{"seconds": 600}, http.StatusUnprocessableEntity, "validation"},
		"unknown":       {"k", map[string]any{"gpu": "A100", "seconds": 600, "colour": "red"}, http.StatusUnprocessableEntity, "validation"},
		"bad figure":    {"k", map[string]any{"gpu": "A100", "seconds": 600, "minTops": "many", "command": []string{"true"}}, http.StatusBadRequest, "--min-tops"},
		"unknown model": {"k", map[string]any{"gpu": "H900", "seconds": 600, "command": []string{"true"}}, http.StatusBadRequest, "is not known"},
		"over the cap":  {"k", map[string]any{"gpu": "A100", "seconds": 60_000, "maxPricePerGpuHour": "4", "command": []string{"true"}, "allowSimulated": true}, http.StatusConflict, "order refused"},
	} {
		a := <-v.buy(c.key, c.body)
		require.NoError(t, a.err)
		var p problem
		require.NoError(t, json.Unmarshal(a.raw, &p), string(a.raw))
		require.Equal(t, c.status, a.status, "%s: %s", what, a.raw)
		require.Contains(t, p.Detail, c.detail, what)
		require.NotEmpty(t, p.NextStep, what)
	}
	require.Empty(t, w.View.OrdersOf(customer.PublicKey()))

	// Two requests at once.
	one, two := v.buy("first", request), v.buy("first", request)
	first := m.award(customer.PublicKey(), node)
	require.Equal(t, first.Address.String(), (<-one).lease(t))
	require.Equal(t, first.Address.String(), (<-two).lease(t))
	m.mu.Lock()
	require.Equal(t, map[string]string{"SEED": "1,2"}, m.jobs[first.Address].Env)
	m.mu.Unlock()
	require.Equal(t, first.Address.String(), (<-v.buy("first", request)).lease(t))
	other := map[string]any{"gpu": "A100", "seconds": 601, "maxPricePerGpuHour": "4", "command": []string{"true"}, "allowSimulated": true}
	a := <-v.buy("first", other)
	require.Equal(t, http.StatusBadRequest, a.status, string(a.raw))
	require.Contains(t, string(a.raw), "stands for another purchase")

	v.hasFigures(
		`gantry_serve_leases{status="running"} 1`, `gantry_serve_gpus 1`, `gantry_serve_usdc_per_hour 3.6`, `gantry_serve_open_orders 0`,
		`gantry_serve_purchases_total{result="bought"} `, `gantry_serve_requests_total{method="POST",route="/v1/orders",status="201"} `,
		`gantry_serve_credits_usdc{part="reserved"} `,
	)

	// Killed after the answer.
	v = v.again(me)
	require.Equal(t, first.Address.String(), (<-v.buy("first", request)).lease(t))

	// Killed between the order and the award.
	lost := v.buy("second", request)
	w.Wait("the second order", func(x *view.View) bool { return open(x, customer.PublicKey()) == 1 })
	v.kill()
	require.Error(t, (<-lost).err)
	v = v.again(me)
	repeated := v.buy("second", request)
	second := m.award(customer.PublicKey(), node)
	require.Equal(t, second.Address.String(), (<-repeated).lease(t))

	// Killed between the award and the handover of the job: the machine does not take it yet.
	m.mu.Lock()
	const never = 1 << 30
	m.unseen = never
	m.mu.Unlock()
	lost = v.buy("third", request)
	third := m.award(customer.PublicKey(), node)
	require.Eventually(t, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.unseen < never
	}, time.Minute, 10*time.Millisecond, "the job never came")
	v.kill()
	require.Error(t, (<-lost).err)
	m.mu.Lock()
	m.unseen = 0
	m.mu.Unlock()
	v = v.again(me)
	require.Equal(t, third.Address.String(), (<-v.buy("third", request)).lease(t))

	// The output of its job: as a document, and as a stream that goes on where it was and ends with the job.
	logs := "/v1/leases/" + first.Address.String() + "/logs"
	var output, read struct {
		Offset, Next uint64
		Text         string
		Ended        bool
	}
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, logs+"?offset=2", nil, nil, &output))
	require.Equal(t, "ne\n", output.Text)
	require.EqualValues(t, 5, output.Next)
	require.True(t, output.Ended)
	me.mcp().ask("logs", map[string]any{"lease": first.Address.String(), "offset": 2}, &read)
	require.Equal(t, output, read, "gantry mcp reads what the server beside it does")
	require.Equal(t, http.StatusNotFound, v.ask(http.MethodGet, "/v1/leases/"+node.Address.String()+"/logs?follow=true", nil, nil, nil))
	// A name that a person gives a lease on the page is the one of the command line and of language models.
	const named = "nightly training"
	require.Equal(t, http.StatusOK, v.ask(http.MethodPut, "/v1/leases/"+first.Address.String()+"/name", map[string]string{"name": named}, nil, nil))
	type list []struct{ Address, Name string }
	nameIn := func(all list) string {
		for _, l := range all {
			if l.Address == first.Address.String() {
				return l.Name
			}
		}
		return ""
	}
	var own list
	me.ok(&own, "leases")
	require.Equal(t, named, nameIn(own))
	var answer struct{ Leases list }
	me.mcp().ask("leases", nil, &answer)
	require.Equal(t, named, nameIn(answer.Leases))
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/leases", nil, nil, &answer))
	require.Equal(t, named, nameIn(answer.Leases))
	close(m.hold)
	for last, want := range map[string]string{"0": `{"offset":0,"text":"done\n"}`, "3": `{"offset":3,"text":"e\n"}`} {
		status, raw, err := v.try(http.MethodGet, logs+"?follow=true", nil, map[string]string{"Last-Event-ID": last})
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, string(raw), "event: output\nid: 5\ndata: "+want+"\n\n")
		require.Contains(t, string(raw), "event: end\n")
	}

	// Stopped, twice; its key still stands for it.
	for range 2 {
		var l struct{ Address, Status string }
		require.Equal(t, http.StatusOK, v.ask(http.MethodPost, "/v1/leases/"+first.Address.String()+"/stop", nil, nil, &l))
		require.Equal(t, first.Address.String(), l.Address)
		require.Equal(t, "ended", l.Status)
	}
	require.Equal(t, first.Address.String(), (<-v.buy("first", request)).lease(t))
	var p problem
	require.Equal(t, http.StatusNotFound, v.ask(http.MethodPost, "/v1/leases/"+node.Address.String()+"/stop", nil, nil, &p))

	// Three purchases, three leases, three jobs.
	require.Zero(t, open(w.View, customer.PublicKey()))
	require.Len(t, w.View.LeasesOfCustomer(customer.PublicKey()), 3)
	m.mu.Lock()
	require.Len(t, m.jobs, 3)
	m.mu.Unlock()

	// The page's examples, among them an order.
	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("there is no curl: the examples are not run")
		return
	}
	ran := make(chan error, 1)
	go func() {
		ran <- v.examples("docs/operate/serve.md", "LEASE="+second.Address.String(), "PROVIDER="+m.provider.PublicKey().String(), "NODE="+node.Address.String())
	}()
	m.award(customer.PublicKey(), node)
	require.NoError(t, <-ran)
	require.NoError(t, v.examples("docs/operate/teams.md"))
}

// open counts the orders of a customer that wait for their award.
func open(v *view.View, customer solana.PublicKey) (n int) {
	for _, o := range v.OrdersOf(customer) {
		if o.State() == market.OrderOpen {
			n++
		}
	}
	return n
}

// hasFigures waits until the server's figures have these lines, or lines that begin so.
func (v *served) hasFigures(want ...string) {
	v.t.Helper()
	require.EventuallyWithT(v.t, func(c *assert.CollectT) {
		res, err := http.Get("http://" + v.figures + "/metrics")
		require.NoError(c, err)
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		require.NoError(c, err)
		for _, line := range want {
			require.Contains(c, "\n"+string(raw), "\n"+line)
		}
	}, time.Minute, 50*time.Millisecond)
}
