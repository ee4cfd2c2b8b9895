package bundle

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/attest"
)

func nodeKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

// sample is a small signed bundle with two kinds of evidence and two of collateral.
func sample(t testing.TB) *Bundle {
	key := nodeKey(7)
	b := &Bundle{
		Challenge: attest.Challenge{
			GenesisHash: [32]byte{1}, Program: [32]byte{2}, ID: [32]byte{3}, Node: [32]byte{4}, SlotHash: [32]byte{5}, Expiry: 1_800_000_000,
			NodeKey: [32]byte(key.Public().(ed25519.PublicKey)),
		},
		Created: 1_799_999_990,
		Evidence: []attest.Evidence{
			{Kind: attest.KindTPM, Items: []attest.Item{{Name: "quote", Data: []byte("signed")}, {Name: "ak", Data: []byte{4, 5}}}},
			{Kind: attest.KindInventory, Items: []attest.Item{{Name: "inventory.json", Data: []byte("{}")}}},
			{Kind: attest.KindNVGPU, Instance: 1, Items: []attest.Item{{Name: "report", Data: []byte("one")}}},
			{Kind: attest.KindNVGPU, Items: []attest.Item{{Name: "report", Data: nil}}},
		},
		Collateral: []Collateral{{"rim/vbios", []byte("<xml/>")}, {"crl?ca=AMD", nil}},
	}
	require.NoError(t, b.Sign(key))
	return b
}

func encode(t testing.TB, b *Bundle) []byte {
	raw, err := b.Encode()
	require.NoError(t, err)
	return raw
}

func TestRoundTrip(t *testing.T) {
	b := sample(t)
	raw := encode(t, b)
	got, err := Parse(raw)
	require.NoError(t, err)
	require.NoError(t, got.VerifySignature())
	require.Equal(t, raw, encode(t, got))
	require.Equal(t, b.Challenge, got.Challenge)
	require.Equal(t, b.Created, got.Created)
	require.Len(t, got.OfKind(attest.KindNVGPU), 2)
	require.Equal(t, uint16(1), got.OfKind(attest.KindNVGPU)[1].Instance)
	data, err := got.Get("rim/vbios")
	require.NoError(t, err)
	require.Equal(t, "<xml/>", string(data))
	_, err = got.Get("rim/driver")
	require.ErrorIs(t, err, attest.ErrNoCollateral)
	want, err := b.Digest()
	require.NoError(t, err)
	have, err := got.Digest()
	require.NoError(t, err)
	require.Equal(t, want, have)
	head := len(raw) - len("<xml/>")
	require.Equal(t, sha256.Sum256(raw[:head]), have, "the digest is over the head alone")
}

func TestHeadAndCollateralAreTheBundle(t *testing.T) {
	b := sample(t)
	raw := encode(t, b)
	head, err := b.Head()
	require.NoError(t, err)
	digest, err := b.Digest()
	require.NoError(t, err)
	require.Equal(t, digest, sha256.Sum256(head))
	kept := map[[32]byte][]byte{}
	for _, c := range b.Collateral {
		kept[sha256.Sum256(c.Data)] = c.Data
	}
	get := func(sum [32]byte) ([]byte, error) {
		if data, ok := kept[sum]; ok {
			return data, nil
		}
		return nil, attest.ErrNoCollateral
	}
	joined, err := Join(head, get)
	require.NoError(t, err)
	require.Equal(t, raw, joined)
	_, err = Join(raw, get)
	require.ErrorIs(t, err, attest.ErrMalformed, "a head has nothing after it")
	_, err = Join(head[:len(head)-1], get)
	require.ErrorIs(t, err, attest.ErrMalformed)
	_, err = Join(head, func([32]byte) ([]byte, error) { return []byte("other"), nil })
	require.ErrorIs(t, err, attest.ErrMalformed)
	_, err = Join(head, func([32]byte) ([]byte, error) { return nil, attest.ErrNoCollateral })
	require.ErrorIs(t, err, attest.ErrNoCollateral)
}

func TestEveryByteCounts(t *testing.T) {
	raw := encode(t, sample(t))
	digest, err := sample(t).Digest()
	require.NoError(t, err)
	refused, changed := 0, 0
	for i := range raw {
		for bit := range 8 {
			bad := bytes.Clone(raw)
			bad[i] ^= 1 << bit
			b, err := Parse(bad)
			if err != nil {
				require.ErrorIs(t, err, attest.ErrMalformed)
				refused++
				continue
			}
			d, err := b.Digest()
			require.NoError(t, err)
			require.NotEqual(t, digest, d, "byte %d, bit %d", i, bit)
			require.ErrorIs(t, signatureOrCollateral(t, raw, b), attest.ErrUntrusted, "byte %d, bit %d", i, bit)
			changed++
		}
	}
	require.Equal(t, 8*len(raw), refused+changed)
	t.Logf("%d single-bit changes: %d refused by the parser, %d with another digest", 8*len(raw), refused, changed)
}

// signatureOrCollateral is the signature's error, or that only a reference was renamed: the node does not sign those.
func signatureOrCollateral(t *testing.T, raw []byte, b *Bundle) error {
	err := b.VerifySignature()
	if err != nil {
		return err
	}
	want, perr := Parse(raw)
	require.NoError(t, perr)
	require.Equal(t, want.Evidence, b.Evidence)
	require.Equal(t, want.Challenge, b.Challenge)
	require.NotEqual(t, want.Collateral, b.Collateral)
	return attest.ErrUntrusted
}

func TestLengthIsExact(t *testing.T) {
	raw := encode(t, sample(t))
	for n := range raw {
		_, err := Parse(raw[:n])
		require.ErrorIs(t, err, attest.ErrMalformed, "cut to %d", n)
	}
	for _, tail := range [][]byte{{0}, {1}, bytes.Repeat([]byte{0}, 32)} {
		_, err := Parse(append(bytes.Clone(raw), tail...))
		require.ErrorIs(t, err, attest.ErrMalformed)
	}
	_, err := Parse(make([]byte, MaxSize+1))
	require.ErrorContains(t, err, "at most")
}

func TestLimitsAndOrder(t *testing.T) {
	item := func(n int) attest.Item { return attest.Item{Name: fmt.Sprintf("i%03d", n)} }
	for name, spoil := range map[string]func(*Bundle){
		"no evidence":         func(b *Bundle) { b.Evidence = nil },
		"same piece twice":    func(b *Bundle) { b.Evidence = append(b.Evidence, b.Evidence[len(b.Evidence)-1]) },
		"unsorted pieces":     func(b *Bundle) { b.Evidence[0], b.Evidence[1] = b.Evidence[1], b.Evidence[0] },
		"unknown kind":        func(b *Bundle) { b.Evidence[len(b.Evidence)-1].Kind = 99 },
		"no items":            func(b *Bundle) { b.Evidence[0].Items = nil },
		"same item twice":     func(b *Bundle) { b.Evidence[0].Items = []attest.Item{item(1), item(1)} },
		"unsorted items":      func(b *Bundle) { b.Evidence[0].Items = []attest.Item{item(2), item(1)} },
		"nameless item":       func(b *Bundle) { b.Evidence[0].Items[0].Name = "" },
		"upper case":          func(b *Bundle) { b.Evidence[0].Items[0].Name = "Report" },
		"long name":           func(b *Bundle) { b.Evidence[0].Items[0].Name = string(bytes.Repeat([]byte{'a'}, 65)) },
		"large item":          func(b *Bundle) { b.Evidence[0].Items[0].Data = make([]byte, MaxItem+1) },
		"keyless collateral":  func(b *Bundle) { b.Collateral[0].Key = "" },
		"space in a key":      func(b *Bundle) { b.Collateral[0].Key = "a b" },
		"same collateral":     func(b *Bundle) { b.Collateral[1].Key = b.Collateral[0].Key },
		"unsorted collateral": func(b *Bundle) { b.Collateral[0], b.Collateral[1] = b.Collateral[1], b.Collateral[0] },
		"large collateral":    func(b *Bundle) { b.Collateral[0].Data = make([]byte, MaxItem+1) },
		"too large altogether": func(b *Bundle) {
			b.Collateral[0].Data, b.Collateral[1].Data = make([]byte, MaxItem), make([]byte, MaxItem)
		},
		"too many items": func(b *Bundle) {
			b.Evidence[0].Items = nil
			for n := range MaxItems + 1 {
				b.Evidence[0].Items = append(b.Evidence[0].Items, item(n))
			}
		},
		"too many pieces": func(b *Bundle) {
			b.Evidence = nil
			for n := range MaxEvidence + 1 {
				b.Evidence = append(b.Evidence, attest.Evidence{Kind: attest.KindNVGPU, Instance: uint16(n), Items: []attest.Item{item(1)}})
			}
		},
		"too much collateral": func(b *Bundle) {
			b.Collateral = nil
			for n := range MaxCollateral + 1 {
				b.Collateral = append(b.Collateral, Collateral{Key: fmt.Sprintf("c%03d", n)})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := sample(t)
			spoil(b)
			_, err := b.Encode()
			require.ErrorIs(t, err, attest.ErrMalformed)
		})
	}
}

// Parsers must refuse what the encoder would not write even when the bytes were made by something else.
func TestForeignEncodings(t *testing.T) {
	raw := encode(t, sample(t))
	patch := func(offset int, b ...byte) []byte {
		return append(append(bytes.Clone(raw[:offset]), b...), raw[offset+len(b):]...)
	}
	for name, c := range map[string]struct {
		raw  []byte
		want string
	}{
		"another tag":     {patch(0, 'X'), "not an evidence bundle"},
		"another version": {patch(8, Version+1), "version 2"},
		"reserved":        {patch(10, 1), "reserved"},
		"counts":          {patch(284, 0xff, 0xff), "at most"},
		"no evidence":     {append(append(bytes.Clone(raw[:284]), 0, 0, 0, 0), []byte{}...), "without evidence"},
		"empty":           {nil, "not an evidence bundle"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.raw)
			require.ErrorIs(t, err, attest.ErrMalformed)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestSignature(t *testing.T) {
	b := sample(t)
	require.NoError(t, b.VerifySignature())
	require.ErrorIs(t, b.Sign(nodeKey(8)), ErrSignature, "the challenge is for another key")
	for name, change := range map[string]func(*Bundle){
		"another challenge": func(b *Bundle) { b.Challenge.ID[0]++ },
		"another account":   func(b *Bundle) { b.Challenge.Node[0]++ },
		"another node":      func(b *Bundle) { b.Challenge.NodeKey = [32]byte(nodeKey(8).Public().(ed25519.PublicKey)) },
		"another time":      func(b *Bundle) { b.Created++ },
		"other evidence":    func(b *Bundle) { b.Evidence[0].Items[0].Data = []byte("{ }") },
		"less evidence":     func(b *Bundle) { b.Evidence = b.Evidence[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			b := sample(t)
			change(b)
			require.ErrorIs(t, b.VerifySignature(), ErrSignature)
		})
	}
	b.Collateral = nil
	require.NoError(t, b.VerifySignature(), "collateral is added by those who verify")
}

func TestOthersLeavesOutTheTPMAlone(t *testing.T) {
	b := sample(t)
	base, err := Others(b.Evidence)
	require.NoError(t, err)
	for i := range b.Evidence {
		c := sample(t)
		c.Evidence[i].Items[0].Data = []byte("changed")
		got, err := Others(c.Evidence)
		require.NoError(t, err)
		require.Equal(t, c.Evidence[i].Kind == attest.KindTPM, got == base, "%s", c.Evidence[i].Kind)
	}
}

type collateralMap map[string]string

func (m collateralMap) Get(key string) ([]byte, error) {
	switch v, ok := m[key]; {
	case !ok:
		return nil, attest.ErrNoCollateral
	case v == "broken":
		return nil, errors.New("disk")
	default:
		return []byte(v), nil
	}
}

func TestRecorder(t *testing.T) {
	own := collateralMap{"b": "own", "x": "broken"}
	r := NewRecorder(nil, own, collateralMap{"a": "second", "b": "second", "c": "unused"})
	for key, want := range map[string]string{"a": "second", "b": "own"} {
		got, err := r.Get(key)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		got[0] = '!'
	}
	own["b"] = "changed"
	again, err := r.Get("b")
	require.NoError(t, err)
	require.Equal(t, "own", string(again))
	_, err = r.Get("nothing")
	require.ErrorIs(t, err, attest.ErrNoCollateral)
	_, err = r.Get("x")
	require.ErrorContains(t, err, "disk")
	require.Equal(t, []Collateral{{"a", []byte("second")}, {"b", []byte("own")}}, r.Used())
}

// draw makes any bundle that keeps the limits.
func draw(t *rapid.T) *Bundle {
	array := func(label string) (out [32]byte) {
		copy(out[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, label))
		return out
	}
	key := ed25519.NewKeyFromSeed(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key"))
	b := &Bundle{
		Challenge: attest.Challenge{
			GenesisHash: array("genesis"), Program: array("program"), ID: array("id"), SlotHash: array("slot"),
			NodeKey: [32]byte(key.Public().(ed25519.PublicKey)), Expiry: rapid.Int64().Draw(t, "expiry"),
		},
		Created: rapid.Int64().Draw(t, "created"),
	}
	data := rapid.SliceOfN(rapid.Byte(), 0, 40)
	kinds := rapid.SliceOfNDistinct(rapid.Uint32Range(0, 6*16-1), 1, 8, rapid.ID[uint32]).Draw(t, "pieces")
	for _, k := range kinds {
		e := attest.Evidence{Kind: attest.Kind(k/16 + 1), Instance: uint16(k % 16)}
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9._-]{1,12}`), 1, 4, rapid.ID[string]).Draw(t, "names") {
			e.Items = append(e.Items, attest.Item{Name: name, Data: data.Draw(t, "data")})
		}
		b.Evidence = append(b.Evidence, e)
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[!-~]{1,20}`), 0, 4, rapid.ID[string]).Draw(t, "keys") {
		b.Collateral = append(b.Collateral, Collateral{name, data.Draw(t, "data")})
	}
	require.NoError(t, b.Sign(key))
	return b
}

func TestAnyBundle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := draw(t)
		raw, err := b.Encode()
		require.NoError(t, err)
		got, err := Parse(raw)
		require.NoError(t, err)
		require.NoError(t, got.VerifySignature())
		require.Equal(t, b.Challenge, got.Challenge)
		require.Len(t, got.Evidence, len(b.Evidence))
		for i, e := range b.Evidence {
			require.Equal(t, e.Kind, got.Evidence[i].Kind)
			require.Equal(t, e.Instance, got.Evidence[i].Instance)
			require.Len(t, got.Evidence[i].Items, len(e.Items))
			for _, item := range e.Items {
				data, ok := got.Evidence[i].Item(item.Name)
				require.True(t, ok)
				require.True(t, bytes.Equal(item.Data, data))
			}
		}
		for _, c := range b.Collateral {
			data, err := got.Get(c.Key)
			require.NoError(t, err)
			require.True(t, bytes.Equal(c.Data, data))
		}
		again, err := got.Encode()
		require.NoError(t, err)
		require.Equal(t, raw, again)

		digest, err := b.Digest()
		require.NoError(t, err)
		bad := bytes.Clone(raw)
		bad[rapid.IntRange(0, len(raw)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		if other, err := Parse(bad); err == nil {
			changed, err := other.Digest()
			require.NoError(t, err)
			require.NotEqual(t, digest, changed)
		}
	})
}

func FuzzParse(f *testing.F) {
	raw := encode(f, sample(f))
	f.Add(raw)
	f.Add(raw[:288])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Parse(data)
		if err != nil {
			require.ErrorIs(t, err, attest.ErrMalformed)
			return
		}
		again, err := b.Encode()
		require.NoError(t, err)
		require.Equal(t, data, again)
	})
}

func BenchmarkParse(b *testing.B) {
	raw := encode(b, sample(b))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}
