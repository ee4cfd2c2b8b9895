package audit

import (
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// What was proven.
const (
	ProvenWrongCell            = "wrong byte of a measurement" // which is a fault besides
	ProvenEquivocation         = "equivocation"
	ProvenManifestEquivocation = "manifest equivocation"
	ProvenUnjustAward          = "unjust award"
)

// proven lists the slashes by proof of a node, of a keeper's account or of a lease's award, among its transactions,
// oldest first.
func proven(o Options, txs []Tx, address solana.PublicKey) []*Slash {
	var out []*Slash
	for i, t := range txs {
		for _, e := range t.Events {
			s := &Slash{State: "proven", Txs: txs[i : i+1]}
			switch v := e.Value.(type) {
			case *bindings.EquivocationProven:
				if v.Keeper == address {
					s.equivocation(t, v)
					out = append(out, s)
				}
			case *bindings.UnjustAwardProven:
				if v.Keeper == address || v.Lease == address {
					s.unjustAward(t, v)
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// checkBond checks the shares of a slashed bond: the finder's part is bounded by what the bond has paid out lately, so that
// it may be anything up to a tenth.
func (s *Slash) checkBond(c *checks, amount, finder, burned uint64) {
	s.Amount, s.Split = market.GNT(amount), market.Split{Finder: market.GNT(finder), Burned: market.GNT(burned)}
	c.require(finder+burned == amount, "the parts are not the whole")
	c.require(finder <= amount/10, "the finder has more than a tenth")
}

func (s *Slash) step(t Tx, c checks, name, format string, args ...any) {
	s.Steps = append(s.Steps, c.step(t, name, format, args...))
}

// lack says what is missing of the history of a fault's cause, of which some transactions could not be read. The one that
// opened the fault is part of it.
func (s *Slash) lack(txs, unread []Tx, opened Tx) []Step {
	steps := unreadSteps(unread)
	if !slices.ContainsFunc(txs, func(t Tx) bool { return t.Signature == opened.Signature }) {
		steps = append(steps, Step{Name: "unread", Text: "what led to the fault is not in the history that the node keeps", Unknown: tooLittle})
	}
	if len(steps) > 0 {
		s.gaps = ofAll
	}
	return steps
}

// manifestEquivocation verifies both manifests again.
func (s *Slash) manifestEquivocation(t Tx, v *bindings.EquivocationProven) {
	s.Proof, s.Keeper, s.Period = ProvenManifestEquivocation, v.Keeper, v.Period
	var c checks
	var manifests []records.Manifest
	for _, x := range signatures(t) {
		m, err := records.DecodeManifest(x.Message)
		// That the keeper answers for the keys the program has checked: they need not be its wallet.
		if err == nil && m.Verify(x.Key, x.Sig) == nil {
			manifests = append(manifests, m)
		}
	}
	c.require(len(manifests) == 2 && market.ManifestsEquivocate(manifests[0], manifests[1]), "the transaction has no two manifests of one period of the keeper")
	if len(manifests) == 2 {
		c.require(uint64(manifests[0].Period) == v.Period, "they are of another period")
	}
	s.checkBond(&c, v.Amount, v.FinderShare, v.Burned)
	s.step(t, c, "proven", "keeper %s signed two different manifests of period %d: %s GNT slashed, finder %s (%s), burned %s",
		v.Keeper, v.Period, s.Amount, s.Split.Finder, v.Finder, s.Split.Burned)
}

// equivocation verifies both statements again.
func (s *Slash) equivocation(t Tx, v *bindings.EquivocationProven) {
	if v.Kind == market.EquivocatingManifests {
		s.manifestEquivocation(t, v)
		return
	}
	s.Proof, s.Keeper, s.Node, s.Lease, s.Period = ProvenEquivocation, v.Keeper, v.Node, v.Lease, v.Period
	var c checks
	var statements []records.CheckStatement
	for _, x := range signatures(t) {
		st, err := records.DecodeStatement(x.Message)
		if err == nil && st.Verify(x.Key, x.Sig) == nil {
			statements = append(statements, st)
		}
	}
	c.require(len(statements) == 2 && market.StatementsEquivocate(statements[0], statements[1]), "the transaction has no two opposite statements of the keeper")
	if len(statements) == 2 {
		c.require(statements[0].Node == v.Node && uint64(statements[0].Period) == v.Period && statements[0].CheckedAt == v.CheckedAt, "they are about something else")
	}
	s.checkBond(&c, v.Amount, v.FinderShare, v.Burned)
	s.step(t, c, "proven", "keeper %s signed passed and failed for one %s check of node %s at %s: %s GNT slashed, finder %s (%s), burned %s",
		v.Keeper, records.CheckKind(v.Kind), v.Node, clock(v.CheckedAt), s.Amount, s.Split.Finder, v.Finder, s.Split.Burned)
}

func (s *Slash) unjustAward(t Tx, v *bindings.UnjustAwardProven) {
	s.Proof, s.Keeper, s.Node, s.Lease = ProvenUnjustAward, v.Keeper, v.Better, v.Lease
	var c checks
	c.require(v.BetterScore < v.AwardedScore, "the score %d is not better than %d", v.BetterScore, v.AwardedScore)
	s.checkBond(&c, v.Amount, v.FinderShare, v.Burned)
	s.step(t, c, "proven", "keeper %s awarded lease %s at a score of %d, when node %s had %d: %s GNT slashed, finder %s (%s), burned %s; the lease costs %s USDC per GPU-hour from then on",
		v.Keeper, v.Lease, v.AwardedScore, v.Better, v.BetterScore, s.Amount, s.Split.Finder, v.Finder, s.Split.Burned, market.PricePerHour(v.Price))
}
