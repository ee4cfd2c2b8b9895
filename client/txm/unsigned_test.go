package txm

import (
	"bytes"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/txerr"
)

// without is a manager that has no key.
func (r *rig) without() *Manager { return r.manager(func(o *Options) { o.Keys = Keys{} }) }

func bySomeoneElse(t *testing.T, u *Unsigned, key solana.PrivateKey) []byte {
	t.Helper()
	raw := bytes.Clone(u.Bytes)
	sig, err := key.Sign(u.message)
	require.NoError(t, err)
	copy(raw[1:65], sig[:])
	return raw
}

// What a wallet signs takes effect once, however often it is handed in.
func TestSignedElsewhere(t *testing.T) {
	r := newRig(t)
	m := r.without()
	u, err := m.Build(ctxFor(t), Intent{ID: "one", Kind: "kind", Instructions: do("a")})
	require.NoError(t, err)
	require.Equal(t, 0, r.chain.effect("a"))
	raw := bySomeoneElse(t, u, testKey)
	res, err := m.SubmitSigned(ctxFor(t), u, raw)
	require.NoError(t, err)
	require.Equal(t, solana.SignatureFromBytes(raw[1:65]), res.Signature)
	again, err := m.SubmitSigned(ctxFor(t), u, raw)
	require.NoError(t, err)
	require.Equal(t, res.Signature, again.Signature)
	require.Equal(t, 1, r.chain.effect("a"))

	// Two that do the same are two.
	for _, id := range []string{"two", "three"} {
		u, err := m.Build(ctxFor(t), Intent{ID: id, Kind: "kind", Instructions: do("a")})
		require.NoError(t, err)
		_, err = m.SubmitSigned(ctxFor(t), u, bySomeoneElse(t, u, testKey))
		require.NoError(t, err)
	}
	require.Equal(t, 3, r.chain.effect("a"))
}

// Nothing is sent but what was built, with valid signatures.
func TestSignedElsewhereIsCompared(t *testing.T) {
	r := newRig(t)
	m := r.without()
	u, err := m.Build(ctxFor(t), Intent{ID: "one", Instructions: do("a")})
	require.NoError(t, err)
	other, err := m.Build(ctxFor(t), Intent{ID: "two", Instructions: do("b")})
	require.NoError(t, err)
	raw := bySomeoneElse(t, u, testKey)
	for i := 65; i < len(raw); i++ {
		bad := bytes.Clone(raw)
		bad[i] ^= 1
		_, err := m.SubmitSigned(ctxFor(t), u, bad)
		require.ErrorIs(t, err, ErrOtherTransaction, "byte %d", i)
	}
	two := bytes.Clone(raw)
	two[0] = 2
	for _, bad := range [][]byte{nil, raw[:64], raw[:len(raw)-1], append(bytes.Clone(raw), 0), two, bySomeoneElse(t, other, testKey)} {
		_, err := m.SubmitSigned(ctxFor(t), u, bad)
		require.ErrorIs(t, err, ErrOtherTransaction)
	}
	stranger, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	for _, bad := range [][]byte{u.Bytes, bySomeoneElse(t, u, stranger)} {
		_, err := m.SubmitSigned(ctxFor(t), u, bad)
		require.ErrorIs(t, err, ErrSignature)
	}
	require.Equal(t, 0, r.chain.effect("a")+r.chain.effect("b"))
	require.Equal(t, 0, r.chain.sends)
}

// A transaction that came too late is not built again: no one but the wallet could sign it.
func TestSignedElsewhereTooLate(t *testing.T) {
	r := newRig(t)
	m := r.without()
	u, err := m.Build(ctxFor(t), Intent{ID: "one", Instructions: do("a")})
	require.NoError(t, err)
	r.chain.mu.Lock()
	r.chain.drop = func(int) bool { return true }
	r.chain.mu.Unlock()
	_, err = m.SubmitSigned(ctxFor(t), u, bySomeoneElse(t, u, testKey))
	require.ErrorIs(t, err, ErrNotTaken)
	require.Equal(t, 0, r.chain.effect("a"))

	_, err = m.Build(ctxFor(t), Intent{ID: "two", Instructions: do("fail:7")})
	var pe *txerr.ProgramError
	require.ErrorAs(t, err, &pe, "it is simulated before anyone is asked to sign")
	require.EqualValues(t, 7, pe.Code)
}
