package statement

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/records"
)

var frame = Frame{Domain: records.Domain{4}, Period: 500, Secs: 3600}

func genStatement(t *rapid.T) records.CheckStatement {
	hash := func(name string) (h [32]byte) {
		h[0], h[31] = byte(rapid.IntRange(0, 3).Draw(t, name)), 0
		return h
	}
	s := records.CheckStatement{
		Domain: frame.Domain, Period: frame.Period, Node: solana.PublicKey{9, byte(rapid.IntRange(1, 4).Draw(t, "node"))},
		Kind: records.CheckKind(rapid.IntRange(1, 7).Draw(t, "kind")), Passed: rapid.Bool().Draw(t, "passed"),
		CheckedAt: 500*3600 + rapid.Int64Range(0, 3600).Draw(t, "at"),
		Lease:     hash("lease"), Detail: hash("detail"),
	}
	switch s.Kind {
	case records.CheckLiveness:
		s.CoveredSeconds = rapid.Uint32Range(0, 3600).Draw(t, "covered")
	case records.CheckWork, records.CheckNetwork:
		if s.Passed {
			s.Figures = records.Figures{First: rapid.Uint32().Draw(t, "first"), Second: rapid.Uint32().Draw(t, "second")}
		}
	case records.CheckEvidence:
		if s.Passed {
			s.Figures.First = rapid.Uint32Range(0, 3).Draw(t, "tier")
		}
	}
	return s
}

func decode(raw []byte) ([]records.CheckStatement, error) {
	var out []records.CheckStatement
	err := DecodeSet(frame, raw, func(s *records.CheckStatement) error { out = append(out, *s); return nil })
	return out, err
}

// Whatever the statements and their order: the same come back, each about something else, and the bytes are the same.
func TestSetsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(genStatement), 0, 40).Draw(t, "all")
		raw, n := EncodeSet(frame, all)
		got, err := decode(raw)
		require.NoError(t, err)
		require.Len(t, got, n)
		given := map[records.CheckStatement]bool{}
		subjects := map[Key]bool{}
		for _, s := range all {
			given[s] = true
			subjects[Signed{Statement: s}.Key()] = true
		}
		for _, s := range got {
			require.True(t, given[s])
			delete(subjects, Signed{Statement: s}.Key())
		}
		require.Empty(t, subjects, "nothing is left out")
		again, _ := EncodeSet(frame, got)
		require.Equal(t, raw, again)
	})
}

func TestWhatDoesNotBelongIsLeftOut(t *testing.T) {
	good := records.CheckStatement{Domain: frame.Domain, Period: 500, Node: solana.PublicKey{1}, Kind: records.CheckLiveness, CheckedAt: 500 * 3600}
	for name, change := range map[string]func(*records.CheckStatement){
		"domain": func(s *records.CheckStatement) { s.Domain[0]++ },
		"period": func(s *records.CheckStatement) { s.Period++ },
		"early":  func(s *records.CheckStatement) { s.CheckedAt-- },
		"late":   func(s *records.CheckStatement) { s.CheckedAt += 3601 },
		"covers": func(s *records.CheckStatement) { s.CoveredSeconds = 3601 },
		"kind":   func(s *records.CheckStatement) { s.Kind = 8 },
	} {
		bad := good
		change(&bad)
		raw, n := EncodeSet(frame, []records.CheckStatement{bad, good})
		require.Equal(t, 1, n, name)
		got, err := decode(raw)
		require.NoError(t, err)
		require.Equal(t, []records.CheckStatement{good}, got)
	}
}

func TestManifests(t *testing.T) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	m, err := NewManifest(frame, []byte("set"), 7, key)
	require.NoError(t, err)
	require.NoError(t, m.Verify(frame.Domain, records.Wallets))
	require.Equal(t, m, ReadManifest(m.Message()))
	require.True(t, m.Covers([]byte("set")))
	require.False(t, m.Covers([]byte("sez")))
	require.ErrorIs(t, m.Verify(records.Domain{}, records.Wallets), ErrManifest)
	for name, change := range map[string]func(*Manifest){
		"keeper": func(m *Manifest) { m.Keeper[0] ^= 1 }, "period": func(m *Manifest) { m.Period++ },
		"count": func(m *Manifest) { m.Count++ }, "size": func(m *Manifest) { m.Size++ },
		"digest": func(m *Manifest) { m.Digest[0] ^= 1 }, "none": func(m *Manifest) { m.Keeper = solana.PublicKey{} },
	} {
		bad := m
		change(&bad)
		require.ErrorIs(t, bad.Verify(frame.Domain, records.Wallets), ErrManifest, name)
	}
	for name, change := range map[string]func(*Manifest){
		"nothing": func(*Manifest) {}, "signature": func(m *Manifest) { m.Signature[0]++ }, "keeper": func(m *Manifest) { m.Keeper[0]++ },
		"period": func(m *Manifest) { m.Period++ },
	} {
		other := m
		change(&other)
		require.False(t, m.Contradicts(other), name)
	}
	for name, change := range map[string]func(*Manifest){
		"count": func(m *Manifest) { m.Count++ }, "size": func(m *Manifest) { m.Size++ }, "digest": func(m *Manifest) { m.Digest[31]++ },
	} {
		other := m
		change(&other)
		require.True(t, m.Contradicts(other), name)
	}
	huge, err := NewManifest(frame, nil, 0, key)
	require.NoError(t, err)
	huge.Size = MaxSet + 1
	huge.Signature, err = huge.Signed(frame.Domain).Sign(key)
	require.NoError(t, err)
	require.ErrorIs(t, huge.Verify(frame.Domain, records.Wallets), ErrManifest, "nobody is made to fetch more than the bound")
}

func FuzzDecodeSet(f *testing.F) {
	node := records.CheckStatement{Domain: frame.Domain, Period: 500, Node: solana.PublicKey{1}, Kind: records.CheckLiveness, CheckedAt: 500*3600 + 9, Passed: true}
	lease, evidence := node, node
	lease.Lease = solana.PublicKey{2}
	evidence.Kind, evidence.Figures.First, evidence.Detail = records.CheckEvidence, 3, [32]byte{5}
	raw, _ := EncodeSet(frame, []records.CheckStatement{node, lease, evidence})
	f.Add(raw)
	f.Add([]byte{})
	f.Add(make([]byte, 40))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := decode(raw)
		if err != nil {
			require.ErrorIs(t, err, ErrSet)
			return
		}
		again, n := EncodeSet(frame, got)
		require.Equal(t, len(got), n)
		require.Equal(t, raw, again, "a set has one encoding")
	})
}
