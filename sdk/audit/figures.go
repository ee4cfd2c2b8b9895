package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// fromFigures checks the fault of a slow machine again: by the figures of the leaves that were applied to the node, in their
// order, and the terms that it knew, no measured period of a long enough row shows its class.
func (s *Slash) fromFigures(ctx context.Context, o Options, opened Tx, v *bindings.FaultOpened) (Step, error) {
	txs, err := Read(ctx, o.Source, v.Node, o.Commitment)
	if err != nil {
		return Step{}, err
	}
	n := measuredNode{read: func(model uint16) ([]Tx, error) {
		return Read(ctx, o.Source, market.ModelAddress(model), o.Commitment)
	}, of: v.Node, secs: int64(o.Params.PeriodSecs), seen: map[records.Period]bool{}}
	for _, t := range txs {
		if err := n.take(t); err != nil {
			return Step{}, err
		}
		if t.Signature == opened.Signature {
			break
		}
	}
	c := checks{gaps: n.gaps}
	text := make([]string, len(n.found))
	for i, share := range n.found {
		text[i] = fmt.Sprintf("%d.%02d %%", share/100, share%100)
	}
	needed := int(market.SlowPeriods(&o.Params))
	c.follows(ofAll, len(n.found) == needed, "the leaves have figures of %d periods in a row that show less than the class, not of %d", len(n.found), needed)
	return c.step(opened, "figures", "of a class of %s TOPS and %s GB/s, the last measured periods show %s", market.TOPS(n.terms.operations),
		market.GBs(n.terms.bandwidth), strings.Join(text, ", ")), nil
}

// classTerms are what a node is held to.
type classTerms struct{ operations, bandwidth uint32 }

// measuredNode follows what was measured of a node through its transactions.
type measuredNode struct {
	read  func(model uint16) ([]Tx, error) // the model's transactions
	of    solana.PublicKey
	secs  int64 // of a period
	terms classTerms
	since int64 // when the node knew them
	seen  map[records.Period]bool
	row   []uint16 // shares in a row that are too little, newest first
	found []uint16 // those that made it slow last
	gaps  topic    // whether something that tells its terms or its slow periods could not be read
}

func (n *measuredNode) take(t Tx) error {
	if t.unreadCall(n.of, bindings.Instruction_NodeRegister, bindings.Instruction_NodeAcceptTerms, bindings.Instruction_FaultOpen) {
		n.gaps = ofAll
	}
	for _, e := range t.Events {
		switch v := e.Value.(type) {
		case *bindings.NodeRegistered:
			if v.Node == n.of {
				terms, err := n.inForce(v.Model, t)
				if err != nil {
					return err
				}
				n.terms, n.since, n.row = terms, t.Time.Unix(), nil
			}
		case *bindings.TermsAccepted:
			if v.Node == n.of {
				if terms := (classTerms{v.MinOperations, v.MinBandwidth}); terms != n.terms {
					n.terms, n.row = terms, nil
				}
				n.since = t.Time.Unix()
			}
		}
	}
	slow := false
	for _, e := range t.Events {
		v, ok := e.Value.(*bindings.FaultOpened)
		slow = slow || ok && v.Node == n.of && records.Flags(v.Flags).Has(records.FlagSlow)
	}
	for _, p := range leafProofs(t) {
		l := p.Leaf
		if l.Node != n.of || n.seen[l.Period] {
			continue
		}
		n.seen[l.Period] = true
		if l.Operations == 0 || int64(l.Period)*n.secs < n.since {
			continue
		}
		share := market.ShareBPS(l.Operations, l.Bandwidth, n.terms.operations, n.terms.bandwidth)
		if n.row = slices.Insert(n.row, 0, share); share >= market.FiguresBPS {
			n.row = nil
		}
	}
	if slow {
		n.found, n.row = n.row, nil
	}
	return nil
}

// inForce is what the model's terms asked for at a transaction: those that were proposed last before they were applied.
func (n *measuredNode) inForce(model uint16, at Tx) (terms classTerms, err error) {
	txs, err := n.read(model)
	if err != nil {
		return terms, err
	}
	var proposed classTerms
	for _, t := range txs {
		if t.Slot > at.Slot {
			break
		}
		if t.Unreadable != "" {
			n.gaps = ofAll
		}
		for _, e := range t.Events {
			switch v := e.Value.(type) {
			case *bindings.GpuModelProposed:
				if v.Id == model {
					proposed = classTerms{v.MinOperations, v.MinBandwidth}
				}
			case *bindings.GpuModelApplied:
				if v.Id == model {
					terms = proposed
				}
			}
		}
	}
	return terms, nil
}
