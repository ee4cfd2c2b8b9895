package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/browser"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// A person whose key is in a wallet of the browser deposits credits by a command.
func TestSignInABrowser(t *testing.T) {
	t.Parallel()
	browser.Find(t)
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	customer := w.Customer(50*market.OneUSDC, 0)
	key := filepath.Join(t.TempDir(), "wallet.json")
	require.NoError(t, chain.SaveKeypair(key, customer))
	args := []string{"--url", w.Endpoint.RPC, "--ws", w.Endpoint.WS, "--keypair", "/nowhere", "--state-dir", filepath.Join(t.TempDir(), "state")}
	s := shell{t: t, args: args}
	s.fails(cli.ExitUsage, "--sign-with is browser", "--sign-with", "ledger", "credits", "show")
	s.fails(cli.ExitUsage, "is not an address", "--sign-with", "browser:x", "credits", "show")

	cmd := exec.Command(os.Args[0], append(args, "--sign-with", "browser:"+customer.PublicKey().String(), "credits", "add", "5")...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	browser.Sign(t, browser.Link(t, stderr), key, "Moves 5.00 USDC from the wallet into its credits.")
	require.NoError(t, cmd.Wait(), out.String())
	require.Contains(t, out.String(), "added 5.00 USDC")
	require.Equal(t, 5*market.OneUSDC, creditsOf(t, w, customer.PublicKey()))
}
