package consensus

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
)

// Two of seven keepers are wrong in every way at once or one by one; the report becomes final and says what the honest saw.
func TestTwoOfSevenAreFaulty(t *testing.T) {
	for name, spoil := range map[string]func(w *town, bad []*person){
		"silent": func(w *town, bad []*person) {
			for _, p := range bad {
				w.cut[p.key.PublicKey()] = true
			}
		},
		"deaf": func(w *town, bad []*person) {
			for _, p := range bad {
				w.deaf[p.key.PublicKey()] = true
			}
		},
		"withholding what they signed": func(w *town, bad []*person) {
			for _, p := range bad {
				w.mean[p.key.PublicKey()] = true
			}
		},
		"one silent, one withholding": func(w *town, bad []*person) {
			w.cut[bad[0].key.PublicKey()] = true
			w.mean[bad[1].key.PublicKey()] = true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t, 7)
			// The first two proposers are the faulty ones.
			bad := []*person{w.proposer(0), w.proposer(1)}
			for _, p := range w.people {
				if p == bad[0] || p == bad[1] {
					p.see(100, 1) // a lie
				} else {
					p.see(100, 4)
				}
			}
			spoil(w, bad)
			stop := w.run()
			defer stop()
			root := w.untilFinal()
			require.Eventually(t, func() bool { return w.everybodyHolds(root, bad...) }, 90*time.Second, 5*time.Millisecond)
			for _, p := range w.people {
				if p != bad[0] && p != bad[1] {
					require.EqualValues(t, 4, p.engine.Set(w.period, root).Leaves[0].UpSeconds)
				}
			}
			// Who voted for what nobody else could check moves to what the others vote for, if there is time.
			w.mu.Lock()
			for _, p := range bad {
				delete(w.votes, p.key.PublicKey())
			}
			w.mu.Unlock()
			w.check()
		})
	}
}

// A keeper that tells every peer of another set has no say: honest proposers leave it out.
func TestTwoManifestsCountForNothing(t *testing.T) {
	w := newTown(t, 4)
	for _, p := range w.people {
		p.see(100, 4)
	}
	liar := w.proposer(3)
	w.cut[liar.key.PublicKey()] = true
	var mu sync.Mutex
	caught := map[*person]bool{} // the liar, by whom
	for _, p := range w.people {
		p.engine.o.Equivocation = func(one, other statement.Manifest) {
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, liar.key.PublicKey(), one.Keeper)
			require.True(t, one.Contradicts(other))
			require.NoError(t, errors.Join(one.Verify(domain), other.Verify(domain)))
			caught[p] = true
		}
	}
	stop := w.run()
	defer stop()
	f := statement.Frame{Domain: domain, Period: w.period, Secs: secs}
	for i, p := range w.people {
		if p == liar {
			continue
		}
		raw, n := statement.EncodeSet(f, []records.CheckStatement{{
			Domain: domain, Node: solana.PublicKey{100}, Period: w.period, Kind: records.CheckLiveness,
			CoveredSeconds: uint32(i), CheckedAt: int64(w.period) * secs,
		}})
		m, err := statement.NewManifest(f, raw, n, liar.key)
		require.NoError(t, err)
		p.engine.cache.put(m, raw, w.now()) // it hands out each set to one keeper
		p.engine.HandleManifest(t.Context(), m.Message())
	}
	root := w.untilFinal()
	require.Eventually(t, func() bool { return w.everybodyHolds(root, liar) }, 90*time.Second, 5*time.Millisecond)
	for _, p := range w.people {
		if p != liar {
			require.EqualValues(t, 4, p.engine.Set(w.period, root).Leaves[0].UpSeconds)
		}
	}
	w.check()
	mu.Lock()
	defer mu.Unlock()
	require.NotEmpty(t, caught, "whoever proposes asks everybody")
	require.False(t, caught[liar])
}

// A proposer that leaves out an honest keeper, whose statements all others hold, gets no vote but its own.
func TestAProposerThatLeavesOutAnHonestKeeper(t *testing.T) {
	w := newTown(t, 7)
	for _, p := range w.people {
		p.see(100, 4)
	}
	cheat, victim := w.proposer(0), w.proposer(6)
	w.cut[cheat.key.PublicKey()] = true
	stop := w.run()
	defer stop()
	for _, p := range w.people { // until all hold the victim's statements, and for long enough
		if p != cheat {
			require.Eventually(t, func() bool {
				return p == victim || len(p.engine.cache.usableSince(w.period, w.now().Add(-p.engine.o.Timing.grace()))) >= 6
			}, 90*time.Second, time.Millisecond)
		}
	}
	m := w.proposalOf(cheat, nil, victim)
	for _, p := range w.people {
		if p != cheat {
			p.engine.HandleProposal(t.Context(), m)
		}
	}
	root := w.untilFinal()
	var named bool
	for _, p := range w.people {
		if kept, err := p.engine.storedProposal(w.period, root); err == nil {
			for _, x := range kept.Manifests {
				named = named || solana.PublicKey(x.Keeper) == victim.key.PublicKey()
			}
		}
	}
	require.True(t, named)
	w.check()
}

// Three of seven are cut off: nothing becomes final, and nobody votes twice. When they are back, the period does.
func TestAPartitionHeals(t *testing.T) {
	w := newTown(t, 7)
	for _, p := range w.people {
		p.see(100, 4)
	}
	away := w.people[:3]
	for _, p := range away {
		w.cut[p.key.PublicKey()] = true
	}
	stop := w.run()
	defer stop()
	time.Sleep(4 * w.people[0].engine.o.Timing.Round)
	_, ok := w.final()
	require.False(t, ok)
	w.mu.Lock()
	clear(w.cut)
	w.mu.Unlock()
	root := w.untilFinal()
	require.Eventually(t, func() bool { return w.everybodyHolds(root) }, 90*time.Second, 5*time.Millisecond)
	w.check()
}

// Two of four are cut off for longer than keepers work on a period without pause. It is final soon after they are back all the same.
func TestAPeriodWaitsForANetworkThatIsCutForLong(t *testing.T) {
	w := newTown(t, 4)
	for i, p := range w.people {
		p.see(100, uint32(i%4+1))
		p.engine.o.Timing.Round = 100 * time.Millisecond
	}
	for _, p := range w.people[:2] {
		w.cut[p.key.PublicKey()] = true
	}
	stop := w.run()
	defer stop()
	time.Sleep(time.Duration(turnsBeforeBackoff*len(w.people)+6) * 100 * time.Millisecond)
	_, ok := w.final()
	require.False(t, ok, "two of four are no quorum")
	w.mu.Lock()
	clear(w.cut)
	w.mu.Unlock()
	w.untilFinal()
}

// Of many old periods a few are looked after at a time, every one of them in its turn, and the same by all keepers.
func TestOldPeriodsTakeTurns(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	timing := Timing{Delay: time.Second, Round: 10 * time.Second}
	var open []chainFacts
	for p := range records.Period(11) {
		open = append(open, chainFacts{period: p, end: int64(p) * 60, weights: report.Weights{{1}: 1, {2}: 1}})
	}
	final := &market.Report{}
	final.Report.Status = uint8(market.ReportFinal)
	open[3].report = final
	seen := map[records.Period]int{}
	for range 5 {
		recent := chainFacts{period: 11, end: now.Unix() - 5, weights: open[0].weights}
		attended := attend(append(open, recent), now, timing)
		require.Equal(t, attended, attend(append(open, recent), now.Add(time.Second), timing), "by all keepers, whose clocks differ a little")
		require.Len(t, attended, oldAtATime)
		for p := range attended {
			seen[p]++
		}
		now = now.Add(roundsOfTurn * 10 * time.Second)
	}
	require.Len(t, seen, 10, "all but the final one and the one that has its time still")
	for p, n := range seen {
		require.Equal(t, 2, n, "period %d", p)
	}
}

// A keeper that missed a period gets the leaves from a peer and believes only those that lead to the root on chain.
func TestALateJoinerBelievesTheChainOnly(t *testing.T) {
	w := newTown(t, 4)
	for _, p := range w.people {
		p.see(100, 4)
	}
	late := w.proposer(3)
	w.cut[late.key.PublicKey()] = true
	stop := w.run()
	defer stop()
	root := w.untilFinal()
	liar := w.proposer(0)
	leaf := records.Leaf{Node: solana.PublicKey{100}, Period: w.period, UpSeconds: 1}
	forged, err := report.NewSet([]records.Leaf{leaf})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return w.everybodyHolds(root, late) }, 90*time.Second, 5*time.Millisecond)
	require.NoError(t, liar.store.PutLeaves(w.period, root, forged.EncodeLeaves()), "a peer hands out other leaves under that root")
	w.mu.Lock()
	clear(w.cut)
	w.mu.Unlock()
	require.Eventually(t, func() bool { return w.everybodyHolds(root) }, 90*time.Second, 5*time.Millisecond)
	require.Equal(t, root, late.engine.Set(w.period, root).Root)
	require.EqualValues(t, 4, late.engine.Set(w.period, root).Leaves[0].UpSeconds)
}

// A restart makes the same set again, to the byte, and signs the same manifest.
func TestAManifestSurvivesARestart(t *testing.T) {
	w := newTown(t, 3)
	p := w.people[0]
	p.see(100, 4)
	p.see(101, 3)
	require.NoError(t, p.store.Seal(w.period))
	r, _, ok := p.engine.chain(w.period)
	require.True(t, ok)
	var seen []statement.Manifest
	for range 3 {
		p.restart()
		s := newPeriodState()
		require.NoError(t, p.engine.announce(t.Context(), r, s))
		seen = append(seen, *s.own)
	}
	require.Equal(t, seen[0], seen[1])
	require.Equal(t, seen[0], seen[2])
	_, refused, err := p.store.Sign([]records.CheckStatement{{
		Domain: domain, Node: solana.PublicKey{102}, Period: w.period, Kind: records.CheckLiveness, CheckedAt: int64(w.period) * secs,
	}}, func(s records.CheckStatement) (solana.Signature, error) { return s.Sign(p.key) })
	require.NoError(t, err)
	require.Len(t, refused, 1)
	require.ErrorIs(t, refused[0].Err, store.ErrSealed, "nothing is added to what a manifest was signed for")
}

// An honest keeper whose statements are not what they were, or are gone, signs no second manifest, and says so.
func TestNoSecondManifest(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(p *person)
		silent bool
	}{
		"announced with other statements": {func(p *person) {
			require.NoError(p.town.t, p.store.PutManifest(p.town.period, store.SetRef{Count: 9}))
		}, true},
		"heard of with other statements, signed with our key": {func(p *person) {
			f := statement.Frame{Domain: domain, Period: p.town.period, Secs: secs}
			m, err := statement.NewManifest(f, []byte("other"), 1, p.key)
			require.NoError(p.town.t, err)
			p.engine.HandleManifest(p.town.t.Context(), m.Message())
		}, true},
		"pruned": {func(p *person) {
			_, err := p.store.Prune(p.town.period + 1)
			require.NoError(p.town.t, err)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTown(t, 2)
			p, o := w.people[0], w.people[1]
			p.see(100, 4)
			require.NoError(t, p.store.Seal(w.period))
			c.spoil(p)
			r, _, ok := p.engine.chain(w.period)
			require.True(t, ok)
			s := newPeriodState()
			heard := len(p.engine.cache.manifests(w.period))
			elsewhere := 0
			p.engine.o.DuplicateSigner = func(statement.Manifest) { elsewhere++ }
			for range 2 {
				require.NoError(t, p.engine.announce(t.Context(), r, s))
				p.engine.wg.Wait()
			}
			require.Nil(t, s.own)
			require.Equal(t, c.silent, s.withheld)
			require.Equal(t, heard, elsewhere)
			require.Len(t, p.engine.cache.manifests(w.period), heard)
			require.Empty(t, o.engine.cache.manifests(w.period))
		})
	}
}

// Peers that hand out nonsense are not believed and do not make us take more than was announced.
func TestPiecesThatDoNotFit(t *testing.T) {
	for name, piece := range map[string]messages.Piece{
		"more than announced": {Total: 1000, Data: make([]byte, 10)},
		"more than in all":    {Total: 5, Data: make([]byte, 10)},
		"nothing":             {Total: 50},
		"too large a piece":   {Total: 60, Data: make([]byte, messages.MaxPiece+1)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTown(t, 2)
			e := w.people[0].engine
			e.o.Peers = nonsense{e.o.Peers, piece}
			_, err := e.fetchBlob(t.Context(), w.people[1].key.PublicKey(), messages.BlobSet, 1, [32]byte{}, 100)
			require.ErrorIs(t, err, ErrPiece)
		})
	}
}

// nonsense answers every request for a piece with the same.
type nonsense struct {
	Peers
	piece messages.Piece
}

func (n nonsense) Blob(context.Context, solana.PublicKey, messages.BlobRequest) (messages.Piece, error) {
	return n.piece, nil
}
