package records

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBidSetHeadBinds(t *testing.T) {
	keeper := key(t, 1)
	h := BidSetHead{Domain: testDomain, Order: fill(1), CloseAt: -2, ChosenAt: 3, Count: 4, Root: Hash{5}, Judged: Hash{6}}
	raw := h.Encode()
	back, err := DecodeBidSetHead(raw[:])
	require.NoError(t, err)
	require.Equal(t, h, back)
	sig, err := h.Sign(keeper)
	require.NoError(t, err)
	require.NoError(t, h.Verify(keeper.PublicKey(), sig))
	for i := range raw {
		changed := raw
		changed[i] ^= 1
		other, err := DecodeBidSetHead(changed[:])
		if i < 8 {
			require.ErrorIs(t, err, ErrTag)
			continue
		}
		require.NoError(t, err)
		require.ErrorIs(t, other.Verify(keeper.PublicKey(), sig), ErrSignature, "byte %d", i)
	}
	_, err = DecodeBidSetHead(raw[1:])
	require.ErrorIs(t, err, ErrLength)
}

func TestOutcomeBinds(t *testing.T) {
	keeper := key(t, 1)
	o := Outcome{Commitment: Hash{1}, Code: OutcomeUnsuitable, Requirement: 6021, Price: 7, DecidedAt: 8, Root: Hash{9}}
	raw := o.Encode()
	back, err := DecodeOutcome(raw[:])
	require.NoError(t, err)
	require.Equal(t, o, back)
	sig, err := o.Sign(keeper)
	require.NoError(t, err)
	require.NoError(t, o.Verify(keeper.PublicKey(), sig))
	for i := range raw {
		changed := raw
		changed[i] ^= 1
		if other, err := DecodeOutcome(changed[:]); err == nil {
			require.ErrorIs(t, other.Verify(keeper.PublicKey(), sig), ErrSignature, "byte %d", i)
		}
	}
	for i, want := range map[int]error{0: ErrTag, 40: ErrValue, 41: ErrReserved} {
		changed := raw
		changed[i] = 0xff
		_, err := DecodeOutcome(changed[:])
		require.ErrorIs(t, err, want)
	}
	_, err = DecodeOutcome(raw[1:])
	require.ErrorIs(t, err, ErrLength)
	for c := OutcomeCode(0); c < 20; c++ {
		require.NotEmpty(t, c.String())
	}
}

func FuzzDecodeBidSetHead(f *testing.F) {
	raw := BidSetHead{Count: 1}.Encode()
	f.Add(raw[:])
	f.Fuzz(func(t *testing.T, in []byte) {
		if h, err := DecodeBidSetHead(in); err == nil {
			if out := h.Encode(); string(out[:]) != string(in) {
				t.Fatalf("%x becomes %x", in, out)
			}
		}
	})
}

func FuzzDecodeOutcome(f *testing.F) {
	raw := Outcome{Code: OutcomeWon}.Encode()
	f.Add(raw[:])
	f.Fuzz(func(t *testing.T, in []byte) {
		if o, err := DecodeOutcome(in); err == nil {
			if out := o.Encode(); string(out[:]) != string(in) {
				t.Fatalf("%x becomes %x", in, out)
			}
		}
	})
}
