package report

import (
	"math/rand/v2"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/records"
)

// strategy is what dishonest keepers sign; all of them do the same, knowing who sits where.
type strategy int

const (
	vouch   strategy = iota // every node is up, dead ones too
	accuse                  // every node is down and fails its checks, honest ones too
	starve                  // every node passes, and was up for a second
	silence                 // nothing
	hurt                    // dead nodes are up, living ones down and fail their checks
	strategies
)

// cluster is 3f+1 keepers of which f are dishonest, and nodes that live or are dead.
type cluster struct {
	n, f    int
	signs   strategy // of the dishonest
	frame   statement.Frame
	weights Weights
	roster  *committee.Roster
	by      map[solana.PublicKey][]records.CheckStatement
	escapes map[solana.PublicKey]bool // dead nodes that no honest keeper watches
}

func newCluster(f int, l strategy, seed byte) *cluster {
	c := &cluster{n: 3*f + 1, f: f, signs: l, frame: statement.Frame{Domain: domain, Period: 10, Secs: 3600}, weights: Weights{}}
	for k := range c.n {
		c.weights[benchKey("keeper", k)] = 1000
	}
	c.roster = committee.NewRoster(committee.Seed{seed}, c.weights)
	c.by, c.escapes = map[solana.PublicKey][]records.CheckStatement{}, map[solana.PublicKey]bool{}
	return c
}

func (c *cluster) dishonest(k int) bool { return k < c.f }

func (c *cluster) sign(k int, node, lease solana.PublicKey, kind records.CheckKind, passed bool, covered uint32, at int64) {
	key := benchKey("keeper", k)
	c.by[key] = append(c.by[key], records.CheckStatement{
		Domain: domain, Node: node, Lease: lease, Period: 10, Kind: kind, Passed: passed, CoveredSeconds: covered, CheckedAt: 36_000 + at,
	})
}

// watch is what all keepers say about one node: the honest as the planner has them do it. looked says whether honest
// keepers look at an idle node that somebody accuses, as they do within the accuser's credit.
func (c *cluster) watch(node solana.PublicKey, alive, leased, looked bool) {
	lease := solana.PublicKey{}
	if leased {
		lease = benchKey("lease of", int(node[0])<<8+int(node[1]))
	}
	subjects := []solana.PublicKey{{}}
	if leased {
		subjects = append(subjects, lease)
	}
	accused, watched := false, false
	for k := range c.n {
		sits := c.roster.Sits(node, benchKey("keeper", k))
		if c.dishonest(k) {
			c.signDishonestly(k, node, subjects, alive)
			accused = accused || sits && (c.signs == accuse || c.signs == hurt && alive)
			continue
		}
		if !sits && !leased {
			continue
		}
		watched = true
		for _, s := range subjects {
			if alive {
				c.sign(k, node, s, records.CheckLiveness, true, 3600, 3600)
			} else {
				c.sign(k, node, s, records.CheckLiveness, false, 60, 60)
				c.sign(k, node, s, records.CheckLiveness, false, 3540, 3600)
				accused = true
			}
		}
		if sits && alive {
			c.sign(k, node, solana.PublicKey{}, records.CheckInventory, true, 0, 100)
		}
	}
	c.escapes[node] = !watched
	if leased || !accused || !looked {
		return
	}
	for k := range c.n {
		if !c.dishonest(k) && !c.roster.Sits(node, benchKey("keeper", k)) {
			c.sign(k, node, solana.PublicKey{}, records.CheckLiveness, alive, 0, 75)
			if alive {
				c.sign(k, node, solana.PublicKey{}, records.CheckInventory, true, 0, 80)
			}
		}
	}
}

func (c *cluster) signDishonestly(k int, node solana.PublicKey, subjects []solana.PublicKey, alive bool) {
	up := c.signs == vouch || c.signs == hurt && !alive
	for _, s := range subjects {
		switch {
		case c.signs == silence:
		case c.signs == starve:
			c.sign(k, node, s, records.CheckLiveness, true, 1, 3600)
		default:
			c.sign(k, node, s, records.CheckLiveness, up, 3600, 3600)
		}
	}
	if c.signs == accuse || c.signs == hurt {
		for _, kind := range []records.CheckKind{records.CheckInventory, records.CheckWork, records.CheckEvidence, records.CheckHealth, records.CheckOutput} {
			c.sign(k, node, solana.PublicKey{}, kind, up, 0, 200)
		}
	}
}

// leaves are those of a proposal that leaves out some honest keepers, as many as it may.
func (c *cluster) leaves(t require.TestingT, out int) map[solana.PublicKey][]records.Leaf {
	d := NewTally(c.frame)
	b := Basis{Weights: c.weights, Roster: c.roster}
	for k := range c.n - out { // the last ones are honest
		raw, _ := statement.EncodeSet(c.frame, c.by[benchKey("keeper", k)])
		ref, err := d.Add(benchKey("keeper", k), raw)
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

// Whatever f of 3f+1 keepers say together, also where they are a whole committee, and whichever honest keepers a
// proposal leaves out: no node that lives is flagged, no lease of a dead node earns a second, none of a living one is
// called down. What a living idle node can lose is a report, not its reputation, unless its whole committee is
// dishonest or its honest members are left out, which keepers that hold their statements do not vote for.
func TestDishonestKeepersInCommittees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.IntRange(2, 5).Draw(t, "f")
		c := newCluster(f, strategy(rapid.IntRange(0, int(strategies)-1).Draw(t, "strategy")), rapid.Byte().Draw(t, "seed"))
		looked := rapid.Bool().Draw(t, "looked")
		type node struct{ alive, leased bool }
		nodes := map[solana.PublicKey]node{}
		for i := range 12 {
			x := node{rapid.Bool().Draw(t, "alive"), rapid.Bool().Draw(t, "leased")}
			key := benchKey("house", i)
			nodes[key] = x
			c.watch(key, x.alive, x.leased, looked)
		}
		out := rapid.IntRange(0, f).Draw(t, "left out")
		if c.signs == silence {
			out = 0 // with their weight and that of others missing there is no report
		}
		got := c.leaves(t, out)
		for key, x := range nodes {
			if x.leased && out == 0 {
				require.Len(t, got[key], 2, "what honest keepers have seen is reported")
			}
			dishonest := 0 // of the committee
			for k := range c.f {
				if c.roster.Sits(key, benchKey("keeper", k)) {
					dishonest++
				}
			}
			for _, l := range got[key] {
				if x.alive {
					require.Zero(t, l.Flags)
					require.Zero(t, l.DowntimeSeconds)
					if !l.Lease.IsZero() {
						require.EqualValues(t, 3600, l.VerifiedSeconds)
					}
					if dishonest < committee.Size && out == 0 {
						require.EqualValues(t, 3600, l.UpSeconds)
					}
				} else {
					require.Zero(t, l.VerifiedSeconds, "a dead node is paid")
					if looked && !c.escapes[key] || x.leased {
						require.LessOrEqual(t, l.UpSeconds, uint32(75), "a dead node has a good name")
					}
				}
			}
		}
	})
}

// With one dishonest keeper more than a third the rules break, so that the test above can fail.
func TestOneDishonestKeeperMoreBreaksTheRules(t *testing.T) {
	c := newCluster(2, vouch, 1)
	c.f = 4 // of seven: more than a third, and enough to be most of those that count
	dead := benchKey("house", 1)
	c.watch(dead, false, true, true)
	paid := false
	for _, l := range c.leaves(t, 1)[dead] {
		paid = paid || l.VerifiedSeconds > 0
	}
	require.True(t, paid)
}

// How often what remains happens: a dead idle node whose whole committee is dishonest has a good report for a period.
// It is no more often than the odds say.
func TestOddsOfAGoodReportForADeadNode(t *testing.T) {
	const nodes = 2000
	c := newCluster(6, vouch, 7)
	for i := range nodes {
		c.watch(benchKey("house", i), false, false, true)
	}
	good := 0
	for key, leaves := range c.leaves(t, 0) {
		for _, l := range leaves {
			if l.UpSeconds > 75 {
				require.True(t, c.escapes[key])
				good++
			}
		}
	}
	require.InDelta(t, committee.Odds(19, 6, committee.Size, committee.Size), float64(good)/nodes, 0.004)
}

// A node whose committee is divided and that nobody else looked at has no leaf: neither side can be believed.
func TestDividedCommitteeMakesNoLeaf(t *testing.T) {
	c := newCluster(6, accuse, byte(rand.IntN(256)))
	for i := range 400 {
		c.watch(benchKey("house", i), true, false, false)
	}
	got := c.leaves(t, 0)
	for i := range 400 {
		key := benchKey("house", i)
		dishonest := 0
		for k := range c.f {
			if c.roster.Sits(key, benchKey("keeper", k)) {
				dishonest++
			}
		}
		if dishonest >= committee.Quorum {
			require.Empty(t, got[key])
		} else {
			require.EqualValues(t, 3600, got[key][0].UpSeconds)
		}
	}
}
