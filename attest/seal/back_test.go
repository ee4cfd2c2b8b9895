package seal

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// What comes back opens in its order, for who has sealed the message, and for nobody else.
func TestTheWayBack(t *testing.T) {
	k, s := pair(t)
	sealed, reader, err := s.Converse([]byte("job"))
	require.NoError(t, err)
	plain, writer, err := k.Converse(sealed)
	require.NoError(t, err)
	require.Equal(t, "job", string(plain))
	other, stranger, err := s.Converse([]byte("job"))
	require.NoError(t, err)

	first, second := writer.Seal([]byte("output")), writer.Seal([]byte("output"))
	require.False(t, bytes.Contains(first, []byte("output")))
	require.Len(t, first, len("output")+Overhead)
	require.NotEqual(t, first, second)
	_, err = stranger.Open(first)
	require.ErrorIs(t, err, ErrBack, "the reader of another message")
	_, err = reader.Open(second)
	require.ErrorIs(t, err, ErrBack, "a record was left out")
	for i := range first {
		changed := bytes.Clone(first)
		changed[i] ^= 1
		_, err = reader.Open(changed)
		require.ErrorIs(t, err, ErrBack, "byte %d", i)
	}
	for _, record := range [][]byte{first, second} {
		plain, err = reader.Open(record)
		require.NoError(t, err)
		require.Equal(t, "output", string(plain))
		_, err = reader.Open(record)
		require.ErrorIs(t, err, ErrBack, "the same record again")
	}
	_, _, err = k.Converse(sealed)
	require.ErrorIs(t, err, ErrUsed)
	_, writer, err = k.Converse(other)
	require.NoError(t, err)
	_, err = reader.Open(writer.Seal(nil))
	require.ErrorIs(t, err, ErrBack, "the writer of another message")
}
