package mcp

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/catalogue"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
)

// shop sells leases. It notes what the budget has spent when it is asked: what is not written first is seen.
type shop struct {
	world
	budget *Budget
	fails  error
	sold   map[string]bool // purchases that came to something
	calls  []string
	asked  []serve.OrderRequest
	atCall []market.USDC
	left   []string // of clusters that end
	// added counts machines that clusters got, and additions are their orders.
	added     int
	additions []solana.PublicKey
}

func (s *shop) Buy(_ context.Context, name string, r serve.OrderRequest) (serve.Bought, error) {
	spent, err := s.budget.Spent()
	if err != nil {
		return serve.Bought{}, err
	}
	s.calls, s.atCall, s.asked = append(s.calls, name), append(s.atCall, spent), append(s.asked, r)
	if s.fails != nil {
		return serve.Bought{}, s.fails
	}
	s.sold[name] = true
	return serve.Bought{Order: mine.String(), Leases: []service.Lease{{Address: mine.String(), Order: mine.String(), GPUs: 1, Price: "1.80"}}}, nil
}

func (s *shop) SoFar(context.Context, string) (serve.Bought, error) {
	return serve.Bought{}, nil
}

func (s *shop) Stop(context.Context, solana.PublicKey) (service.Lease, error) {
	return service.Lease{Address: mine.String(), Status: "ended"}, nil
}

func (s *shop) Nothing(name string) (bool, error)           { return !s.sold[name], nil }
func (s *shop) Bought(order solana.PublicKey) (bool, error) { return order == mine, nil }
func (s *shop) Lease(ctx context.Context, who, at solana.PublicKey) (service.Lease, error) {
	l, err := s.world.Lease(ctx, who, at)
	if l.Order = at.String(); at == session {
		return service.Lease{Address: at.String(), Order: at.String(), Status: "running"}, nil
	}
	return l, err
}

func (s *shop) Exec(_ context.Context, _ solana.PublicKey, r ExecRequest) (ExecResult, error) {
	if r.Most != MaxExecOutput || r.Seconds != defaultExec {
		return ExecResult{}, errors.New("other bounds")
	}
	return ExecResult{Stdout: r.Command[0], Stderr: r.User, ExitCode: 3}, nil
}

// open is a client of a server with a budget, which a restart opens anew.
func open(t *testing.T, s *shop, path, most string) (c *sdk.ClientSession, end func()) {
	t.Helper()
	amount, err := market.ParseUSDC(most)
	require.NoError(t, err)
	s.budget, err = OpenBudget(path, session, amount)
	require.NoError(t, err)
	within, err := WithinBudget(seller{s}, s.budget, func(_ context.Context, r service.QuoteRequest) (market.USDC, error) {
		return market.USDC(r.Seconds) * 1000, nil // a thousandth of a USDC a second
	})
	require.NoError(t, err)
	purchases, wait := serve.NewPurchases(t.Context(), within)
	near, far := sdk.NewInMemoryTransports()
	models, err := catalogue.Builtin()
	require.NoError(t, err)
	all, err := template.Builtin()
	require.NoError(t, err)
	o := Options{
		Market: s, Outputs: s, Customer: customer, Session: session, Version: "test", Catalogue: models, Templates: all,
		Budget: s.budget, Purchases: purchases, Buyer: within,
	}
	server, err := New(o).Connect(t.Context(), far, nil)
	require.NoError(t, err)
	c, err = sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
	require.NoError(t, err)
	return c, func() {
		_ = c.Close()
		_ = server.Wait()
		wait()
		require.NoError(t, s.budget.Close())
	}
}

func buying(key string, seconds int) map[string]any {
	return map[string]any{"idempotencyKey": key, "gpu": "A100", "seconds": seconds}
}

// The budget is written before an order is sent, counts a key once, holds over restarts, and gives back what came to
// nothing; when it is spent, that is an answer.
func TestBudgetHolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.db")
	s := &shop{sold: map[string]bool{}}
	c, end := open(t, s, path, "2")

	var d Deployed
	require.Empty(t, call(t, c, "deploy", buying("a", 1000), &d))
	require.Equal(t, "bought", d.Purchase.Phase)
	require.Equal(t, mine.String(), d.Purchase.Leases[0].Address)
	require.Equal(t, []market.USDC{1_000_000}, s.atCall, "counted before the order was sent")
	require.Equal(t, Money{"2.00", "0.50", "1.50"}, d.Money, "1.80 an hour for 1,000 seconds, not the 1.00 that was reserved")
	require.Empty(t, call(t, c, "deploy", buying("a", 1000), &d))
	require.Equal(t, "0.50", d.Money.Spent, "a key counts once")
	require.Contains(t, call(t, c, "deploy", buying("a", 1001), nil), "stands for another purchase")

	s.fails = service.Refused("no node fits", "wait")
	require.Equal(t, "no node fits; wait", call(t, c, "deploy", buying("b", 1000), nil))
	spent, err := s.budget.Spent()
	require.NoError(t, err)
	require.EqualValues(t, 500_000, spent, "what came to nothing does not count")

	s.sold["c"] = true // the order is on chain, and the award is not known
	require.NotEmpty(t, call(t, c, "deploy", buying("c", 1000), nil))
	end()
	s.sold["d"], s.fails = false, nil

	c, end = open(t, s, path, "2")
	var status Status
	require.Empty(t, call(t, c, "status", nil, &status))
	require.Equal(t, &Money{"2.00", "1.50", "0.50"}, status.Money, "what may be bought counts after a restart too")
	calls := len(s.calls)
	over := call(t, c, "deploy", buying("e", 600), nil)
	require.Contains(t, over, "the budget of 2.00 USDC has 0.50 left, and the order reserves 0.60; ask for less")
	require.Contains(t, over, "--budget")
	require.Len(t, s.calls, calls, "no order was sent")
	require.Empty(t, call(t, c, "deploy", buying("c", 1000), &d), "what was begun goes on although it would not fit any more")
	delete(s.sold, "x")
	require.NoError(t, s.budget.reserve("x", charge{Amount: 100_000})) // as a server that was killed leaves it
	end()

	_, end = open(t, s, path, "3")
	defer end()
	spent, err = s.budget.Spent()
	require.NoError(t, err)
	require.EqualValues(t, 1_000_000, spent, "two leases of 0.50; what was never sent is given back")
}

// Tools that spend, end or change something say so, and act on what this server has bought.
func TestToolsThatChangeThingsSaySo(t *testing.T) {
	s := &shop{sold: map[string]bool{}}
	c, end := open(t, s, filepath.Join(t.TempDir(), "mcp.db"), "1")
	defer end()
	list, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	idempotent := map[string]bool{"deploy": true, "deploy_model": true, "stop": true, "exec": false, "create_cluster": true, "scale_cluster": true, "end_cluster": true, "delete_volume": false}
	seen := 0
	for _, tool := range list.Tools {
		want, changes := idempotent[tool.Name]
		require.Equal(t, !changes, tool.Annotations.ReadOnlyHint, tool.Name)
		if changes {
			seen++
			require.True(t, *tool.Annotations.DestructiveHint, tool.Name)
			require.Equal(t, want, tool.Annotations.IdempotentHint, tool.Name)
		}
	}
	require.Equal(t, 8, seen)

	var l service.Lease
	require.Empty(t, call(t, c, "stop", map[string]any{"lease": mine.String()}, &l))
	require.Equal(t, "ended", l.Status)
	var ran ExecResult
	require.Empty(t, call(t, c, "exec", map[string]any{"lease": mine.String(), "command": []string{"hostname"}, "user": "root"}, &ran))
	require.Equal(t, ExecResult{Stdout: "hostname", Stderr: "root", ExitCode: 3}, ran)
	for _, x := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"stop", map[string]any{"lease": session.String()}, "was not bought by this server; "},
		{"exec", map[string]any{"lease": session.String(), "command": []string{"true"}}, "was not bought by this server; "},
		{"exec", map[string]any{"lease": mine.String(), "command": []string{}}, "0 words"},
		{"exec", map[string]any{"lease": mine.String(), "command": []string{"true"}, "seconds": 601}, "601 seconds"},
		{"deploy", buying("../x", 10), "is not an idempotencyKey; choose"},
		{"deploy", map[string]any{"gpu": "A100", "seconds": 10}, "idempotencyKey"},
	} {
		require.Contains(t, call(t, c, x.tool, x.args, nil), x.want, x.tool)
	}
}

// Figures that a model asks for reach the order.
func TestFiguresReachTheOrder(t *testing.T) {
	s := &shop{sold: map[string]bool{}}
	c, end := open(t, s, filepath.Join(t.TempDir(), "mcp.db"), "2")
	defer end()
	in := buying("figures", 100)
	in["minTops"], in["minGigabytesPerSecond"], in["minDownMbps"], in["minUpMbps"] = "1200.5", "900", 500, 100
	require.Empty(t, call(t, c, "deploy", in, nil))
	require.Len(t, s.asked, 1)
	require.Equal(t, service.Figures{MinTOPS: "1200.5", MinBandwidth: "900", MinDown: 500, MinUp: 100}, s.asked[0].Figures)
}

// A model may order a measured guest. What it must prove goes with the order.
func TestAGuestReachesTheOrder(t *testing.T) {
	s := &shop{sold: map[string]bool{}}
	c, end := open(t, s, filepath.Join(t.TempDir(), "mcp.db"), "2")
	defer end()
	in := buying("guest", 100)
	in["guest"], in["attest"], in["image"] = true, "{}", "debian:12"
	require.Empty(t, call(t, c, "deploy", in, nil))
	require.Len(t, s.asked, 1)
	require.True(t, s.asked[0].Guest)
	require.Equal(t, "{}", s.asked[0].Attest)
}

// An order that is extended counts with the whole of its own budget, so that its extensions stay within the server's.
func TestTheBudgetCountsExtensions(t *testing.T) {
	s := &shop{sold: map[string]bool{}}
	c, end := open(t, s, filepath.Join(t.TempDir(), "mcp.db"), "2")
	defer end()
	in := buying("long", 100) // reserves 0.10
	in["untilStopped"] = true
	for _, budget := range []string{"", "0.09", "much"} {
		in["budget"] = budget
		require.Contains(t, call(t, c, "deploy", in, nil), "needs a budget of 0.10 USDC or more", budget)
	}
	in["budget"] = "2.01"
	require.Contains(t, call(t, c, "deploy", in, nil), "the order reserves 2.01")
	in["budget"] = "1.50"
	var d Deployed
	require.Empty(t, call(t, c, "deploy", in, &d))
	require.Equal(t, Money{"2.00", "1.50", "0.50"}, d.Money)
}

// The budget counts all machines of a redundant order, which names them instead of nodes.
func TestTheBudgetCountsAllMachinesOfARedundantOrder(t *testing.T) {
	require.EqualValues(t, 3, quoteOf(serve.OrderRequest{Nodes: 1, Redundancy: 3}).Nodes)
	require.EqualValues(t, 2, quoteOf(serve.OrderRequest{Nodes: 2}).Nodes)
}
