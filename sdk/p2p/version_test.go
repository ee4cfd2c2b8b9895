package p2p

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/syncbuf"
	"github.com/gantry-market/gantry/sdk/messages"
)

// What two minor versions of a program would have.
type (
	older struct {
		Text string   `cbor:"1,keyasint"`
		Many []nested `cbor:"2,keyasint,omitempty"`
	}
	nested struct {
		A uint64 `cbor:"1,keyasint"`
	}
	newer struct {
		Text string        `cbor:"1,keyasint"`
		Many []newerNested `cbor:"2,keyasint,omitempty"`
		Hint []byte        `cbor:"3,keyasint,omitempty"`
	}
	newerNested struct {
		A uint64         `cbor:"1,keyasint"`
		B map[string]int `cbor:"2,keyasint,omitempty"`
	}
)

// speaks makes a node one of another version.
func speaks(t *testing.T, v Version) *Node {
	return newNode(t, func(o *Options) { o.version = v })
}

func TestMinorVersionsWorkTogether(t *testing.T) {
	ctx := testCtx(t)
	p := echo
	p.ID = "/gantry/test-versions"
	a, b := speaks(t, Version{1, 0}), speaks(t, Version{1, 3})
	Handle(a, p, func(_ context.Context, _ solana.PublicKey, r older) (older, error) { return r, nil })
	Handle(b, p, func(_ context.Context, _ solana.PublicKey, r newer) (newer, error) {
		require.Empty(t, r.Hint, "the default")
		return newer{r.Text, r.Many, []byte("what the older does not know")}, nil
	})
	added := p
	added.ID, added.Since = "/gantry/test-added", 2
	Handle(b, added, func(_ context.Context, _ solana.PublicKey, r newer) (newer, error) { return r, nil })
	require.NoError(t, b.Connect(ctx, a.Self()))

	got, err := Call[newer, newer](ctx, b, a.Key(), p, newer{"x", []newerNested{{1, map[string]int{"y": 2}}}, []byte("z")})
	require.NoError(t, err)
	require.Equal(t, newer{Text: "x", Many: []newerNested{{A: 1}}}, got)
	back, err := Call[older, older](ctx, a, b.Key(), p, older{"x", []nested{{1}}})
	require.NoError(t, err)
	require.Equal(t, older{"x", []nested{{1}}}, back)

	// What came later is not sent to it.
	_, err = Call[newer, newer](ctx, b, a.Key(), added, newer{Text: "x"})
	require.ErrorIs(t, err, ErrProtocol)
	require.NotErrorIs(t, err, ErrVersion)
	require.ErrorContains(t, err, "it came with version 1.2 of the messages; the peer speaks 1.0 and needs an update")
}

// Peers of two major versions say so, at the call and once in the log, and name both and who should update.
func TestAnotherMajorVersionIsRefused(t *testing.T) {
	ctx := testCtx(t)
	var logs [2]syncbuf.Buffer
	var nodes [2]*Node
	for i := range nodes {
		nodes[i] = newNode(t, func(o *Options) { o.version, o.Log = Version{uint(i) + 1, 4}, zerolog.New(&logs[i]) })
		Handle(nodes[i], echo, func(context.Context, solana.PublicKey, echoReq) (echoResp, error) { return echoResp{}, nil })
	}
	require.NoError(t, nodes[1].Connect(ctx, nodes[0].Self()))
	for i, want := range []string{
		"speaks version 2.4 of the messages, this program speaks 1.4; update this program",
		"speaks version 1.4 of the messages, this program speaks 2.4; the peer needs an update",
	} {
		require.Eventually(t, func() bool { return strings.Contains(logs[i].String(), want) }, time.Minute, 5*time.Millisecond, want)
		_, err := Call[echoReq, echoResp](ctx, nodes[i], nodes[1-i].Key(), echo, echoReq{})
		require.ErrorIs(t, err, ErrVersion)
		require.ErrorIs(t, err, ErrProtocol)
		require.ErrorContains(t, err, want)
	}
}

// It holds finding A 11.
func TestOffersAreNewestFirstAndBounded(t *testing.T) {
	p := Protocol{ID: "/gantry/x", Since: 1}
	require.Equal(t, []protocol.ID{"/gantry/x/2.3", "/gantry/x/2.2", "/gantry/x/2.1"}, p.offers(Version{2, 3}))
	require.Empty(t, p.offers(Version{2, 0}))
	for _, c := range []struct {
		ids  []protocol.ID
		want Version
		ok   bool
	}{
		{nil, Version{}, false},
		{[]protocol.ID{"/ipfs/id/1.0.0", "/meshsub/1.2", "/gantry/lookup/1", "/gantry/x/2.", "/gantry/x/02.1", "/gantry/x/2.1 "}, Version{}, false},
		{[]protocol.ID{"/gantry/x/2.1", "/gantry/y/2.10", "/gantry/y/2.9"}, Version{2, 10}, true},
		{[]protocol.ID{"/gantry/x/3.1", "/gantry/y/1.7"}, Version{3, 1}, true},
		{[]protocol.ID{"/gantry/x/3.1", "/gantry/y/2.0"}, Version{2, 0}, true}, // it speaks ours as well
	} {
		v, ok := versionIn(c.ids, 2)
		require.Equal(t, c.ok, ok, c.ids)
		require.Equal(t, c.want, v, c.ids)
	}
}

// It holds finding A 11.
func TestUnknownFieldsArePassedOverAndNothingElse(t *testing.T) {
	good, err := Encode(newer{"x", []newerNested{{1, map[string]int{"a": 1, "b": 2}}}, []byte("z")})
	require.NoError(t, err)
	var v older
	require.ErrorIs(t, Decode(good, &v), ErrEncoding, "what is signed or stored stays exact")
	v = older{}
	require.NoError(t, decodeMessage(good, &v))
	require.Equal(t, older{"x", []nested{{1}}}, v)
	large, err := Encode(newer{Text: "x", Hint: make([]byte, maxUnknown)})
	require.NoError(t, err)
	require.ErrorContains(t, decodeMessage(large, new(older)), "unknown fields")
	for name, b := range map[string][]byte{
		"long integer in a known field":    {0xa3, 1, 0x61, 'x', 2, 0x81, 0xa1, 1, 0x18, 1, 3, 0},
		"long integer in an unknown field": {0xa2, 1, 0x61, 'x', 3, 0x18, 1},
		"unsorted":                         {0xa2, 3, 0, 1, 0x61, 'x'},
		"unsorted unknown":                 {0xa3, 1, 0x61, 'x', 4, 0, 3, 0},
		"unsorted below an unknown field":  {0xa2, 1, 0x61, 'x', 3, 0xa2, 2, 0, 1, 0},
		"double key":                       {0xa3, 1, 0x61, 'x', 3, 0, 3, 0},
		"long floating point":              {0xa2, 1, 0x61, 'x', 3, 0xfa, 0x3f, 0x80, 0, 0},
		"undefined":                        {0xa2, 1, 0x61, 'x', 3, 0xf7},
		"indefinite":                       {0xa2, 1, 0x61, 'x', 3, 0x9f, 0xff},
		"another length of a known list":   {0xa3, 1, 0x61, 'x', 2, 0x80, 3, 0, 0},
		"tag":                              {0xa2, 1, 0x61, 'x', 3, 0xc1, 0},
		"trailing":                         {0xa2, 1, 0x61, 'x', 3, 0, 0},
		"cut":                              {0xa2, 1, 0x61, 'x', 3},
		"missing":                          {0xa1, 3, 0},
		"another type":                     {0xa2, 1, 5, 3, 0},
	} {
		require.ErrorIs(t, decodeMessage(b, new(older)), ErrEncoding, name)
	}
}

// FuzzUnknownFields: what is accepted is what is known, with more keys, in the one encoding; what is known is not changed.
func FuzzUnknownFields(f *testing.F) {
	for _, m := range []any{newer{Text: "x"}, older{"y", []nested{{1}}}, newer{"x", []newerNested{{1, map[string]int{"a": -1}}}, []byte("z")}} {
		b, err := Encode(m)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var m, exact older
		err := decodeMessage(in, &m)
		if Decode(in, &exact) == nil {
			require.NoError(t, err)
			require.Equal(t, exact, m)
			return
		}
		if err != nil {
			return
		}
		known, err := Encode(m)
		require.NoError(t, err)
		require.LessOrEqual(t, len(in), len(known)+maxUnknown)
		var all any
		require.NoError(t, std.newer.Unmarshal(in, &all))
		again, err := Encode(all)
		require.NoError(t, err)
		require.True(t, bytes.Equal(in, again), "another encoding was accepted: %x", in)
	})
}

// FuzzOlderReadsNewer: what a later minor version sends is read by an earlier one, and what is known is not changed.
func FuzzOlderReadsNewer(f *testing.F) {
	f.Add("x", uint64(1), "key", -3, []byte("z"))
	f.Add("", uint64(1<<40), "", 1<<20, make([]byte, maxUnknown))
	f.Fuzz(func(t *testing.T, text string, a uint64, key string, value int, hint []byte) {
		m := newer{Text: text, Many: []newerNested{{A: a, B: map[string]int{key: value}}, {A: a + 1}}, Hint: hint}
		want := older{text, []nested{{a}, {a + 1}}}
		b, err := Encode(m)
		require.NoError(t, err)
		known, err := Encode(want)
		require.NoError(t, err)
		var got older
		err = decodeMessage(b, &got)
		if !utf8.ValidString(text) || !utf8.ValidString(key) || len(b) > len(known)+maxUnknown {
			require.ErrorIs(t, err, ErrEncoding)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want, got)
		var back newer
		require.NoError(t, decodeMessage(known, &back))
		require.Equal(t, newer{Text: text, Many: []newerNested{{A: a}, {A: a + 1}}}, back)
	})
}

// FuzzVersions: two nodes use the newest minor version that both have, whatever else a peer announces.
func FuzzVersions(f *testing.F) {
	f.Add("/gantry/x/2.1", uint8(3), uint8(1), uint8(0))
	f.Add("/gantry/x/18446744073709551615.0 /gantry/2.00 /x/2.9", uint8(0), uint8(9), uint8(4))
	f.Fuzz(func(t *testing.T, announced string, ours, theirs, since uint8) {
		p := Protocol{ID: "/gantry/x", Since: uint(since)}
		serve := p.offers(Version{2, uint(theirs)})
		used := slices.IndexFunc(p.offers(Version{2, uint(ours)}), func(id protocol.ID) bool { return slices.Contains(serve, id) })
		if both := min(ours, theirs); both >= since {
			require.Equal(t, int(ours-both), used)
		} else {
			require.Equal(t, -1, used)
		}
		ids := protocol.ConvertFromStrings(strings.Fields(announced))
		v, ok := versionIn(ids, 2)
		named := func(id protocol.ID) bool {
			return strings.HasPrefix(string(id), "/gantry/") && strings.HasSuffix(string(id), "/"+v.String())
		}
		require.Equal(t, ok, ok && slices.ContainsFunc(ids, named))
		w, _ := versionIn(append(ids, serve...), 2)
		if len(serve) > 0 {
			require.Equal(t, uint(2), w.Major, "nobody hides what a peer has")
			require.GreaterOrEqual(t, w.Minor, uint(theirs))
		}
	})
}

// A peer that names another version in an envelope is refused, whatever the stream's protocol says.
// It holds finding A 11.
func TestTheEnvelopeStillNamesTheMajorVersion(t *testing.T) {
	ctx := testCtx(t)
	a, b := newNode(t), newNode(t)
	Handle(a, echo, func(_ context.Context, _ solana.PublicKey, r echoReq) (echoResp, error) { return echoResp{}, nil })
	require.NoError(t, b.Connect(ctx, a.Self()))
	for _, version := range []uint{0, messages.Version + 1, 1 << 40} {
		m, err := pack(version, CodeOK, "", echoReq{Text: "x"})
		require.NoError(t, err)
		e := answerOf(t, rawStream(t, ctx, b, a, echo, append(binary.LittleEndian.AppendUint32(nil, uint32(len(m))), m...)))
		require.Equal(t, CodeVersion, e.Code)
	}
}

// A protocol that no version of this program's messages has could be used by nobody; it is a mistake that a daemon shows when it starts.
func TestAProtocolIsOfAVersionThatThereIs(t *testing.T) {
	n := newNode(t)
	h := func(context.Context, solana.PublicKey, string) (string, error) { return "", nil }
	Handle(n, Protocol{ID: "/test/now", Since: n.version.Minor}, h)
	require.Panics(t, func() { Handle(n, Protocol{ID: "/test/later", Since: n.version.Minor + 1}, h) })
}
