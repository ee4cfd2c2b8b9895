package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/meter"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// An agent reads its own accounts: what thousands of accounts and the transactions of other people make of the market
// costs it neither calls nor bytes.
func TestOtherPeoplesAccountsCostAnAgentNothing(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := w.newAgent(0)
	m := meter.New(t, chain.Endpoint{RPC: w.at.RPC, WS: w.at.WS})
	a.through = engine.Endpoint{RPC: m.Endpoint().RPC, WS: m.Endpoint().WS}
	a.start()
	alone := m.Bytes()
	t.Logf("start in an empty market: %d bytes, %v", alone, m.Calls())
	a.stop()
	testmarket.Foreign(t, w.chain, 2000)
	m.Reset()
	a.start()
	among := m.Bytes()
	t.Logf("start among 8,000 accounts of others: %d bytes, %v", among, m.Calls())

	m.Reset()
	began := time.Now()
	for range 20 {
		w.deposit(w.keys.Customers[1], market.OneUSDC)
	}
	t.Logf("20 transactions of a stranger, %s: %d bytes, %v", time.Since(began).Round(time.Second), m.Bytes(), m.Calls())
	require.Zero(t, m.Calls()["getTransaction"], "transactions of others are not read")
	require.Less(t, m.Calls()["getMultipleAccounts"], 10, "nor what they wrote; the agent's own accounts may be read once more after the start")
	require.Less(t, among, alone+256<<10, "nor the accounts of others at the start")
}
