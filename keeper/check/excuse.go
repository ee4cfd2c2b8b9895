package check

import (
	"context"
	"errors"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/measure"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/market/view"
	asking "github.com/gantry-market/gantry/sdk/measure"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// restartEvery is in how many periods a node is excused once for losing what it has signed, because its agent started again.
const restartEvery = 16

// owed reports whether a node gave nothing of what a measurement asks for: it refused the measurement, or it opened nothing
// of its commitment. What it did answer, and wrongly, nothing excuses.
func owed(r measure.Result) bool {
	return r.Outcome == measure.Refused || errors.Is(r.Why, asking.ErrUnopened)
}

// excused reports whether a node that gave nothing may be honest. The node's reason decides, and not the step at which the
// node named it. A node and a keeper read the chain through different endpoints, so that they may disagree about the
// period's block, about the time, about leases, and about the keepers of the market. Such a node gets no figure, as one
// that hangs.
func (c *Checker) excused(ctx context.Context, t subject, drawn instant.Instant, why error, began time.Time) bool {
	committed := errors.Is(why, asking.ErrUnopened)
	var refused *measure.RefusedError
	if !errors.As(why, &refused) {
		// An agent that starts again can be reached before it knows the market, and before it answers at all.
		stranger := p2p.IsCode(why, p2p.CodeRefused) || p2p.IsCode(why, p2p.CodeNotFound) || errors.Is(why, p2p.ErrProtocol)
		return stranger && (!committed || c.restarted(t.node.Address, drawn.Period))
	}
	switch refused.Why {
	case messages.MeasureBlock, messages.MeasureOver: // an honest agent says so of its own commitment after a restart only
		return !committed || c.restarted(t.node.Address, drawn.Period)
	case messages.MeasureTooMany: // members are admitted in the order in which they come; a keeper that starts again draws anew
		return !committed || c.started.After(drawn.At)
	case messages.MeasureLease:
		return c.leasedThen(ctx, t, drawn, began)
	}
	return false
}

// leasedThen reports whether a node that named a lease may be right: a lease has begun of which this keeper learns in a
// moment, or a lease was over a moment ago of which the node has not read that.
func (c *Checker) leasedThen(ctx context.Context, t subject, drawn instant.Instant, began time.Time) bool {
	now := c.o.Now()
	// The chain's times are cut to seconds. Endpoints lag as far where periods are short.
	if freed := c.freedAt(t.node.Address); freed != 0 && now.Before(time.Unix(freed+1, 0).Add(leaseLag)) {
		return true
	}
	q := insistence{what: "measurement", period: drawn.Period}
	return c.wasLeased(ctx, t, q, excuse{since: now, patient: true}, began) || !c.owes(t, drawn) || !c.seenFree(ctx, t, now)
}

// seenFree reports whether this keeper's endpoint shows that a node had no lease at a time. This keeper's copy of the market may
// be older than the endpoint's answers, and the endpoint may be behind the chain: it shows nothing of a time that it has not reached.
func (c *Checker) seenFree(ctx context.Context, t subject, at time.Time) bool {
	if c.o.NodeAt == nil {
		return true
	}
	ctx, cancel := c.o.Tasks.Timeout(ctx, c.o.Timing.Timeout)
	defer cancel()
	n, shown, err := c.o.NodeAt(ctx, t.node.Address)
	if err != nil {
		c.o.Log.Debug().Err(err).Msg("keeper does not judge a refusal: it cannot read the node's account")
		return false
	}
	return !shown.Before(at.Truncate(time.Second)) && !n.LeasedWithin(at.Unix(), at.Add(chainSkew).Unix())
}

// freedAt is when the node's last lease was over, unix seconds; 0 for none.
func (c *Checker) freedAt(node solana.PublicKey) (freed int64) {
	c.o.View.Read(func(v *view.Accounts) {
		if n, ok := v.Nodes[node]; ok {
			freed = n.FreedAt()
		}
	})
	return freed
}

// restarted reports whether a node that has lost what it signed is excused, and notes that. It is so once in restartEvery
// periods: else a machine could start its agent again whenever it cannot open what is drawn.
func (c *Checker) restarted(node solana.PublicKey, p records.Period) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, of := range c.restarts {
		if of+restartEvery <= p {
			delete(c.restarts, key)
		}
	}
	if _, again := c.restarts[node]; again {
		return false
	}
	c.restarts[node] = p
	return true
}
