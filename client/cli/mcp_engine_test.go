package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
)

// tools is a running `gantry mcp`, a process of its own, and its client.
type tools struct {
	t      *testing.T
	cmd    *exec.Cmd
	client *sdk.ClientSession
}

func (s shell) mcp(flags ...string) *tools {
	s.t.Helper()
	cmd := exec.Command(os.Args[0], append(append(append([]string{}, s.args...), "mcp"), flags...)...)
	cmd.Env = append(append(os.Environ(), asCommand+"=1"), s.env...)
	cmd.Stderr = os.Stderr
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(s.t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = client.Close() })
	return &tools{s.t, cmd, client}
}

// ask calls a tool and decodes its answer, which is no error.
func (v *tools) ask(tool string, args map[string]any, into any) {
	v.t.Helper()
	r, err := v.client.CallTool(v.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	require.NoError(v.t, err)
	require.False(v.t, r.IsError, "%+v", r.Content)
	raw, err := json.Marshal(r.StructuredContent)
	require.NoError(v.t, err)
	require.NoError(v.t, json.Unmarshal(raw, into))
}

// TestMCPReads asks `gantry mcp`, a process of its own, over its standard input and output, and compares with the commands.
func TestMCPReads(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.StartDeadlineSecs, params.AwardDeadlineSecs = 60, 60
	w.InitMarket(params)
	keeper := w.Keeper()
	_, node := w.Node(w.Provider(100*market.OneGNT), testmarket.A100, 1, 3_600_000)
	customer := w.Customer(50*market.OneUSDC, 40*market.OneUSDC)
	newShell(t, w, customer).fails(cli.ExitUsage, "--session is missing", "mcp")
	me, key := sessionShell(t, w, customer, "20")

	v := me.mcp()

	var offers struct{ Offers []map[string]any }
	v.ask("search", map[string]any{"terms": "gpu=a100 price<=3.6"}, &offers)
	var found []map[string]any
	me.ok(&found, "search", "gpu=a100 price<=3.6")
	require.Len(t, found, 1)
	require.Equal(t, found, offers.Offers)

	var leases struct {
		Customer string
		Leases   []struct{ Address, Status string }
	}
	v.ask("leases", nil, &leases)
	require.Equal(t, customer.PublicKey().String(), leases.Customer)
	require.Empty(t, leases.Leases)
	job, err := messages.JobSpec{Version: messages.Version, Command: []string{"true"}}.Digest()
	require.NoError(t, err)
	order := w.Order(customer, ix.OrderCreateArgs{
		Nonce: 1, GPUsPerNode: 1, Nodes: 1, Duration: 600, MaxPrice: 4_000_000, JobDigest: job,
		Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	})
	lease := w.Award(keeper, order, node)
	v.ask("leases", map[string]any{"lease": lease.Address.String()}, &leases)
	require.Len(t, leases.Leases, 1)
	require.Equal(t, "awarded", leases.Leases[0].Status)

	var costs struct {
		Account struct {
			Balance string
			Session struct{ Key, Cap string }
		}
		Leases []struct{ Lease string }
	}
	v.ask("costs", nil, &costs)
	require.Equal(t, "40.00", costs.Account.Balance)
	require.Equal(t, key.PublicKey().String(), costs.Account.Session.Key)
	require.Equal(t, "20.00", costs.Account.Session.Cap)
	require.Len(t, costs.Leases, 1)
	require.Equal(t, lease.Address.String(), costs.Leases[0].Lease)

	for _, id := range []string{node.Address.String(), "x"} {
		r, err := v.client.CallTool(t.Context(), &sdk.CallToolParams{Name: "logs", Arguments: map[string]any{"lease": id}})
		require.NoError(t, err)
		require.True(t, r.IsError, id)
	}

	require.NoError(t, v.client.Close()) // the process ends with its input, with exit code 0
	require.True(t, v.cmd.ProcessState.Success())
}
