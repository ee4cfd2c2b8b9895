package service

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/internal/testkit/guestoutput"
)

// opened is what a customer reads from an offset on, of output that comes in pieces.
func opened(t *testing.T, kept []byte, keys [][]byte, from uint64, piece int) (text string, end *control.End, err error) {
	o := opener{from: from, end: func(e control.End) { end = &e }, take: func(out Output) error {
		require.Equal(t, from+uint64(len(text)), out.Offset)
		text += string(out.Data)
		return nil
	}}
	for _, k := range keys {
		r, err := seal.Again(k)
		require.NoError(t, err)
		o.readers = append(o.readers, r)
	}
	for at := 0; at < len(kept) && err == nil; at += piece {
		err = o.add(Output{Offset: uint64(at), Data: kept[at:min(at+piece, len(kept))]})
	}
	return text, end, err
}

// Sealed output is read like any other, from an offset on, with the key that is right among those of all attempts.
func TestSealedOutputIsRead(t *testing.T) {
	kept, keys := guestoutput.Seal(t, &control.End{Code: 7}, "one ", "two")
	for piece := 1; piece < len(kept); piece += 7 {
		text, end, err := opened(t, kept, keys, 0, piece)
		require.NoError(t, err)
		require.Equal(t, "one two", text)
		require.Equal(t, &control.End{Code: 7}, end)
	}
	text, end, err := opened(t, kept, keys, 5, len(kept))
	require.NoError(t, err)
	require.Equal(t, "wo", text)
	require.NotNil(t, end)
}

// A machine that changes the output, exchanges its records or gives that of another guest is found out, and its end is not believed.
func TestSealedOutputThatWasChanged(t *testing.T) {
	kept, keys := guestoutput.Seal(t, &control.End{Code: 7}, "one ", "two")
	changed := append([]byte(nil), kept...)
	changed[len(changed)-1] ^= 1
	_, end, err := opened(t, changed, keys, 0, len(kept))
	require.ErrorIs(t, err, seal.ErrBack)
	require.Nil(t, end)
	other, _ := guestoutput.Seal(t, &control.End{Code: 7}, "one ", "two")
	text, end, err := opened(t, other, keys, 0, len(kept))
	require.ErrorIs(t, err, seal.ErrBack)
	require.Empty(t, text)
	require.Nil(t, end)
	require.Equal(t, CodeRefused, Classify(Unread(&takeError{err})).Code, "it is no trouble of the network, and not to be tried again")
	_, end, err = opened(t, []byte("plain words"), keys, 0, 4)
	require.ErrorIs(t, err, control.ErrFrames)
	require.Nil(t, end)
	_, end, err = opened(t, kept[:len(kept)-3], keys, 0, len(kept))
	require.NoError(t, err)
	require.Nil(t, end, "the end was kept back")
}

// Who has no key reads that the output is sealed, and none of its bytes.
func TestSealedOutputWithoutItsKey(t *testing.T) {
	kept, _ := guestoutput.Seal(t, &control.End{Code: 7}, "one")
	take := unsealed(func(Output) error {
		require.Fail(t, "sealed bytes were shown")
		return nil
	})
	require.ErrorIs(t, take(Output{Data: kept}), errSealed)
}
