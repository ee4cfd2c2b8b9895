package mcp

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

// foreign is the order of a cluster that another program has bought.
var foreign = session

// seller is a shop for buyers: the market's Cluster is that of the chain.
type seller struct{ *shop }

func (s seller) Clusters(ctx context.Context) ([]buy.Cluster, error) {
	var out []buy.Cluster
	for name := range s.sold {
		c, err := s.Cluster(ctx, name)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (s seller) Cluster(_ context.Context, text string) (buy.Cluster, error) {
	c := buy.Cluster{Name: text, Order: mine.String(), State: buy.ClusterRunning}
	for i := range 2 + s.added {
		c.Members = append(c.Members, buy.ClusterMember{Place: i, Host: fmt.Sprintf("node-%d", i)})
	}
	switch {
	case text == mine.String():
		c.Name = s.calls[0]
	case text == foreign.String():
		c.Name, c.Order = "", foreign.String()
	case !s.sold[text]:
		return buy.Cluster{}, buy.ErrNoCluster
	}
	return c, nil
}

// ScaleCluster sells machines for 1,000 seconds at 1.80 an hour, which reserve 1.00 each.
func (s seller) ScaleCluster(ctx context.Context, text string, nodes int, agree func(buy.Addition) error) (buy.Scaled, error) {
	c, err := s.Cluster(ctx, text)
	missing := nodes - len(c.Members)
	if err != nil || missing <= 0 {
		return buy.Scaled{Cluster: c}, err
	}
	a := buy.Addition{Order: solana.NewWallet().PublicKey(), Reserves: market.USDC(missing) * market.OneUSDC}
	s.additions = append(s.additions, a.Order)
	if err := agree(a); err != nil {
		return buy.Scaled{}, err
	}
	spent, err := s.budget.Spent()
	if err != nil {
		return buy.Scaled{}, err
	}
	s.atCall = append(s.atCall, spent)
	if s.fails != nil {
		return buy.Scaled{}, s.fails
	}
	s.added += missing
	s.sold[a.Order.String()] = true
	c, err = s.Cluster(ctx, text)
	out := buy.Scaled{Cluster: c, AddedSeconds: 1000}
	for range missing {
		out.Added = append(out.Added, service.Lease{GPUs: 1, Price: "1.80"})
	}
	return out, err
}

func (s *shop) NothingOf(order solana.PublicKey) (bool, error) { return !s.sold[order.String()], nil }

func (s seller) EndCluster(ctx context.Context, text string, _ time.Duration) (buy.Cluster, error) {
	c, err := s.Cluster(ctx, text)
	if c.Left = s.left; len(s.left) == 0 {
		c.State = buy.ClusterEnded
	}
	return c, err
}

func pair(key string, more map[string]any) map[string]any {
	out := map[string]any{"idempotencyKey": key, "gpu": "A100", "seconds": 1000, "nodes": 2, "image": "debian:12"}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// A cluster is bought within the budget, once for its key, found by its name and its order, and ended; what is left is said.
func TestClustersAreBoughtWithinTheBudget(t *testing.T) {
	s := &shop{sold: map[string]bool{}}
	c, end := open(t, s, filepath.Join(t.TempDir(), "mcp.db"), "1")
	defer end()
	var made CreatedCluster
	require.Empty(t, call(t, c, "create_cluster", pair("train", nil), &made))
	require.Equal(t, []market.USDC{1_000_000}, s.atCall, "counted before the order was sent")
	require.EqualValues(t, 2, s.asked[0].Nodes)
	require.Equal(t, buy.ClusterRunning, made.Cluster.State)
	require.Len(t, made.Cluster.Members, 2)
	require.Equal(t, Money{"1.00", "0.50", "0.50"}, made.Money)
	require.Contains(t, call(t, c, "create_cluster", pair("train", map[string]any{"seconds": 1001}), nil), "stands for another purchase")
	require.Contains(t, call(t, c, "create_cluster", pair("more", nil), nil), "the budget of 1.00 USDC has 0.50 left")
	require.Len(t, s.calls, 1, "no order was sent")

	var got buy.Cluster
	for _, id := range []string{"train", mine.String()} {
		require.Empty(t, call(t, c, "get_cluster", map[string]any{"cluster": id}, &got))
		require.Equal(t, "train", got.Name)
	}
	var all Clusters
	require.Empty(t, call(t, c, "list_clusters", nil, &all))
	require.Len(t, all.Clusters, 1)

	s.left = []string{"node-1: its lease is awarded and has not started"}
	require.Empty(t, call(t, c, "end_cluster", map[string]any{"cluster": "train"}, &got))
	require.Equal(t, s.left, got.Left)
	s.left = nil
	require.Empty(t, call(t, c, "end_cluster", map[string]any{"cluster": mine.String()}, &got))
	require.Equal(t, buy.ClusterEnded, got.State)
	spent, err := s.budget.Spent()
	require.NoError(t, err)
	require.EqualValues(t, 500_000, spent, "what a lease brings back goes to the customer")

	// The end of a cluster whose order was cancelled gives the budget back what it had reserved.
	delete(s.sold, "train")
	require.Empty(t, call(t, c, "end_cluster", map[string]any{"cluster": mine.String()}, &got))
	spent, err = s.budget.Spent()
	require.NoError(t, err)
	require.Zero(t, spent)
}

// Machines that are added count before their order is sent, with what their awards reserved afterwards, and no longer when nothing came of
// them: also where the server was killed in between. A number that is reached buys nothing.
func TestMachinesAreAddedWithinTheBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.db")
	s := &shop{sold: map[string]bool{}}
	c, end := open(t, s, path, "3")
	require.Empty(t, call(t, c, "create_cluster", pair("train", nil), nil))
	spent := func(want market.USDC, why string) {
		got, err := s.budget.Spent()
		require.NoError(t, err)
		require.Equal(t, want, got, why)
	}
	spent(500_000, "the cluster")
	s.atCall = nil

	scale := func(id string, nodes int) map[string]any { return map[string]any{"cluster": id, "nodes": nodes} }
	var grown CreatedCluster
	require.Empty(t, call(t, c, "scale_cluster", scale("train", 4), &grown))
	require.Equal(t, []market.USDC{2_500_000}, s.atCall, "counted before the order was sent")
	require.Len(t, grown.Cluster.Members, 4)
	require.Equal(t, Money{"3.00", "1.50", "1.50"}, grown.Money, "1.80 an hour for 1,000 seconds and two machines, not the 2.00 that were reserved")
	require.Empty(t, call(t, c, "scale_cluster", scale(mine.String(), 4), &grown))
	require.Len(t, s.additions, 1, "a number that is reached buys nothing")

	require.Contains(t, call(t, c, "scale_cluster", scale("train", 6), nil), "the budget of 3.00 USDC has 1.50 left, and the order reserves 2.00")
	require.Len(t, s.atCall, 1, "no order was sent")
	spent(1_500_000, "what was refused")
	s.fails = service.Refused("no node fits", "wait")
	require.Equal(t, "no node fits; wait", call(t, c, "scale_cluster", scale("train", 5), nil))
	spent(1_500_000, "what came to nothing")

	// An order whose award is not known counts until it is known that nothing came of it.
	lost, begun := solana.NewWallet().PublicKey(), solana.NewWallet().PublicKey()
	s.sold[begun.String()] = true
	require.NoError(t, s.budget.reserve(addedMachines+lost.String(), charge{Amount: 100_000, Cluster: mine.String()}))
	require.NoError(t, s.budget.reserve(addedMachines+begun.String(), charge{Amount: 200_000, Cluster: mine.String()}))
	require.NoError(t, s.budget.reserve(addedMachines+foreign.String(), charge{Amount: 300_000, Cluster: foreign.String()}))
	s.sold[foreign.String()] = true
	end()
	c, end = open(t, s, path, "3")
	defer end()
	spent(2_000_000, "what was never sent is given back at the start")
	delete(s.sold, begun.String())
	delete(s.sold, foreign.String())
	require.Empty(t, call(t, c, "end_cluster", map[string]any{"cluster": "train"}, nil))
	spent(1_800_000, "the end of a cluster looks at its own machines only: the order of them was cancelled")
}

// A request that would not become a cluster, and one for a cluster of others, are refused before anything is bought or ended.
func TestWrongClustersAreRefused(t *testing.T) {
	s := &shop{sold: map[string]bool{}, left: []string{"ended nothing"}}
	c, end := open(t, s, filepath.Join(t.TempDir(), "mcp.db"), "5")
	defer end()
	for _, x := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"create_cluster", pair("a", map[string]any{"nodes": 1}), "a cluster has several machines"},
		{"create_cluster", pair("a", map[string]any{"nodes": 65}), "an order is over 1 to 64 nodes"},
		{"create_cluster", pair("a", map[string]any{"image": ""}), "run containers"},
		{"create_cluster", pair("a", map[string]any{"redundancy": 3}), "no private network"},
		{"create_cluster", pair("a", map[string]any{"guest": true}), "a measured guest has none"},
		{"create_cluster", pair("../a", nil), "is not an idempotencyKey"},
		{"get_cluster", map[string]any{"cluster": "a"}, `there is no cluster "a"; the tool list_clusters names them`},
		{"end_cluster", map[string]any{"cluster": "a"}, `there is no cluster "a"`},
		{"end_cluster", map[string]any{"cluster": foreign.String()}, "was not bought by this server"},
		{"scale_cluster", map[string]any{"cluster": foreign.String(), "nodes": 3}, "was not bought by this server"},
		{"scale_cluster", map[string]any{"cluster": "a", "nodes": 3}, `there is no cluster "a"`},
		{"scale_cluster", map[string]any{"cluster": "a", "nodes": 65}, "65 is not a number of machines; a cluster has 1 to 64"},
	} {
		require.Contains(t, call(t, c, x.tool, x.args, nil), x.want, x.tool)
	}
	require.Empty(t, s.calls)
}
