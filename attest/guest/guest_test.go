package guest

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
)

func claims() []attest.Evidence {
	return []attest.Evidence{
		{Kind: attest.KindInventory, Items: []attest.Item{{Name: "inventory.json", Data: []byte("{}")}}},
		{Kind: attest.KindNVGPU, Instance: 3, Items: []attest.Item{{Name: "report", Data: []byte("report")}}},
	}
}

// vouch returns the pieces and the report data that the TEE was asked for.
func vouch(t *testing.T, k *Key, c []attest.Evidence, b attest.Binding) (vouched []attest.Evidence, data [64]byte) {
	vouched, err := k.Vouch(c, b, func(d [64]byte) (attest.Evidence, error) {
		data = d
		return attest.Evidence{Kind: attest.KindSNP, Items: []attest.Item{{Name: "report", Data: d[:]}}}, nil
	})
	require.NoError(t, err)
	return vouched, data
}

func TestKeyAndReportCoverEverything(t *testing.T) {
	k, err := NewKey()
	require.NoError(t, err)
	binding := attest.Binding{Nonce: [32]byte{7}, Keys: [][32]byte{{9}}}
	vouched, data := vouch(t, k, claims(), binding)
	require.Len(t, vouched, 2)
	require.Equal(t, [][32]byte{{9}}, binding.Keys)

	at := binding
	at.Claims, err = bundle.Claims(append(claims(), vouched...))
	require.NoError(t, err)
	r, err := Verifier{}.Verify(vouched[0], at, time.Time{})
	require.NoError(t, err)
	require.True(t, r.Ok())
	require.Equal(t, [][32]byte{k.Public()}, r.Keys)
	at.Keys = append(at.Keys, r.Keys...)
	require.Equal(t, data, at.ReportData())
	require.Equal(t, data, attest.Binding{Nonce: at.Nonce, Claims: at.Claims, Keys: [][32]byte{k.Public(), {9}}}.ReportData(), "in any order")

	for name, change := range map[string]func(*attest.Binding){
		"nonce":       func(b *attest.Binding) { b.Nonce[0]++ },
		"claims":      func(b *attest.Binding) { b.Claims[31]++ },
		"a key less":  func(b *attest.Binding) { b.Keys = b.Keys[1:] },
		"another key": func(b *attest.Binding) { b.Keys = [][32]byte{{9}, {8}} },
	} {
		t.Run(name, func(t *testing.T) {
			b := at
			change(&b)
			require.NotEqual(t, data, b.ReportData())
			if _, err := (Verifier{}).Verify(vouched[0], b, time.Time{}); b.Nonce != at.Nonce || b.Claims != at.Claims {
				require.ErrorIs(t, err, attest.ErrStale)
			}
		})
	}
	for _, change := range []func([]attest.Evidence){
		func(c []attest.Evidence) { c[0].Items[0].Data = []byte("{ }") },
		func(c []attest.Evidence) { c[1].Instance = 4 },
		func(c []attest.Evidence) { c[1].Items[0].Name = "report2" },
	} {
		c := claims()
		change(c)
		_, other := vouch(t, k, c, binding)
		require.NotEqual(t, data, other)
	}
}

func TestRefused(t *testing.T) {
	k, err := NewKey()
	require.NoError(t, err)
	binding := attest.Binding{Nonce: [32]byte{7}}
	vouched, _ := vouch(t, k, claims(), binding)
	good := vouched[0]
	binding.Claims, err = bundle.Claims(claims())
	require.NoError(t, err)
	for at := range 32 + 64 {
		e := attest.Evidence{Kind: good.Kind, Items: slices.Clone(good.Items)}
		item, i := at/32, at
		if item > 0 {
			item, i = 1, at-32
		}
		e.Items[item].Data = bytes.Clone(e.Items[item].Data)
		e.Items[item].Data[i] ^= 1
		r, err := Verifier{}.Verify(e, binding, time.Time{})
		require.Error(t, err)
		require.Empty(t, r.Keys)
	}
	for name, items := range map[string][]attest.Item{
		"no signature": good.Items[:1],
		"short key":    {{Name: ItemKey, Data: good.Items[0].Data[:31]}, good.Items[1]},
		"more":         append(slices.Clone(good.Items), attest.Item{Name: "x"}),
	} {
		_, err := Verifier{}.Verify(attest.Evidence{Kind: attest.KindGuest, Items: items}, binding, time.Time{})
		require.ErrorIs(t, err, attest.ErrMalformed, name)
	}
	_, err = k.Vouch(append(claims(), claims()...), binding, nil)
	require.ErrorIs(t, err, attest.ErrMalformed)
	none := errors.New("no TEE")
	_, err = k.Vouch(claims(), binding, func([64]byte) (attest.Evidence, error) { return attest.Evidence{}, none })
	require.ErrorIs(t, err, none)
}

func TestAnswers(t *testing.T) {
	k, err := NewKey()
	require.NoError(t, err)
	s := k.SignAnswer([32]byte{1}, [32]byte{2})
	require.True(t, VerifyAnswer(k.Public(), [32]byte{1}, [32]byte{2}, s))
	require.False(t, VerifyAnswer(k.Public(), [32]byte{2}, [32]byte{2}, s))
	require.False(t, VerifyAnswer(k.Public(), [32]byte{1}, [32]byte{1}, s))
	other, err := NewKey()
	require.NoError(t, err)
	require.False(t, VerifyAnswer(other.Public(), [32]byte{1}, [32]byte{2}, s))
}
