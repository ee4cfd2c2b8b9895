package statement

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/records"
)

// about is a statement about one of many things, with all fields.
func about(keeper byte, i int) Signed {
	s := Signed{Keeper: solana.PublicKey{keeper}, Signature: solana.Signature{1, keeper}, Statement: records.CheckStatement{
		Domain: domain, Node: solana.PublicKey{1}, Period: 3, Kind: records.CheckLiveness, Passed: i%2 == 0,
		CoveredSeconds: 6, CheckedAt: 7, Detail: [32]byte{8},
	}}
	binary.LittleEndian.PutUint64(s.Statement.Lease[:], uint64(i)+1)
	return s
}

// What one keeper can fill the memory of the others with follows the size of the market.
func TestStatementsAreBoundedByTheMarketsSize(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const flood = 100_000
	for nodes, mib := range map[int]int64{4: 2, 60: 8} {
		p, before, errs := NewPool(), heap(), 0
		most := MostOf(nodes, nodes, 3_600)
		p.Most = func() int { return most }
		for i := range flood {
			if _, err := p.Add(about(2, i)); err != nil {
				require.ErrorIs(t, err, ErrTooMany)
				errs++
			}
		}
		after := heap()
		t.Logf("%d nodes: %d of %d statements are held, %.1f MiB", nodes, p.Len(), flood, float64(after-before)/(1<<20))
		require.Equal(t, most, p.Len())
		require.Equal(t, 1, errs, "one line of the log")
		require.LessOrEqual(t, after-before, mib<<20)
		require.True(t, p.Drops(about(2, flood)))
		require.False(t, p.Drops(about(2, 0)), "it is held")

		// Others are not bound by what this keeper says, and what contradicts it is a proof all the same.
		require.False(t, p.Drops(about(3, flood)))
		added, err := p.Add(about(3, flood))
		require.NoError(t, err)
		require.True(t, added)
		opposite := about(2, 0)
		opposite.Statement.Passed = false
		require.False(t, p.Drops(opposite))
		_, err = p.Add(opposite)
		require.ErrorIs(t, err, ErrEquivocation)

		most += 2 // a node has come
		added, err = p.Add(about(2, flood))
		require.NoError(t, err)
		require.True(t, added)
	}
}

// What is held comes back as it was.
func TestStatementsComeBack(t *testing.T) {
	p, want := NewPool(), map[Signed]bool{}
	for keeper := range byte(3) {
		for i := range 20 {
			s := about(keeper, i)
			want[s] = true
			_, err := p.Add(s)
			require.NoError(t, err)
			if i == 5 {
				s.Statement.CoveredSeconds++
				want[s] = true
				_, err = p.Add(s)
				require.ErrorIs(t, err, ErrEquivocation)
			}
			require.True(t, p.Has(s))
		}
	}
	got := p.Period(3)
	require.Len(t, got, len(want))
	for _, s := range got {
		require.True(t, want[s])
	}
}
