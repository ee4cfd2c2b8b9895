package p2p

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCanonicalOnly(t *testing.T) {
	var v map[string]int
	good, err := Encode(map[string]int{"a": 1, "b": 2})
	require.NoError(t, err)
	require.NoError(t, Decode(good, &v))
	for name, b := range map[string][]byte{
		"long integer":    {0xa1, 0x61, 'a', 0x18, 0x01},
		"unsorted":        {0xa2, 0x61, 'b', 2, 0x61, 'a', 1},
		"double key":      {0xa2, 0x61, 'a', 1, 0x61, 'a', 1},
		"indefinite":      {0xbf, 0x61, 'a', 1, 0xff},
		"trailing":        append(bytes.Clone(good), 0),
		"cut":             good[:len(good)-1],
		"tag":             {0xc1, 0xa0},
		"empty":           {},
		"array for a map": {0x80},
	} {
		t.Run(name, func(t *testing.T) {
			var v map[string]int
			require.ErrorIs(t, Decode(b, &v), ErrEncoding)
		})
	}
	var e echoReq
	require.ErrorIs(t, Decode([]byte{0xa1, 0x09, 0x01}, &e), ErrEncoding, "unknown field")
}

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, writeFrame(&b, []byte("abc"), 3))
	require.Equal(t, []byte{3, 0, 0, 0, 'a', 'b', 'c'}, b.Bytes())
	require.ErrorIs(t, writeFrame(&b, []byte("abcd"), 3), ErrTooBig)
	got, err := readFrame(&b, 3)
	require.NoError(t, err)
	require.Equal(t, "abc", string(got))
	_, err = readFrame(&b, 3)
	require.ErrorIs(t, err, ErrTruncated)
	_, err = readFrame(bytes.NewReader([]byte{255, 255, 255, 255}), 1000)
	require.ErrorIs(t, err, ErrTooBig)
	_, err = readFrame(bytes.NewReader([]byte{2, 0, 0, 0, 'a'}), 1000)
	require.ErrorIs(t, err, ErrTruncated)
}

func FuzzEnvelope(f *testing.F) {
	b, err := pack(1, CodeRefused, "text", map[string]int{"a": 1})
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte{0x84})
	f.Fuzz(func(t *testing.T, in []byte) {
		e, err := unpack(in)
		if err != nil {
			return
		}
		out, err := Encode(e)
		if err != nil || !bytes.Equal(in, out) {
			t.Fatalf("accepted another encoding: %x / %x (%v)", in, out, err)
		}
	})
}
