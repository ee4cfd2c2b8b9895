package archive

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
)

const year = 365 * 24 * time.Hour

var (
	one, two = solana.PublicKey{1}, solana.PublicKey{2}
	start    = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
)

// keepers is collateral of a keeper's own.
type keepers map[string][]byte

func (k keepers) Get(key string) ([]byte, error) {
	if data, ok := k[key]; ok {
		return data, nil
	}
	return nil, attest.ErrNoCollateral
}

// signed is a bundle with a report, and with collateral.
func signed(t *testing.T, report string, collateral ...bundle.Collateral) *bundle.Bundle {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	b := &bundle.Bundle{
		Challenge:  attest.Challenge{ID: sha256.Sum256([]byte(report)), Expiry: 1, NodeKey: [32]byte(key.Public().(ed25519.PublicKey))},
		Created:    1,
		Evidence:   []attest.Evidence{{Kind: attest.KindInventory, Items: []attest.Item{{Name: "inventory.json", Data: []byte(report)}}}},
		Collateral: collateral,
	}
	b.Sort()
	require.NoError(t, b.Sign(key))
	return b
}

func hashOf(t *testing.T, b *bundle.Bundle) string {
	sum, err := b.Digest()
	require.NoError(t, err)
	return fmt.Sprintf("%x", sum)
}

func open(t *testing.T) (*Archive, string) {
	dir := filepath.Join(t.TempDir(), "evidence")
	a, err := Open(dir, 2*year)
	require.NoError(t, err)
	return a, dir
}

func requireKept(t *testing.T, a *Archive, node solana.PublicKey, b *bundle.Bundle) {
	t.Helper()
	want, err := b.Encode()
	require.NoError(t, err)
	got, err := a.Read(node, hashOf(t, b))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func filesIn(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	return files
}

func TestBundlesComeBackAsTheyWere(t *testing.T) {
	a, dir := open(t)
	manifest := bundle.Collateral{Key: "rim/driver", Data: []byte("a maker's manifest")}
	own := bundle.Collateral{Key: "crl/own", Data: []byte("what only this node has brought")}
	of := keepers{manifest.Key: manifest.Data, own.Key: []byte("another list")}
	first, second := signed(t, "first", manifest, own), signed(t, "second", manifest)
	require.NoError(t, a.Put(one, first, start, of))
	require.NoError(t, a.Put(two, second, start.Add(time.Hour), of))
	requireKept(t, a, one, first)
	requireKept(t, a, two, second)
	require.Len(t, filesIn(t, filepath.Join(dir, folderCollateral)), 1, "the manifest is kept once, what the node brought is in its own file")
	_, err := a.Read(one, hashOf(t, second))
	require.ErrorIs(t, err, ErrNotFound)
	_, err = a.Read(solana.PublicKey{3}, hashOf(t, first))
	require.ErrorIs(t, err, ErrNotFound)

	again, err := Open(dir, 2*year)
	require.NoError(t, err)
	nodes, err := again.Nodes()
	require.NoError(t, err)
	require.ElementsMatch(t, []solana.PublicKey{one, two}, nodes)
	requireKept(t, again, one, first)

	require.NoError(t, os.WriteFile(filesIn(t, filepath.Join(dir, folderCollateral))[0], []byte("a maker's MANIFEST"), 0o600))
	_, err = a.Read(two, hashOf(t, second))
	require.ErrorIs(t, err, attest.ErrMalformed, "what was changed on disk is not handed out")
}

// A bundle every fifth day for three years: those of the last two are there, with the collateral that they refer to, and no other.
func TestBundlesAreKeptForTheirTime(t *testing.T) {
	a, dir := open(t)
	var kept []*bundle.Bundle
	const step, all, last = 5 * 24 * time.Hour, 3 * 73, 2 * 73
	for i := range all {
		// A driver is replaced every half year.
		manifest := bundle.Collateral{Key: "rim/driver", Data: fmt.Appendf(nil, "manifest %d", i/36)}
		b := signed(t, fmt.Sprint("bundle ", i), manifest)
		require.NoError(t, a.Put(one, b, start.Add(time.Duration(i)*step), keepers{manifest.Key: manifest.Data}))
		kept = append(kept, b)
	}
	bundles, err := a.Bundles(one)
	require.NoError(t, err)
	require.Len(t, bundles, last+1)
	for _, i := range []int{all - 1 - last, all - last, all - 20, all - 1} {
		requireKept(t, a, one, kept[i])
	}
	_, err = a.Read(one, hashOf(t, kept[all-2-last]))
	require.ErrorIs(t, err, ErrNotFound)
	require.Len(t, filesIn(t, filepath.Join(dir, folderCollateral)), 5, "of seven manifests the first two are needed no more")
	// A machine that is gone is forgotten while others go on.
	require.NoError(t, a.Put(two, signed(t, "other"), start.Add(6*year)))
	bundles, err = a.Bundles(one)
	require.NoError(t, err)
	require.Empty(t, bundles)
	require.Empty(t, filesIn(t, filepath.Join(dir, folderCollateral)))
}

// A node that sends much pushes out its own oldest bundles and nobody else's.
func TestANodeFillsNoMoreThanItsShare(t *testing.T) {
	a, dir := open(t)
	a.nodeBytes = 100 << 10
	small := signed(t, "small")
	require.NoError(t, a.Put(two, small, start))
	noise := rand.New(rand.NewChaCha8([32]byte{1}))
	for i := range 30 {
		data := make([]byte, 10<<10)
		for n := range data {
			data[n] = byte(noise.Uint32())
		}
		require.NoError(t, a.Put(one, signed(t, fmt.Sprint(i), bundle.Collateral{Key: "crl/own", Data: data}), start.Add(time.Duration(i)*time.Minute)))
	}
	all, err := a.Bundles(one)
	require.NoError(t, err)
	require.Len(t, all, 9)
	require.Equal(t, start.Add(29*time.Minute), all[0].At)
	requireKept(t, a, two, small)
	require.Empty(t, filesIn(t, filepath.Join(dir, folderCollateral)))

	a.nodeBytes = 1
	last := signed(t, "last")
	require.NoError(t, a.Put(one, last, start.Add(time.Hour)))
	all, err = a.Bundles(one)
	require.NoError(t, err)
	require.Len(t, all, Least)
	requireKept(t, a, one, last)
}

func TestBundlesAreToBeKeptForSomeTime(t *testing.T) {
	_, err := Open(t.TempDir(), 0)
	require.Error(t, err)
}
