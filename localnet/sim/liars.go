package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/protocol"
	"github.com/gantry-market/gantry/client/wire"
	"github.com/gantry-market/gantry/keeper/challenge"
	"github.com/gantry-market/gantry/keeper/index"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
)

// votes is how liars vote.
type votes string

const (
	follow   votes = "as honest ones"
	forge    votes = "for a report of their own"
	withhold votes = "never"
)

// conspiracy is liars that work together. Accomplices are machines that they call present and sound whatever they are;
// victims ones that they call absent and fraudulent.
type conspiracy struct {
	w           *world
	members     []*keeper
	votes       votes
	twoFaced    bool // a liar whose turn it is to propose tells one half of the others this and the other half that
	accomplices map[solana.PublicKey]bool
	victims     map[solana.PublicKey]bool
	forged      map[wire.Period]*report.Set
	lies        uint64
}

func newConspiracy(w *world, d dice) *conspiracy {
	c := &conspiracy{
		w: w, accomplices: map[solana.PublicKey]bool{}, victims: map[solana.PublicKey]bool{}, forged: map[wire.Period]*report.Set{},
	}
	c.votes = []votes{follow, follow, forge, withhold}[d.IntN(4)]
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
func (c *conspiracy) twist(k *keeper, f challenge.Finding) challenge.Finding {
	switch {
	case c.victims[f.Node]:
		f.Passed, f.Liveness = false, nil
	case c.accomplices[f.Node]:
		f.Passed = true
		if f.Kind == wire.CheckLiveness {
			f.Liveness = &protocol.Liveness{}
			k.index.Read(func(v *index.View) {
				for _, l := range v.RunningLeases(f.Node) {
					f.Liveness.Leases = append(f.Liveness.Leases, protocol.LeaseStatus{Lease: l.Address, State: protocol.LeaseRunning})
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
func (c *conspiracy) propose(k *keeper, m protocol.Proposal) {
	switch {
	case c.votes == withhold:
		return
	case c.votes == forge:
		if set := c.forge(k, wire.Period(m.Period)); set != nil {
			m.Root, m.Leaves = set.Root, nil
			for _, l := range set.Leaves {
				enc := l.Encode()
				m.Leaves = append(m.Leaves, enc[:])
			}
		}
	}
	m, err := report.Resign(m, m.Round, k.key)
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
	k.spreadProposal(m, func(p place) bool { return p%2 == 0 })
	k.spreadProposal(other, func(p place) bool { return p%2 == 1 })
}

// otherFace is the same proposal without one of the liar's own statements.
func (c *conspiracy) otherFace(k *keeper, m protocol.Proposal) (protocol.Proposal, bool) {
	in := report.Input{Period: wire.Period(m.Period), PeriodSecs: c.w.secs(), Tier: func(n solana.PublicKey) (t uint8) {
		k.index.Read(func(v *index.View) { t = v.Tier(n) })
		return t
	}}
	k.index.Read(func(v *index.View) { in.Weights = v.Weights(int64(m.Period+1) * int64(c.w.secs())) })
	left := false
	for _, raw := range m.Statements {
		s, err := statement.Read(raw)
		k.must(err)
		if s.Keeper == k.wallet() && !left {
			left = true
			continue
		}
		in.Statements = append(in.Statements, s)
	}
	other, set, err := report.Propose(in, m.Round, k.key)
	return other, err == nil && left && set.Root != wire.Hash(m.Root)
}

// forge is the report that the liars want for a period: the same for all of them, made by the first that needs it.
func (c *conspiracy) forge(k *keeper, p wire.Period) *report.Set {
	if s, ok := c.forged[p]; ok {
		return s
	}
	in := report.Input{Period: p, PeriodSecs: c.w.secs(), Statements: k.pool.Period(p)}
	k.index.Read(func(v *index.View) { in.Weights = v.Weights(int64(p+1) * int64(c.w.secs())) })
	leaves := report.Build(in)
	for i := range leaves {
		l := &leaves[i]
		switch {
		case c.accomplices[l.Node]:
			l.Flags = 0
			if !l.Lease.IsZero() {
				l.VerifiedSeconds, l.DowntimeSeconds = c.w.secs(), 0
			}
		case c.victims[l.Node]:
			l.Flags |= wire.FlagSpecMismatch
		}
	}
	s, err := report.NewSet(leaves)
	if err != nil {
		return nil
	}
	c.forged[p] = s
	return s
}

// conspire has the liars vote for their own report as soon as a period may be voted on.
func (w *world) conspire() {
	for _, k := range w.keepers {
		if k.lie == nil || k.lie.votes != forge {
			continue
		}
		for i := range w.o.Periods {
			p := w.first + wire.Period(i)
			at := w.begins(p + 1).Add(w.o.times().delay/2 + k.dice.exponential(time.Second))
			w.loop.At(at, func() {
				set := k.lie.forge(k, p)
				if set == nil {
					return
				}
				ix, err := market.ReportVote(market.ReportVoteArgs{Keeper: k.wallet(), Period: uint64(p), Root: set.Root})
				k.must(err)
				w.enqueue(k.wallet(), []solana.Instruction{ix}, func(error) {})
			})
		}
	}
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
	k.w.result.countAdd(k.pool.Add(s))
	k.spread([]statement.Signed{s}, func(p place) bool { return p%2 == 1 })
}
