package check

import (
	"bytes"
	"context"
	"math"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/keeper/measure"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
)

// Measurer measures a node at an instant whose block was seen at saw. *measure.Member is one.
type Measurer interface {
	Measure(ctx context.Context, n measure.Node, at instant.Instant, saw time.Time) measure.Result
}

const (
	// maxMeasuring bounds the measurements in flight. All nodes of this keeper's committees are measured at the same
	// moment: 2,800 in a market of 40,000 nodes and 100 keepers.
	maxMeasuring = 8192
	// measureShare is the part of a period, 1/n, within which this keeper must have seen the instant's block to measure by it,
	// and measureLeast that time in short periods. It is half of what nodes allow, so that none refuses because of this keeper's
	// delay.
	measureShare = 120
	measureLeast = 10 * time.Second
	// forgetAfter is after how many periods the checker forgets that a node was measured.
	forgetAfter = 64
	// measureTick is how often the instant is looked for at least.
	measureTick = 250 * time.Millisecond
	// The units of a statement's figures: operations and bytes a second.
	operationsUnit, bandwidthUnit = 1_000_000_000, 1_000_000
)

// measured is the state of measurements.
type measured struct {
	saw time.Time // when this keeper learned of the instant
	// begun is the last period in which a node was measured. It stays when the clock goes back: a node refuses a second draw.
	begun map[solana.PublicKey]records.Period
}

// forget drops what is so old that no clock goes back to it.
func (m *measured) forget(now records.Period) {
	for key, in := range m.begun {
		if in+forgetAfter < now {
			delete(m.begun, key)
		}
	}
}

// measureAll begins the measurements of the period that have not begun: of all free nodes in whose committees this keeper
// sits. Callers hold mu.
func (c *Checker) measureAll(ctx context.Context, now time.Time) {
	if c.o.Measure == nil || c.instant == nil || now.Sub(c.instant.At) > max(c.length()/measureShare, measureLeast) {
		return
	}
	drawn, saw := *c.instant, c.measured.saw
	var due []solana.PublicKey
	for key, p := range c.nodes {
		in, ever := c.measured.begun[key]
		if (!ever || in < drawn.Period) && p.subject.model != nil && c.planner.nodes[key].sits() && c.measurable(p.subject.model, drawn) {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	for _, key := range due {
		t := c.nodes[key].subject
		c.measured.begun[key] = drawn.Period
		select {
		case c.measuring <- struct{}{}:
		default:
			c.o.Log.Warn().Stringer("node", key).Msg("keeper leaves a measurement out: too many are in flight")
			continue
		}
		c.wg.Add(1)
		c.o.Tasks.Go(func() {
			defer c.wg.Done()
			defer func() { <-c.measuring }()
			if c.owes(t, drawn) {
				c.measure(ctx, t, drawn, saw)
			}
		})
	}
}

// measurable reports whether a node of the model knows by what it is measured: what came into force a moment before the
// instant it may not have read yet.
func (c *Checker) measurable(m *market.Model, drawn instant.Instant) bool {
	return m.Since != 0 && !time.Unix(m.Since+1, 0).Add(c.lag()).After(drawn.At)
}

// Owes says whether a node that did not do what it was asked for at an instant had to: for measure.Options.
func (c *Checker) Owes(node solana.PublicKey, at instant.Instant) bool {
	c.mu.Lock()
	p := c.nodes[node]
	var t subject
	if p != nil {
		t = p.subject
	}
	c.mu.Unlock()
	return p != nil && c.owes(t, at)
}

// measure has a node measured and says what became of it.
func (c *Checker) measure(ctx context.Context, t subject, drawn instant.Instant, saw time.Time) {
	began := c.o.Now()
	asked := make([]format.Asked, t.node.Spec.Gpus)
	for i := range asked {
		asked[i] = format.Asked{GPU: uint8(i), Profile: market.ProfileOf(t.model.Profile)}
	}
	node := measure.Node{Account: t.node.Address, Key: t.node.NodeKey, GPUs: asked, Simulated: t.node.Spec.Simulated == 1}
	r := c.o.Measure.Measure(ctx, node, drawn, saw)
	log := c.o.Log.With().Stringer("node", t.node.Address).Uint64("period", uint64(drawn.Period)).Logger()
	f := Finding{Node: t.node.Address, Kind: records.CheckWork, Period: drawn.Period, At: c.o.Now(), Latency: c.o.Steady().Sub(saw)}
	switch {
	case ctx.Err() != nil:
		return
	case r.Outcome == measure.Measured:
		f.Passed, f.Figures = true, figuresOf(r.Figures)
		if c.o.Evidence != nil {
			c.o.Evidence.Answered(t.node.Address, r.Guest)
		}
		log.Debug().Float64("operations", r.Figures.Operations).Uint64("memory", r.Figures.Memory).
			Float64("bandwidth", r.Figures.Bandwidth).Msg("node is measured")
	case r.Outcome == measure.Wrong && c.proven(t.node, drawn, r.Proof):
		log.Warn().Err(r.Why).Msg("node has signed a wrong measurement; the proof goes on chain")
		return
	case r.Outcome == measure.Unknown || owed(r) && c.excused(ctx, t, drawn, r.Why, began):
		return // nothing is known
	case r.Outcome == measure.Wrong:
		f.Detail = c.keep(t.node.Address, r.Record)
		log.Warn().Err(r.Why).Hex("record", f.Detail[:]).Msg("node's measurement is wrong")
	default:
		f.Evaded = true
		log.Warn().Err(r.Why).Msg("node is up and evades its measurement")
	}
	c.finish(ctx, f)
}

// keep keeps the record of a wrong measurement, and returns its hash; zero where there is none.
func (c *Checker) keep(node solana.PublicKey, r *measure.Record) [32]byte {
	if r == nil || c.o.Keep == nil {
		return [32]byte{}
	}
	hash, err := c.o.Keep(node, r, c.o.Now())
	if err != nil {
		c.o.Log.Error().Err(err).Stringer("node", node).Msg("the record of a wrong measurement was not stored")
	}
	return hash
}

// figuresOf are a statement's figures. They are rounded up: 0 says that nothing was measured.
func figuresOf(f format.Figures) records.Figures {
	in := func(v, unit float64) uint32 { return uint32(min(max(math.Ceil(v/unit), 1), math.MaxUint32)) }
	return records.Figures{First: in(f.Operations, operationsUnit), Second: in(f.Bandwidth, bandwidthUnit)}
}

// proven brings a wrong byte of a measurement on chain, and reports whether that was kept: no statement is made then,
// since a report would slash the node again for the same cause.
func (c *Checker) proven(n *market.Node, drawn instant.Instant, p *measure.Proof) bool {
	if p == nil || c.o.ProveWrongCell == nil {
		return false
	}
	err := c.o.ProveWrongCell(wrongCell(n, drawn, p))
	if err != nil {
		c.o.Log.Error().Err(err).Stringer("node", n.Address).Msg("proof of a wrong measurement was not stored; a statement says that it was wrong instead")
	}
	return err == nil
}

func wrongCell(n *market.Node, drawn instant.Instant, p *measure.Proof) ix.WrongCell {
	return ix.WrongCell{
		Node: *n, Commitment: p.Signed.Commitment, Signature: solana.Signature(p.Signed.Signature), Entry: p.Signed.Entries[p.Entry].Bytes(),
		Block: ix.InstantBlock{Period: uint64(drawn.Period), Tick: uint64(drawn.Tick), Slot: drawn.Slot, Hash: drawn.Hash},
		Round: p.Cell.Round, Before: p.Cell.Before, Leaf: p.Cell.Leaf, Group: p.Cell.Group, Bytes: p.Cell.Bytes,
		Path: p.Cell.Path, RoundPath: p.Cell.RoundPath,
	}
}

// sits reports whether this keeper sits in the node's committee.
func (w *watch) sits() bool { return w != nil && w.member }
