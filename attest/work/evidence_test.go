package work

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
)

type evidenceFixture struct {
	nonce    [32]byte
	key      ed25519.PrivateKey
	proof    *Proof
	evidence attest.Evidence
	options  EvidenceOptions
}

func (f evidenceFixture) sign(b []byte) ([64]byte, error) {
	return [64]byte(ed25519.Sign(f.key, b)), nil
}

func (f evidenceFixture) verify(e attest.Evidence) (attest.Result, error) {
	return NewEvidenceVerifier(f.options).Verify(e, attest.Binding{Nonce: f.nonce}, time.Unix(0, 0))
}

func newEvidenceFixture(t testing.TB, n int) evidenceFixture {
	t.Helper()
	f := evidenceFixture{nonce: [32]byte{1, 2, 3}, key: ed25519.NewKeyFromSeed(make([]byte, 32))}
	f.options = EvidenceOptions{Domain: [8]byte{4}, Node: [32]byte{5}, NodeKey: [32]byte(f.key.Public().(ed25519.PublicKey))}
	var err error
	f.proof, err = CPU{Workers: 2}.Prove(context.Background(), EvidenceSeed(f.nonce), n)
	require.NoError(t, err)
	f.evidence, err = NewEvidence(f.nonce, f.proof, f.options.Domain, f.options.Node, 9, f.sign)
	require.NoError(t, err)
	return f
}

func TestEvidence(t *testing.T) {
	f := newEvidenceFixture(t, 96)
	r, err := f.verify(f.evidence)
	require.NoError(t, err)
	require.True(t, r.Ok())
	require.Equal(t, "whole product, time, machine", r.Uncovered(), "what a bundle cannot show is never passed")
	require.Equal(t, "96", r.Claims["work order"])

	f.options.Whole = func(root Hash) bool { return root == f.proof.Root }
	f.options.Took = func(Hash) (time.Duration, bool) { return time.Second, true }
	f.options.Bound = time.Second
	r, err = f.verify(f.evidence)
	require.NoError(t, err)
	require.Equal(t, "machine", r.Uncovered())
	f.options.Bound--
	r, err = f.verify(f.evidence)
	require.ErrorIs(t, err, attest.ErrPolicy)
	require.False(t, r.Ok())
}

func TestEvidenceOfAnotherChallengeNodeOrCluster(t *testing.T) {
	f := newEvidenceFixture(t, 64)
	for name, c := range map[string]struct {
		change func(*evidenceFixture)
		want   error
	}{
		"replayed":        {func(f *evidenceFixture) { f.nonce[0]++ }, attest.ErrStale},
		"another node":    {func(f *evidenceFixture) { f.options.Node[0]++ }, attest.ErrPolicy},
		"another cluster": {func(f *evidenceFixture) { f.options.Domain[0]++ }, attest.ErrPolicy},
		"another key":     {func(f *evidenceFixture) { f.options.NodeKey[0]++ }, attest.ErrUntrusted},
		"too small":       {func(f *evidenceFixture) { f.options.MinN = 96 }, attest.ErrPolicy},
	} {
		g := f
		c.change(&g)
		r, err := g.verify(f.evidence)
		require.ErrorIs(t, err, c.want, name)
		require.False(t, r.Ok(), name)
	}
	_, err := NewEvidence([32]byte{9}, f.proof, f.options.Domain, f.options.Node, 9, f.sign)
	require.ErrorIs(t, err, ErrMismatch)
	_, err = NewEvidence(f.nonce, f.proof, f.options.Domain, f.options.Node, 9, func([]byte) ([64]byte, error) { return [64]byte{}, errors.New("locked") })
	require.ErrorContains(t, err, "locked")
}

func TestEvidenceOfWrongWork(t *testing.T) {
	f := newEvidenceFixture(t, 64)
	bad, err := Faulty{Prover: CPU{}, Fraction: 1}.Prove(context.Background(), f.proof.Seed, 64)
	require.NoError(t, err)
	e, err := NewEvidence(f.nonce, bad, f.options.Domain, f.options.Node, 9, f.sign)
	require.NoError(t, err)
	_, err = f.verify(e)
	require.ErrorIs(t, err, attest.ErrUntrusted)
}

// Every bit of every item matters: GANTRY_EXHAUSTIVE=1 flips all 77,576 of them, otherwise all of the claim and a
// random part of the rest.
func TestEvidenceBitFlips(t *testing.T) {
	f := newEvidenceFixture(t, 32)
	exhaustive := os.Getenv("GANTRY_EXHAUSTIVE") != ""
	flips := 0
	for i := range f.evidence.Items {
		for at := range f.evidence.Items[i].Data {
			for bit := range 8 {
				if i > 0 && !exhaustive && rand.IntN(100) != 0 {
					continue
				}
				e := cloneEvidence(f.evidence)
				e.Items[i].Data[at] ^= 1 << bit
				r, err := f.verify(e)
				require.Error(t, err, "%s byte %d bit %d", e.Items[i].Name, at, bit)
				require.False(t, r.Ok())
				flips++
			}
		}
	}
	t.Logf("%d single-bit flips rejected", flips)
}

func TestEvidenceFormat(t *testing.T) {
	f := newEvidenceFixture(t, 32)
	for name, change := range map[string]func(e *attest.Evidence){
		"another kind":    func(e *attest.Evidence) { e.Kind = attest.KindTPM },
		"item missing":    func(e *attest.Evidence) { e.Items = e.Items[:2] },
		"item unknown":    func(e *attest.Evidence) { e.Items[0].Name = "root" },
		"item twice":      func(e *attest.Evidence) { e.Items[1] = e.Items[0] },
		"order of items":  func(e *attest.Evidence) { e.Items[0], e.Items[1] = e.Items[1], e.Items[0] },
		"short signature": func(e *attest.Evidence) { e.Items[2].Data = e.Items[2].Data[:63] },
		"long signature":  func(e *attest.Evidence) { e.Items[2].Data = append(e.Items[2].Data, 0) },
		"long openings":   func(e *attest.Evidence) { e.Items[1].Data = append(e.Items[1].Data, 0) },
		"no openings":     func(e *attest.Evidence) { e.Items[1].Data = nil },
		"zero openings":   func(e *attest.Evidence) { e.Items[1].Data = []byte{0} },
		"many openings":   func(e *attest.Evidence) { e.Items[1].Data[0] = EvidenceOpenings + 1 },
		"opening twice": func(e *attest.Evidence) {
			size := openingFixed + 32*int(e.Items[1].Data[openingFixed])
			e.Items[1].Data = append(e.Items[1].Data[:1+size:1+size], e.Items[1].Data[1:1+size]...)
			e.Items[1].Data[0] = 2
		},
		"short claim": func(e *attest.Evidence) { e.Items[0].Data = e.Items[0].Data[1:] },
	} {
		e := cloneEvidence(f.evidence)
		change(&e)
		_, err := f.verify(e)
		require.ErrorIs(t, err, attest.ErrMalformed, name)
	}
	for cut := range f.evidence.Items[1].Data {
		_, err := ParseOpenings(f.evidence.Items[1].Data[:cut], 32)
		require.ErrorIs(t, err, ErrEncoding)
	}
}

func cloneEvidence(e attest.Evidence) attest.Evidence {
	items := make([]attest.Item, len(e.Items))
	for i, item := range e.Items {
		items[i] = attest.Item{Name: item.Name, Data: bytes.Clone(item.Data)}
	}
	e.Items = items
	return e
}

func FuzzParseOpenings(f *testing.F) {
	fixture := newEvidenceFixture(f, 96)
	f.Add(fixture.evidence.Items[1].Data, uint16(96))
	f.Add([]byte{0}, uint16(32))
	f.Add([]byte{1}, uint16(4096))
	f.Fuzz(func(t *testing.T, b []byte, n uint16) {
		opened, err := ParseOpenings(b, int(n))
		if err != nil {
			return
		}
		if !bytes.Equal(encodeOpenings(opened), b) {
			t.Fatal("two encodings of the same openings")
		}
	})
}
