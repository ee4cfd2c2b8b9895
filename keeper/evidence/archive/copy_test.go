package archive

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
)

func TestCopyRestoresALostArchive(t *testing.T) {
	a, dir := open(t)
	maker := bundle.Collateral{Key: "maker/manifest", Data: []byte("of the maker")}
	own := bundle.Collateral{Key: "node/own", Data: []byte("of the node")}
	first, second := signed(t, "first", maker, own), signed(t, "second", maker)
	shared := keepers{maker.Key: maker.Data}
	require.NoError(t, a.Put(one, first, start, shared))
	require.NoError(t, a.Put(two, second, start.Add(time.Hour), shared))

	backup, _ := open(t)
	done, err := a.Copy(t.Context(), backup, start)
	require.NoError(t, err)
	require.Equal(t, Copied{Bundles: 2}, done)
	done, err = a.Copy(t.Context(), backup, start)
	require.NoError(t, err)
	require.Equal(t, Copied{Same: 2}, done, "a second backup writes what is new")

	require.NoError(t, os.RemoveAll(dir))
	restored, err := Open(dir, 2*year)
	require.NoError(t, err)
	third := signed(t, "third")
	require.NoError(t, restored.Put(one, third, start.Add(2*time.Hour)))
	done, err = backup.Copy(t.Context(), restored, start.Add(3*time.Hour))
	require.NoError(t, err)
	require.Equal(t, Copied{Bundles: 2}, done)
	requireKept(t, restored, one, first)
	requireKept(t, restored, two, second)
	requireKept(t, restored, one, third)
}

func TestCopyTakesNoDamagedBundleAndMendsOne(t *testing.T) {
	a, dir := open(t)
	maker := bundle.Collateral{Key: "maker/manifest", Data: []byte("of the maker")}
	first, second := signed(t, "first", maker), signed(t, "second")
	require.NoError(t, a.Put(one, first, start, keepers{maker.Key: maker.Data}))
	require.NoError(t, a.Put(two, second, start))
	backup, _ := open(t)
	_, err := a.Copy(t.Context(), backup, start)
	require.NoError(t, err)

	// The same size, so that only its hash shows it.
	items, err := filepath.Glob(filepath.Join(dir, folderCollateral, "*"))
	require.NoError(t, err)
	require.Len(t, items, 1)
	require.NoError(t, os.WriteFile(items[0], []byte("of the fakir"), 0o600))
	fresh, _ := open(t)
	done, err := a.Copy(t.Context(), fresh, start)
	require.ErrorContains(t, err, hashOf(t, first))
	require.Equal(t, Copied{Bundles: 1, Damaged: 1}, done)
	requireKept(t, fresh, two, second)

	done, err = backup.Copy(t.Context(), a, start)
	require.NoError(t, err)
	require.Equal(t, Copied{Bundles: 1, Same: 1}, done)
	requireKept(t, a, one, first)

	// A bundle under another's name.
	kept, err := a.Bundles(two)
	require.NoError(t, err)
	wrong := Kept{Hash: hashOf(t, first), At: kept[0].At}
	require.NoError(t, os.Rename(filepath.Join(a.Folder(two), kept[0].file()), filepath.Join(a.Folder(two), wrong.file())))
	fresh, _ = open(t)
	_, err = a.Copy(t.Context(), fresh, start)
	require.ErrorIs(t, err, attest.ErrMalformed)
}

func TestCopyEndsWithItsContext(t *testing.T) {
	a, _ := open(t)
	require.NoError(t, a.Put(one, signed(t, "first"), start))
	to, _ := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.Copy(ctx, to, start)
	require.ErrorIs(t, err, context.Canceled)
}
