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
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// A machine that a server has added to a cluster fails. The server brings its job to the next one, as it does for the first machines.
func TestServersMoveAddedMachines(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	n := likeMachines(t, 4, network.Config{})
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	s := newTeamServer(t, n, map[string]market.USDC{"main": 9 * market.OneUSDC})
	order := movingOrder("main")
	order["nodes"], order["image"], order["network"], order["command"] = 2, image, "none", []string{"/bin/sh", "-c", "echo main works; sleep 500"}
	s.cluster(http.MethodPost, "/v1/clusters", "grows", order, http.StatusCreated)
	grown := s.cluster(http.MethodPost, "/v1/clusters/grows/scale", "more", map[string]any{"nodes": 3}, http.StatusOK)
	require.Len(t, grown.Members, 3)

	added, ok := snapshotOf(t, n).Lease(solana.MustPublicKeyFromBase58(grown.Members[2].Lease))
	require.True(t, ok)
	require.Eventually(t, func() bool { return s.output("main", added.Address) == "main works\n" }, 30*time.Second, 200*time.Millisecond)
	require.NoError(t, n.Fail(t.Context(), machineOf(t, n, added.Node).Name))
	next := movedFrom(t, n, added)
	require.Eventually(t, func() bool { return s.output("main", next.Address) == "main works\n" }, 60*time.Second, 200*time.Millisecond)
	require.Eventually(t, func() bool {
		return s.cluster(http.MethodGet, "/v1/clusters/grows", "", nil, http.StatusOK).Members[2].Lease == next.Address.String()
	}, 30*time.Second, time.Second)
}

// cluster repeats a request while machines of a cluster are bought.
func (s *teamServer) cluster(method, path, key string, body any, done int) (c buy.Cluster) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		status, raw, err := s.ask(method, path, s.tokens["main"], key, body)
		require.NoError(s.t, err)
		require.Contains(s.t, []int{http.StatusAccepted, done}, status, "%s", raw)
		require.NoError(s.t, json.Unmarshal(raw, &c))
		return status == done
	}, 3*time.Minute, time.Second)
	return c
}
