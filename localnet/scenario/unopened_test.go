//go:build e2e

package scenario

import (
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/measure"
)

// A machine that signs its measurements and opens nothing of them loses stake. Each keeper that stated it has a record by
// which an auditor without an account sees that the machine has signed its refusal. The honest machine loses nothing.
func TestAMachineThatOpensNothingIsSlashed(t *testing.T) {
	t.Parallel()
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 1, Nodes: network.DefaultNodes(2), Log: warnings(t),
		Flags: map[string][]string{"node-2": {"--simulate-unopened"}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	cheat := n.Nodes[1]
	require.Eventually(t, func() bool {
		v := snapshotOf(t, n)
		for _, f := range v.Faults() {
			require.Equal(t, cheat.Address, f.Node, "no honest machine is accused")
		}
		p, ok := v.Provider(market.ProviderAddress(cheat.Owner.Address()))
		return ok && p.SlashedTotal > 0
	}, 2*time.Minute, 100*time.Millisecond, "the machine is slashed")
	v := snapshotOf(t, n)
	for _, f := range v.Faults() {
		require.Equal(t, market.FaultReport, f.Kind, "by a report of its keepers")
	}
	unharmed, _ := v.Provider(market.ProviderAddress(n.Nodes[0].Owner.Address()))
	require.Zero(t, unharmed.SlashedTotal)

	files, err := filepath.Glob(filepath.Join(n.Dir(), "keepers", "*", "measurements", cheat.Address.String(), "*.measurement"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "keepers keep records")
	name := strings.TrimSuffix(filepath.Base(files[0]), ".measurement")
	_, hash, _ := strings.Cut(name, "-")
	out := ok(t, n, n.Keys.Customers[0], "--json", "evidence", "measurement", "--hash", hash, files[0])
	var got struct {
		Verdict, Why, Node, Hash string
		Shown                    bool
	}
	require.NoError(t, json.Unmarshal([]byte(out.Stdout), &got), out.Stdout)
	t.Log(out.Stdout)
	require.True(t, got.Shown)
	require.Equal(t, measure.Unopened.String(), got.Verdict)
	require.Equal(t, cheat.Address.String(), got.Node)
	_, err = hex.DecodeString(got.Hash)
	require.NoError(t, err)
}
