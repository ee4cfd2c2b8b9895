package txm

import (
	"bytes"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/txerr"
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

// slow is a signer whose person takes a while, and then refuses or signs.
type slow struct {
	solana.PrivateKey
	asked   [][]byte
	refuses bool
}

func (s *slow) Sign(message []byte) (solana.Signature, error) {
	s.asked = append(s.asked, bytes.Clone(message))
	switch {
	case s.refuses:
		return solana.Signature{}, &TxError{Name: "NotSigned"}
	case len(s.asked) < 3:
		time.Sleep(20 * time.Millisecond) // blocks of the chain behind this come every millisecond
		return solana.Signature{}, ErrStale
	}
	return s.PrivateKey.Sign(message)
}

// A signer that asks a person gets the transaction anew, with a newer blockhash; one that refuses is asked once, also
// by the process after.
func TestSlowSigner(t *testing.T) {
	r := newRig(t)
	s := &slow{PrivateKey: testKey}
	m := r.manager(func(o *Options) { o.Keys, o.BlockhashTTL = NewKeys(s), time.Hour })
	_, err := m.Submit(ctxFor(t), Intent{ID: "one", Instructions: do("a")})
	require.NoError(t, err)
	require.Equal(t, 1, r.chain.effect("a"))
	require.Len(t, s.asked, 3)
	require.NotEqual(t, s.asked[0], s.asked[2])

	s.refuses = true
	_, err = m.Submit(ctxFor(t), Intent{ID: "two", Instructions: do("b")})
	var refused *TxError
	require.ErrorAs(t, err, &refused)
	e, err := m.Get("two")
	require.NoError(t, err)
	require.Equal(t, StateFailed, e.State, "it does not wait for the next process")
	require.Len(t, s.asked, 4)
	require.Equal(t, 0, r.chain.effect("b"))
}
