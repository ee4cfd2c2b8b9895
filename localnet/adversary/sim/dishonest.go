package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// votes is how dishonest keepers vote.
type votes string

const (
	follow   votes = "as honest ones"
	forge    votes = "for a report of their own"
	withhold votes = "never"
	clutter  votes = "before anyone else, each for a root without leaves"
)

// collusion is dishonest keepers that work together. Accomplices are machines that they report as present and sound,
// whatever they are; victims are machines that they report as absent and fraudulent.
type collusion struct {
	sim     *simulation
	members []*keeper
	votes   votes
	// equivocates: a member whose turn it is to propose sends one half of the others one proposal and the other half
	// another, and signs two manifests for that.
	equivocates bool
	accomplices map[solana.PublicKey]bool
	victims     map[solana.PublicKey]bool
	forged      map[records.Period]*report.Set
	secondSets  map[[32]byte][]byte // by digest
	falsified   uint64
}

func newCollusion(sim *simulation, d rng) *collusion {
	c := &collusion{
		sim: sim, accomplices: map[solana.PublicKey]bool{}, victims: map[solana.PublicKey]bool{}, forged: map[records.Period]*report.Set{},
		secondSets: map[[32]byte][]byte{},
	}
	c.votes = []votes{follow, follow, forge, withhold}[d.IntN(4)]
	if sim.o.Clutter || newRNG(sim.o.Seed, "clutter").chance(0.2) {
		c.votes = clutter
	}
	if sim.o.Dishonest > sim.o.Faults {
		c.votes = forge // more than the market bears: what they can do must show
	}
	c.equivocates = d.chance(0.5)
	for _, m := range sim.machines {
		switch {
		case m.conduct == steady && d.chance(0.1):
			c.victims[m.account] = true
		case m.conduct != steady && d.chance(0.5):
			c.accomplices[m.account] = true
		}
	}
	return c
}

// String says what they do.
func (c *collusion) String() string {
	proposals := "one proposal"
	if c.equivocates {
		proposals = "two proposals"
	}
	return fmt.Sprintf("%d victims, %d accomplices, votes %s, %s at a time", len(c.victims), len(c.accomplices), c.votes, proposals)
}

// falsify changes a finding to what the collusion wants.
func (c *collusion) falsify(k *keeper, f check.Finding) check.Finding {
	switch {
	case c.victims[f.Node]:
		f.Passed, f.Liveness, f.Figures = false, nil, records.Figures{}
	case c.accomplices[f.Node]:
		f.Passed = true
		if f.Kind == records.CheckWork {
			f.Figures = records.Figures{First: math.MaxUint32, Second: math.MaxUint32}
		}
		if f.Kind == records.CheckLiveness {
			f.Liveness = &messages.Liveness{}
			k.view.Read(func(v *view.Accounts) {
				for _, l := range v.RunningLeases(f.Node) {
					f.Liveness.Leases = append(f.Liveness.Leases, messages.LeaseStatus{Lease: l.Address, State: messages.LeaseRunning})
				}
			})
		}
	default:
		return f
	}
	c.falsified++
	return f
}

// propose publishes what a dishonest keeper proposes in place of what its engine would.
func (c *collusion) propose(k *keeper, m messages.Proposal) {
	switch {
	case c.votes == withhold:
		return
	case c.votes == forge:
		if set := c.forge(k, records.Period(m.Period)); set != nil {
			m.Root = set.Root
		}
	}
	m, err := report.Resign(m, domain, m.Round, k.key)
	k.must(err)
	if !c.equivocates || c.votes == forge {
		k.spreadProposal(m, nil)
		return
	}
	// Both proposals are sound to everybody else: they differ in the statements of the dishonest keeper itself.
	other, ok := c.otherProposal(k, m)
	if !ok {
		k.spreadProposal(m, nil)
		return
	}
	if !k.signedTwoManifests {
		k.signedTwoManifests = true
		k.sim.result.TwoManifests++
	}
	k.spreadProposal(m, func(p place) bool { return p%2 == 0 })
	k.spreadProposal(other, func(p place) bool { return p%2 == 1 })
}

// otherProposal is the same proposal with another set of the dishonest keeper's own statements, which lacks one.
func (c *collusion) otherProposal(k *keeper, m messages.Proposal) (messages.Proposal, bool) {
	p := records.Period(m.Period)
	d, basis := c.everything(k, p)
	own := c.statements(k, p)
	if len(own) == 0 {
		return m, false
	}
	raw, count := statement.EncodeSet(d.Frame(), own[1:])
	second, err := statement.NewManifest(d.Frame(), raw, count, k.key)
	k.must(err)
	_, err = d.Add(k.wallet(), raw)
	k.must(err)
	c.secondSets[second.Digest] = raw
	var manifests []statement.Manifest
	for _, x := range m.Manifests {
		named := statement.ReadManifest(x)
		if named.Keeper == k.wallet() {
			named = second
		}
		if !d.Has(report.Ref{Keeper: named.Keeper, Digest: named.Digest}) {
			return m, false
		}
		manifests = append(manifests, named)
	}
	other, set, err := report.Propose(d, basis.Weights, basis.Roster, manifests, m.Round, k.key)
	return other, err == nil && set.Root != records.Hash(m.Root)
}

// statements are all that a keeper has signed about a period.
func (c *collusion) statements(k *keeper, p records.Period) []records.CheckStatement {
	have, err := k.store.Statements(p)
	k.must(err)
	out := make([]records.CheckStatement, len(have))
	for i := range have {
		out[i] = have[i].Statement
	}
	return out
}

// everything counts what all keepers have signed about a period: dishonest keepers are given more than they could know.
func (c *collusion) everything(k *keeper, p records.Period) (*report.Tally, report.Basis) {
	b := report.Basis{}
	k.view.Read(func(v *view.Accounts) { b.Weights = v.Weights(int64(p+1) * int64(c.sim.secs())) })
	seed, _ := k.seed(p)
	b.Roster = committee.NewRoster(seed, b.Weights)
	if b.Roster.Everyone() {
		b.Roster = committee.NewRoster(committee.Seed{}, b.Weights)
	}
	d := report.NewTally(statement.Frame{Domain: domain, Period: p, Secs: c.sim.secs()})
	for _, wallet := range sortedKeys(c.sim.byWallet) {
		o := c.sim.byWallet[wallet]
		raw, _ := statement.EncodeSet(d.Frame(), c.statements(o, p))
		ref, err := d.Add(wallet, raw)
		k.must(err)
		b.Sets = append(b.Sets, ref)
	}
	return d, b
}

// forge makes the report that the collusion wants for a period: the same for all members, made by the first that needs
// it.
func (c *collusion) forge(k *keeper, p records.Period) *report.Set {
	if s, ok := c.forged[p]; ok {
		return s
	}
	d, basis := c.everything(k, p)
	leaves, err := d.Build(basis)
	k.must(err)
	for i := range leaves {
		l := &leaves[i]
		switch {
		case c.accomplices[l.Node]:
			l.Flags = 0
			if !l.Lease.IsZero() {
				l.VerifiedSeconds, l.DowntimeSeconds = c.sim.secs(), 0
			}
		case c.victims[l.Node]:
			l.Flags |= records.FlagSpecMismatch
		}
	}
	s, err := report.NewSet(leaves)
	if err != nil {
		return nil
	}
	c.forged[p] = s
	return s
}

// scheduleForgedVotes has dishonest keepers vote for their own report, or each for a root without leaves, as soon as a
// period may be voted on.
func (sim *simulation) scheduleForgedVotes() {
	for _, k := range sim.keepers {
		if k.collusion == nil || k.collusion.votes != forge && k.collusion.votes != clutter {
			continue
		}
		for i := range sim.o.Periods {
			p := sim.first + records.Period(i)
			at := sim.begins(p + 1).Add(sim.o.times().delay/2 + k.rng.exponential(time.Second))
			if k.collusion.votes == clutter {
				at = sim.begins(p + 1).Add(k.rng.between(0, time.Second))
			}
			sim.loop.At(at, func() {
				root, ok := k.collusion.root(k, p)
				if !ok {
					return
				}
				instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: k.wallet(), Period: uint64(p), Root: root})
				k.must(err)
				sim.enqueue(k.wallet(), []solana.Instruction{instruction}, func(error) {})
			})
		}
	}
}

// root is what a dishonest keeper votes for. It has none for a period of which it knows nothing.
func (c *collusion) root(k *keeper, p records.Period) (records.Hash, bool) {
	if c.votes == clutter {
		c.falsified++
		self := k.wallet()
		return sha256.Sum256(binary.LittleEndian.AppendUint64(self[:], uint64(p))), true
	}
	set := c.forge(k, p)
	if set == nil {
		return records.Hash{}, false
	}
	return set.Root, true
}

// publishOpposite signs the opposite of the first statement of a batch and tells half of the keepers. An honest store
// would refuse: this keeper has none.
func (k *keeper) publishOpposite(all []statement.Signed) {
	s := all[0]
	s.Statement.Passed, s.Statement.Figures = !s.Statement.Passed, records.Figures{}
	s.Statement.Detail = sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(s.Statement.CheckedAt)))
	sig, err := s.Statement.Sign(k.key)
	k.must(err)
	s.Signature = sig
	k.sim.opposites[sig] = true
	k.sim.signed(k, s)
	k.add(s)
	k.spread([]statement.Signed{s}, func(p place) bool { return p%2 == 1 })
}
