package sim

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/records"
)

// Whatever is asked of it, the simulated store answers what the real one does.
func TestMemStoreIsAStore(t *testing.T) {
	signer, err := records.NewSigner(key(1, "keeper"))
	require.NoError(t, err)
	sign := func(s records.CheckStatement) (solana.Signature, error) { return s.Sign(signer) }
	dir, n := t.TempDir(), 0
	sequences := 12 // each change of the real store waits for the disk
	rapid.Check(t, func(t *rapid.T) {
		if n++; n > sequences {
			return
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.db", n))
		real, err := store.Open(path, store.Options{Keeper: signer.PublicKey(), Domain: domain, FirstPeriod: 3})
		require.NoError(t, err)
		defer func() { require.NoError(t, real.Close()) }()
		mine := newMemStore(3)
		period := rapid.Custom(func(t *rapid.T) records.Period { return records.Period(rapid.IntRange(2, 6).Draw(t, "period")) })
		t.Repeat(map[string]func(*rapid.T){
			"sign": func(t *rapid.T) {
				var all []records.CheckStatement
				for range rapid.IntRange(1, 3).Draw(t, "statements") {
					p := period.Draw(t, "period")
					all = append(all, records.CheckStatement{
						Domain: domain, Node: solana.PublicKey{byte(rapid.IntRange(1, 2).Draw(t, "node"))}, Period: p,
						Kind: records.CheckKind(rapid.IntRange(1, 2).Draw(t, "kind")), Passed: rapid.Bool().Draw(t, "passed"),
						CheckedAt: int64(p)*60 + int64(rapid.IntRange(0, 1).Draw(t, "at")),
					})
				}
				want, wantRefused, err := real.Sign(all, sign)
				require.NoError(t, err)
				got, refused, err := mine.Sign(all, sign)
				require.NoError(t, err)
				require.Equal(t, want, got)
				require.Len(t, refused, len(wantRefused))
				for i, r := range refused {
					require.Equal(t, wantRefused[i].Statement, r.Statement)
					require.ErrorIs(t, r.Err, wantRefused[i].Err)
				}
			},
			"seal": func(t *rapid.T) {
				p := period.Draw(t, "period")
				require.NoError(t, real.Seal(p))
				require.NoError(t, mine.Seal(p))
			},
			"vote": func(t *rapid.T) {
				p, root := period.Draw(t, "period"), records.Hash{byte(rapid.IntRange(1, 2).Draw(t, "root"))}
				want := real.Vote(p, root, []byte{root[0]})
				if err := mine.Vote(p, root, []byte{root[0]}); want == nil {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, want, store.ErrEarly)
					require.ErrorIs(t, err, store.ErrEarly)
				}
			},
			"manifest": func(t *rapid.T) {
				p, ref := period.Draw(t, "period"), store.SetRef{Count: uint32(rapid.IntRange(1, 2).Draw(t, "count")), Size: 9}
				want, got := real.PutManifest(p, ref), mine.PutManifest(p, ref)
				for _, refusal := range []error{store.ErrManifest, store.ErrEarly, store.ErrOpen} {
					require.Equal(t, errors.Is(want, refusal), errors.Is(got, refusal))
				}
				require.Equal(t, want == nil, got == nil)
			},
			"prune": func(t *rapid.T) {
				before := records.Period(rapid.IntRange(2, 5).Draw(t, "before"))
				_, err := real.Prune(before)
				require.NoError(t, err)
				mine.prune(before)
			},
			"": func(t *rapid.T) {
				require.Equal(t, real.FirstPeriod(), mine.FirstPeriod())
				wantSealed, err := real.Sealed()
				require.NoError(t, err)
				sealed, _ := mine.Sealed()
				require.Equal(t, wantSealed, sealed)
				for p := records.Period(2); p <= 6; p++ {
					want, err := real.Statements(p)
					require.NoError(t, err)
					got, _ := mine.Statements(p)
					require.Equal(t, want, got)
					wantRoot, wantErr := real.Voted(p)
					root, err := mine.Voted(p)
					require.Equal(t, wantRoot, root)
					require.Equal(t, wantErr == nil, err == nil)
					wantRaw, _ := real.Proposal(p, root)
					raw, _ := mine.Proposal(p, root)
					require.Equal(t, wantRaw, raw)
				}
			},
		})
	})
}
