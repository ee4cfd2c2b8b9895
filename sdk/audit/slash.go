package audit

import (
	"context"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// Slash is the history of one fault, or of one slash by proof.
type Slash struct {
	Fault  solana.PublicKey // zero for a proof
	Proof  string           // what was proven; empty for a fault
	Keeper solana.PublicKey // account of the keeper whose bond was slashed; zero for a node's stake
	Node   solana.PublicKey // that was slashed, that the statements are about, or that was the better one
	Lease  solana.PublicKey // zero when no lease was harmed
	Period uint64
	Flags  records.Flags
	Amount market.GNT
	Split  market.Split // zero until it is applied
	State  string       // open, voided, applied, proven, or not known
	gaps   topic        // whether something of its own history could not be read
	// claimed is what leases were given of the pool so far.
	claimed market.GNT
	Steps   []Step
	Txs     []Tx
}

// Outcome is what the audit comes to.
func (s *Slash) Outcome() Outcome { return outcomeOf(s.Steps) }

// OK reports whether everything is known to add up.
func (s *Slash) OK() bool { return s.Outcome() == Right }

// AuditSlash rebuilds the slashes that an address stands for: one fault, all faults of a node and what was proven
// against it, or what was proven against a keeper's account or about a lease's award.
// Errors: ErrNoHistory, chain.ErrUnreadable where nothing is found and something could not be read, the source's.
func AuditSlash(ctx context.Context, o Options, address solana.PublicKey) ([]*Slash, error) {
	txs, err := Read(ctx, o.Source, address, o.Commitment)
	if err != nil {
		return nil, err
	}
	var out []*Slash
	for _, t := range txs {
		for _, e := range t.Events {
			v, ok := e.Value.(*bindings.FaultOpened)
			if !ok || (v.Fault != address && v.Node != address) {
				continue
			}
			s, err := auditFault(ctx, o, t, v)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	out = append(out, proven(o, txs, address)...)
	if len(out) == 0 {
		return nil, missingHistory(txs, "a fault of %s was ever opened, or something was proven", address)
	}
	for _, s := range out {
		s.also(txs)
	}
	return out, nil
}

func auditFault(ctx context.Context, o Options, opened Tx, v *bindings.FaultOpened) (*Slash, error) {
	s := &Slash{Fault: v.Fault, Node: v.Node, Lease: v.Lease, Period: v.Period, Flags: records.Flags(v.Flags), Amount: market.GNT(v.Amount), State: "open"}
	if err := s.opened(ctx, o, opened, v); err != nil {
		return nil, err
	}
	txs, err := Read(ctx, o.Source, v.Fault, o.Commitment)
	if err != nil {
		return nil, err
	}
	s.Txs = txs
	for _, t := range txs {
		s.unread(t)
		for _, e := range t.Events {
			s.event(o, t, e, v)
		}
	}
	return s, nil
}

// unread notes a transaction of the fault's that could not be read. Its instructions may say what became of the fault.
func (s *Slash) unread(t Tx) {
	if t.Unreadable == "" {
		return
	}
	s.gaps, s.State = ofAll, "not known"
	for _, in := range t.calls() {
		if !t.opaque() && in.is(bindings.Instruction_SlashApply, bindings.Place_SlashApply_Fault+1) && in.Accounts[bindings.Place_SlashApply_Fault] == s.Fault {
			s.State = "applied"
		}
	}
	s.Steps = append(s.Steps, unreadStep(t))
}

// slashing are the instructions that open a fault, or prove something.
var slashing = [][8]byte{
	bindings.Instruction_FaultOpen, bindings.Instruction_DisputeUphold, bindings.Instruction_GuaranteeResolve, bindings.Instruction_ProveWrongCell,
	bindings.Instruction_LeaseOutage, bindings.Instruction_ProveEquivocation, bindings.Instruction_ProveBetterAsk, bindings.Instruction_ProveOmittedBid,
}

// also adds what could not be read of the history of the address that was asked about: there may be other slashes in it.
func (s *Slash) also(txs []Tx) {
	for _, t := range txs {
		told := slices.ContainsFunc(s.Steps, func(st Step) bool { return st.Signature == t.Signature })
		may := t.opaque() || slices.ContainsFunc(t.calls(), func(in Instruction) bool { return slices.Contains(slashing, [8]byte(in.Data[:8])) })
		if t.Unreadable != "" && may && !told {
			s.Steps = append(s.Steps, unreadStep(t))
		}
	}
}

// opened checks the cause of a fault: a leaf of a final report, an upheld dispute, a broken guarantee, a wrong byte
// of a measurement, or an outage that keepers voted about.
func (s *Slash) opened(ctx context.Context, o Options, opened Tx, v *bindings.FaultOpened) error {
	upheld := func(d *bindings.DisputeResolved) bool { return d.Upheld == 1 && d.Lease == v.Lease }
	if d, _, ok := find([]Tx{opened}, upheld); ok && s.Flags == records.FlagBadOutput {
		s.Steps = append(s.Steps, s.fromDispute(opened, v, d))
		return nil
	}
	broken := func(g *bindings.GuaranteeResolved) bool { return g.Fault == v.Fault }
	if g, _, ok := find([]Tx{opened}, broken); ok {
		s.Steps = append(s.Steps, s.fromGuarantee(opened, v, g))
		return nil
	}
	wrongCell := func(w *bindings.WrongCellProven) bool { return w.Fault == v.Fault }
	if w, _, ok := find([]Tx{opened}, wrongCell); ok {
		txs, err := Read(ctx, o.Source, market.FraudProofAddress(w.Node, w.Finder), o.Commitment)
		if err != nil {
			return err
		}
		before := slices.IndexFunc(txs, func(t Tx) bool { return t.Signature == opened.Signature })
		// The instructions say all that counts.
		missing := s.lack(txs, slices.DeleteFunc(slices.Clone(txs), func(t Tx) bool { return !t.opaque() }), opened)
		s.fromCell(append(txs[:max(before, 0):max(before, 0)], opened), w, v)
		s.Steps = append(s.Steps, missing...)
		return nil
	}
	if v.Fault == market.OutageFaultAddress(v.Lease) {
		txs, err := Read(ctx, o.Source, market.OutageAddress(v.Node), o.Commitment)
		if err != nil {
			return err
		}
		missing := s.lack(txs, txs, opened)
		s.fromOutage(o.Params, opened, v, txs)
		s.Steps = append(s.Steps, missing...)
		return nil
	}
	root, final, missing, err := finalRoot(ctx, o, v.Period)
	if err != nil {
		return err
	}
	c := checks{open: len(missing) > 0}
	c.require(final || c.open, "the report of period %d did not become final", v.Period)
	c.require(market.FaultAddress(v.Node, v.Lease, v.Period) == v.Fault, "the address is not that of this node, lease and period")
	found := false
	for _, p := range leafProofs(opened) {
		// Any leaf of the node shows what is wrong with the machine.
		if p.Leaf.Node == v.Node && (v.Lease.IsZero() || p.Leaf.Lease == v.Lease) && uint64(p.Leaf.Period) == v.Period {
			found = true
			c.require(!final || p.Root() == root, "the proof does not lead to the final root")
			c.require(p.Leaf.Flags.Has(s.Flags&^records.FlagSlow), "the leaf has the flags %s only", p.Leaf.Flags)
		}
	}
	c.require(found, "the leaf is not in the transaction")
	shown := "the leaf's proof leads to the final root"
	if c.open {
		shown = "whether the leaf's proof leads to the final root is not known"
	}
	s.step(opened, c, "fault", "%s of node %s in period %d; %s; %s GNT at stake, about the time from %s on, appeal until %s",
		s.Flags, v.Node, v.Period, shown, s.Amount, clock(v.WindowFrom), clock(v.ApplicableAt))
	s.Steps = append(s.Steps, missing...)
	if !s.Flags.Has(records.FlagSlow) {
		return nil
	}
	figures, err := s.fromFigures(ctx, o, opened, v)
	s.Steps = append(s.Steps, figures)
	return err
}

// fromDispute is the first step of a fault that no leaf shows: keepers have decided a dispute for the customer.
func (s *Slash) fromDispute(opened Tx, v *bindings.FaultOpened, d *bindings.DisputeResolved) Step {
	var c checks
	c.require(market.DisputeFaultAddress(v.Lease) == v.Fault, "the address is not that of the dispute of this lease")
	c.require(d.Dispute == market.DisputeAddress(v.Lease), "the dispute is not that of the lease")
	c.require(d.UpheldWeight > 0, "nobody had voted for the customer")
	return c.step(opened, "fault", "keepers upheld the dispute of lease %s with %s GNT against %s; %s GNT at stake, appeal until %s; the votes: gantry audit %s",
		v.Lease, market.GNT(d.UpheldWeight), market.GNT(d.RejectedWeight), s.Amount, clock(v.ApplicableAt), v.Lease)
}

// fromGuarantee is the first step of the fault of a broken uptime guarantee.
func (s *Slash) fromGuarantee(opened Tx, v *bindings.FaultOpened, g *bindings.GuaranteeResolved) Step {
	var c checks
	c.require(market.GuaranteeFaultAddress(v.Node, g.Until) == v.Fault, "the address is not that of the guarantee of this node")
	c.require(g.Node == v.Node, "the guarantee is another node's")
	c.require(v.Lease.IsZero(), "a guarantee is about no single lease")
	c.require(v.WindowFrom == g.Since, "the fault is about another time than the guarantee")
	c.require(!market.GuaranteeKept(g.UpSecs, g.CountedSecs, g.GuaranteeBps), "the guarantee was kept")
	return c.step(opened, "fault", "node %s was up for %d of %d seconds from %s to %s and had guaranteed %d.%02d %%; %s GNT at stake, without an appeal",
		v.Node, g.UpSecs, g.CountedSecs, clock(g.Since), clock(g.Until), g.GuaranteeBps/100, g.GuaranteeBps%100, s.Amount)
}

func (s *Slash) event(o Options, t Tx, e market.Event, opened *bindings.FaultOpened) {
	c := checks{gaps: s.gaps}
	step := func(name, format string, args ...any) { s.Steps = append(s.Steps, c.step(t, name, format, args...)) }
	switch v := e.Value.(type) {
	case *bindings.FaultAppealed:
		if v.Fault == s.Fault {
			step("appeal", "keeper %s signed the opposite about %s; %s GNT of weight so far", v.Keeper, records.Flags(v.Flag), market.GNT(v.Weight))
		}
	case *bindings.FaultVoided:
		if v.Fault == s.Fault {
			s.State = "voided"
			step("voided", "more than a third of the weight contradicts the fault: nothing is slashed")
		}
	case *bindings.SlashApplied:
		if v.Fault != s.Fault {
			return
		}
		s.State, s.Split = "applied", market.Split{Pool: market.GNT(v.Pool), Finder: market.GNT(v.Finder), Burned: market.GNT(v.Burned)}
		want, ok := splits(market.GNT(v.Amount), market.GNT(v.Amount), o.Params.FinderBps, s.Split)
		c.require(ok, "the split should be for those it harmed %s, finder %s, burned %s", want.Pool, want.Finder, want.Burned)
		c.require(v.Finder == 0 || s.Flags == records.FlagBadOutput, "only the fault of an upheld dispute has a finder")
		c.require(v.Amount <= opened.Amount, "more was slashed than the fault allows")
		c.require(t.Time.IsZero() || t.Time.Unix() >= opened.ApplicableAt, "it was applied before the appeal window had passed")
		c.require(v.Pool+v.Finder+v.Burned == v.Amount, "the parts are not the whole")
		step("slashed", "%s GNT: for those it harmed %s, finder %s, burned %s", market.GNT(v.Amount), s.Split.Pool, s.Split.Finder, s.Split.Burned)
	case *bindings.SlashCompensated:
		if v.Fault == s.Fault {
			s.claimed += market.GNT(v.Amount)
			c.follows(ofAll, s.claimed <= s.Split.Pool, "more was given than the pool holds")
			step("compensated", "lease %s: %s GNT in a payout of %s", v.Lease, market.GNT(v.Amount), v.Customer)
		}
	case *bindings.SlashClosed:
		if v.Fault == s.Fault {
			c.follows(ofAll, s.claimed+market.GNT(v.Burned) == s.Split.Pool, "what was claimed and what was burned are not the pool")
			step("closed", "%s GNT that nobody claimed are burned", market.GNT(v.Burned))
		}
	}
}

// splits says whether a split follows the rule, with a finder or without one, with the finder's share in force or with
// another that was allowed when the fault was opened. At least half is burned in any case.
func splits(amount, harm market.GNT, finderBPS uint16, got market.Split) (want market.Split, ok bool) {
	const most = 1_000
	follows := func(bps uint16) (want market.Split, ok bool) {
		whole, err := market.SplitSlash(amount, bps)
		if err != nil {
			return want, false
		}
		if want = whole.Claimed(harm); got.Finder == 0 {
			want = whole.WithoutFinder().Claimed(harm)
		}
		return want, want == got
	}
	if want, ok = follows(finderBPS); ok {
		return want, true
	}
	for bps := uint16(0); bps <= most; bps++ {
		if other, ok := follows(bps); ok {
			return other, true
		}
	}
	return want, false
}
