package report

import (
	"math/rand/v2"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/committee"
	"github.com/gantry-market/gantry/keeper/statement"
)

// lies is how liars lie; all of them do the same, knowing who sits where.
type lies int

const (
	vouch   lies = iota // every node is up, dead ones too
	accuse              // every node is down and false, honest ones too
	starve              // every node passes, and was up for a second
	silence             // nothing
	hurt                // dead nodes are up, living ones down and false
	lieKinds
)

// town is 3f+1 keepers of which f lie, and nodes that live or are dead.
type town struct {
	n, f    int
	lies    lies
	frame   statement.Frame
	weights Weights
	roster  *committee.Roster
	by      map[solana.PublicKey][]records.CheckStatement
	escapes map[solana.PublicKey]bool // dead nodes that no honest keeper watches
}

func newTown(f int, l lies, seed byte) *town {
	w := &town{n: 3*f + 1, f: f, lies: l, frame: statement.Frame{Domain: domain, Period: 10, Secs: 3600}, weights: Weights{}}
	for k := range w.n {
		w.weights[benchKey("town", k)] = 1000
	}
	w.roster = committee.NewRoster(committee.Seed{seed}, w.weights)
	w.by, w.escapes = map[solana.PublicKey][]records.CheckStatement{}, map[solana.PublicKey]bool{}
	return w
}

func (w *town) lying(k int) bool { return k < w.f }

func (w *town) say(k int, node, lease solana.PublicKey, kind records.CheckKind, passed bool, covered uint32, at int64) {
	key := benchKey("town", k)
	w.by[key] = append(w.by[key], records.CheckStatement{
		Domain: domain, Node: node, Lease: lease, Period: 10, Kind: kind, Passed: passed, CoveredSeconds: covered, CheckedAt: 36_000 + at,
	})
}

// watch is what all keepers say about one node: the honest as the planner has them do it. looked says whether honest
// keepers look at an idle node that somebody accuses, as they do within the accuser's credit.
func (w *town) watch(node solana.PublicKey, alive, leased, looked bool) {
	lease := solana.PublicKey{}
	if leased {
		lease = benchKey("lease of", int(node[0])<<8+int(node[1]))
	}
	subjects := []solana.PublicKey{{}}
	if leased {
		subjects = append(subjects, lease)
	}
	accused, watched := false, false
	for k := range w.n {
		sits := w.roster.Sits(node, benchKey("town", k))
		if w.lying(k) {
			w.lie(k, node, subjects, alive)
			accused = accused || sits && (w.lies == accuse || w.lies == hurt && alive)
			continue
		}
		if !sits && !leased {
			continue
		}
		watched = true
		for _, s := range subjects {
			if alive {
				w.say(k, node, s, records.CheckLiveness, true, 3600, 3600)
			} else {
				w.say(k, node, s, records.CheckLiveness, false, 60, 60)
				w.say(k, node, s, records.CheckLiveness, false, 3540, 3600)
				accused = true
			}
		}
		if sits && alive {
			w.say(k, node, solana.PublicKey{}, records.CheckInventory, true, 0, 100)
		}
	}
	w.escapes[node] = !watched
	if leased || !accused || !looked {
		return
	}
	for k := range w.n {
		if !w.lying(k) && !w.roster.Sits(node, benchKey("town", k)) {
			w.say(k, node, solana.PublicKey{}, records.CheckLiveness, alive, 0, 75)
			if alive {
				w.say(k, node, solana.PublicKey{}, records.CheckInventory, true, 0, 80)
			}
		}
	}
}

func (w *town) lie(k int, node solana.PublicKey, subjects []solana.PublicKey, alive bool) {
	up := w.lies == vouch || w.lies == hurt && !alive
	for _, s := range subjects {
		switch {
		case w.lies == silence:
		case w.lies == starve:
			w.say(k, node, s, records.CheckLiveness, true, 1, 3600)
		default:
			w.say(k, node, s, records.CheckLiveness, up, 3600, 3600)
		}
	}
	if w.lies == accuse || w.lies == hurt {
		for _, kind := range []records.CheckKind{records.CheckInventory, records.CheckWork, records.CheckEvidence, records.CheckHealth, records.CheckOutput} {
			w.say(k, node, solana.PublicKey{}, kind, up, 0, 200)
		}
	}
}

// leaves are those of a proposal that leaves out some honest keepers, as many as it may.
func (w *town) leaves(t require.TestingT, out int) map[solana.PublicKey][]records.Leaf {
	d := NewTally(w.frame)
	b := Basis{Weights: w.weights, Roster: w.roster}
	for k := range w.n - out { // the last ones are honest
		raw, _ := statement.EncodeSet(w.frame, w.by[benchKey("town", k)])
		ref, err := d.Add(benchKey("town", k), raw)
		require.NoError(t, err)
		b.Sets = append(b.Sets, ref)
	}
	all, err := d.Build(b)
	require.NoError(t, err)
	got := map[solana.PublicKey][]records.Leaf{}
	for _, l := range all {
		got[l.Node] = append(got[l.Node], l)
	}
	return got
}

// Whatever f of 3f+1 keepers say together, also where they are a whole committee, and whichever honest keepers a proposal
// leaves out: no node that lives is flagged, no lease of a dead node earns a second, none of a living one is called down.
// What a living idle node can lose is a report, not its name, unless its whole committee lies or its honest members are
// left out, which keepers that hold their statements do not vote for.
func TestLiarsInCommittees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.IntRange(2, 5).Draw(t, "f")
		w := newTown(f, lies(rapid.IntRange(0, int(lieKinds)-1).Draw(t, "lies")), rapid.Byte().Draw(t, "seed"))
		looked := rapid.Bool().Draw(t, "looked")
		type node struct{ alive, leased bool }
		nodes := map[solana.PublicKey]node{}
		for i := range 12 {
			x := node{rapid.Bool().Draw(t, "alive"), rapid.Bool().Draw(t, "leased")}
			key := benchKey("house", i)
			nodes[key] = x
			w.watch(key, x.alive, x.leased, looked)
		}
		out := rapid.IntRange(0, f).Draw(t, "left out")
		if w.lies == silence {
			out = 0 // with their weight and that of others missing there is no report
		}
		got := w.leaves(t, out)
		for key, x := range nodes {
			if x.leased && out == 0 {
				require.Len(t, got[key], 2, "what honest keepers have seen is reported")
			}
			liars := 0 // of the committee
			for k := range w.f {
				if w.roster.Sits(key, benchKey("town", k)) {
					liars++
				}
			}
			for _, l := range got[key] {
				if x.alive {
					require.Zero(t, l.Flags)
					require.Zero(t, l.DowntimeSeconds)
					if !l.Lease.IsZero() {
						require.EqualValues(t, 3600, l.VerifiedSeconds)
					}
					if liars < committee.Size && out == 0 {
						require.EqualValues(t, 3600, l.UpSeconds)
					}
				} else {
					require.Zero(t, l.VerifiedSeconds, "a dead node is paid")
					if looked && !w.escapes[key] || x.leased {
						require.LessOrEqual(t, l.UpSeconds, uint32(75), "a dead node has a good name")
					}
				}
			}
		}
	})
}

// With one liar more than a third the rules break, so that the test above can fail.
func TestOneLiarMoreAndTheDeadArePaid(t *testing.T) {
	w := newTown(2, vouch, 1)
	w.f = 4 // of seven: more than a third, and enough to be most of those that are heard
	dead := benchKey("house", 1)
	w.watch(dead, false, true, true)
	paid := false
	for _, l := range w.leaves(t, 1)[dead] {
		paid = paid || l.VerifiedSeconds > 0
	}
	require.True(t, paid)
}

// How often what remains happens: a dead idle node whose whole committee lies has a good name for a period. It is no
// more often than the odds say.
func TestTheOddsOfAGoodNameForTheDead(t *testing.T) {
	const nodes = 2000
	w := newTown(6, vouch, 7)
	for i := range nodes {
		w.watch(benchKey("house", i), false, false, true)
	}
	good := 0
	for key, leaves := range w.leaves(t, 0) {
		for _, l := range leaves {
			if l.UpSeconds > 75 {
				require.True(t, w.escapes[key])
				good++
			}
		}
	}
	require.InDelta(t, committee.Odds(19, 6, committee.Size, committee.Size), float64(good)/nodes, 0.004)
}

// A node whose committee is divided and that nobody else looked at has no leaf: neither side can be believed.
func TestADividedCommitteeSaysNothing(t *testing.T) {
	w := newTown(6, accuse, byte(rand.IntN(256)))
	for i := range 400 {
		w.watch(benchKey("house", i), true, false, false)
	}
	got := w.leaves(t, 0)
	for i := range 400 {
		key := benchKey("house", i)
		liars := 0
		for k := range w.f {
			if w.roster.Sits(key, benchKey("town", k)) {
				liars++
			}
		}
		if liars >= committee.Quorum {
			require.Empty(t, got[key])
		} else {
			require.EqualValues(t, 3600, got[key][0].UpSeconds)
		}
	}
}
