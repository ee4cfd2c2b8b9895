//go:build e2e

package scenario

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// Two of three machines of a group fail, it needs two, and no other machine is free. One machine that is left and a command that attends
// are not enough: the third lease is ended, no machine may take over the others any more, and everything says why.
func TestAGroupIsNotLeftHalfAlive(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	params := seed.Params()
	params.SettleDeadlinePeriods = 60 // keepers could move failed leases as long as the test runs
	n := likeMachines(t, 3, network.Config{Params: &params})
	mine := n.Keys.Customers[0]
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	over := make(chan network.Output, 1)
	go func() {
		out, err := n.Gantry(t.Context(), mine, "cluster", "up", "--name", "trio", "--gpu", "A100", "--nodes", "3", "--min-nodes", "2", "--max-price", "3", "--duration", "30m",
			"--allow-simulated", "--network", "none", "--migrate", "--image", image, "--", "/bin/sh", "-c", "echo works; sleep 1500")
		if err != nil {
			t.Error(err)
		}
		over <- out
	}()
	g := &groupVisit{t: t, n: n, owner: mine}
	all := g.leases(3)
	require.NoError(t, n.Fail(t.Context(), g.machine(all[0])))
	require.Len(t, g.leases(2), 2)
	time.Sleep(5 * time.Second) // one that is lost is not too many
	var c buy.Cluster
	status := func() {
		require.NoError(t, json.Unmarshal([]byte(ok(t, n, mine, "cluster", "status", "trio").Stdout), &c))
	}
	status()
	require.Equal(t, buy.ClusterPartial, c.State)
	require.Zero(t, c.EndsAt)
	require.EqualValues(t, 2, c.MinNodes)

	began := time.Now()
	require.NoError(t, n.Fail(t.Context(), g.machine(all[1])))
	require.Eventually(t, func() bool { status(); return c.EndsAt != 0 }, time.Minute, 500*time.Millisecond)
	require.Contains(t, c.Says, "too few machines run, and the group needs 2: the others are ended at")
	require.Empty(t, c.Reason)
	last := g.leases(1)[0]
	ends := c.EndsAt
	out := <-over
	t.Logf("the command ended %.1f s after the second machine:\n%s", time.Since(began).Seconds(), out.Stderr)
	require.Equal(t, service.CodeJobFailed, out.Code)
	require.Contains(t, out.Stderr, "too few machines ran for")

	status()
	require.Equal(t, buy.ClusterEnded, c.State)
	require.Equal(t, service.WhyIncomplete, c.Reason)
	ended := nothingOfAGroupIsLeft(t, n, all[0].Order)
	require.GreaterOrEqual(t, ended[last.Address].EndedAt, ends)
	require.Less(t, ended[last.Address].EndedAt, ends+30)
	end := ended[last.Address]
	require.Equal(t, market.EndedByCustomer, end.Reason())
	for address, reason := range map[solana.PublicKey]string{last.Address: service.WhyIncomplete, all[0].Order: service.WhyIncomplete, all[0].Address: service.WhyFailed} {
		var why service.Why
		require.NoError(t, json.Unmarshal([]byte(ok(t, n, mine, "why", address.String()).Stdout), &why))
		require.Equal(t, reason, why.Reason, "%+v", why)
	}
}

// A server has bought the group. It is killed while the time of the group runs, and ends the group when it runs again.
func TestAServerEndsAGroupWithTooFewMachines(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	n := likeMachines(t, 3, network.Config{})
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	s := newTeamServer(t, n, map[string]market.USDC{"main": 9 * market.OneUSDC})
	order := movingOrder("main")
	order["nodes"], order["minNodes"], order["image"], order["network"], order["command"] = 3, 2, image, "none", []string{"/bin/sh", "-c", "echo main works; sleep 500"}
	c := s.cluster(http.MethodPost, "/v1/clusters", "trio", order, http.StatusCreated)
	require.Len(t, c.Members, 3)
	lease := func(i int) market.Lease {
		l, found := snapshotOf(t, n).Lease(solana.MustPublicKeyFromBase58(c.Members[i].Lease))
		require.True(t, found)
		return l
	}
	last := lease(2)
	for i := range 2 {
		require.NoError(t, n.Fail(t.Context(), machineOf(t, n, lease(i).Node).Name))
	}
	get := func() buy.Cluster { return s.cluster(http.MethodGet, "/v1/clusters/trio", "", nil, http.StatusOK) }
	require.Eventually(t, func() bool { return get().EndsAt != 0 }, time.Minute, 500*time.Millisecond)
	ends := get().EndsAt
	s.kill()
	s.start()
	require.Eventually(t, func() bool { return get().State == buy.ClusterEnded }, 3*time.Minute, time.Second)
	require.Equal(t, service.WhyIncomplete, get().Reason)
	ended := nothingOfAGroupIsLeft(t, n, last.Order)
	require.GreaterOrEqual(t, ended[last.Address].EndedAt, ends, "the time began with the loss, also for the server that came after")
	require.Less(t, ended[last.Address].EndedAt, ends+30)
	for address, reason := range map[solana.PublicKey]string{last.Address: service.WhyIncomplete, last.Order: service.WhyIncomplete} {
		status, raw, err := s.ask(http.MethodGet, "/v1/why/"+address.String(), s.tokens["main"], "", nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, "%s", raw)
		var why service.Why
		require.NoError(t, json.Unmarshal(raw, &why))
		require.Equal(t, reason, why.Reason, "%s", raw)
	}
}

// nothingOfAGroupIsLeft requires that all leases of an order are over for good, and cost nothing more. It returns those that are on chain.
func nothingOfAGroupIsLeft(t *testing.T, n *network.Network, order solana.PublicKey) map[solana.PublicKey]market.Lease {
	t.Helper()
	read := func() map[solana.PublicKey]market.Lease {
		out := map[solana.PublicKey]market.Lease{}
		for _, l := range snapshotOf(t, n).LeasesOfOrder(order) {
			require.Equal(t, market.LeaseEnded, l.State(), l.Address)
			out[l.Address] = l
		}
		return out
	}
	first := read()
	time.Sleep(5 * time.Second)
	now, err := n.Chain.Now(t.Context())
	require.NoError(t, err)
	var owed market.USDC
	for address, l := range read() {
		part, err := l.Owed(l.BillableSecs(l.EndedAt))
		require.NoError(t, err)
		owed += part
		before, known := first[address]
		require.True(t, known, "lease %s began after the end of the group", address)
		require.Equal(t, before.BillableSecs(now), l.BillableSecs(now+1000), "nothing is billed after the end")
	}
	customer := n.Keys.Customers[0].Address()
	credits, known := snapshotOf(t, n).CreditsOf(customer)
	require.True(t, known)
	require.LessOrEqual(t, market.USDC(credits.Credits.Reserved), owed, "what was not used is free")
	return first
}
