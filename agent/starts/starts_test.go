package starts

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

type memory struct{ value []byte }

func (m *memory) Load() ([]byte, error)   { return m.value, nil }
func (m *memory) Save(value []byte) error { m.value = bytes.Clone(value); return nil }

var at = time.Unix(1_700_000_000, 0)

func testOptions(t *testing.T) Options {
	t.Helper()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return Options{
		Keeps: &memory{}, Signer: key, Domain: records.Domain{1}, Node: solana.PublicKey{7}, Model: func() uint16 { return 3 },
		Driver: func() string { return "595.45.04" }, Sandbox: func() string { return "release-20260714.0" }, Now: func() time.Time { return at },
	}
}

func image(n byte) string { return fmt.Sprintf("registry.test/team/x@sha256:%064x", n) }

func asked(n byte) messages.StartsRequest {
	d, _ := Digest(image(n))
	return messages.StartsRequest{Version: messages.Version, Image: d}
}

func TestANodeAnswersWithItsSignedStarts(t *testing.T) {
	o := testOptions(t)
	b, err := New(o)
	require.NoError(t, err)
	require.NoError(t, b.Note(solana.PublicKey{1}, image(1), records.StartStatus))
	require.NoError(t, b.Note(solana.PublicKey{1}, image(1), records.StartRan), "what was noted first stays")
	require.NoError(t, b.Note(solana.PublicKey{2}, image(2), records.StartRan))
	require.ErrorIs(t, b.Note(solana.PublicKey{3}, "registry.test/team/x:latest", records.StartRan), ErrImage)

	for range 2 { // and after it was opened again
		a, err := b.Answer(t.Context(), solana.PublicKey{}, asked(1))
		require.NoError(t, err)
		require.NoError(t, messages.Check(a))
		require.Equal(t, "595.45.04", a.Driver)
		require.Len(t, a.Starts, 1)
		s, err := records.DecodeStart(a.Starts[0].Start)
		require.NoError(t, err)
		require.NoError(t, s.Verify(o.Signer.PublicKey(), a.Starts[0].Signature))
		require.Equal(t, records.Start{
			Domain: o.Domain, Image: asked(1).Image, Node: o.Node, Lease: solana.PublicKey{1}, At: at.UTC().Truncate(time.Hour), Model: 3,
			Outcome: records.StartStatus, Driver: "595.45.04", Sandbox: "release-20260714.0",
		}, s)
		a, err = b.Answer(t.Context(), solana.PublicKey{}, asked(9))
		require.NoError(t, err)
		require.Empty(t, a.Starts, "nobody is told of an image that he does not name")
		b, err = New(o)
		require.NoError(t, err)
	}
	o.Node = solana.PublicKey{8}
	b, err = New(o)
	require.NoError(t, err)
	a, err := b.Answer(t.Context(), solana.PublicKey{}, asked(1))
	require.NoError(t, err)
	require.Empty(t, a.Starts, "records of another node are not this one's")
}

func TestStartsAreBounded(t *testing.T) {
	o := testOptions(t)
	b, err := New(o)
	require.NoError(t, err)
	lease := 0
	note := func(n byte) {
		lease++
		require.NoError(t, b.Note(solana.PublicKey{byte(lease), byte(lease >> 8)}, image(n), records.StartRan))
	}
	for range messages.MaxStarts + 5 {
		note(1)
		at = at.Add(time.Hour)
	}
	a, err := b.Answer(t.Context(), solana.PublicKey{}, asked(1))
	require.NoError(t, err)
	require.NoError(t, messages.Check(a))
	require.Len(t, a.Starts, messages.MaxStarts)
	newest, err := records.DecodeStart(a.Starts[0].Start)
	require.NoError(t, err)
	require.Equal(t, byte(lease), newest.Lease[0])
	for i := range most + 10 {
		note(byte(2 + i%200))
	}
	require.Len(t, b.all, most)
	require.Less(t, len(o.Keeps.(*memory).value), 512<<10)
	a, err = b.Answer(t.Context(), solana.PublicKey{}, asked(1))
	require.NoError(t, err)
	require.Empty(t, a.Starts, "the oldest are forgotten first")
}

func TestOptionsAreRequired(t *testing.T) {
	options.Without(testOptions(t), []string{"Driver", "Sandbox"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
}
