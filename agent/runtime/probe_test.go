package runtime

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/nettest"
)

// abroad are the options of a runtime on a cluster that is not local, and an image.
func abroad(t *testing.T) (ProcessOptions, string) {
	t.Helper()
	p, image := withDisks(t)
	o := options(p.root)
	o.Cluster.GenesisHash, o.Sandbox = GenesisDevnet, p.sandbox
	o.Sandbox.LocalRegistries = true // the image lies on this machine
	return o, image
}

func TestStrangersJobsRunInContainersOnly(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	o, image := abroad(t)
	p, err := NewProcess(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { stopAll(t, p) })
	nothingAttached(t, p)
	requireNothingLeft(t)
	require.NoDirExists(t, filepath.Join(p.root, probeLease))

	bare := Spec{LeaseID: "bare", Command: []string{"true"}}
	var refused *NotLocalError
	require.ErrorAs(t, p.Check(bare), &refused)
	require.ErrorContains(t, refused, "order with an image. It is not one: this is devnet")
	_, err = p.Start(background(t), bare)
	require.ErrorAs(t, err, &refused)
	require.NoDirExists(t, filepath.Join(p.root, "bare"))
	require.ErrorIs(t, p.Check(Spec{LeaseID: "bad/name", Command: []string{"true"}}), ErrSpec)

	st, out := ran(t, p, Spec{LeaseID: "own", Image: image, Limits: Limits{MemoryMiB: 256, DiskMiB: 32}})
	require.Equal(t, 0, st.Exit.Code, out)
	require.Equal(t, "of the image\n", out)
}

// What an agent that was killed has left of the container that it tried out does not stop the next one.
func TestAContainerThatWasTriedOutIsClearedAway(t *testing.T) {
	o, _ := abroad(t)
	o.Network.Off = true
	local := o
	local.Cluster = options("").Cluster
	p, err := NewProcess(t.Context(), local)
	require.NoError(t, err)
	d, err := p.dir(probeLease)
	require.NoError(t, err)
	spec, err := p.writeProbe(d)
	require.NoError(t, err)
	require.NoError(t, p.launch(background(t), d, spec))
	next, err := NewProcess(t.Context(), o)
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Join(p.root, probeLease))
	nothingAttached(t, next)
}

// A machine that cannot isolate jobs serves local networks only, and says what it lacks.
func TestStrangersAreRefusedWhereNothingIsolatesThem(t *testing.T) {
	bare := options(t.TempDir())
	bare.Cluster.GenesisHash = GenesisMainnetBeta
	var refused *NotLocalError
	_, err := NewProcess(t.Context(), bare)
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, "there is no runsc: install gVisor")
	require.ErrorContains(t, err, "this is mainnet-beta")

	o, _ := abroad(t)
	broken := o
	broken.Network.Off = true
	broken.Sandbox.Runsc = filepath.Join(t.TempDir(), "runsc")
	require.NoError(t, os.WriteFile(broken.Sandbox.Runsc, []byte("#!/bin/sh\necho the sandbox is broken >&2\nexit 3\n"), 0o755))
	_, err = NewProcess(t.Context(), broken)
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, "the sandbox is broken")
	require.NoDirExists(t, filepath.Join(o.Root, probeLease))

	o.Network.Pool = netip.MustParsePrefix("127.0.0.0/20") // which the machine uses itself
	_, err = NewProcess(t.Context(), o)
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, ErrNetwork)
}
