package statement

import (
	"errors"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

var domain = records.Domain{9}

func sample(t testing.TB, key solana.PrivateKey, at int64, passed bool) Signed {
	st := records.CheckStatement{
		Domain: domain, Node: solana.PublicKey{1}, Period: 3, Kind: records.CheckLiveness, Passed: passed, CheckedAt: at,
	}
	sig, err := st.Sign(key)
	require.NoError(t, err)
	return Signed{Keeper: key.PublicKey(), Statement: st, Signature: sig}
}

func newKey(t testing.TB) solana.PrivateKey {
	k, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return k
}

func TestMessageRoundTrip(t *testing.T) {
	s := sample(t, newKey(t), 10, true)
	got, err := Read(s.Message())
	require.NoError(t, err)
	require.Equal(t, s, got)
	require.NoError(t, got.Verify(domain, records.Wallets))
	require.ErrorIs(t, got.Verify(records.Domain{8}, records.Wallets), records.ErrDomain)
	got.Statement.Passed = false
	require.ErrorIs(t, got.Verify(domain, records.Wallets), records.ErrSignature)

	m := s.Message()
	m.Version++
	_, err = Read(m)
	require.ErrorIs(t, err, records.ErrValue)
	m = s.Message()
	m.Statement = m.Statement[1:]
	_, err = Read(m)
	require.ErrorIs(t, err, records.ErrLength)
}

func TestPool(t *testing.T) {
	a, b := newKey(t), newKey(t)
	p := NewPool()
	s := sample(t, a, 10, true)
	require.False(t, p.Has(s))
	added, err := p.Add(s)
	require.NoError(t, err)
	require.True(t, added)
	require.True(t, p.Has(s))
	added, err = p.Add(s)
	require.NoError(t, err)
	require.False(t, added)

	added, err = p.Add(sample(t, a, 10, false))
	require.ErrorIs(t, err, ErrEquivocation)
	require.True(t, added, "kept as evidence")
	_, err = p.Add(sample(t, b, 10, false))
	require.NoError(t, err, "another keeper may see it differently")
	require.Equal(t, 3, p.Len())
	all := p.Period(3)
	require.Len(t, all, 3)
	for i := 1; i < len(all); i++ {
		require.Negative(t, Compare(all[i-1], all[i]))
	}
	require.Empty(t, p.Period(4))
	p.Drop(3)
	require.Equal(t, 3, p.Len())
	p.Drop(4)
	require.Zero(t, p.Len())
}

// However many contradicting statements a keeper signs, what is kept is one pair, and one that is a proof.
func TestEquivocationDoesNotFillTheMemory(t *testing.T) {
	p := NewPool()
	var pairs [][2]Signed
	p.Equivocation = func(a, b Signed) {
		require.NotNil(t, p.Period(3), "the pool may be used from the callback")
		pairs = append(pairs, [2]Signed{a, b})
	}
	key := newKey(t)
	signed := func(covered uint32, at int64, passed bool) Signed {
		s := sample(t, key, at, passed)
		s.Statement.CoveredSeconds = covered
		sig, err := s.Statement.Sign(key)
		require.NoError(t, err)
		s.Signature = sig
		return s
	}
	for covered := range uint32(100) { // the same check, for 100 times
		s := signed(covered, 10, true)
		require.Equal(t, covered > 1, p.Drops(s))
		added, err := p.Add(s)
		require.Equal(t, covered < 2, added)
		require.Equal(t, covered == 1, errors.Is(err, ErrEquivocation))
	}
	require.Equal(t, 2, p.Len())
	for at := range int64(50) { // and "passed" and "failed" of many checks
		_, _ = p.Add(signed(0, 20+at, true)) // the first of each is a statement like any other
		_, err := p.Add(signed(0, 20+at, false))
		require.Equal(t, at == 0, errors.Is(err, ErrEquivocation))
	}
	require.Equal(t, 2+50+1, p.Len())
	require.Len(t, pairs, 2)
	require.NotEqual(t, pairs[1][0].Statement.Passed, pairs[1][1].Statement.Passed)
	require.Equal(t, pairs[1][0].Key(), pairs[1][1].Key())
	for _, pair := range pairs {
		require.NoError(t, pair[0].Verify(domain, records.Wallets))
		require.NoError(t, pair[1].Verify(domain, records.Wallets))
	}
}

func FuzzRead(f *testing.F) {
	s := sample(f, newKey(f), 10, true)
	f.Add(s.Message().Statement)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := Read(messages.SignedStatement{Version: messages.Version, Keeper: s.Keeper, Statement: raw, Signature: s.Signature})
		if err == nil {
			require.Equal(t, raw, got.Message().Statement)
		}
	})
}
