package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/gagliardetto/solana-go"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// deployed is the answer of the tool deploy.
type deployed struct {
	Purchase bought
	Spending struct{ Budget, BudgetSpent, BudgetLeft string }
}

// refused calls a tool that answers with an error, and returns its text.
func (v *tools) refused(tool string, args map[string]any) string {
	v.t.Helper()
	r, err := v.client.CallTool(v.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	require.NoError(v.t, err)
	require.True(v.t, r.IsError, "%+v", r.Content)
	text, ok := r.Content[0].(*sdk.TextContent)
	require.True(v.t, ok)
	return text.Text
}

// kill ends the server as kill -9 does.
func (v *tools) kill() {
	_ = v.cmd.Process.Kill()
	_ = v.client.Close()
}

// buy calls deploy; the answer comes later, nil when the server was killed.
func (v *tools) buy(args map[string]any) <-chan *deployed {
	out := make(chan *deployed, 1)
	go func() {
		defer close(out)
		r, err := v.client.CallTool(v.t.Context(), &sdk.CallToolParams{Name: "deploy", Arguments: args})
		if err != nil || r.IsError {
			return
		}
		raw, err := json.Marshal(r.StructuredContent)
		var d deployed
		if err == nil && json.Unmarshal(raw, &d) == nil {
			out <- &d
		}
	}()
	return out
}

// A model buys, uses and stops a lease within its budget, by `gantry mcp` as a process of its own: a tool call that is
// repeated after kill -9 buys nothing twice, and what was counted is counted still.
func TestMCPBuysWithinItsBudget(t *testing.T) {
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
	v := me.mcp("--budget", "1.50")
	request := func(key string, seconds int) map[string]any {
		return map[string]any{
			"idempotencyKey": key, "gpu": "A100", "seconds": seconds, "maxPricePerGpuHour": "4", "command": []string{"true"}, "allowSimulated": true,
		}
	}
	var quote struct {
		CostAtMost, CostAtPresentAsks, SessionLeft string
		Possible                                   bool
	}
	v.ask("quote", map[string]any{"gpu": "A100", "seconds": 600, "maxPricePerGpuHour": "4", "allowSimulated": true}, &quote)
	require.Equal(t, "0.60", quote.CostAtPresentAsks)
	require.Equal(t, "0.66", quote.CostAtMost[:4])
	require.True(t, quote.Possible)

	// Killed between the order and the award: the amount counts, and the same call goes on.
	lost := v.buy(request("first", 600))
	w.Wait("the order", func(x *view.View) bool { return open(x, customer.PublicKey()) == 1 })
	v.kill()
	require.Nil(t, <-lost)
	v = me.mcp("--budget", "1.50")
	var status struct {
		Spending struct{ BudgetSpent, BudgetLeft string }
	}
	v.ask("status", nil, &status)
	require.Equal(t, "0.66", status.Spending.BudgetSpent[:4])
	require.Contains(t, v.refused("deploy", request("first", 601)), "stands for another purchase")
	again := v.buy(request("first", 600))
	lease := m.award(customer.PublicKey(), node)
	first := <-again
	require.NotNil(t, first)
	at := lease.Address.String()
	require.Equal(t, at, first.Purchase.Leases[0].Address)
	require.Equal(t, "0.60", first.Spending.BudgetSpent)

	// A spent budget is an answer, and so is a spent cap.
	require.Contains(t, v.refused("deploy", request("second", 900)), "the budget of 1.50 USDC has 0.90 left, and the order reserves 1.00")
	require.NoError(t, v.client.Close())
	v = me.mcp("--budget", "1000")
	require.Contains(t, v.refused("deploy", request("second", 36_000)), "of the session key's 20.00 are left")
	v.ask("status", nil, &status)
	require.Equal(t, "0.60", status.Spending.BudgetSpent, "what was refused does not count")

	// Used, and stopped; a lease that another interface has bought is left alone.
	var output struct{ Text string }
	v.ask("logs", map[string]any{"lease": at}, &output)
	require.Equal(t, "done\n", output.Text)
	require.Contains(t, v.refused("exec", map[string]any{"lease": at, "command": []string{"true"}}), "does not serve shells")
	served := me.serve()
	byHTTP := served.buy("over-http", map[string]any{"gpu": "A100", "seconds": 600, "maxPricePerGpuHour": "4", "command": []string{"true"}, "allowSimulated": true})
	other := m.award(customer.PublicKey(), node)
	require.Equal(t, other.Address.String(), (<-byHTTP).lease(t))
	require.Contains(t, v.refused("stop", map[string]any{"lease": other.Address.String()}), "was not bought by this server")
	close(m.hold)
	var stopped struct{ Address, Status string }
	for range 2 {
		v.ask("stop", map[string]any{"lease": at}, &stopped)
		require.Equal(t, at, stopped.Address)
		require.Equal(t, "ended", stopped.Status)
	}
	var audit struct{ OK bool }
	v.ask("audit", map[string]any{"lease": at}, &audit)
	require.True(t, audit.OK)
	require.NoError(t, v.client.Close())
	require.Len(t, w.View.LeasesOfCustomer(customer.PublicKey()), 2)

	pythonBuys(t, me, m, customer.PublicKey(), node, request, at)
}

// pythonBuys drives the command with the protocol's Python package.
func pythonBuys(t *testing.T, me shell, m *machine, customer solana.PublicKey, node market.Node, request func(string, int) map[string]any, lease string) {
	python, err := exec.LookPath("gantry-python")
	if err != nil {
		t.Log("SKIPPED: the protocol's Python client is not tried: scripts/toolchain.sh clients")
		return
	}
	calls, err := json.Marshal([]any{
		[]any{"leases", map[string]any{"lease": lease}}, []any{"deploy", request("first", 600)}, []any{"deploy", request("python", 600)}, []any{"deploy", request("third", 36_000)},
	})
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), python, append(append([]string{"testdata/mcp_client.py", os.Args[0]}, me.args...), "mcp", "--budget", "2")...)
	cmd.Env = append(append(os.Environ(), asCommand+"=1"), me.env...)
	cmd.Stdin = bytes.NewReader(calls)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { t.Log(stderr.String()) })
	bought := m.award(customer, node)
	require.NoError(t, cmd.Wait(), stderr.String())
	var got struct {
		Tools   map[string]*bool
		Results []struct {
			IsError  bool
			Text     string
			Document json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &got), stdout.String())
	require.True(t, *got.Tools["deploy"])
	require.Len(t, got.Results, 4)
	for i, want := range []string{lease, lease, bought.Address.String()} {
		require.False(t, got.Results[i].IsError, got.Results[i].Text)
		require.Contains(t, string(got.Results[i].Document), want)
	}
	require.True(t, got.Results[3].IsError)
	require.Contains(t, got.Results[3].Text, "the budget of 2.00 USDC has 0.80 left")
}
