package records

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAckLayout(t *testing.T) {
	hash := Hash(fill(0xbb))
	for stage, tag := range map[AckStage]string{AckReveal: "GANTRYL1", AckCommitment: "GANTRYK1"} {
		a := Ack{Stage: stage, Commitment: hash, ReceivedAt: 0x0102}
		raw, err := a.Encode()
		require.NoError(t, err)
		require.Equal(t, hex.EncodeToString([]byte(tag))+string(bytes.Repeat([]byte("bb"), 32))+"0201000000000000",
			hex.EncodeToString(raw[:]), stage.String())
		back, err := DecodeAck(raw[:])
		require.NoError(t, err)
		require.Equal(t, a, back)
	}
}

// An acknowledgement of one stage, bid or second is none of another, and what is signed as a receipt is none at all.
func TestAckBinds(t *testing.T) {
	keeper := key(t, 1)
	a := Ack{Stage: AckReveal, Commitment: Hash{1}, ReceivedAt: 1_700_000_000}
	sig, err := a.Sign(keeper)
	require.NoError(t, err)
	require.NoError(t, a.Verify(keeper.PublicKey(), sig))
	require.ErrorIs(t, a.Verify(key(t, 2).PublicKey(), sig), ErrSignature)
	for _, other := range []Ack{
		{AckCommitment, a.Commitment, a.ReceivedAt}, {a.Stage, Hash{2}, a.ReceivedAt}, {a.Stage, a.Commitment, a.ReceivedAt + 1},
	} {
		require.ErrorIs(t, other.Verify(keeper.PublicKey(), sig), ErrSignature)
	}
	receipt, err := Receipt{}.Sign(keeper)
	require.NoError(t, err)
	require.ErrorIs(t, Ack{Stage: AckReveal}.Verify(keeper.PublicKey(), receipt), ErrSignature)
}

func TestAckRefusals(t *testing.T) {
	raw, err := Ack{Stage: AckReveal}.Encode()
	require.NoError(t, err)
	_, err = DecodeAck(raw[1:])
	require.ErrorIs(t, err, ErrLength)
	raw[7] = '2'
	_, err = DecodeAck(raw[:])
	require.ErrorIs(t, err, ErrTag)
	_, err = Ack{Stage: 3}.Encode()
	require.ErrorIs(t, err, ErrValue)
	_, err = Ack{}.Sign(key(t, 1))
	require.ErrorIs(t, err, ErrValue)
	require.ErrorIs(t, Ack{}.Verify(key(t, 1).PublicKey(), [64]byte{}), ErrValue)
}

func FuzzDecodeAck(f *testing.F) {
	raw, err := Ack{Stage: AckReveal, ReceivedAt: 7}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw[:])
	f.Add(raw[:AckSize-1])
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := DecodeAck(in)
		if err != nil {
			return
		}
		if out, err := a.Encode(); err != nil || string(out[:]) != string(in) {
			t.Fatalf("%x becomes %x (%v)", in, out, err)
		}
	})
}
