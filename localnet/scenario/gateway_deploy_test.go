//go:build e2e

package scenario

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/buy"
)

// A purchase has a gateway give its ports public addresses as soon as the lease runs. A lease also runs where
// the gateway gives none, and what its customer has taken back stays so.
func TestAPurchaseMakesItsPortsPublic(t *testing.T) {
	needsSandbox(t)
	v, image := siteAndGateway(t)
	n, customer := v.n, v.owner
	deploy := func(name, via string) (out buy.Outcome, said string) {
		t.Helper()
		done := ok(t, n, customer, "deploy", "--gpu", "A100", "--max-price", "3", "--duration", "30m", "--allow-simulated", "--detach", "--network", "none",
			"--name", name, "--port", "8080:web", "--via", via, "--image", image, "--", "/bin/site")
		require.NoError(t, json.Unmarshal([]byte(done.Stdout), &out), done.Stdout)
		require.Len(t, out.Public, 1)
		require.Equal(t, out.Leases[0].Address, out.Public[0].Lease)
		return out, done.Stderr
	}
	gateway := v.g.who.Address().String()
	out, said := deploy("site", gateway)
	require.Empty(t, out.Public[0].Failed)
	require.Len(t, out.Public[0].Ports, 1)
	v.lease, v.web = out.Leases[0].Address, out.Public[0].Ports[0].URL
	require.Contains(t, said, "port 8080 gets an address that anybody reaches")
	require.Contains(t, said, v.web)
	v.http = v.g.client(v.own.cert)
	require.Eventually(t, func() bool { code, _, err := fetch(v.http, v.web); return err == nil && code == 200 }, time.Minute, 200*time.Millisecond)
	_, body, err := fetch(v.http, v.web)
	require.NoError(t, err)
	require.Contains(t, body, "the page of web-")

	closed := v.gantry("gateway", "close", v.lease, "--via", gateway)
	require.Zero(t, closed.Code, closed.Stderr)
	out, _ = deploy("site", gateway)
	require.Contains(t, out.Public[0].Failed, "was taken back")
	code, _, err := fetch(v.http, v.web)
	require.NoError(t, err)
	require.Equal(t, 404, code)
	stopped := v.gantry("stop", v.lease)
	require.Zero(t, stopped.Code, stopped.Stderr)

	keeper := n.Keys.Keepers[0].Address().String()
	out, said = deploy("elsewhere", keeper)
	require.Contains(t, out.Public[0].Failed, keeper+" is not a gateway")
	require.Contains(t, said, "gives lease")
	require.Contains(t, said, "reach    port 8080: gantry port "+out.Leases[0].Address+" 8080")
	stopped = v.gantry("stop", out.Leases[0].Address)
	require.Zero(t, stopped.Code, stopped.Stderr)

	dry := v.gantry("--dry-run", "deploy", "--gpu", "A100", "--minutes", "5", "--allow-simulated", "--port", "8080", "--image", image, "--", "/bin/site")
	require.Contains(t, dry.Stderr, "no gateway is named")
}
