package check

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/line"
	format "github.com/gantry-market/gantry/sdk/line"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Liner measures a node's line at an instant that draws it. *line.Member is one.
type Liner interface {
	Measure(ctx context.Context, n line.Node, at instant.Instant) line.Result
}

const (
	// lineTries is how often a node is asked that puts the check off, and lineLosses how often one that is not reached. The
	// pause between two is the part of a period, 1/n, and at least lineLeast.
	lineTries  = 10
	lineLosses = 3
	linePause  = 120
	lineLeast  = 2 * time.Second
	// lineEnd is how long before a period's end no check begins, or the part of a short one, 1/n.
	lineEnd      = 2*format.Limit + 5*time.Second
	lineEndShare = 4
)

// lines are the checks of nodes' lines that are to be made in a period, one at a time: two at once would share this keeper's
// line.
type lines struct {
	period  records.Period // of queue
	planned bool
	running bool
	queue   []lineCheck
}

// lineCheck is one of them.
type lineCheck struct {
	node        solana.PublicKey
	after       time.Time // before which it does not begin
	off, losses int       // how often the node has put it off, and was not reached
}

// checkLine begins the next check of a line that is due, if none is under way. Callers hold mu.
func (c *Checker) checkLine(ctx context.Context, now time.Time) {
	if c.o.Line == nil || c.instant == nil || c.lines.running {
		return
	}
	if c.lines.period != c.instant.Period {
		// A keeper that starts in the middle of a period may have made its checks of it already.
		c.lines.planned = c.lines.period == 0
		c.lines.period, c.lines.queue = c.instant.Period, nil
	}
	if !c.lines.planned && !c.planLines() {
		return
	}
	end := time.Unix(int64(c.instant.Period+1)*int64(c.o.Secs), 0)
	if now.After(end.Add(-min(lineEnd, c.length()/lineEndShare))) {
		return
	}
	i := slices.IndexFunc(c.lines.queue, func(q lineCheck) bool { return !now.Before(q.after) })
	if i < 0 {
		return
	}
	q, drawn, p := c.lines.queue[i], *c.instant, c.nodes[c.lines.queue[i].node]
	c.lines.queue = slices.Delete(c.lines.queue, i, i+1)
	if p == nil || !c.owes(p.subject, drawn) {
		return
	}
	t := p.subject
	c.lines.running = true
	c.wg.Add(1)
	c.o.Tasks.Go(func() {
		defer c.wg.Done()
		c.line(ctx, t, q, drawn)
	})
}

// planLines queues the nodes that this period's instant draws first in its window, in an order that no node foresees. It
// reports whether all instants of the window are known. Callers hold mu.
func (c *Checker) planLines() bool {
	var before []instant.Instant
	for p := instant.WindowOf(c.instant.Period, c.o.Secs); p < c.instant.Period; p++ {
		i, ok := c.o.Instants(p)
		if !ok {
			return false // it is looked for now
		}
		before = append(before, i)
	}
	for key := range c.nodes {
		drawn := func(i instant.Instant) bool { return i.DrawsLine(key, c.o.Secs) }
		if c.planner.nodes[key].sits() && drawn(*c.instant) && !slices.ContainsFunc(before, drawn) {
			c.lines.queue = append(c.lines.queue, lineCheck{node: key})
		}
	}
	slices.SortFunc(c.lines.queue, func(a, b lineCheck) int { return slices.Compare(a.node[:], b.node[:]) })
	r := rand.New(rand.NewChaCha8(c.round.Secret))
	r.Shuffle(len(c.lines.queue), func(i, j int) { c.lines.queue[i], c.lines.queue[j] = c.lines.queue[j], c.lines.queue[i] })
	c.lines.planned = true
	return true
}

// line makes a check and says what it measured, or has it made again.
func (c *Checker) line(ctx context.Context, t subject, q lineCheck, drawn instant.Instant) {
	began := c.o.Now()
	r := c.o.Line.Measure(ctx, line.Node{Account: t.node.Address, Key: t.node.NodeKey}, drawn)
	again := c.lineAgain(r, &q)
	c.mu.Lock()
	c.lines.running = false
	if again && c.lines.period == drawn.Period {
		q.after = c.o.Now().Add(max(c.length()/linePause, lineLeast))
		c.lines.queue = append(c.lines.queue, q)
	}
	c.mu.Unlock()
	log := c.o.Log.With().Stringer("node", t.node.Address).Uint64("period", uint64(drawn.Period)).Logger()
	f := Finding{
		Node: t.node.Address, Kind: records.CheckNetwork, Period: drawn.Period, At: c.o.Now(), Latency: c.o.Now().Sub(began),
		Passed: true, Figures: records.Figures{First: r.Down, Second: r.Up},
	}
	switch {
	case ctx.Err() != nil || again:
		return
	case r.Outcome == line.Unknown:
		log.Debug().Err(r.Why).Msg("node's line is not measured: it is not reached")
		return
	case r.Outcome == line.Refused:
		// What no one may see has the least figure: else a node would keep the last one by refusing.
		f.Figures = records.Figures{First: 1, Second: 1}
		log.Warn().Err(r.Why).Msg("node does not have its line measured")
	default:
		log.Debug().Err(r.Why).Uint32("down", r.Down).Uint32("up", r.Up).Msg("node's line is measured")
	}
	c.finish(ctx, f)
}

// lineAgain reports whether a check is to be made again later, and notes why. A node that says that a lease is live is asked
// again, too: by then this keeper knows of the lease, or the node of its end.
func (c *Checker) lineAgain(r line.Result, q *lineCheck) bool {
	switch {
	case r.Outcome == line.Unknown:
		q.losses++
		return q.losses < lineLosses
	case r.Outcome == line.Refused && slices.Contains([]messages.LineRefusal{messages.LineBusy, messages.LineUnready, messages.LineLease}, r.Refused):
		q.off++
		return q.off < lineTries
	}
	return false
}
