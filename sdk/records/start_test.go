package records

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func sampleStart() Start {
	return Start{
		Domain: testDomain, Image: Hash{1}, Node: fill(2), Lease: fill(3), At: time.Unix(1_700_000_000, 0).Truncate(time.Hour).UTC(), Model: 7,
		Outcome: StartStatus, Driver: "595.45.04", Sandbox: "release-20260714.0",
	}
}

func TestStartIsReadAsItWasWritten(t *testing.T) {
	s := sampleStart()
	b := s.Encode()
	got, err := DecodeStart(b[:])
	require.NoError(t, err)
	require.Equal(t, s, got)

	long := sampleStart().On("595.45.04 \x1b[31m beta and more", "")
	require.Equal(t, "595.45.0431mbeta", long.Driver, "signs of terminals are left out")
	b = long.Encode()
	got, err = DecodeStart(b[:])
	require.NoError(t, err)
	require.Equal(t, long, got)
}

func TestStartIsOfOneNode(t *testing.T) {
	s := sampleStart()
	sig, err := s.Sign(key(t, 1))
	require.NoError(t, err)
	require.NoError(t, s.Verify(key(t, 1).PublicKey(), sig))
	require.ErrorIs(t, s.Verify(key(t, 2).PublicKey(), sig), ErrSignature)
	for _, change := range []func(*Start){
		func(s *Start) { s.Outcome = StartRan }, func(s *Start) { s.Image[0]++ }, func(s *Start) { s.Node = fill(9) }, func(s *Start) { s.Lease = fill(9) },
		func(s *Start) { s.Driver = "580" }, func(s *Start) { s.Sandbox = "" }, func(s *Start) { s.Model++ }, func(s *Start) { s.At = s.At.Add(time.Hour) },
		func(s *Start) { s.Domain[0]++ },
	} {
		other := s
		change(&other)
		require.ErrorIs(t, other.Verify(key(t, 1).PublicKey(), sig), ErrSignature)
	}
}

// Whatever is decoded is encoded to the same bytes: a signature is over one text alone.
func TestStartHasOneForm(t *testing.T) {
	good := sampleStart().Encode()
	rapid.Check(t, func(rt *rapid.T) {
		b := good
		at := rapid.IntRange(0, StartSize-1).Draw(rt, "at")
		b[at] = rapid.Byte().Draw(rt, "byte")
		s, err := DecodeStart(b[:])
		if err == nil {
			require.Equal(rt, b, s.Encode())
		}
	})
	for _, at := range []int{0, 119, 118, 135, 137} {
		b := good
		b[at] = 0xff
		_, err := DecodeStart(b[:])
		require.Error(t, err, at)
	}
	_, err := DecodeStart(good[1:])
	require.ErrorIs(t, err, ErrLength)
}
