package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/meter"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
)

// A command reads what it shows: thousands of accounts of other people do not make it read more.
func TestOtherPeoplesAccountsCostACommandNothing(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	testmarket.Foreign(t, w.Client, 500)
	m := meter.New(t, chain.Endpoint{RPC: w.Endpoint.RPC, WS: w.Endpoint.WS})
	customer := newShell(t, w, testmarket.Key(t))
	customer.args[1], customer.args[3] = m.Endpoint().RPC, m.Endpoint().WS
	for _, command := range [][]string{{"leases"}, {"order", "list"}, {"node", "list"}, {"keeper", "list"}, {"market", "show"}, {"fault", "list"}, {"payouts", "list"}} {
		m.Reset()
		r := customer.run(t.Context(), command...)
		t.Logf("gantry %v: exit code %d, %d bytes, %v", command, r.code, m.Bytes(), m.Calls())
		require.Equal(t, cli.ExitDone, r.code, r.err)
		require.Less(t, m.Bytes(), 64<<10, "gantry %v: %s", command, r.err)
	}
	m.Reset()
	customer.ok(nil, "leases", "--all")
	t.Logf("gantry leases --all: %d bytes", m.Bytes())
	require.Greater(t, m.Bytes(), 500<<10, "what is asked for is read")
}
