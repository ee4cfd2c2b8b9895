package report

import (
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

const secs = 60

var domain = records.Domain{1, 2, 3, 4, 5, 6, 7, 8}

func key(n byte) solana.PublicKey { return solana.PublicKey{n, 0xaa} }

// stated is an unsigned statement of a keeper: leaf building does not look at signatures.
func stated(keeper, node solana.PublicKey, kind records.CheckKind, passed bool, covered uint32, at int64) statement.Signed {
	return statement.Signed{Keeper: keeper, Statement: records.CheckStatement{
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
			stated(keeper, node, records.CheckLiveness, true, up, 30),
			stated(keeper, node, records.CheckLiveness, false, 60-up, 60),
			of(stated(keeper, node, records.CheckLiveness, true, up-10, 30), lease),
			of(stated(keeper, node, records.CheckLiveness, false, 5, 60), lease),
		)
		work := stated(keeper, node, records.CheckWork, true, 0, 20)
		work.Statement.Figures = records.Figures{First: 1000 + uint32(k), Second: 50 - uint32(k)}
		inv := stated(keeper, node, records.CheckInventory, true, 0, 20)
		inv.Statement.Detail = [32]byte{7}
		all = append(all, work, inv)
	}
	in := input(weights(1, 1, 1), all...)
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
	require.EqualValues(t, 1001, own.Operations)
	require.EqualValues(t, 49, own.Bandwidth)
	require.Zero(t, own.DownMbps)
	require.EqualValues(t, records.TierNotAsked, own.Tier)
	require.Zero(t, own.EvidenceHash)
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
			for kind, flag := range map[records.CheckKind]records.Flags{
				records.CheckInventory: records.FlagSpecMismatch, records.CheckWork: records.FlagWorkFailed,
				records.CheckLiveness: records.FlagOffline, records.CheckHealth: records.FlagUnhealthy,
			} {
				var all []statement.Signed
				for _, k := range c.failed {
					all = append(all, stated(key(byte(k+1)), node, kind, false, 0, 10))
				}
				for _, k := range c.passed {
					all = append(all, stated(key(byte(k+1)), node, kind, true, 0, 50))
				}
				leaves := Build(input(c.weights, all...))
				require.Equal(t, c.want, len(leaves) == 1 && leaves[0].Flags == flag, "%s: %v", kind, leaves)
			}
		})
	}
}

func TestOfflineOfALeaseNeedsDowntime(t *testing.T) {
	node, lease := key(100), key(200)
	down := func(covered uint32) records.Flags {
		var all []statement.Signed
		for k := byte(1); k <= 3; k++ {
			all = append(all, stated(key(k), node, records.CheckLiveness, false, 60, 10),
				of(stated(key(k), node, records.CheckLiveness, false, covered, 10), lease))
		}
		return Build(input(weights(1, 1, 1), all...))[1].Flags
	}
	require.Equal(t, records.FlagOffline, down(60))
	require.Zero(t, down(0))
}

func TestMinoritiesDoNotCount(t *testing.T) {
	node, lease := key(100), key(200)
	w := weights(1, 1, 1, 1)
	require.Empty(t, Build(input(w, stated(key(1), node, records.CheckLiveness, true, 60, 10), stated(key(2), node, records.CheckLiveness, true, 60, 10))))
	all := []statement.Signed{of(stated(key(1), node, records.CheckLiveness, true, 60, 10), lease), of(stated(key(2), node, records.CheckLiveness, true, 60, 10), lease)}
	for k := byte(1); k <= 4; k++ {
		all = append(all, stated(key(k), node, records.CheckLiveness, true, 60, 10))
	}
	require.Len(t, Build(input(w, all...)), 1, "half of the keepers made up a lease")
}

func TestInadmissibleAndEquivocating(t *testing.T) {
	node := key(100)
	base := []statement.Signed{
		stated(key(1), node, records.CheckLiveness, true, 60, 10), stated(key(2), node, records.CheckLiveness, true, 60, 10),
		stated(key(3), node, records.CheckLiveness, true, 60, 10),
	}
	w := weights(1, 1, 1)
	want := Build(input(w, base...))
	foreign := stated(key(9), node, records.CheckLiveness, false, 60, 10)
	early := stated(key(1), node, records.CheckLiveness, false, 60, -1)
	late := stated(key(1), node, records.CheckLiveness, false, 60, secs+1)
	otherPeriod := stated(key(1), node, records.CheckLiveness, false, 60, 10)
	otherPeriod.Statement.Period = 11
	tooMuch := stated(key(1), node, records.CheckLiveness, false, secs+1, 20)
	doubled := base[0]
	require.Equal(t, want, Build(input(w, append(base, foreign, early, late, otherPeriod, tooMuch, doubled)...)))

	// Of what a keeper says about one moment both ways, a set has room for one.
	frame := statement.Frame{Domain: domain, Period: 10, Secs: secs}
	equivocating := stated(key(1), node, records.CheckLiveness, false, 60, 10)
	_, n := statement.EncodeSet(frame, []records.CheckStatement{base[0].Statement, equivocating.Statement})
	require.Equal(t, 1, n)
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
		kind := records.CheckKind(rapid.IntRange(1, 7).Draw(t, "kind"))
		s := stated(key(byte(rapid.IntRange(1, keepers).Draw(t, "keeper"))), key(byte(100+rapid.IntRange(0, 1).Draw(t, "node"))),
			kind, rapid.Bool().Draw(t, "passed"), 0, int64(rapid.IntRange(0, secs).Draw(t, "at")))
		if kind == records.CheckLiveness {
			s.Statement.CoveredSeconds = rapid.Uint32Range(0, secs).Draw(t, "covered")
			if rapid.Bool().Draw(t, "leased") {
				s.Statement.Lease = key(200)
			}
		}
		if s.Statement.Passed && (kind == records.CheckWork || kind == records.CheckNetwork) {
			s.Statement.Figures = records.Figures{First: rapid.Uint32Range(0, 5).Draw(t, "first"), Second: rapid.Uint32Range(0, 5).Draw(t, "second")}
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

// Whatever is signed, by however many keepers of whatever weight: counting set by set gives what the plain way gives.
func TestBuildIsTheNaiveWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "keepers")
		w := Weights{}
		for k := range n {
			w[key(byte(k+1))] = rapid.Uint64Range(0, 4).Draw(t, "weight")
		}
		in := input(w, genStatements(t, n+1)...)
		in.Seed = committee.Seed{rapid.Byte().Draw(t, "seed")}
		want := naive(in)
		got := Build(in)
		if len(want)+len(got) > 0 {
			require.Equal(t, want, got)
		}
	})
}

func TestLeavesAreAlwaysAcceptable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaves := Build(input(weights(3, 3, 2, 1), genStatements(t, 4)...))
		require.NoError(t, records.CheckLeafOrder(leaves))
		for _, l := range leaves {
			require.NoError(t, l.Validate())
			require.LessOrEqual(t, l.UpSeconds, uint32(secs))
			require.LessOrEqual(t, l.VerifiedSeconds+l.DowntimeSeconds, uint32(secs))
		}
	})
}

// f dishonest keepers of 3f+1 cannot move a lease's seconds out of the range of what honest keepers say, whatever they
// sign, nor set a flag that honest keepers do not support.
func TestDishonestKeepersCannotMoveSeconds(t *testing.T) {
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
					lie := stated(keeper, node, records.CheckLiveness, rapid.Bool().Draw(t, "lie"), rapid.Uint32Range(0, secs).Draw(t, "much"), int64(i))
					all = append(all, lie, of(lie, lease))
				}
				continue
			}
			covered := rapid.Uint32Range(1, secs).Draw(t, "honest")
			least, most = min(least, covered), max(most, covered)
			all = append(all, stated(keeper, node, records.CheckLiveness, true, covered, 30), of(stated(keeper, node, records.CheckLiveness, true, covered, 30), lease))
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

// Whatever is signed: where a flag is set, the keepers that say "passed" have at most a third of the weight, so that no
// appeal can be made of honest statements.
func TestNoFlagCanBeAppealed(t *testing.T) {
	kinds := map[records.Flags]records.CheckKind{
		records.FlagOffline: records.CheckLiveness, records.FlagSpecMismatch: records.CheckInventory, records.FlagWorkFailed: records.CheckWork,
		records.FlagEvidenceFailed: records.CheckEvidence, records.FlagUnhealthy: records.CheckHealth, records.FlagBadOutput: records.CheckOutput,
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
				signed := map[statement.Key]records.CheckStatement{}
				dishonest := map[solana.PublicKey]bool{}
				for _, s := range all {
					if old, ok := signed[s.Key()]; ok && old != s.Statement {
						dishonest[s.Keeper] = true // not honest: provable equivocation
					}
					signed[s.Key()] = s.Statement
				}
				for _, s := range all {
					if s.Statement.Node == l.Node && s.Statement.Kind == kind && s.Statement.Passed && !dishonest[s.Keeper] {
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
	for p := range records.Period(400) {
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

// tallyOf is a tally with the sets of some keepers, each of which found the node up.
func tallyOf(t *testing.T, keys []solana.PrivateKey, up uint32) (*Tally, []statement.Manifest) {
	d := NewTally(statement.Frame{Domain: domain, Period: 10, Secs: secs})
	var all []statement.Manifest
	for _, k := range keys {
		raw, n := statement.EncodeSet(d.Frame(), []records.CheckStatement{stated(k.PublicKey(), key(100), records.CheckLiveness, true, up, 10).Statement})
		require.Equal(t, 1, n)
		_, err := d.Add(k.PublicKey(), raw)
		require.NoError(t, err)
		m, err := statement.NewManifest(d.Frame(), raw, n, k)
		require.NoError(t, err)
		all = append(all, m)
	}
	return d, all
}

func TestProposalIsCheckedInFull(t *testing.T) {
	keys := []solana.PrivateKey{signer(t), signer(t), signer(t), signer(t)}
	w := Weights{}
	for _, k := range keys {
		w[k.PublicKey()] = 1
	}
	roster := committee.NewRoster(committee.Seed{}, w)
	d, manifests := tallyOf(t, keys, 60)
	propose := func(manifests []statement.Manifest) (messages.Proposal, *Set, error) {
		return Propose(d, w, roster, manifests, 1, keys[0])
	}
	check := func(m messages.Proposal, own *statement.Manifest) error {
		if err := Authentic(m, domain, w, records.Wallets); err != nil {
			return err
		}
		_, err := Check(m, d, w, roster, own)
		return err
	}
	resign := func(m messages.Proposal) messages.Proposal {
		m, err := Resign(m, domain, 1, keys[0])
		require.NoError(t, err)
		return m
	}
	m, set, err := propose(manifests)
	require.NoError(t, err)
	require.NoError(t, check(m, &manifests[1]))
	read, err := ReadLeaves(set.EncodeLeaves(), 10, set.Root)
	require.NoError(t, err)
	require.Equal(t, set.Leaves, read.Leaves)

	omits, _, err := propose(slices.Delete(slices.Clone(manifests), 1, 2))
	require.NoError(t, err)
	require.ErrorIs(t, check(omits, &manifests[1]), ErrOmission)
	require.NoError(t, check(omits, &manifests[2]), "a keeper may be missing, for the others")
	require.NoError(t, check(omits, nil))

	few := m
	few.Manifests = m.Manifests[:2]
	require.ErrorIs(t, check(resign(few), nil), ErrProposal, "two of four are not more than two thirds")

	invented := m
	invented.Manifests = slices.Clone(m.Manifests)
	for i := range invented.Manifests {
		if invented.Manifests[i].Keeper == manifests[1].Keeper {
			invented.Manifests[i].Count++
		}
	}
	require.ErrorIs(t, check(resign(invented), nil), ErrProposal, "a manifest that its keeper did not sign")

	twice := m
	twice.Manifests = append(slices.Clone(m.Manifests), m.Manifests[3])
	require.ErrorIs(t, check(resign(twice), nil), ErrProposal)

	// A second manifest of keeper 1, of a set that nobody here holds.
	other := []records.CheckStatement{stated(keys[1].PublicKey(), key(100), records.CheckLiveness, false, 60, 10).Statement}
	raw, n := statement.EncodeSet(d.Frame(), other)
	second, err := statement.NewManifest(d.Frame(), raw, n, keys[1])
	require.NoError(t, err)
	swapped := m
	swapped.Manifests = slices.Clone(m.Manifests)
	for i := range swapped.Manifests {
		if swapped.Manifests[i].Keeper == second.Keeper {
			swapped.Manifests[i] = second.Message()
		}
	}
	swapped = resign(swapped)
	require.ErrorIs(t, check(swapped, nil), ErrMissing)
	require.ErrorIs(t, check(swapped, &manifests[1]), ErrOmission)

	bad := m
	bad.Root[0] ^= 1
	require.ErrorIs(t, check(bad, nil), ErrProposal, "signature")
	require.ErrorIs(t, check(resign(bad), nil), ErrLeaves)
	bad = m
	bad.Seed[0] ^= 1
	require.ErrorIs(t, check(resign(bad), nil), ErrSeed)
	bad = m
	bad.Period = 11
	require.ErrorIs(t, check(resign(bad), nil), ErrProposal)
	bad = m
	bad.Manifests = make([]messages.Manifest, MaxManifests+1)
	require.ErrorIs(t, check(resign(bad), nil), ErrProposal)
	bad = m
	bad.Version++
	require.ErrorIs(t, check(bad, nil), ErrProposal)
	stranger, err := Resign(m, domain, 2, signer(t))
	require.NoError(t, err)
	require.ErrorIs(t, check(stranger, nil), ErrProposal)
	again, err := Resign(m, domain, 2, keys[2])
	require.NoError(t, err)
	require.NoError(t, check(again, &manifests[1]), "another keeper repeats it")

	_, _, err = Propose(NewTally(d.Frame()), w, roster, nil, 0, keys[0])
	require.ErrorIs(t, err, ErrEmpty)
	_, _, err = Propose(NewTally(d.Frame()), w, roster, manifests, 0, keys[0])
	require.ErrorIs(t, err, ErrMissing)
}

func FuzzReadLeaves(f *testing.F) {
	leaf := records.Leaf{Node: key(1), Period: 3}.Encode()
	f.Add(leaf[:], uint64(3))
	f.Add(append(leaf[:], leaf[:]...), uint64(3))
	f.Add([]byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, raw []byte, period uint64) {
		set, err := ReadLeaves(raw, records.Period(period), records.LeafHash(raw))
		if err != nil {
			return
		}
		require.Equal(t, raw, set.EncodeLeaves())
		require.EqualValues(t, period, set.Leaves[0].Period)
	})
}
