package seal

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
)

func pair(t *testing.T) (*Key, *Sealer) {
	t.Helper()
	of := Subject{Lease: [32]byte{1}, Job: [32]byte{2}}
	k, err := New(of)
	require.NoError(t, err)
	s, err := Read(k.Evidence(), of)
	require.NoError(t, err)
	require.Equal(t, k.ID(), s.ID())
	return k, s
}

func TestAMessageOpensOnce(t *testing.T) {
	k, s := pair(t)
	first, err := s.Seal([]byte("first"))
	require.NoError(t, err)
	second, err := s.Seal([]byte("second"))
	require.NoError(t, err)
	plain, err := k.Open(second)
	require.NoError(t, err)
	require.Equal(t, "second", string(plain))
	for _, again := range [][]byte{second, first} {
		_, err := k.Open(again)
		require.ErrorIs(t, err, ErrUsed)
	}
}

func TestNothingElseOpens(t *testing.T) {
	k, s := pair(t)
	sealed, err := s.Seal([]byte("secret"))
	require.NoError(t, err)
	require.False(t, bytes.Contains(sealed, []byte("secret")))
	other, err := New(k.of)
	require.NoError(t, err)
	_, err = other.Open(sealed)
	require.ErrorIs(t, err, ErrOther, "another key for the same lease")
	for _, of := range []Subject{{Lease: [32]byte{9}, Job: k.of.Job}, {Lease: k.of.Lease, Job: [32]byte{9}}} {
		swapped := &Key{of: of, private: k.private}
		_, err = swapped.Open(sealed)
		require.ErrorIs(t, err, ErrOther)
		_, err = Read(k.Evidence(), of)
		require.ErrorIs(t, err, ErrOther)
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		_, err = k.Open(changed)
		require.ErrorIs(t, err, ErrOther, "byte %d", i)
	}
	for _, n := range []int{0, 1, 31, len(sealed) - 1} {
		_, err = k.Open(sealed[:n])
		require.ErrorIs(t, err, ErrOther)
	}
	plain, err := k.Open(sealed)
	require.NoError(t, err)
	require.Equal(t, "secret", string(plain))
}

func TestEvidenceThatIsNoKey(t *testing.T) {
	k, _ := pair(t)
	good := k.Evidence()
	r, err := Verifier{}.Verify(good, attest.Binding{}, time.Time{})
	require.NoError(t, err)
	require.True(t, r.Ok())
	for i := range good.Items {
		bad := k.Evidence()
		bad.Items[i].Data = bad.Items[i].Data[1:]
		_, err := Verifier{}.Verify(bad, attest.Binding{}, time.Time{})
		require.ErrorIs(t, err, attest.ErrMalformed)
		bad.Items = append(bad.Items[:i], bad.Items[i+1:]...)
		_, err = Read(bad, k.of)
		require.ErrorIs(t, err, attest.ErrMalformed)
	}
	bad := k.Evidence()
	bad.Kind = attest.KindGuest
	_, err = Read(bad, k.of)
	require.ErrorIs(t, err, attest.ErrMalformed)
}
