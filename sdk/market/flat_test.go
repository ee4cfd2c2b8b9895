package market

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// Each kind that is read by a copy is read as its Borsh decoder reads it: any bytes, and bytes of wrong lengths and versions.
func TestFlatAccountsAreReadAsBorshReadsThem(t *testing.T) {
	rng := rand.NewChaCha8([32]byte{7})
	for k := KindMarket; k.known(); k++ {
		if k == KindDevice || k == KindReport {
			continue // they have decoders of their own
		}
		value := reflect.New(kinds[k].value.Elem())
		meta := Meta{Address: solana.PublicKey{byte(k)}, Slot: 5, Lamports: 9}
		body, version := inside(value)
		require.True(t, flat(body.Type()), k)
		size := int(body.Type().Size())
		for range 50 {
			data := make([]byte, size)
			_, _ = rng.Read(data)
			d := bin.NewBorshDecoder(data)
			require.NoError(t, body.Addr().Interface().(borsh).UnmarshalWithDecoder(d), k)
			require.Zero(t, d.Remaining(), k)
			where := versionAt(t, body, version)
			data[where], *version = LayoutVersion, LayoutVersion
			got, err := kinds[k].decode(meta, data)
			require.NoError(t, err, k)
			value.Elem().FieldByName("Meta").Set(reflect.ValueOf(meta))
			require.Equal(t, value.Interface(), got, k)

			disc := kinds[k].discriminator
			for name, wrong := range map[string][]byte{
				"short": data[:size-1], "empty": nil, "long": append(bytes.Clone(data), 0),
				"version": append(append(bytes.Clone(data[:where]), LayoutVersion+1), data[where+1:]...),
			} {
				_, err := Decode(meta, append(disc[:], wrong...))
				require.ErrorIs(t, err, ErrLayout, "%s %s", k, name)
			}
		}
	}
}

// inside is the generated struct of an account, and its version.
func inside(value reflect.Value) (body reflect.Value, version *uint8) {
	body = value.Elem().Field(1)
	return body, body.FieldByName("Version").Addr().Interface().(*uint8)
}

// versionAt is where the version stands.
func versionAt(t *testing.T, body reflect.Value, version *uint8) int {
	f, ok := body.Type().FieldByName("Version")
	require.True(t, ok && version != nil)
	return int(f.Offset)
}

func TestWhatIsNotFlat(t *testing.T) {
	for _, v := range []any{
		struct{ A bool }{},
		struct{ A *int32 }{},
		struct{ A []byte }{},
		struct{ A string }{},
		struct{ A float64 }{},
		struct {
			A uint8
			B uint64
		}{},
		struct {
			A uint64
			B uint8
		}{},
	} {
		require.False(t, packed(reflect.TypeOf(v)), "%T", v)
	}
	require.True(t, packed(reflect.TypeFor[struct {
		A [3]uint8
		B uint8
		C struct{ D int32 }
	}]()))
}

// BenchmarkDecodeNode reads one node's account.
func BenchmarkDecodeNode(b *testing.B) {
	data := make([]byte, reflect.TypeFor[Node]().Size()-reflect.TypeFor[Meta]().Size())
	n := Node{}
	n.Version = LayoutVersion
	body, err := n.Node.Marshal()
	require.NoError(b, err)
	require.Len(b, body, len(data))
	d := Discriminator(KindNode)
	data = append(d[:], body...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(Meta{}, data); err != nil {
			b.Fatal(err)
		}
	}
}
