package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// clusterWorld is a market with two machines, of which the second takes no job until it is told.
type clusterWorld struct {
	*testmarket.Testbed
	t        *testing.T
	machines []*machine
	nodes    []market.Node
	customer solana.PrivateKey
	image    string
	late     bool // the second machine takes no job
}

const neverSeen = 1 << 30

func newClusterWorld(t *testing.T) *clusterWorld {
	w := &clusterWorld{Testbed: testmarket.New(t, testmarket.Options{}), t: t}
	params := testmarket.FastParams()
	params.StartDeadlineSecs, params.AwardDeadlineSecs, params.PeriodSecs = 120, 120, 60
	w.InitMarket(params)
	provider := w.Provider(2_000 * market.OneGNT)
	for range 2 {
		m := &machine{
			w: w.Testbed, keeper: w.Keeper(), provider: provider, payout: market.TokenAddress(provider.PublicKey(), w.PaymentMint),
			hold: make(chan struct{}), jobs: map[[32]byte]messages.JobSpec{},
		}
		var n market.Node
		m.key, n = w.Isolated(provider, testmarket.A100, 8, 3_600_000, market.Sandbox)
		w.machines, w.nodes = append(w.machines, m), append(w.nodes, n)
		m.serve(t)
	}
	w.Until(w.nodes[1].RegisteredAt + 1) // an order over several nodes goes to nodes that were there before it
	w.customer = w.Customer(50*market.OneUSDC, 40*market.OneUSDC)
	w.image, _ = imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t))
	return w
}

// award gives the next order to both machines. The first of them has the first place in the cluster then.
func (w *clusterWorld) award() []market.Lease {
	for _, m := range w.machines {
		m.see(neverSeen)
	}
	var o market.Order
	w.Wait("order", func(v *view.View) bool {
		for _, x := range v.OrdersOf(w.customer.PublicKey()) {
			if o = x; x.State() == market.OrderOpen {
				return true
			}
		}
		return false
	})
	var out []market.Lease
	for i, m := range w.machines {
		n, _ := w.View.Node(w.nodes[i].Address)
		o, _ = w.View.Order(o.Address)
		out = append(out, w.Award(m.keeper, o, n))
	}
	if bytes.Compare(out[0].Address[:], out[1].Address[:]) > 0 {
		slices.Reverse(out)
		slices.Reverse(w.machines)
		slices.Reverse(w.nodes)
	}
	w.machines[0].see(0)
	if !w.late {
		w.machines[1].see(0)
	}
	return out
}

// see has a machine say of so many requests that it does not see their lease.
func (m *machine) see(unseen int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unseen = unseen
}

func (w *clusterWorld) running(l market.Lease) market.Lease {
	return w.Lease(l.Address, func(l market.Lease) bool { return l.State() == market.LeaseRunning })
}

func (w *clusterWorld) ended(l market.Lease) {
	w.Lease(l.Address, func(l market.Lease) bool { return l.State() == market.LeaseEnded })
}

// gantry cluster down ends what runs at once and waits for a lease that is awarded: it would be billed as soon as it starts.
func TestClusterDownWaitsForLeasesThatHaveNotStarted(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t)
	w.late = true
	me := newShell(t, w.Testbed, w.customer)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.machines[0].mute = ctx.Done() // the command dies before it knows that a machine has the job
	up := make(chan result, 1)
	go func() {
		up <- me.run(ctx, "cluster", "up", "--name", "pair", "--gpu", "A100", "--nodes", "2", "--duration", "10m", "--max-price", "4", "--allow-simulated", "--detach", "--image", w.image, "--", "true")
	}()
	leases := w.award()
	w.running(leases[0])
	var c buy.Cluster
	me.ok(&c, "cluster", "status", "pair")
	require.Equal(t, buy.ClusterStarting, c.State)
	require.Len(t, c.Members, 2)
	require.Equal(t, "1.333332", c.Cap, "2 machines for 10 minutes at 4.00")
	cancel() // the command dies; what it has bought stays
	<-up

	down := make(chan result, 1)
	go func() { down <- me.run(t.Context(), "--json", "cluster", "down", "pair") }()
	w.ended(leases[0])
	select {
	case r := <-down:
		t.Fatalf("it left a lease that has not started: %d %s %s", r.code, r.out, r.err)
	default:
	}
	require.NoError(t, w.machines[1].start(leases[1]))
	r := <-down
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.NoError(t, json.Unmarshal([]byte(r.out), &c), r.out)
	require.Equal(t, buy.ClusterEnded, c.State)
	w.ended(leases[1])
	var left []struct{ Order string }
	me.ok(&left, "resume")
	require.Empty(t, left, "nothing is left to be continued")
	me.fails(cli.ExitRefused, "node-0 does not run", "cluster", "exec", "pair", "--", "true")
}

// gantry cluster scale orders machines that join the network behind the others, which are told. All of them end together.
func TestClusterScale(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t)
	me := newShell(t, w.Testbed, w.customer)
	up := make(chan result, 1)
	go func() {
		up <- me.run(t.Context(), "--json", "cluster", "up", "--name", "pair", "--gpu", "A100", "--nodes", "2", "--duration", "10m", "--max-price", "4", "--allow-simulated", "--detach", "--image", w.image, "--", "true")
	}()
	leases := w.award()
	r := <-up
	require.Equal(t, cli.ExitDone, r.code, r.err)
	for nodes, says := range map[string]string{"1": "more than 1", "65": "at most 64 places"} {
		r := me.run(t.Context(), "cluster", "scale", "pair", "--nodes", nodes)
		require.Equal(t, cli.ExitRefused, r.code, r.out)
		require.Contains(t, r.err, says)
	}
	var same buy.Cluster
	me.ok(&same, "cluster", "scale", "pair", "--nodes", "2")
	require.Len(t, same.Members, 2, "nothing is to be bought")
	require.Len(t, w.View.OrdersOf(w.customer.PublicKey()), 1)

	r = me.run(t.Context(), "cluster", "scale", "pair", "--nodes", "64")
	require.Equal(t, cli.ExitRefused, r.code, r.out)
	require.Contains(t, r.err, "USDC needed", "what is refused before its order is sent leaves nothing behind")

	scaled := make(chan result, 1)
	go func() { scaled <- me.run(t.Context(), "--json", "cluster", "scale", "pair", "--nodes", "4") }()
	leases = append(leases, w.award()...)
	r = <-scaled
	require.Equal(t, cli.ExitDone, r.code, r.err)
	var c buy.Cluster
	require.NoError(t, json.Unmarshal([]byte(r.out), &c), r.out)
	require.Equal(t, buy.ClusterRunning, c.State)
	require.Equal(t, "pair", c.Name)
	require.Len(t, c.Members, 4)
	require.Equal(t, "node-3", c.Members[3].Host)
	for i, l := range leases {
		require.Equal(t, l.Address.String(), c.Members[i].Lease)
		first := w.machines[0].group(l.Address)
		if first == nil {
			first = w.machines[1].group(l.Address)
		}
		require.NotNil(t, first)
		require.EqualValues(t, i, first.Index)
		require.Len(t, first.Members, 4, "member %d was told", i)
	}

	// All of them have the name of the cluster, which names none of them.
	var listed []service.Lease
	me.ok(&listed, "leases")
	require.Len(t, listed, 4)
	for _, l := range listed {
		require.Equal(t, "pair", l.Name)
	}
	r = me.run(t.Context(), "stop", "pair")
	require.Equal(t, cli.ExitUsage, r.code, r.out)
	require.Contains(t, r.err, "pair has 4 machines")

	// Machines that have ended keep their places, and others can be added.
	for _, l := range leases[2:] {
		me.ok(nil, "stop", l.Address.String())
		w.ended(l)
	}
	go func() { scaled <- me.run(t.Context(), "--json", "cluster", "scale", "pair", "--nodes", "4") }()
	leases = append(leases, w.award()...)
	r = <-scaled
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.NoError(t, json.Unmarshal([]byte(r.out), &c), r.out)
	require.Len(t, c.Members, 6)
	require.Equal(t, leases[5].Address.String(), c.Members[5].Lease)
	me.ok(&c, "cluster", "down", "pair")
	require.Equal(t, buy.ClusterEnded, c.State)
	for _, l := range leases {
		w.ended(l)
	}
	require.Equal(t, cli.ExitRefused, me.run(t.Context(), "cluster", "scale", "pair", "--nodes", "5").code)
}

func (m *machine) group(lease [32]byte) *messages.Group {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g, ok := m.groups[lease]; ok {
		return &g
	}
	return nil
}

// A cluster is created, found and ended over HTTP. A lease that has not started is named and not called ended, and the request is
// repeated until all are. An order that waits is cancelled.
func TestServeClusters(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t)
	me, _ := sessionShell(t, w.Testbed, w.customer, "20")
	v := me.serve()
	request := map[string]any{
		"gpu": "A100", "nodes": 2, "seconds": 600, "maxPricePerGpuHour": "4", "image": w.image, "command": []string{"true"}, "allowSimulated": true,
	}
	create := func(key string) <-chan answered {
		out := make(chan answered, 1)
		go func() {
			status, raw, err := v.try(http.MethodPost, "/v1/clusters", request, map[string]string{"Idempotency-Key": key})
			out <- answered{status, raw, err}
		}()
		return out
	}
	first := create("train")
	leases := w.award()
	a := <-first
	require.NoError(t, a.err)
	require.Equal(t, http.StatusCreated, a.status, string(a.raw))
	var c buy.Cluster
	require.NoError(t, json.Unmarshal(a.raw, &c))
	require.Equal(t, buy.ClusterRunning, c.State)
	require.Equal(t, "train", c.Name)
	require.Len(t, c.Members, 2)
	require.Nil(t, c.Endpoint)
	require.Contains(t, string(a.raw), `"endpoint":null`)
	require.Contains(t, c.Members[0].Host+c.Members[0].Address, "node-010.77.0.1")
	for _, l := range leases {
		require.Contains(t, string(a.raw), l.Address.String())
	}
	again := <-create("train")
	require.Equal(t, http.StatusCreated, again.status, string(again.raw))
	require.Contains(t, string(again.raw), c.Order)
	var all struct{ Clusters []buy.Cluster }
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/clusters", nil, nil, &all))
	require.Len(t, all.Clusters, 1)
	require.Equal(t, http.StatusOK, v.ask(http.MethodDelete, "/v1/clusters/"+c.Order, nil, nil, &c))
	require.Equal(t, buy.ClusterEnded, c.State)
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/clusters/train", nil, nil, &c))
	require.Equal(t, buy.ClusterEnded, c.State)
	require.Equal(t, http.StatusOK, v.ask(http.MethodDelete, "/v1/clusters/train", nil, nil, &c), "it is over already")

	// One machine does not start: the end breaks the purchase off, and says what is left.
	w.late = true
	second := create("slow")
	leases = w.award()
	w.running(leases[0])
	status, raw, err := v.try(http.MethodDelete, "/v1/clusters/slow", nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, status, string(raw))
	require.NoError(t, json.Unmarshal(raw, &c))
	require.Len(t, c.Left, 1)
	require.Contains(t, c.Left[0], leases[1].Address.String())
	require.True(t, strings.HasPrefix(c.Left[0], "node-"), c.Left[0])
	require.Equal(t, http.StatusServiceUnavailable, (<-second).status)
	w.ended(leases[0])
	require.NoError(t, w.machines[1].start(leases[1]))
	c = buy.Cluster{}
	require.Equal(t, http.StatusOK, v.ask(http.MethodDelete, "/v1/clusters/slow", nil, nil, &c))
	require.Empty(t, c.Left)
	w.ended(leases[1])

	// Nothing is awarded: the order is cancelled, and its money is free.
	third := create("early")
	w.Wait("the third order", func(x *view.View) bool { return open(x, w.customer.PublicKey()) == 1 })
	c = buy.Cluster{}
	require.Equal(t, http.StatusOK, v.ask(http.MethodDelete, "/v1/clusters/early", nil, nil, &c))
	require.Equal(t, buy.ClusterFailed, c.State)
	require.Contains(t, c.Failed, "before it ran")
	<-third
	w.Wait("the end of the third order", func(x *view.View) bool { return open(x, w.customer.PublicKey()) == 0 })
	wrongClusters(t, v, request)
	require.Zero(t, open(w.View, w.customer.PublicKey()))
}

// wrongClusters are refused before anything is ordered.
func wrongClusters(t *testing.T, v *served, request map[string]any) {
	t.Helper()
	for what, more := range map[string]map[string]any{"one machine": {"nodes": 1}, "no image": {"image": ""}, "a name that exists": {"nodes": 2, "seconds": 601}} {
		body := map[string]any{}
		for k, x := range request {
			body[k] = x
		}
		for k, x := range more {
			body[k] = x
		}
		status, raw, err := v.try(http.MethodPost, "/v1/clusters", body, map[string]string{"Idempotency-Key": "train"})
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, status, "%s: %s", what, raw)
	}
}
