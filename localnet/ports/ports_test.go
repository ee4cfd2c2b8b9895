package ports

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBlocksDiffer(t *testing.T) {
	first := map[int]bool{}
	for range 5 {
		b, err := Claim(Most)
		require.NoError(t, err)
		t.Cleanup(b.Release)
		require.False(t, first[b.First()])
		first[b.First()] = true
		require.True(t, free(b.First(), Most))
		require.GreaterOrEqual(t, b.First(), low)
		require.Less(t, b.First()+Most, 32_768, "the kernel gives these to no connection")
	}
}

// A claimed block is nobody else's before its servers listen, and is free again afterwards.
func TestABlockIsHeld(t *testing.T) {
	b, err := Claim(1)
	require.NoError(t, err)
	_, err = net.Listen("tcp4", at(b.First()-1))
	require.Error(t, err)
	b.Release()
	l, err := net.Listen("tcp4", at(b.First()-1))
	require.NoError(t, err)
	require.NoError(t, l.Close())
	b.Release()
	(*Block)(nil).Release()
}

func TestABlockWhosePortIsUsedIsNotGiven(t *testing.T) {
	b, err := Claim(2)
	require.NoError(t, err)
	l, err := net.Listen("tcp4", at(b.First()+1))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	b.Release()
	require.False(t, free(b.First(), 2))
	require.True(t, free(b.First(), 1))
	for _, count := range []int{0, Most + 1} {
		_, err := Claim(count)
		require.Error(t, err)
	}
}
