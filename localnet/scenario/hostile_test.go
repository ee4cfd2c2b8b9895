//go:build e2e

package scenario

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/localnet/network"
)

// Strangers and dishonest members of the market, with addresses of their own, harm no honest machine and make no daemon
// large. `make hostile-network` takes longer.
func TestHostileNetwork(t *testing.T) {
	long.Test(t, "attacks for minutes")
	if os.Geteuid() != 0 {
		t.Skip("it needs root, to make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("it needs ip of iproute2, to make network namespaces")
	}
	binary, err := network.Binary("gantry-localnet")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), binary, "hostile-network", "--engine", "surfnet", "--for", "40s", "--state", t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
