package purchase

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
)

func open(t *testing.T) *Folder {
	t.Helper()
	f, err := Open(filepath.Join(t.TempDir(), "state"), solana.Hash{1}, solana.PublicKey{2})
	require.NoError(t, err)
	return f
}

func example(order byte) Purchase {
	return Purchase{
		Name: "train", Order: solana.PublicKey{order}, Created: time.Unix(int64(order), 0).UTC(), Stage: Intended, Request: [32]byte{9},
		Args: ix.OrderCreateArgs{
			Customer: solana.PublicKey{2}, Nonce: 1<<63 + 5, MaxPrice: 4, Duration: 600, Nodes: 1, GPUsPerNode: 1,
			Requirement: market.Requirement{Models: market.Models(3), Region: market.Text16("us-west")},
		},
		Job: &messages.JobSpec{Version: 1, Command: []string{"sh", "-c", "<&>"}, Env: map[string]string{"TOKEN": "hunter2"}, Salt: []byte{1, 2}},
	}
}

// What is read is what was written, to the last bit of the nonce: the order that is sent again must be the same one.
func TestARecordComesBackAsItWas(t *testing.T) {
	f := open(t)
	want := example(7)
	held, err := f.Hold(want.Order)
	require.NoError(t, err)
	_, err = held.Read()
	require.ErrorIs(t, err, ErrNotFound)
	require.NoError(t, held.Write(want))
	got, err := held.Read()
	require.NoError(t, err)
	want.Version = version
	require.Equal(t, want, got)

	want.End(5, "done", json.RawMessage("{}"))
	require.NoError(t, held.Write(want))
	raw, err := os.ReadFile(filepath.Join(f.Dir(), orders, want.Order.String(), fileRecord))
	require.NoError(t, err)
	require.NotContains(t, string(raw), "hunter2")
	require.NoError(t, held.Release())
}

func TestOneProcessWorksOnAPurchase(t *testing.T) {
	f := open(t)
	held, err := f.Hold(solana.PublicKey{7})
	require.NoError(t, err)
	_, err = f.Hold(solana.PublicKey{7})
	require.ErrorIs(t, err, ErrHeld)
	other, err := f.Hold(solana.PublicKey{8})
	require.NoError(t, err)
	require.NoError(t, errors.Join(held.Release(), other.Release()))
	held, err = f.Hold(solana.PublicKey{7})
	require.NoError(t, err)
	require.NoError(t, held.Release())
}

// A damaged record, one of another version and a folder of a command that died at once do not hide the others.
func TestDamagedRecordsAreSaid(t *testing.T) {
	f := open(t)
	for i := range byte(4) {
		held, err := f.Hold(solana.PublicKey{i + 1})
		require.NoError(t, err)
		if i > 0 {
			require.NoError(t, held.Write(example(i+1)))
		}
		require.NoError(t, held.Release())
	}
	at := func(order byte) string {
		return filepath.Join(f.Dir(), orders, solana.PublicKey{order}.String(), fileRecord)
	}
	require.NoError(t, os.WriteFile(at(3), []byte("{"), 0o600))
	require.NoError(t, os.WriteFile(at(4), []byte(`{"version":2}`), 0o600))
	all, err := f.All()
	require.ErrorIs(t, err, ErrRecord)
	require.ErrorContains(t, err, at(3))
	require.ErrorContains(t, err, "is of version 2")
	require.Len(t, all, 1)
	require.Equal(t, solana.PublicKey{2}, all[0].Order)
}

// A name is one order on every machine, another for each attempt and each customer.
func TestANameIsOneNonce(t *testing.T) {
	seen := map[uint64]bool{}
	for _, customer := range []solana.PublicKey{{1}, {2}} {
		for _, name := range []string{"a", "b"} {
			for attempt := range uint32(2) {
				n := Nonce(customer, name, attempt)
				require.Equal(t, n, Nonce(customer, name, attempt))
				require.False(t, seen[n])
				seen[n] = true
			}
		}
	}
}

func TestTheRootFollowsTheEnvironment(t *testing.T) {
	t.Setenv("HOME", "/home/x")
	t.Setenv("XDG_STATE_HOME", "/var/state")
	dir, err := DefaultRoot()
	require.NoError(t, err)
	require.Equal(t, "/var/state/gantry", dir)
	t.Setenv("XDG_STATE_HOME", "relative") // to be ignored, says the XDG specification
	dir, err = DefaultRoot()
	require.NoError(t, err)
	require.Equal(t, "/home/x/.local/state/gantry", dir)
}

func TestWhatWasTakenBackIsKept(t *testing.T) {
	f := open(t)
	order := solana.PublicKey{7}
	until, err := f.Revoked(order)
	require.NoError(t, err)
	require.Zero(t, until)
	for _, want := range []int64{5, 1 << 41} {
		require.NoError(t, f.Revoke(order, want))
		until, err = f.Revoked(order)
		require.NoError(t, err)
		require.Equal(t, want, until)
	}
	other, err := f.Revoked(solana.PublicKey{8})
	require.NoError(t, err)
	require.Zero(t, other)
	all, err := f.All()
	require.NoError(t, err)
	require.Empty(t, all, "it is no purchase")
	require.NoError(t, os.WriteFile(filepath.Join(f.Dir(), orders, order.String(), fileRevoked), []byte("x"), 0o600))
	_, err = f.Revoked(order)
	require.Error(t, err, "what cannot be read is not taken for nothing")
}

// What is known of a lease's inspection is kept beside its order's purchase, each lease's by itself, and is replaced.
func TestInspectionsAreKeptBesideThePurchase(t *testing.T) {
	f := open(t)
	order := solana.PublicKey{3}
	raw, err := f.Inspection(order, solana.PublicKey{4})
	require.NoError(t, err)
	require.Nil(t, raw)
	require.ErrorIs(t, f.SetInspection(order, solana.PublicKey{4}, []byte("{}")), fs.ErrNotExist, "nothing was bought")
	held, err := f.Hold(order)
	require.NoError(t, err)
	defer held.Release()
	for _, text := range []string{`{"state":"due"}`, `{"state":"passed"}`} {
		require.NoError(t, f.SetInspection(order, solana.PublicKey{4}, []byte(text)))
		raw, err = f.Inspection(order, solana.PublicKey{4})
		require.NoError(t, err)
		require.Equal(t, text, string(raw))
	}
	raw, err = f.Inspection(order, solana.PublicKey{5})
	require.NoError(t, err)
	require.Nil(t, raw)
	all, err := f.All()
	require.NoError(t, err)
	require.Empty(t, all, "an inspection is no purchase")
}
