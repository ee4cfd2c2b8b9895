package report

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/client/protocol"
	"github.com/gantry-market/gantry/client/wire"
	"github.com/gantry-market/gantry/keeper/statement"
)

const secs = 60

var domain = wire.Domain{1, 2, 3, 4, 5, 6, 7, 8}

func key(n byte) solana.PublicKey { return solana.PublicKey{n, 0xaa} }

// say is an unsigned statement of a keeper: leaf building does not look at signatures.
func say(keeper, node solana.PublicKey, kind wire.CheckKind, passed bool, covered uint32, at int64) statement.Signed {
	return statement.Signed{Keeper: keeper, Statement: wire.CheckStatement{
		Domain: domain, Node: node, Period: 10, Kind: kind, Passed: passed, CoveredSeconds: covered, CheckedAt: 10*secs + at,
	}}
}

func of(s statement.Signed, lease solana.PublicKey) statement.Signed {
	s.Statement.Lease = lease
	return s
}

func weights(ns ...uint64) Weights {
	w := Weights{}
	for i, n := range ns {
		w[key(byte(i+1))] = n
	}
	return w
}

func input(w Weights, all ...statement.Signed) Input {
	return Input{Period: 10, PeriodSecs: secs, Weights: w, Statements: all}
}

func TestBuildNodeAndLease(t *testing.T) {
	node, lease := key(100), key(200)
	var all []statement.Signed
	for k, up := range []uint32{60, 58, 20} {
		keeper := key(byte(k + 1))
		all = append(all,
			say(keeper, node, wire.CheckLiveness, true, up, 30),
			say(keeper, node, wire.CheckLiveness, false, 60-up, 60),
			of(say(keeper, node, wire.CheckLiveness, true, up-10, 30), lease),
			of(say(keeper, node, wire.CheckLiveness, false, 5, 60), lease),
		)
		work := say(keeper, node, wire.CheckWork, true, 0, 20)
		work.Statement.Measured = 1000 + uint32(k)
		inv := say(keeper, node, wire.CheckInventory, true, 0, 20)
		inv.Statement.Detail = [32]byte{7}
		all = append(all, work, inv)
	}
	in := input(weights(1, 1, 1), all...)
	in.Tier = func(n solana.PublicKey) uint8 { require.Equal(t, node, n); return 2 }
	leaves := Build(in)
	require.Len(t, leaves, 2)
	own, leased := leaves[0], leaves[1]
	require.True(t, own.Lease.IsZero())
	require.Equal(t, lease, leased.Lease)
	require.EqualValues(t, 58, own.UpSeconds)
	require.Zero(t, own.VerifiedSeconds)
	require.EqualValues(t, 48, leased.VerifiedSeconds)
	require.EqualValues(t, 5, leased.DowntimeSeconds)
	require.EqualValues(t, 12, own.ChecksPassed)
	require.EqualValues(t, 18, own.ChecksTotal)
	require.EqualValues(t, 1001, own.Measured)
	require.EqualValues(t, 2, own.Tier)
	require.Equal(t, [32]byte{7}, own.DeviceRoot)
	require.Zero(t, own.Flags)
	for _, l := range leaves {
		require.NoError(t, l.Validate())
	}
}

func TestFlagsNeedMoreThanTwoThirds(t *testing.T) {
	node := key(100)
	for name, c := range map[string]struct {
		weights        Weights
		failed, passed []int // keepers, from 0
		want           bool
	}{
		"all three":                      {weights(1, 1, 1), []int{0, 1, 2}, nil, true},
		"two of three is not more":       {weights(1, 1, 1), []int{0, 1}, nil, false},
		"three of four":                  {weights(1, 1, 1, 1), []int{0, 1, 2}, nil, true},
		"by weight":                      {weights(7, 1, 1), []int{0}, []int{1, 2}, true},
		"by weight, not by heads":        {weights(1, 1, 7), []int{0, 1}, []int{2}, false},
		"one of three contradicts":       {weights(1, 1, 1), []int{0, 1, 2}, []int{2}, false},
		"one of four contradicts itself": {weights(1, 1, 1, 1), []int{0, 1, 2, 3}, []int{3}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, flag := range map[wire.CheckKind]wire.Flags{
				wire.CheckInventory: wire.FlagSpecMismatch, wire.CheckWork: wire.FlagWorkFailed,
				wire.CheckLiveness: wire.FlagOffline, wire.CheckHealth: wire.FlagUnhealthy,
			} {
				var all []statement.Signed
				for _, k := range c.failed {
					all = append(all, say(key(byte(k+1)), node, kind, false, 0, 10))
				}
				for _, k := range c.passed {
					all = append(all, say(key(byte(k+1)), node, kind, true, 0, 50))
				}
				leaves := Build(input(c.weights, all...))
				require.Len(t, leaves, 1)
				require.Equal(t, c.want, leaves[0].Flags == flag, "%s: %s", kind, leaves[0].Flags)
			}
		})
	}
}

func TestOfflineOfALeaseNeedsDowntime(t *testing.T) {
	node, lease := key(100), key(200)
	down := func(covered uint32) wire.Flags {
		var all []statement.Signed
		for k := byte(1); k <= 3; k++ {
			all = append(all, say(key(k), node, wire.CheckLiveness, false, 60, 10),
				of(say(key(k), node, wire.CheckLiveness, false, covered, 10), lease))
		}
		return Build(input(weights(1, 1, 1), all...))[1].Flags
	}
	require.Equal(t, wire.FlagOffline, down(60))
	require.Zero(t, down(0))
}

func TestMinoritiesAreNotHeard(t *testing.T) {
	node, lease := key(100), key(200)
	w := weights(1, 1, 1, 1)
	require.Empty(t, Build(input(w, say(key(1), node, wire.CheckLiveness, true, 60, 10), say(key(2), node, wire.CheckLiveness, true, 60, 10))))
	all := []statement.Signed{of(say(key(1), node, wire.CheckLiveness, true, 60, 10), lease), of(say(key(2), node, wire.CheckLiveness, true, 60, 10), lease)}
	for k := byte(1); k <= 4; k++ {
		all = append(all, say(key(k), node, wire.CheckLiveness, true, 60, 10))
	}
	require.Len(t, Build(input(w, all...)), 1, "half of the keepers made up a lease")
}

func TestInadmissibleAndContradicting(t *testing.T) {
	node := key(100)
	base := []statement.Signed{
		say(key(1), node, wire.CheckLiveness, true, 60, 10), say(key(2), node, wire.CheckLiveness, true, 60, 10),
		say(key(3), node, wire.CheckLiveness, true, 60, 10),
	}
	w := weights(1, 1, 1)
	want := Build(input(w, base...))
	foreign := say(key(9), node, wire.CheckLiveness, false, 60, 10)
	early := say(key(1), node, wire.CheckLiveness, false, 60, -1)
	late := say(key(1), node, wire.CheckLiveness, false, 60, secs+1)
	otherPeriod := say(key(1), node, wire.CheckLiveness, false, 60, 10)
	otherPeriod.Statement.Period = 11
	tooMuch := say(key(1), node, wire.CheckLiveness, false, secs+1, 20)
	doubled := base[0]
	require.Equal(t, want, Build(input(w, append(base, foreign, early, late, otherPeriod, tooMuch, doubled)...)))

	// Keeper 1 signs both ways about one moment: it is not heard at all.
	liar := say(key(1), node, wire.CheckLiveness, false, 60, 10)
	got := Build(input(w, append(base, liar)...))
	require.EqualValues(t, 2, got[0].ChecksTotal)
	require.Empty(t, Build(input(weights(2, 1, 1), append(base, liar)...)), "the others have no majority")
}

func TestCountsAreCapped(t *testing.T) {
	p, n := capped(70_000, 140_000)
	require.EqualValues(t, 65_535/2, p)
	require.EqualValues(t, 65_535, n)
	p, n = capped(5, 7)
	require.EqualValues(t, 5, p)
	require.EqualValues(t, 7, n)
}

// genStatements draws what some keepers say about two nodes and a lease, within the period.
func genStatements(t *rapid.T, keepers int) []statement.Signed {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) statement.Signed {
		kind := wire.CheckKind(rapid.IntRange(1, 6).Draw(t, "kind"))
		s := say(key(byte(rapid.IntRange(1, keepers).Draw(t, "keeper"))), key(byte(100+rapid.IntRange(0, 1).Draw(t, "node"))),
			kind, rapid.Bool().Draw(t, "passed"), 0, int64(rapid.IntRange(0, secs).Draw(t, "at")))
		if kind == wire.CheckLiveness {
			s.Statement.CoveredSeconds = rapid.Uint32Range(0, secs).Draw(t, "covered")
			if rapid.Bool().Draw(t, "leased") {
				s.Statement.Lease = key(200)
			}
		}
		if kind == wire.CheckWork {
			s.Statement.Measured = rapid.Uint32Range(0, 5).Draw(t, "measured")
		}
		return s
	}), 0, 60).Draw(t, "statements")
}

func TestOrderOfArrivalDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := genStatements(t, 4)
		w := weights(3, 3, 2, 1)
		want := Build(input(w, all...))
		shuffled := rapid.Permutation(all).Draw(t, "order")
		require.Equal(t, want, Build(input(w, shuffled...)))
		// What a proposal carries leads to the same leaves again.
		twice := append(append([]statement.Signed{}, all...), shuffled...)
		require.Equal(t, want, Build(input(w, twice...)))
	})
}

func TestLeavesAreAlwaysAcceptable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaves := Build(input(weights(3, 3, 2, 1), genStatements(t, 4)...))
		require.NoError(t, wire.CheckLeafOrder(leaves))
		for _, l := range leaves {
			require.NoError(t, l.Validate())
			require.LessOrEqual(t, l.UpSeconds, uint32(secs))
			require.LessOrEqual(t, l.VerifiedSeconds+l.DowntimeSeconds, uint32(secs))
		}
	})
}

// f liars of 3f+1 cannot move a lease's seconds out of the range of what honest keepers say, whatever they say, nor set
// a flag that honest keepers do not support.
func TestLiarsCannotMoveSeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.IntRange(1, 3).Draw(t, "f")
		n := 3*f + 1
		w := Weights{}
		node, lease := key(100), key(200)
		var all []statement.Signed
		least, most := uint32(secs), uint32(0)
		for k := 1; k <= n; k++ {
			keeper := key(byte(k))
			w[keeper] = 1000
			if k <= f {
				for i := range rapid.IntRange(0, 4).Draw(t, "lies") {
					lie := say(keeper, node, wire.CheckLiveness, rapid.Bool().Draw(t, "lie"), rapid.Uint32Range(0, secs).Draw(t, "much"), int64(i))
					all = append(all, lie, of(lie, lease))
				}
				continue
			}
			covered := rapid.Uint32Range(0, secs).Draw(t, "honest")
			least, most = min(least, covered), max(most, covered)
			all = append(all, say(keeper, node, wire.CheckLiveness, true, covered, 30), of(say(keeper, node, wire.CheckLiveness, true, covered, 30), lease))
		}
		leaves := Build(input(w, all...))
		require.Len(t, leaves, 2)
		for _, l := range leaves {
			require.Zero(t, l.Flags)
			require.GreaterOrEqual(t, l.UpSeconds, least)
			require.LessOrEqual(t, l.UpSeconds, most)
		}
		require.GreaterOrEqual(t, leaves[1].VerifiedSeconds, least)
		require.LessOrEqual(t, leaves[1].VerifiedSeconds, most)
		require.Zero(t, leaves[1].DowntimeSeconds)
	})
}

// Whatever is said: where a flag is set, the keepers that say "passed" have at most a third of the weight, so that no
// appeal can be made of honest statements.
func TestNoFlagCanBeAppealed(t *testing.T) {
	kinds := map[wire.Flags]wire.CheckKind{
		wire.FlagOffline: wire.CheckLiveness, wire.FlagSpecMismatch: wire.CheckInventory, wire.FlagWorkFailed: wire.CheckWork,
		wire.FlagEvidenceFailed: wire.CheckEvidence, wire.FlagUnhealthy: wire.CheckHealth, wire.FlagBadOutput: wire.CheckOutput,
	}
	rapid.Check(t, func(t *rapid.T) {
		w := weights(3, 3, 2, 1)
		all := genStatements(t, 4)
		for _, l := range Build(input(w, all...)) {
			for flag, kind := range kinds {
				if !l.Flags.Has(flag) {
					continue
				}
				passed := map[solana.PublicKey]bool{}
				said := map[statement.Key]wire.CheckStatement{}
				liars := map[solana.PublicKey]bool{}
				for _, s := range all {
					if old, ok := said[s.Key()]; ok && old != s.Statement {
						liars[s.Keeper] = true // not honest: provable equivocation
					}
					said[s.Key()] = s.Statement
				}
				for _, s := range all {
					if s.Statement.Node == l.Node && s.Statement.Kind == kind && s.Statement.Passed && !liars[s.Keeper] {
						passed[s.Keeper] = true
					}
				}
				var weight uint64
				for k := range passed {
					weight += w[k]
				}
				require.LessOrEqual(t, weight*3, w.Total())
			}
		}
	})
}

func TestProposers(t *testing.T) {
	w := weights(1, 1, 1, 1)
	order := Proposers(7, w)
	require.Len(t, order, 4)
	require.ElementsMatch(t, []solana.PublicKey{key(1), key(2), key(3), key(4)}, order)
	require.Equal(t, order, Proposers(7, w))
	first := map[solana.PublicKey]int{}
	for p := range wire.Period(400) {
		k, ok := Proposer(p, 0, w)
		require.True(t, ok)
		first[k]++
		next, _ := Proposer(p, 1, w)
		require.NotEqual(t, k, next)
		again, _ := Proposer(p, 4, w)
		require.Equal(t, k, again)
	}
	for k, n := range first {
		require.Greater(t, n, 60, "keeper %s is hardly ever first", k)
	}
	_, ok := Proposer(1, 0, nil)
	require.False(t, ok)
}

func signer(t require.TestingT) solana.PrivateKey {
	k, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return k
}

func signed(t require.TestingT, k solana.PrivateKey, st wire.CheckStatement) statement.Signed {
	sig, err := st.Sign(k)
	require.NoError(t, err)
	return statement.Signed{Keeper: k.PublicKey(), Statement: st, Signature: sig}
}

func TestProposalIsCheckedInFull(t *testing.T) {
	keys := []solana.PrivateKey{signer(t), signer(t), signer(t)}
	w := Weights{}
	var all []statement.Signed
	for _, k := range keys {
		w[k.PublicKey()] = 1
		all = append(all, signed(t, k, say(k.PublicKey(), key(100), wire.CheckLiveness, true, 60, 10).Statement))
	}
	in := input(w, all...)
	m, set, err := Propose(in, 1, keys[0])
	require.NoError(t, err)
	require.NoError(t, Authentic(m, w))
	own := []statement.Signed{all[1]}
	verify := func(s statement.Signed) error { return s.Verify(domain) }
	got, err := Check(m, in, own, verify)
	require.NoError(t, err)
	require.Equal(t, set.Root, got.Root)
	read, err := ReadSet(m)
	require.NoError(t, err)
	require.Equal(t, set.Leaves, read.Leaves)

	clone := func() protocol.Proposal {
		c := m
		c.Leaves = append([][]byte{}, m.Leaves...)
		c.Statements = append([]protocol.SignedStatement{}, m.Statements...)
		return c
	}
	t.Run("omits ours", func(t *testing.T) {
		without := in
		without.Statements = []statement.Signed{all[0], all[2]}
		c, _, err := Propose(without, 0, keys[0])
		require.NoError(t, err)
		_, err = Check(c, in, own, verify)
		require.ErrorIs(t, err, ErrOmission)
		_, err = Check(c, in, nil, verify)
		require.NoError(t, err, "sound for one that said nothing")
	})
	t.Run("invents one of ours", func(t *testing.T) {
		extra := signed(t, keys[1], say(keys[1].PublicKey(), key(100), wire.CheckLiveness, true, 1, 40).Statement)
		with := in
		with.Statements = append([]statement.Signed{extra}, all...)
		c, _, err := Propose(with, 0, keys[0])
		require.NoError(t, err)
		_, err = Check(c, in, own, verify)
		require.ErrorIs(t, err, ErrOmission)
	})
	t.Run("forged signature", func(t *testing.T) {
		c := clone()
		c.Statements[0].Signature[3] ^= 1
		_, err := Check(c, in, nil, verify)
		require.ErrorIs(t, err, ErrProposal)
		require.ErrorIs(t, err, wire.ErrSignature)
	})
	t.Run("other leaves", func(t *testing.T) {
		leaf := set.Leaves[0]
		leaf.UpSeconds = 1
		other, err := NewSet([]wire.Leaf{leaf})
		require.NoError(t, err)
		c := clone()
		enc := leaf.Encode()
		c.Leaves[0], c.Root = enc[:], other.Root
		_, err = Check(c, in, nil, verify)
		require.ErrorIs(t, err, ErrLeaves)
	})
	t.Run("root of other leaves", func(t *testing.T) {
		c := clone()
		c.Root[0] ^= 1
		_, err := Check(c, in, nil, verify)
		require.ErrorIs(t, err, ErrProposal)
		require.ErrorIs(t, Authentic(c, w), ErrProposal)
	})
	t.Run("stranger's statement", func(t *testing.T) {
		few := Weights{keys[0].PublicKey(): 1, keys[1].PublicKey(): 1}
		i := in
		i.Weights = few
		_, err := Check(m, i, nil, verify)
		require.ErrorIs(t, err, ErrProposal)
	})
	t.Run("other period", func(t *testing.T) {
		i := in
		i.Period = 11
		_, err := Check(m, i, nil, verify)
		require.ErrorIs(t, err, ErrProposal)
	})
	t.Run("stranger proposes", func(t *testing.T) {
		c, err := Resign(m, 2, signer(t))
		require.NoError(t, err)
		require.ErrorIs(t, Authentic(c, w), ErrProposal)
	})
	t.Run("another keeper repeats it", func(t *testing.T) {
		c, err := Resign(m, 2, keys[2])
		require.NoError(t, err)
		require.NoError(t, Authentic(c, w))
		_, err = Check(c, in, own, verify)
		require.NoError(t, err)
	})
	_, _, err = Propose(input(w), 0, keys[0])
	require.ErrorIs(t, err, ErrEmpty)
}

func FuzzReadSet(f *testing.F) {
	leaf := wire.Leaf{Node: key(1), Period: 3}.Encode()
	f.Add(leaf[:], uint64(3))
	f.Add([]byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, raw []byte, period uint64) {
		set, err := ReadSet(protocol.Proposal{Period: period, Leaves: [][]byte{raw}, Root: wire.LeafHash(raw)})
		if err != nil {
			return
		}
		enc := set.Leaves[0].Encode()
		require.Equal(t, raw, enc[:])
		require.EqualValues(t, period, set.Leaves[0].Period)
	})
}
