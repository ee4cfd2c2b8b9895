package statement

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/protocol"
	"github.com/gantry-market/gantry/client/wire"
)

var domain = wire.Domain{9}

func sample(t testing.TB, key solana.PrivateKey, at int64, passed bool) Signed {
	st := wire.CheckStatement{
		Domain: domain, Node: solana.PublicKey{1}, Period: 3, Kind: wire.CheckLiveness, Passed: passed, CheckedAt: at,
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
	require.NoError(t, got.Verify(domain))
	require.ErrorIs(t, got.Verify(wire.Domain{8}), wire.ErrDomain)
	got.Statement.Passed = false
	require.ErrorIs(t, got.Verify(domain), wire.ErrSignature)

	m := s.Message()
	m.Version++
	_, err = Read(m)
	require.ErrorIs(t, err, wire.ErrValue)
	m = s.Message()
	m.Statement = m.Statement[1:]
	_, err = Read(m)
	require.ErrorIs(t, err, wire.ErrLength)
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

func FuzzRead(f *testing.F) {
	s := sample(f, newKey(f), 10, true)
	f.Add(s.Message().Statement)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := Read(protocol.SignedStatement{Version: protocol.Version, Keeper: s.Keeper, Statement: raw, Signature: s.Signature})
		if err == nil {
			require.Equal(t, raw, got.Message().Statement)
		}
	})
}
