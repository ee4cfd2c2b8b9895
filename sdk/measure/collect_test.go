package measure

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/guest"
	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/processor"
	"github.com/gantry-market/gantry/sdk/messages"
)

var small = format.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1, Resident: 2, WalkMs: 1, Lanes: 8}

// recorded is what a machine of one GPU that makes its bytes up sends, from the first root to the commitment.
func recorded(t *testing.T) []messages.MeasureItem {
	t.Helper()
	var items []messages.MeasureItem
	run, err := processor.Faulty{}.Run(t.Context(), format.NewTask(format.Place{}, 0, small), func(r uint32, root format.Hash) {
		items = append(items, messages.MeasureItem{Roots: &messages.MeasureRoots{First: r, Roots: root[:]}})
	})
	require.NoError(t, err)
	e := run.Result().Entry(0, small)
	b := e.Bytes()
	c := format.Commit(format.Place{}, []format.Entry{e}).Bytes()
	return append(items, messages.MeasureItem{Commitment: &messages.MeasureCommitment{Commitment: c, Entries: b[:]}})
}

func newSmall(now func() time.Time) *collected {
	return newCollected([]format.Asked{{Profile: small}}, now)
}

// A machine that sends other roots when its stream was lost has made them up.
func TestOtherRootsAfterALostStream(t *testing.T) {
	c := newSmall(time.Now)
	all := recorded(t)
	c.begin()
	require.NoError(t, c.item(all[0]))
	c.begin()
	require.NoError(t, c.item(all[0]), "the same again")
	require.NoError(t, c.item(all[1]))
	c.begin()
	other := *all[0].Roots
	other.Roots = make([]byte, 32)
	require.ErrorIs(t, c.item(messages.MeasureItem{Roots: &other}), format.ErrSeen)
}

// A guest's signature counts for this commitment and its instant alone.
// An agent that starts again after it was ready, and before it signed, ends with another commitment. It had seen no draw, so
// that nothing is known of its machine. In one stream no honest machine says two things.
func TestAnotherCommitmentAfterARestart(t *testing.T) {
	for streams, want := range map[int]Outcome{1: Wrong, 2: Unknown} {
		c := newCollected([]format.Asked{{GPU: 0}}, time.Now)
		c.begin()
		require.NoError(t, c.item(messages.MeasureItem{Ready: &[32]byte{1}}))
		for range streams - 1 {
			c.begin()
		}
		var f *failure
		require.ErrorAs(t, c.item(messages.MeasureItem{Ready: &[32]byte{2}}), &f)
		require.Equal(t, want, f.outcome, "%d streams", streams)
	}
}

// It holds finding B 3.
func TestAGuestsSignatureOverAnotherMeasurementIsNone(t *testing.T) {
	own, err := guest.NewKey()
	require.NoError(t, err)
	all := recorded(t)
	signed := *all[len(all)-1].Commitment
	sign := func(instant [32]byte, b []byte) *messages.GuestSignature {
		return &messages.GuestSignature{Key: own.Public(), Signature: own.SignAnswer(instant, sha256.Sum256(b))}
	}
	for name, c := range map[string]struct {
		guest *messages.GuestSignature
		want  [32]byte
	}{
		"signed":                {sign([32]byte{}, signed.Commitment), own.Public()},
		"none":                  {},
		"another instant":       {guest: sign([32]byte{1}, signed.Commitment)},
		"another commitment":    {guest: sign([32]byte{}, signed.Commitment[1:])},
		"another's key":         {guest: &messages.GuestSignature{Key: [32]byte{1}, Signature: sign([32]byte{}, signed.Commitment).Signature}},
		"answer to a challenge": {guest: &messages.GuestSignature{Key: own.Public(), Signature: own.SignAnswer([32]byte{}, [32]byte{})}},
	} {
		t.Run(name, func(t *testing.T) {
			m := signed
			m.Guest = c.guest
			got := newSmall(time.Now)
			require.ErrorIs(t, got.item(messages.MeasureItem{Commitment: &m}), errEnd)
			require.Equal(t, c.want, got.guest)
		})
	}
}

// Roots count from when they came first, and the walk from when the commitment did.
func TestTimesAreOfWhoAsks(t *testing.T) {
	all := recorded(t)
	saw := time.Unix(1_800_000_000, 0)
	now := saw
	c := newSmall(func() time.Time { return now })
	c.begin()
	now = saw.Add(2 * time.Second)
	require.NoError(t, c.item(all[0]))
	c.begin() // the stream was lost
	now = saw.Add(4 * time.Second)
	require.NoError(t, c.item(all[0]))
	require.NoError(t, c.item(all[1]))
	now = saw.Add(5 * time.Second)
	require.ErrorIs(t, c.item(all[2]), errEnd)
	f := format.Measured(small, c.signed.Entries[0], format.Timing{Start: saw, Roots: c.came[0], Commitment: c.at})
	require.InDelta(t, 2*1024.0*1024*1024*2/4, f.Operations, 1)
	require.InDelta(t, 8*1*64*128/1.0, f.Bandwidth, 1)
}
