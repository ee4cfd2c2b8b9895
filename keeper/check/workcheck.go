package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/committee"
	"github.com/gantry-market/gantry/client/market/instant"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
)

// workSlack is how long after the bound the checker still waits. The proof has failed then, but a late answer shows
// that the node is slow and not gone.
const workSlack = 200 * time.Millisecond

// The terms are those that the node was told: a later change of its model's does not reach back.
func workBound(n *market.Node) time.Duration { return time.Duration(n.WorkBoundMs) * time.Millisecond }

func workWait(n *market.Node) time.Duration { return workBound(n) + workSlack }

// work checks the work of a node that was drawn: it asks for a proof and judges it.
func (c *Checker) work(ctx context.Context, t subject, drawn instant.Instant) {
	once := func(ctx context.Context) (Finding, error) { return c.workOnce(ctx, t, drawn) }
	q := insistence{"work proof", drawn.Period, workWait(t.node), func() bool { return c.owes(t, drawn) }}
	if f, ok := c.insist(ctx, t, q, once); ok {
		f.Node, f.Kind, f.Period = t.node.Address, records.CheckWork, drawn.Period
		c.finish(ctx, f)
	}
}

// mayAskForWork reports whether the node is asked for work now. What another keeper's failed check was about is asked
// of a node that has left work only when most of its committee has seen it fail: since it may not be there any more, a
// single dishonest member could otherwise have it fail at all keepers.
func (c *Checker) mayAskForWork(t subject, q Check) bool {
	if c.instant == nil || !c.instant.Due(t.node.Address, c.o.Timing.WorkEvery) || !c.owes(t, *c.instant) {
		return false
	}
	return !q.Point || c.stillFree(t) || q.Accusers >= committee.Quorum
}

// stillFree reports whether the node may be asked for what needs its GPUs.
func (c *Checker) stillFree(t subject) bool {
	free := false
	c.o.View.Read(func(v *view.Accounts) {
		n, ok := v.Nodes[t.node.Address]
		free = ok && Free(n)
	})
	return free
}

// owes reports whether a node that was drawn is judged by its answer. It cannot get out of that by itself: one that
// reports a dead GPU, hibernates or retires after the draw's block is judged as if it had not. One that did so
// before owes nothing, and one with a lease never does: its GPUs are the customer's.
func (c *Checker) owes(t subject, drawn instant.Instant) (owes bool) {
	c.o.View.Read(func(v *view.Accounts) {
		n, ok := v.Nodes[t.node.Address]
		switch {
		case !ok || n.LiveLeases > 0:
		case n.DeadUntil != 0:
			owes = n.DiedAt >= drawn.At.Unix() // times are of seconds, and no block before the draw's has its
		case Checked(n.State()):
			owes = true
		case n.State() == market.NodeSuspended: // for a fault, which is judged by itself
		case t.left != nil:
			owes = t.left.Slot > drawn.Slot
		default: // seen at work a moment ago
			owes = n.Slot > drawn.Slot
		}
	})
	return owes
}

// workOnce asks once. Errors: errNoWork when this keeper could not ask, errProven, errEvaded.
func (c *Checker) workOnce(ctx context.Context, t subject, drawn instant.Instant) (f Finding, err error) {
	period := drawn.Period
	sig, err := c.o.Signer.Sign(work.ChallengeMessage(c.o.Domain, drawn.Seed, t.node.Address, uint64(period)))
	if err != nil {
		return f, fmt.Errorf("%w: %w", errNoWork, err)
	}
	seed := work.DeriveSeed(drawn.Seed, t.node.Address, uint64(period), sig)
	size, bound := int(t.node.WorkSize), workBound(t.node)
	resp, took, err := c.ask(ctx, t.node, messages.ChallengeRequest{
		Kind: messages.CheckWork, Period: uint64(period),
		Work: &messages.WorkChallenge{Size: t.node.WorkSize, SlotHash: drawn.Seed, KeeperSignature: sig},
	}, workWait(t.node))
	f.At, f.Latency = c.o.Now(), took
	switch {
	case err != nil:
		return f, fmt.Errorf("%w: %w", errEvaded, err)
	case resp.Work == nil:
		return f, unanswered(resp)
	case took > bound:
		return f, fmt.Errorf("%w: the proof took %s, the bound is %s", errEvaded, took, bound)
	}
	if err := c.judgeWork(ctx, resp.Work, t.node, period, seed, size); err != nil {
		if ctx.Err() != nil || errors.Is(err, errProven) {
			return f, err
		}
		c.o.Log.Info().Err(err).Stringer("node", t.node.Address).Msg("work proof is wrong")
		return f, nil
	}
	timing := work.Policy{N: size, BoundMS: t.node.WorkBoundMs}.Judge(took)
	f.Passed, f.Detail = true, resp.Work.Root
	f.Figures.First = timing.TFLOPSx10 * 100
	return f, nil
}

// errProven: no statement is made about a wrong product that its node has signed, since the proof on chain costs the
// node stake already: a statement beside it would have a report slash it again for the same cause.
var errProven = errors.New("the wrong product is proven on chain")

// errUnsigned: the product is not signed, or is not the one that the node has signed.
var errUnsigned = errors.New("the product's claim is not signed by the node's key")

// judgeWork verifies that the proof is the product that was asked for, and signed. Error: errProven, when a wrong entry
// goes on chain; any other is a failed check.
func (c *Checker) judgeWork(
	ctx context.Context, p *messages.WorkProof, n *market.Node, period records.Period, seed work.Seed, size int,
) error {
	if int(p.Size) != size {
		return fmt.Errorf("order %d, asked for %d", p.Size, size)
	}
	if int64(len(p.Product)) != work.HeaderSize+work.BodySize(size) {
		return fmt.Errorf("product of %d bytes", len(p.Product))
	}
	claim := work.Claim{
		Domain: c.o.Domain, Node: n.Address, Period: uint64(period), Seed: seed, N: uint32(size), Root: p.Root,
	}
	if !claim.Verify(n.NodeKey[:], p.Signature) {
		return errUnsigned
	}
	h, err := work.Verifier{MaxN: size}.Verify(ctx, seed, size, bytes.NewReader(p.Product))
	var wrong *work.WrongEntryError
	if err != nil && !errors.As(err, &wrong) {
		return err
	}
	if h.Root != p.Root {
		return errors.New("another root than the product's")
	}
	if wrong == nil || c.o.ProveBadWork == nil {
		return err
	}
	stored := c.o.ProveBadWork(ix.BadWork{
		Node: *n, Claim: claim.Bytes(), Signature: p.Signature, Opening: wrong.Opening.Bytes(), Column: wrong.Col,
	})
	if stored != nil {
		c.o.Log.Error().Err(stored).Stringer("node", n.Address).Msg("proof of bad work was not stored; a statement says that the work was wrong instead")
		return err
	}
	c.o.Log.Warn().Err(err).Stringer("node", n.Address).Msg("node has signed a wrong product; the proof goes on chain")
	return errProven
}
