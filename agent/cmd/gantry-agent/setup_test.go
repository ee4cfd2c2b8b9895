package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/doctor"
	"github.com/gantry-market/gantry/agent/setup"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// fakeTerminal is somebody who types answers.
type fakeTerminal struct{ io.Reader }

func (fakeTerminal) Terminal() bool { return true }

// stopAt interrupts once a text was written.
type stopAt struct {
	bytes.Buffer
	text string
	stop context.CancelFunc
}

func (s *stopAt) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if s.text != "" && strings.Contains(s.String(), s.text) {
		s.stop()
	}
	return n, err
}

// runSetupWith runs the command, interrupted once stop was printed; empty for never.
func runSetupWith(t *testing.T, in io.Reader, stop string, args ...string) (string, error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a, out := app(), &stopAt{text: stop, stop: cancel}
	a.Reader, a.Writer = in, out
	err := a.RunContext(ctx, append([]string{"gantry-agent", "setup", "--log-level", "error"}, args...))
	return out.String(), err
}

func TestSetupWithoutTerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	_, err := runSetupWith(t, strings.NewReader(""), "", "--data-dir", dir, "--price", "1")
	require.ErrorIs(t, err, setup.ErrNobody)
	require.ErrorContains(t, err, "missing: --url, --keypair, --region, --yes;")
	require.Equal(t, exitUsage, exitCode(err, false))
	_, err = runSetupWith(t, fakeTerminal{strings.NewReader("")}, "", "--data-dir", dir, "--price", "1", "--yes")
	require.ErrorContains(t, err, "missing: --url, --keypair, --region;", "with --yes nobody is asked")
	require.NoDirExists(t, dir)
	for flag, value := range map[string]string{"--price": "cheap", "--keypair": "/nowhere/id.json", "--region": "a-region-that-is-long", "--accept": "nothing", "--hours": "nights"} {
		_, err := runSetupWith(t, strings.NewReader(""), "", "--data-dir", dir, flag, value)
		require.ErrorContains(t, err, flag)
		require.Equal(t, exitUsage, exitCode(err, false))
		require.NoDirExists(t, dir)
	}
}

// From nothing to a node on a real chain, interrupted after every step and after every transaction.
func TestSetup(t *testing.T) {
	m := testmarket.NewSeeded(t, seed.Counts{Keepers: 1, Providers: 1, Customers: 1})
	m.Seed()
	at, wallet := m.Chain.Endpoints()[0], m.Keys.Providers[0]
	dir := filepath.Join(t.TempDir(), "agent")
	always := []string{"--data-dir", dir, "--ws", at.WS, "--inventory", "simulated:A100:2"}
	accepted := []string{}
	for _, k := range doctor.Checks() { // this machine may lack anything that setup itself does not make
		if k.ID != "rpc" && k.ID != "data-folder" && k.ID != "node-key" {
			accepted = append(accepted, "--accept", k.ID)
		}
	}
	all := append(append([]string{}, always...), accepted...)
	with := func(more ...string) []string { return append(append([]string{}, all...), more...) }
	answers := func(more string) io.Reader {
		return fakeTerminal{strings.NewReader(at.RPC + "\n/nowhere/id.json\n" + wallet.Path + "\nus-west-2\ncheap\n0\n1.5\nnights\nweekdays 19:00-08:00; weekends\n" + more)}
	}
	provider := market.ProviderAddress(wallet.Address())
	none := func() {
		_, found, err := query.Find[market.Provider](t.Context(), m.Chain, provider, chain.Confirmed)
		require.NoError(t, err)
		require.False(t, found)
	}

	// Answers that are wrong are asked for again, and nothing is written before all are there.
	out, err := runSetupWith(t, fakeTerminal{strings.NewReader(at.RPC + "\n")}, "", all...)
	require.ErrorIs(t, err, setup.ErrNoAnswer, out)
	require.NoDirExists(t, dir)
	out, err = runSetupWith(t, answers(""), "✓ settings", all...)
	require.ErrorIs(t, err, context.Canceled, out)
	require.Equal(t, 2, strings.Count(out, "keypair file of the wallet"), out)
	require.Equal(t, 3, strings.Count(out, "to follow the market"), out)
	require.Contains(t, out, `"nights" is not a day`)
	saved, err := config.Load(dir)
	require.NoError(t, err)
	require.Equal(t, "weekdays 19:00-08:00; weekends", saved.Hours)

	// What was answered is not asked again: nobody answers from here on.
	for _, step := range []string{"✓ key", "· hardware", "✓ benchmark", "· checks"} {
		out, err = runSetupWith(t, fakeTerminal{strings.NewReader("")}, step, all...)
		require.ErrorIs(t, err, context.Canceled, out)
		require.Contains(t, out, "· settings")
		none()
	}
	bench, err := os.ReadFile(filepath.Join(dir, "benchmark.json"))
	require.NoError(t, err)

	out, err = runSetupWith(t, fakeTerminal{strings.NewReader("no\n")}, "", all...)
	require.ErrorIs(t, err, setup.ErrDeclined, out)
	require.Contains(t, out, "· benchmark")
	require.Contains(t, out, "cluster ")
	none()
	out, err = runSetupWith(t, strings.NewReader(""), "", all...)
	require.ErrorContains(t, err, "--yes", out)
	none()
	// A check that fails stops before anything is paid: here the key is not its owner's alone.
	require.NoError(t, os.Chmod(filepath.Join(dir, "node.json"), 0o644))
	out, err = runSetupWith(t, fakeTerminal{strings.NewReader("")}, "", with("--yes")...) // it asks nothing
	require.ErrorContains(t, err, "node-key", out)
	none()
	require.NoError(t, os.Chmod(filepath.Join(dir, "node.json"), 0o600))

	// Interrupted after the first transaction of each run. What was signed by then may still take effect, so that the number
	// of runs is open.
	out, err = runSetupWith(t, fakeTerminal{strings.NewReader("")}, "is a provider", with("--yes")...)
	require.ErrorIs(t, err, context.Canceled, out)
	require.Contains(t, out, "is a provider")
	for runs := 0; err != nil; runs++ {
		require.ErrorIs(t, err, context.Canceled, out)
		require.Less(t, runs, 5, out)
		out, err = runSetupWith(t, fakeTerminal{strings.NewReader("y\n")}, "   tx ", all...)
	}
	p, err := query.Fetch[market.Provider](t.Context(), m.Chain, provider, chain.Confirmed)
	require.NoError(t, err)
	require.EqualValues(t, 200*market.OneGNT, p.Stake, "staked once")
	// The hours of the answer are 105 of 168 a week, so 456 of 730: 1.5 × 2 × 456 = 1368, less the fee of the seeded market.
	e := setup.Earnings{Price: 1_500_000, GPUs: 2, Hours: 456, FeeBPS: seed.Params().FeeBps}
	_, received, err := e.Month()
	require.NoError(t, err)
	require.Contains(t, out, "at most "+received.String()+" USDC a month")
	require.Contains(t, out, "456 h = 1368.00")
	require.Contains(t, out, "not a promise")

	key, err := chain.LoadKeypair(filepath.Join(dir, "node.json"))
	require.NoError(t, err)
	node, err := query.Fetch[market.Node](t.Context(), m.Chain, market.NodeAddress(provider, key.PublicKey()), chain.Confirmed)
	require.NoError(t, err)
	require.EqualValues(t, 1_500_000, node.Price)
	require.EqualValues(t, 2, node.Spec.Gpus)
	before, err := m.Chain.Balance(t.Context(), wallet.Address(), chain.Confirmed)
	require.NoError(t, err)

	// Once all is done it changes nothing, and needs neither --yes nor the wallet.
	for range 2 {
		out, err = runSetupWith(t, strings.NewReader(""), "", all...)
		require.NoError(t, err, out)
		require.Contains(t, out, "nothing has changed")
		require.NoError(t, os.Rename(wallet.Path, wallet.Path+".away"))
		wallet.Path += ".away"
	}
	after, err := m.Chain.Balance(t.Context(), wallet.Address(), chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, before, after)
	again, err := os.ReadFile(filepath.Join(dir, "benchmark.json"))
	require.NoError(t, err)
	require.Equal(t, bench, again, "a valid benchmark is kept")
}
