package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/keeper/committee"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
)

// votes is how liars vote.
type votes string

const (
	follow   votes = "as honest ones"
	forge    votes = "for a report of their own"
	withhold votes = "never"
	clutter  votes = "before anyone else, each for nonsense"
)

// conspiracy is liars that work together. Accomplices are machines that they call present and sound whatever they are;
// victims ones that they call absent and fraudulent.
type conspiracy struct {
	w       *world
	members []*keeper
	votes   votes
	// A liar whose turn it is to propose tells one half of the others this and the other half that, and signs two manifests
	// for it.
	twoFaced    bool
	accomplices map[solana.PublicKey]bool
	victims     map[solana.PublicKey]bool
	forged      map[records.Period]*report.Set
	faces       map[[32]byte][]byte // second sets of statements, by digest
	lies        uint64
}

func newConspiracy(w *world, d dice) *conspiracy {
	c := &conspiracy{
		w: w, accomplices: map[solana.PublicKey]bool{}, victims: map[solana.PublicKey]bool{}, forged: map[records.Period]*report.Set{},
		faces: map[[32]byte][]byte{},
	}
	c.votes = []votes{follow, follow, forge, withhold}[d.IntN(4)]
	if w.o.Clutter || newDice(w.o.Seed, "clutter").chance(0.2) {
		c.votes = clutter
	}
	if w.o.Liars > w.o.Faults {
		c.votes = forge // more than the market bears: what they can do must show
	}
	c.twoFaced = d.chance(0.5)
	for _, m := range w.machines {
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
func (c *conspiracy) String() string {
	faces := "one"
	if c.twoFaced {
		faces = "two"
	}
	return fmt.Sprintf("%d victims, %d accomplices, votes %s, proposals with %s faces", len(c.victims), len(c.accomplices), c.votes, faces)
}

// twist makes a finding say what the conspiracy wants.
func (c *conspiracy) twist(k *keeper, f check.Finding) check.Finding {
	switch {
	case c.victims[f.Node]:
		f.Passed, f.Liveness = false, nil
	case c.accomplices[f.Node]:
		f.Passed = true
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
	c.lies++
	return f
}

// propose publishes what a liar proposes in place of what its engine would.
func (c *conspiracy) propose(k *keeper, m messages.Proposal) {
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
	if !c.twoFaced || c.votes == forge {
		k.spreadProposal(m, nil)
		return
	}
	// Both faces are sound to everybody else: they differ in what the liar itself has said.
	other, ok := c.otherFace(k, m)
	if !ok {
		k.spreadProposal(m, nil)
		return
	}
	if !k.faced {
		k.faced = true
		k.w.result.TwoFaced++
	}
	k.spreadProposal(m, func(p place) bool { return p%2 == 0 })
	k.spreadProposal(other, func(p place) bool { return p%2 == 1 })
}

// otherFace is the same proposal with another set of the liar's own statements, which lacks one.
func (c *conspiracy) otherFace(k *keeper, m messages.Proposal) (messages.Proposal, bool) {
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
	c.faces[second.Digest] = raw
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
	other, set, err := report.Propose(d, basis.Weights, basis.Roster, basis.Tier, manifests, m.Round, k.key)
	return other, err == nil && set.Root != records.Hash(m.Root)
}

// statements are all that a keeper has signed about a period.
func (c *conspiracy) statements(k *keeper, p records.Period) []records.CheckStatement {
	have, err := k.book.Statements(p)
	k.must(err)
	out := make([]records.CheckStatement, len(have))
	for i := range have {
		out[i] = have[i].Statement
	}
	return out
}

// everything is what all keepers have said about a period: liars are given more than they could know.
func (c *conspiracy) everything(k *keeper, p records.Period) (*report.Tally, report.Basis) {
	b := report.Basis{Tier: func(n solana.PublicKey) (t uint8) {
		k.view.Read(func(v *view.Accounts) { t = v.Tier(n, c.w.begins(p+1).Unix()) })
		return t
	}}
	k.view.Read(func(v *view.Accounts) { b.Weights = v.Weights(int64(p+1) * int64(c.w.secs())) })
	seed, _ := k.seed(p)
	b.Roster = committee.NewRoster(seed, b.Weights)
	if b.Roster.Everyone() {
		b.Roster = committee.NewRoster(committee.Seed{}, b.Weights)
	}
	d := report.NewTally(statement.Frame{Domain: domain, Period: p, Secs: c.w.secs()})
	for _, wallet := range sortedKeys(c.w.byWallet) {
		o := c.w.byWallet[wallet]
		raw, _ := statement.EncodeSet(d.Frame(), c.statements(o, p))
		ref, err := d.Add(wallet, raw)
		k.must(err)
		b.Sets = append(b.Sets, ref)
	}
	return d, b
}

// forge is the report that the liars want for a period: the same for all of them, made by the first that needs it.
func (c *conspiracy) forge(k *keeper, p records.Period) *report.Set {
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
				l.VerifiedSeconds, l.DowntimeSeconds = c.w.secs(), 0
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

// conspire has the liars vote for their own report, or each for nonsense, as soon as a period may be voted on.
func (w *world) conspire() {
	for _, k := range w.keepers {
		if k.lie == nil || k.lie.votes != forge && k.lie.votes != clutter {
			continue
		}
		for i := range w.o.Periods {
			p := w.first + records.Period(i)
			at := w.begins(p + 1).Add(w.o.times().delay/2 + k.dice.exponential(time.Second))
			if k.lie.votes == clutter {
				at = w.begins(p + 1).Add(k.dice.between(0, time.Second))
			}
			w.loop.At(at, func() {
				root, ok := k.lie.root(k, p)
				if !ok {
					return
				}
				instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: k.wallet(), Period: uint64(p), Root: root})
				k.must(err)
				w.enqueue(k.wallet(), []solana.Instruction{instruction}, func(error) {})
			})
		}
	}
}

// root is what a liar votes for. It has none for a period of which nobody knows anything.
func (c *conspiracy) root(k *keeper, p records.Period) (records.Hash, bool) {
	if c.votes == clutter {
		c.lies++
		self := k.wallet()
		return sha256.Sum256(binary.LittleEndian.AppendUint64(self[:], uint64(p))), true
	}
	set := c.forge(k, p)
	if set == nil {
		return records.Hash{}, false
	}
	return set.Root, true
}

// publishTwins signs the opposite of the first statement of a batch and tells half of the keepers. An honest store would
// refuse: this keeper has none.
func (k *keeper) publishTwins(all []statement.Signed) {
	s := all[0]
	s.Statement.Passed = !s.Statement.Passed
	s.Statement.Detail = sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(s.Statement.CheckedAt)))
	sig, err := s.Statement.Sign(k.key)
	k.must(err)
	s.Signature = sig
	k.w.opposites[sig] = true
	k.w.signed(k, s)
	k.add(s)
	k.spread([]statement.Signed{s}, func(p place) bool { return p%2 == 1 })
}
