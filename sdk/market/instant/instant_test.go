package instant

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/records"
)

// instantOf searches a period of a chain that has a block every second, whose hashes the salt makes.
func instantOf(p records.Period, secs uint32, salt uint64) (at Instant, tick int) {
	for k := range Ticks {
		t := Tick(p, k, secs)
		hash := sha256.Sum256(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, salt), uint64(t.Unix())))
		if i, here := Draw(records.Domain{1}, p, k, uint64(t.Unix()), hash, t); here {
			return i, k
		}
	}
	panic("a period without an instant")
}

// Each period has one instant, at any of its ticks, and as many nodes are drawn as the schedule says.
func TestOneInstantAPeriodDrawsAsManyAsPromised(t *testing.T) {
	const periods, nodes, every, secs = 600, 100, 24, 3600
	var at [Ticks]int
	drawn := 0
	for p := range records.Period(periods) {
		i, k := instantOf(p, secs, 1)
		at[k]++
		for n := range nodes {
			if i.Due(solana.PublicKey{1, byte(n)}, every) {
				drawn++
			}
			require.True(t, i.Due(solana.PublicKey{1, byte(n)}, 1), "every one in one")
			require.False(t, i.Due(solana.PublicKey{1, byte(n)}, 0), "never")
		}
	}
	t.Logf("%d draws of %d nodes in %d periods, the schedule promises %d; instants by tick: %d", drawn, nodes, periods, nodes*periods/every, at)
	require.InDelta(t, nodes*periods/every, drawn, 150)
	for _, n := range at {
		require.InDelta(t, periods/Ticks, n, 30)
	}
}

// What is known before a block says nothing about it: with another hash of the instant's block alone, as many other
// nodes are drawn as if nothing had been known, and the instant itself is another.
func TestNothingIsKnownBeforeTheBlock(t *testing.T) {
	const periods, nodes, every = 400, 200, 4
	both, moved := 0, 0
	for p := range records.Period(periods) {
		one, k := instantOf(p, 3600, 1)
		other, here := Draw(records.Domain{1}, p, k, one.Slot, [32]byte{9}, one.At)
		if !here {
			moved++
		}
		for n := range nodes {
			key := solana.PublicKey{byte(n)}
			if one.Due(key, every) && other.Due(key, every) {
				both++
			}
		}
	}
	require.InDelta(t, periods*nodes/every/every, both, 300, "independent draws")
	require.Greater(t, moved, periods/2)
}

// Ticks lie within the period and in order, whatever its length, and leave time to verify what is found.
func TestTicksLieWithinThePeriod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secs := rapid.Uint32Range(1, 1<<20).Draw(t, "seconds")
		p := records.Period(rapid.Uint64Range(0, 1<<32).Draw(t, "period"))
		begin := time.Unix(int64(p)*int64(secs), 0)
		before := begin
		for k := range Ticks {
			at := Tick(p, k, secs)
			require.False(t, at.Before(before))
			before = at
		}
		length := time.Duration(secs) * time.Second
		rest := begin.Add(length).Sub(before)
		require.GreaterOrEqual(t, rest, min(length*(instantShare-1)/instantShare, instantRest*time.Second))
		require.Equal(t, begin, Tick(p, 0, secs))
	})
}
