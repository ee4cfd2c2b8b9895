//go:build e2e

package scenario

import (
	"encoding/json"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
)

// What a job names of its machine is what it gets: no machine with a smaller share is awarded, and none cuts it.
func TestAnOrderGetsTheShareThatItAsksFor(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	n, customer := newMarket(t)
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	deploy := func(flags ...string) []string {
		args := append([]string{"deploy", "--gpu", "A100", "--minutes", "10", "--allow-simulated", "--network", "none", "--image", image, "--detach"}, flags...)
		return append(args, "--", "/bin/busybox", "sleep", "600")
	}
	for says, flags := range map[string][]string{
		"--cpus 5000 of":                       {"--cpus", "5000"},
		"--memory 102400 GiB of":               {"--memory", "100t"},
		"102401 GiB of disk (with the image's": {"--disk", "100t"},
		"CUDA 13.0 of 12.4":                    {"--cuda", "13.0"},
		"write it as 512g or 512m":             {"--memory", "512"},
		"\"new\"; write it such as":            {"--cuda", "new"},
		", CUDA 13.0 of 12.4; ask":             {"--cpus", "5000", "--cuda", "13.0"},
	} {
		r, err := n.Gantry(t.Context(), customer, deploy(flags...)...)
		require.NoError(t, err)
		require.NotZero(t, r.Code, flags)
		require.Contains(t, r.Stderr, says)
	}

	found := func(terms ...string) int {
		var offers []struct{ CUDA string }
		require.NoError(t, json.Unmarshal([]byte(ok(t, n, customer, append([]string{"search", "--json"}, terms...)...).Stdout), &offers))
		return len(offers)
	}
	require.Positive(t, found("gpu=A100", "cpus>=1", "ram>=1", "disk>=1", "cuda>=12.4"))
	require.Zero(t, found("gpu=A100", "cuda>=12.5"))
	require.Zero(t, found("gpu=A100", "ram>=100000"))

	var deployed struct {
		Leases []struct{ Address, Node string }
	}
	done := ok(t, n, customer, deploy("--cpus", "1", "--memory", "256m", "--disk", "64m", "--cuda", "12.4")...)
	require.NoError(t, json.Unmarshal([]byte(done.Stdout), &deployed), done.Stdout)
	require.Len(t, deployed.Leases, 1)
	var top struct{ MemoryLimitBytes uint64 }
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, customer, "top", deployed.Leases[0].Address, "--json").Stdout), &top))
	require.Equal(t, uint64(256<<20), top.MemoryLimitBytes)
	shown := ok(t, n, customer, "node", "show", deployed.Leases[0].Node).Stdout
	require.Contains(t, shown, `"cuda": "12.4"`)
	ok(t, n, customer, "stop", deployed.Leases[0].Address)
}
