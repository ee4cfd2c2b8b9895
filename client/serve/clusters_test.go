package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
)

// herd is a buyer of clusters, which run when they are let go.
type herd struct {
	*counter

	mu    sync.Mutex
	asked []OrderRequest
	all   map[string]*buy.Cluster // by name
	left  []string
	ended []string
	waits time.Duration // how long the last end would wait
}

func newHerd() *herd { return &herd{counter: newCounter(), all: map[string]*buy.Cluster{}} }

func (h *herd) Buy(ctx context.Context, name string, r OrderRequest) (Bought, error) {
	h.mu.Lock()
	if _, there := h.all[name]; !there { // it is stored before it is sent
		h.asked = append(h.asked, r)
		order := solana.PublicKey{byte(len(h.all) + 1)}
		h.all[name] = &buy.Cluster{Name: name, Order: order.String(), State: buy.ClusterBuying, Members: []buy.ClusterMember{}, Created: int64(len(h.all))}
	}
	c := h.all[name]
	h.mu.Unlock()
	out, err := h.counter.Buy(ctx, name, r)
	if err != nil {
		return out, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c.State = buy.ClusterRunning
	for i := range r.Nodes {
		c.Members = append(c.Members, buy.ClusterMember{Place: int(i), Host: fmt.Sprintf("node-%d", i), Status: "running"})
	}
	return Bought{Order: c.Order, Leases: []service.Lease{}}, nil
}

func (h *herd) Clusters(context.Context) ([]buy.Cluster, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []buy.Cluster
	for _, c := range h.all {
		out = append(out, *c)
	}
	return out, nil
}

func (h *herd) Cluster(ctx context.Context, text string) (buy.Cluster, error) {
	all, err := h.Clusters(ctx)
	for _, c := range all {
		if c.Name == text || c.Order == text {
			return c, err
		}
	}
	return buy.Cluster{}, buy.ErrNoCluster
}

// ScaleCluster waits until the herd is let go, as a purchase does. It buys nothing for a cluster that is large enough.
func (h *herd) ScaleCluster(ctx context.Context, text string, nodes int, _ func(buy.Addition) error) (buy.Scaled, error) {
	c, err := h.Cluster(ctx, text)
	if err != nil || len(c.Members) >= nodes {
		return buy.Scaled{Cluster: c}, err
	}
	if _, err := h.counter.Buy(ctx, fmt.Sprint("scale ", text, nodes), OrderRequest{}); err != nil {
		return buy.Scaled{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.all[c.Name]
	for i := len(of.Members); i < nodes; i++ {
		of.Members = append(of.Members, buy.ClusterMember{Place: i, Host: fmt.Sprintf("node-%d", i), Status: "running"})
	}
	return buy.Scaled{Cluster: *of}, nil
}

func (h *herd) EndCluster(ctx context.Context, text string, within time.Duration) (buy.Cluster, error) {
	c, err := h.Cluster(ctx, text)
	if err != nil || within <= 0 || within > answerWithin {
		return c, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended, h.waits = append(h.ended, c.Name), within
	if c.Left = h.left; len(h.left) == 0 {
		c.State = buy.ClusterEnded
		h.all[c.Name].State = c.State
	}
	return c, nil
}

func clusterServer(t *testing.T, h *herd) (s *Server, do func(method, path, key, body string, into any) (int, Problem)) {
	t.Helper()
	s = New(Options{Store: testStore(t), Buyer: h, Clusters: h, Service: unconnected(t), Log: zerolog.Nop()})
	t.Cleanup(s.orders.begin(t.Context()))
	token, err := s.o.Store.NewToken()
	require.NoError(t, err)
	return s, func(method, path, key, body string, into any) (int, Problem) {
		header := map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"}
		if key != "" {
			header["Idempotency-Key"] = key
		}
		w, p := ask(t, s, method, path, body, header)
		if into != nil && w.Code < http.StatusBadRequest {
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), into), w.Body)
		}
		return w.Code, p
	}
}

const pair = `{"gpu": "A100", "seconds": 600, "nodes": 2, "image": "debian:12"}`

// A cluster is bought once for its name, and is found by that and by its order; a request with another content is refused.
func TestAClusterIsCreatedShownAndEnded(t *testing.T) {
	h := newHerd()
	close(h.let)
	_, do := clusterServer(t, h)
	var made, got MachineCluster
	status, _ := do(http.MethodPost, "/v1/clusters", "train", pair, &made)
	require.Equal(t, http.StatusCreated, status)
	require.Equal(t, buy.ClusterRunning, made.State)
	require.Len(t, made.Members, 2)
	require.EqualValues(t, 2, h.asked[0].Nodes)
	for _, id := range []string{"train", made.Order} {
		status, _ = do(http.MethodGet, "/v1/clusters/"+id, "", "", &got)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, made, got)
	}
	status, _ = do(http.MethodPost, "/v1/clusters", "later", strings.Replace(pair, "2,", "3,", 1), nil)
	require.Equal(t, http.StatusCreated, status)
	var all MachineClusters
	status, _ = do(http.MethodGet, "/v1/clusters", "", "", &all)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, []string{"later", "train"}, []string{all.Clusters[0].Name, all.Clusters[1].Name}, "the latest first")

	h.left = []string{"node-1: its lease has not started"}
	status, _ = do(http.MethodDelete, "/v1/clusters/train", "", "", &got)
	require.Equal(t, http.StatusAccepted, status, "a lease that is left is not called ended")
	require.Equal(t, h.left, got.Left)
	h.left = nil
	got = MachineCluster{}
	status, _ = do(http.MethodDelete, "/v1/clusters/train", "", "", &got)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, buy.ClusterEnded, got.State)
	require.Equal(t, []string{"train", "train"}, h.ended, "no other cluster")
}

// A request that has used up time before it ends a cluster waits less for it: its answer is in time.
func TestTheEndOfAClusterIsAnsweredInTime(t *testing.T) {
	h := newHerd()
	close(h.let)
	s, do := clusterServer(t, h)
	status, _ := do(http.MethodPost, "/v1/clusters", "train", pair, nil)
	require.Equal(t, http.StatusCreated, status)
	const left = 15 * time.Second
	ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), callerKey{}, team.Caller{Role: team.Deployer, Budget: "main"}), left)
	defer cancel()
	_, err := s.endCluster(ctx, &clusterInput{ID: "train"})
	require.NoError(t, err)
	require.Less(t, h.waits, left-endAnswer)
	require.Positive(t, h.waits)
}

// What would not become a cluster is refused before anything is bought, and an unknown one is not found.
func TestWrongClusters(t *testing.T) {
	h := newHerd()
	_, do := clusterServer(t, h)
	for what, x := range map[string]struct {
		key, body, detail string
		status            int
	}{
		"one machine":       {"a", `{"gpu": "A100", "seconds": 600, "nodes": 1, "image": "debian:12"}`, "a cluster has several machines", http.StatusBadRequest},
		"no number":         {"a", `{"gpu": "A100", "seconds": 600, "image": "debian:12"}`, "a cluster has several machines", http.StatusBadRequest},
		"too many machines": {"a", `{"gpu": "A100", "seconds": 600, "nodes": 65, "image": "debian:12"}`, "validation", http.StatusUnprocessableEntity},
		"too many GPUs":     {"a", `{"gpu": "A100:9", "seconds": 600, "nodes": 2, "image": "debian:12"}`, "--count is 9", http.StatusBadRequest},
		"no image":          {"a", `{"gpu": "A100", "seconds": 600, "nodes": 2, "command": ["true"]}`, "run containers", http.StatusBadRequest},
		"compared outputs":  {"a", `{"gpu": "A100", "seconds": 600, "nodes": 2, "image": "debian:12", "redundancy": 3}`, "no private network", http.StatusBadRequest},
		"measured guests":   {"a", `{"gpu": "A100", "seconds": 600, "nodes": 2, "image": "debian:12", "guest": true}`, "a measured guest has none", http.StatusBadRequest},
		"no key":            {"", pair, "validation", http.StatusUnprocessableEntity},
		"a path":            {"../a", pair, "validation", http.StatusUnprocessableEntity},
	} {
		status, p := do(http.MethodPost, "/v1/clusters", x.key, x.body, nil)
		require.Equal(t, x.status, status, what)
		require.Contains(t, p.Detail, x.detail, what)
	}
	require.Empty(t, h.asked)
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		status, p := do(method, "/v1/clusters/none", "", "", nil)
		require.Equal(t, http.StatusNotFound, status)
		require.Contains(t, p.Detail, `no cluster "none"`)
	}
	status, _ := clusterStatus(t, Options{Buyer: h})
	require.Equal(t, http.StatusServiceUnavailable, status, "a server without clusters says so")
}

// A cluster grows to the number that is asked for. Requests that come meanwhile share the work, or are refused; its end breaks it off.
func TestAClusterGrows(t *testing.T) {
	h := newHerd()
	s, do := clusterServer(t, h)
	go func() { h.let <- struct{}{} }()
	var c MachineCluster
	status, _ := do(http.MethodPost, "/v1/clusters", "train", pair, &c)
	require.Equal(t, http.StatusCreated, status)
	<-h.began
	for _, x := range []struct {
		path, body string
		status     int
	}{
		{"/v1/clusters/none/scale", `{"nodes": 3}`, http.StatusNotFound},
		{"/v1/clusters/train/scale", `{"nodes": 65}`, http.StatusUnprocessableEntity},
		{"/v1/clusters/train/scale", `{}`, http.StatusUnprocessableEntity},
	} {
		status, _ := do(http.MethodPost, x.path, "", x.body, nil)
		require.Equal(t, x.status, status, x)
	}
	one, err := s.orders.runScale(h, team.MainBudget, c.Order, 4)
	require.NoError(t, err)
	<-h.began
	two, err := s.orders.runScale(h, team.MainBudget, c.Order, 4)
	require.NoError(t, err)
	require.Same(t, one, two)
	status, p := do(http.MethodPost, "/v1/clusters/train/scale", "", `{"nodes": 5}`, nil)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, p.Detail, "being added")
	go func() { h.let <- struct{}{} }()
	status, _ = do(http.MethodPost, "/v1/clusters/"+c.Order+"/scale", "", `{"nodes": 4}`, &c)
	require.Equal(t, http.StatusOK, status)
	require.Len(t, c.Members, 4)

	more, err := s.orders.runScale(h, team.MainBudget, c.Order, 6)
	require.NoError(t, err)
	<-h.began
	status, _ = do(http.MethodDelete, "/v1/clusters/train", "", "", &c)
	require.Equal(t, http.StatusOK, status)
	<-more.done
	require.ErrorContains(t, more.err, "interrupted")
}

func clusterStatus(t *testing.T, o Options) (int, Problem) {
	t.Helper()
	o.Store, o.Service, o.Log = testStore(t), unconnected(t), zerolog.Nop()
	s := New(o)
	token, err := s.o.Store.NewToken()
	require.NoError(t, err)
	w, p := ask(t, s, http.MethodGet, "/v1/clusters", "", map[string]string{"Authorization": "Bearer " + token})
	return w.Code, p
}

// While its machines are bought a cluster is shown, its name is taken, and its end breaks the purchase off first.
func TestAClusterThatIsBoughtCanBeEnded(t *testing.T) {
	h := newHerd()
	s, do := clusterServer(t, h)
	order, err := ClusterRequest{OrderRequest: OrderRequest{GPU: "A100", Seconds: 600, Nodes: 2, Image: "debian:12"}}.Order()
	require.NoError(t, err)
	running, err := s.orders.run(h, team.MainBudget, "train", order)
	require.NoError(t, err)
	<-h.began
	var got MachineCluster
	status, _ := do(http.MethodGet, "/v1/clusters/train", "", "", &got)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, buy.ClusterBuying, got.State)
	status, p := do(http.MethodPost, "/v1/clusters", "train", strings.Replace(pair, "2,", "3,", 1), nil)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, p.Detail, "stands for another purchase")
	status, _ = do(http.MethodDelete, "/v1/clusters/train", "", "", &got)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, buy.ClusterEnded, got.State)
	<-running.done
	require.ErrorContains(t, running.err, "interrupted")
	require.Equal(t, []string{"train"}, h.ended)
}

// A deployer ends clusters of its own budget alone; a viewer sees all, and buys none.
func TestClustersOfATeam(t *testing.T) {
	s, _, token, _ := teamServer(t)
	main, ops := newHerd(), newHerd()
	close(main.let)
	close(ops.let)
	s.o.Clusters, s.o.Buyer, s.o.Budgets = main, main, herds{ops}
	do := func(token, method, path, key, body string) int {
		w, _ := ask(t, s, method, path, body, map[string]string{"Authorization": "Bearer " + token, "Idempotency-Key": key, "Content-Type": "application/json"})
		return w.Code
	}
	deployer, viewer, owner := token("dora", team.Deployer, "ops"), token("vic", team.Viewer, ""), token("olga", team.Owner, "")
	require.Equal(t, http.StatusCreated, do(deployer, http.MethodPost, "/v1/clusters", "train", pair))
	require.Equal(t, http.StatusCreated, do(owner, http.MethodPost, "/v1/clusters", "mine", pair))
	require.Contains(t, ops.all, "train")
	require.Contains(t, main.all, "mine")
	main.all["mine"].Order = solana.PublicKey{99}.String()
	require.Equal(t, http.StatusForbidden, do(viewer, http.MethodPost, "/v1/clusters", "x", pair))
	require.Equal(t, http.StatusForbidden, do(viewer, http.MethodDelete, "/v1/clusters/"+ops.all["train"].Order, "", ""))
	require.Equal(t, http.StatusOK, do(viewer, http.MethodGet, "/v1/clusters/"+ops.all["train"].Order, "", ""))
	require.Equal(t, http.StatusNotFound, do(deployer, http.MethodGet, "/v1/clusters/mine", "", ""), "names are the budget's own")
	require.Equal(t, http.StatusForbidden, do(deployer, http.MethodDelete, "/v1/clusters/"+main.all["mine"].Order, "", ""))
	require.Empty(t, main.ended)
	require.Equal(t, http.StatusOK, do(deployer, http.MethodDelete, "/v1/clusters/train", "", ""))
	require.Equal(t, http.StatusOK, do(owner, http.MethodDelete, "/v1/clusters/mine", "", ""))
}

// herds are the budgets of a team with one of them.
type herds struct{ ops *herd }

func (h herds) Actor(string) (Actor, error)             { return Actor{Buyer: h.ops, Clusters: h.ops}, nil }
func (h herds) Bought(solana.PublicKey) (string, error) { return "ops", nil }
