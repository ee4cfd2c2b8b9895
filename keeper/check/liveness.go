package check

import (
	"context"
	"errors"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// liveness checks whether the node is up.
func (c *Checker) liveness(ctx context.Context, n *market.Node, p *progress, q Check) {
	p.mu.Lock()
	if p.asking {
		p.mu.Unlock()
		return
	}
	p.asking = true
	p.mu.Unlock()
	defer func() { p.mu.Lock(); p.asking = false; p.mu.Unlock() }()

	f, ok := c.probe(ctx, n)
	if !ok || !c.counts(n, p, f.Passed) {
		return
	}
	f.Point, f.Interval = q.Point, q.Interval
	c.finish(ctx, f)
}

// counts reports whether the result of a liveness check counts: one that fails does not as long as the node has only
// just registered and may not be connected yet.
func (c *Checker) counts(n *market.Node, p *progress, passed bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered = p.answered || passed
	return p.answered || c.o.Now().Sub(time.Unix(n.RegisteredAt, 0)) >= 4*c.o.Timing.Every
}

const (
	// probeTries is how often a liveness question is asked that is refused, or lost on the way.
	probeTries = 3
	// refusalPause is between the tries at a node that refuses, so that a word about a moment is none about the check.
	refusalPause = 500 * time.Millisecond
)

// probe asks whether the node is up, and says so, or that it is not known. A refusal that is the node's own word, again
// and again, is the node's doing: it is not up. Nobody else can cause one, because the channel is authenticated and what
// a flood can bring about, being busy, is said in another way (ErrTransport). A question that is lost on an open
// connection is no proof of either, also when it is lost once between refusals. It returns false when there is no
// finding.
func (c *Checker) probe(ctx context.Context, n *market.Node) (Finding, bool) {
	log := c.o.Log.With().Stringer("node", n.Address).Logger()
	deadline := c.o.Now().Add(c.o.Timing.Timeout)
	lost := false
	for try := 1; ; try++ {
		resp, took, err := c.ask(ctx, n, messages.ChallengeRequest{Kind: messages.CheckLiveness}, deadline.Sub(c.o.Now()))
		if ctx.Err() != nil {
			return Finding{}, false
		}
		f := Finding{Node: n.Address, Kind: records.CheckLiveness, At: c.o.Now(), Latency: took}
		refused := errors.Is(err, ErrRefused) || err == nil && resp.Liveness == nil && resp.Refused != ""
		lost = lost || errors.Is(err, ErrTransport)
		switch {
		case refused && try < probeTries && c.o.Now().Add(refusalPause).Before(deadline):
			if c.o.Tasks.Sleep(ctx, refusalPause) != nil {
				return Finding{}, false
			}
			continue
		case errors.Is(err, ErrTransport) && try < probeTries && c.o.Now().Before(deadline):
			continue
		case lost && (refused || errors.Is(err, ErrTransport)):
			log.Debug().Err(err).Msg("node may be up or not: a liveness question was lost")
			f.Unknown = true
		case refused:
			log.Debug().Err(err).Str("refused", resp.Refused).Int("tries", try).Msg("node refuses the liveness check")
		case err != nil:
			log.Debug().Err(err).Msg("node did not answer")
		case resp.Liveness == nil:
			log.Debug().Msg("node answered without liveness")
		default:
			f.Passed, f.Liveness = true, resp.Liveness
		}
		return f, true
	}
}

// alive reports whether the node answers liveness questions now. One that is not answered counts as the planned ones
// do.
func (c *Checker) alive(ctx context.Context, t subject) bool {
	for range insistProbes {
		f, ok := c.probe(ctx, t.node)
		if !ok {
			return false
		}
		if !f.Passed {
			c.mu.Lock()
			p := c.nodes[t.node.Address]
			watched := c.planner.Watches(t.node.Address)
			c.mu.Unlock()
			if p != nil && watched && c.counts(t.node, p, f.Passed) {
				c.finish(ctx, f)
			}
			return false
		}
	}
	return true
}
