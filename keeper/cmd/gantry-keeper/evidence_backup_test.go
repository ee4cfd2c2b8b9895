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

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/keeper/daemon"
)

// TestEvidenceBackupPlayed plays the procedure of docs/operate/backup.md.
func TestEvidenceBackupPlayed(t *testing.T) {
	data, folder := filepath.Join(t.TempDir(), "keeper"), filepath.Join(t.TempDir(), "backup")
	kept, err := daemon.EvidenceArchive(data)
	require.NoError(t, err)
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	node := key.PublicKey()
	b := &bundle.Bundle{
		Challenge: attest.Challenge{NodeKey: node},
		Evidence:  []attest.Evidence{{Kind: attest.KindInventory, Items: []attest.Item{{Name: "inventory.json", Data: []byte("{}")}}}},
	}
	require.NoError(t, b.Sign(ed25519.PrivateKey(key)))
	require.NoError(t, kept.Put(node, b, time.Now()))
	digest, err := b.Digest()
	require.NoError(t, err)
	want, err := b.Encode()
	require.NoError(t, err)
	store := filepath.Join(data, "keeper.db")
	require.NoError(t, os.WriteFile(store, []byte("what was signed"), 0o600))
	run := func(args ...string) (string, error) {
		a := app()
		var out bytes.Buffer
		a.Writer, a.ErrWriter = &out, &out
		err := a.RunContext(t.Context(), append([]string{"gantry-keeper", "evidence"}, args...))
		return out.String(), err
	}

	out, err := run("backup", "--data", data, folder)
	require.NoError(t, err)
	require.Contains(t, out, "1 bundles copied")
	require.NoFileExists(t, filepath.Join(folder, "keeper.db"))
	out, err = run("backup", "--data", data, folder)
	require.NoError(t, err)
	require.Contains(t, out, "0 bundles copied, 1 were there already")

	// The machine is lost; its successor has an empty folder.
	fresh := filepath.Join(t.TempDir(), "keeper")
	out, err = run("restore", "--data", fresh, folder)
	require.NoError(t, err)
	require.Contains(t, out, "1 bundles copied")
	require.NoFileExists(t, filepath.Join(fresh, "keeper.db"), "what was signed is never restored")
	file := filepath.Join(t.TempDir(), "for-the-auditor")
	_, err = run("--data", fresh, node.String(), hex.EncodeToString(digest[:]), file)
	require.NoError(t, err)
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, got)

	for _, from := range []string{data, store} {
		_, err = run("restore", "--data", fresh, from)
		require.ErrorIs(t, err, errKeeperStore)
		require.ErrorContains(t, err, "cost its bond")
	}
	_, err = run("restore", "--data", fresh, t.TempDir())
	require.ErrorIs(t, err, errFlags)
	require.ErrorContains(t, err, "no bundle of evidence")
	_, err = run("restore", "--data", fresh, filepath.Join(folder, "nowhere"))
	require.ErrorIs(t, err, errFlags)
	_, err = run("backup", "--data", data, filepath.Join(data, "backup"))
	require.ErrorIs(t, err, errFlags)
	_, err = run("backup", "--data", data)
	require.ErrorIs(t, err, errFlags)
}
