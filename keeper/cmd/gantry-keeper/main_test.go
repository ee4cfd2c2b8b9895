package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/keeper/daemon"
	"github.com/gantry-market/gantry/keeper/evidence/archive"
	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/sdk/chain"
)

// Whatever a person gets wrong is one line that says what to do, and nothing is left behind.
func TestWrongInput(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	keypair := filepath.Join(dir, "keeper.json")
	require.NoError(t, chain.SaveKeypair(keypair, key))
	broken := filepath.Join(dir, "broken.json")
	require.NoError(t, os.WriteFile(broken, []byte("[1,2,3]"), 0o600))
	data := filepath.Join(dir, "data")
	const nowhere = "http://127.0.0.1:1"
	for name, c := range map[string]struct {
		args []string
		want error
		says string
	}{
		"no such keypair":    {[]string{"run", "--keypair", filepath.Join(dir, "nope.json"), "--url", nowhere}, chain.ErrKeypairMissing, "--keypair"},
		"not a keypair":      {[]string{"run", "--keypair", broken, "--url", nowhere}, chain.ErrKeypairFormat, "broken.json"},
		"no default keypair": {[]string{"status", "--url", nowhere}, chain.ErrKeypairMissing, "--keypair"},
		"nobody answers":     {[]string{"run", "--keypair", keypair, "--url", nowhere}, chain.ErrUnreachable, "--url"},
		"not a URL":          {[]string{"status", "--keypair", keypair, "--url", "foo"}, chain.ErrEndpoint, "foo"},
		"too many sockets":   {[]string{"status", "--keypair", keypair, "--url", nowhere, "--ws", "ws://a", "--ws", "ws://b"}, errFlags, "--ws"},
		"false elsewhere":    {[]string{"run", "--keypair", keypair, "--url", "http://203.0.113.7:8899", "--simulate-unmeasured"}, daemon.ErrSimulation, "--simulate-"},
		"no such policy":     {[]string{"run", "--keypair", keypair, "--url", nowhere, "--evidence-policy", filepath.Join(dir, "nope.json")}, errFlags, "--evidence-policy"},
		"not a policy":       {[]string{"run", "--keypair", keypair, "--url", nowhere, "--evidence-policy", broken}, policy.ErrDocument, "broken.json"},
		"no such collateral": {[]string{"run", "--keypair", keypair, "--url", nowhere, "--evidence-collateral", broken}, errFlags, "--evidence-collateral"},
		"not a signer":       {[]string{"run", "--url", nowhere, "--signer", "10.0.0.1:7401"}, signing.ErrAddress, "tls://KEY@HOST:PORT"},
		"no prepared folder": {[]string{"signer", "run", "--keypair", keypair}, daemon.ErrNoSigner, "gantry-keeper signer init"},
		"no time to hold":    {[]string{"signer", "run", "--keypair", keypair, "--hold", "0s"}, errFlags, "--hold"},
		"an unknown level":   {[]string{"run", "--log-level", "loud"}, errFlags, "--log-level"},
	} {
		t.Run(name, func(t *testing.T) {
			a := app()
			var out bytes.Buffer
			a.Writer, a.ErrWriter = &out, &out
			err := a.RunContext(t.Context(), append(append([]string{"gantry-keeper"}, c.args...), "--data", data))
			require.ErrorIs(t, err, c.want)
			require.Contains(t, err.Error(), c.says)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestTimingFlags(t *testing.T) {
	read := func(args ...string) daemon.Timing {
		var got daemon.Timing
		a := &cli.App{Flags: timingFlags(), Action: func(c *cli.Context) error { got = timing(c); return nil }}
		require.NoError(t, a.Run(append([]string{"x"}, args...)))
		return got
	}
	require.Equal(t, daemon.DefaultTiming(), read())
	require.Equal(t, daemon.LocalTiming(), read("--localnet"))
	require.EqualValues(t, 7, read("--evidence-every", "7").EvidenceEvery)
	local := read("--localnet", "--check-interval", "2s", "--crank-step", "3s")
	require.Equal(t, 2*time.Second, local.CheckInterval)
	require.Equal(t, 3*time.Second, local.CrankStep)
	require.Equal(t, daemon.LocalTiming().ReportDelay, local.ReportDelay)
}

func TestEvidencePolicyFlag(t *testing.T) {
	raw, err := policy.Default().Encode()
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "policy.json")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	read := func(args ...string) (got daemon.Config) {
		a := &cli.App{Flags: evidenceFlags(), Action: func(c *cli.Context) error { return evidencePolicy(c, &got) }}
		require.NoError(t, a.Run(append([]string{"x"}, args...)))
		return got
	}
	require.Nil(t, read().Evidence)
	got := read("--evidence-policy", path, "--evidence-collateral", dir)
	require.Equal(t, policy.Default().Name, got.Evidence.Name)
	require.Equal(t, dir, got.Collateral)
}

// An auditor's bundle comes out of the keeper's folder as it was judged; what is asked for wrongly is a clear error.
func TestEvidenceIsHandedToAuditors(t *testing.T) {
	data := t.TempDir()
	kept, err := daemon.EvidenceArchive(data)
	require.NoError(t, err)
	node := solana.PublicKey{9}
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	b := &bundle.Bundle{
		Challenge: attest.Challenge{NodeKey: key.PublicKey()},
		Evidence:  []attest.Evidence{{Kind: attest.KindInventory, Items: []attest.Item{{Name: "inventory.json", Data: []byte("{}")}}}},
	}
	require.NoError(t, b.Sign(ed25519.PrivateKey(key)))
	require.NoError(t, kept.Put(node, b, time.Now()))
	digest, err := b.Digest()
	require.NoError(t, err)
	run := func(args ...string) (string, error) {
		a := app()
		var out bytes.Buffer
		a.Writer, a.ErrWriter = &out, &out
		err := a.RunContext(t.Context(), append([]string{"gantry-keeper", "evidence", "--data", data}, args...))
		return out.String(), err
	}
	hash := hex.EncodeToString(digest[:])
	listed, err := run(node.String())
	require.NoError(t, err)
	require.Contains(t, listed, hash)
	file := filepath.Join(t.TempDir(), "for-the-auditor")
	_, err = run(node.String(), hash, file)
	require.NoError(t, err)
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	want, err := b.Encode()
	require.NoError(t, err)
	require.Equal(t, want, got)

	_, err = run(node.String(), "00", file)
	require.ErrorIs(t, err, archive.ErrNotFound)
	_, err = run("nonsense")
	require.ErrorIs(t, err, errFlags)
	_, err = run()
	require.ErrorIs(t, err, errFlags)
	listed, err = run(solana.PublicKey{8}.String())
	require.NoError(t, err)
	require.Contains(t, listed, "nothing is kept")
}
