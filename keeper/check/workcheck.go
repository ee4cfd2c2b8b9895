package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
)

// workSlack is how long after the bound the checker still waits. The proof has failed then, but a late answer shows
// that the node is slow and not gone.
const workSlack = 200 * time.Millisecond

// workRetry is the pause before a node that refused early is asked again.
const workRetry = 700 * time.Millisecond

// The terms are those that the node was told: a later change of its model's does not reach back.
func workBound(n *market.Node) time.Duration { return time.Duration(n.WorkBoundMs) * time.Millisecond }

func workWait(n *market.Node) time.Duration { return workBound(n) + workSlack }

// work checks a node's work: it asks for a proof and judges it.
func (c *Checker) work(ctx context.Context, t subject, period records.Period) {
	once := func(ctx context.Context) (Finding, bool, error) { return c.workOnce(ctx, t, period) }
	c.insist(ctx, t, "work proof", once, func() Finding {
		return Finding{Node: t.node.Address, Kind: records.CheckWork, At: c.o.Now(), Period: period}
	})
}

// insist asks a node that refuses up to three times, as long as it is free; then the finding is what refused returns.
// ask reports whether the node answered and refused; whether it is up at all is for liveness checks to find.
func (c *Checker) insist(
	ctx context.Context, t subject, what string, ask func(context.Context) (Finding, bool, error), refused func() Finding,
) {
	for try := range 3 {
		f, again, err := ask(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			c.finish(ctx, f)
			return
		}
		c.o.Log.Debug().Err(err).Stringer("node", t.node.Address).Str("check", what).Msg("check gave no finding")
		if !again {
			return
		}
		if c.o.Tasks.Sleep(ctx, workRetry) != nil {
			return
		}
		if !c.stillFree(t) {
			return
		}
		if try == 2 {
			c.o.Log.Warn().Err(err).Stringer("node", t.node.Address).Str("check", what).Msg("node refuses again and again")
			c.finish(ctx, refused())
		}
	}
}

// stillFree reports whether the node may still be asked for work.
func (c *Checker) stillFree(t subject) bool {
	free := false
	c.o.View.Read(func(v *view.Accounts) {
		n, ok := v.Nodes[t.node.Address]
		free = ok && WorkAllowed(n)
	})
	return free
}

// workOnce asks once. An error means that there is no finding; again that it may be tried again.
func (c *Checker) workOnce(ctx context.Context, t subject, period records.Period) (f Finding, again bool, err error) {
	f = Finding{Node: t.node.Address, Kind: records.CheckWork, Period: period}
	slotHash, err := c.o.SlotHash(ctx)
	if err != nil {
		return f, false, fmt.Errorf("%w: slot hash: %w", errNoWork, err)
	}
	sig, err := c.o.Signer.Sign(work.ChallengeMessage(c.o.Domain, slotHash, t.node.Address, uint64(period)))
	if err != nil {
		return f, false, fmt.Errorf("%w: %w", errNoWork, err)
	}
	seed := work.DeriveSeed(slotHash, t.node.Address, uint64(period), sig)
	size, bound := int(t.node.WorkSize), workBound(t.node)
	resp, took, err := c.ask(ctx, t.node, messages.ChallengeRequest{
		Kind: messages.CheckWork, Period: uint64(period),
		Work: &messages.WorkChallenge{Size: t.node.WorkSize, SlotHash: slotHash, KeeperSignature: sig},
	}, workWait(t.node))
	f.At, f.Latency = c.o.Now(), took
	late := took > bound
	switch {
	case errors.Is(err, ErrRefused) && !late:
		return f, true, fmt.Errorf("%w: %w", errNoWork, err)
	case err != nil && !late:
		return f, false, fmt.Errorf("%w: no answer: %w", errNoWork, err)
	case err == nil && resp.Work == nil && !late:
		return f, true, fmt.Errorf("%w: %s", errNoWork, resp.Refused)
	case late:
		// The node is slow, or gone. It has failed only if it is up. A lease may have begun meanwhile, and the machine
		// works for that.
		probe, asked := c.probe(ctx, t.node)
		if !asked || !probe.Passed {
			return f, false, fmt.Errorf("%w: node is not there", errNoWork)
		}
		if !c.stillFree(t) {
			return f, false, fmt.Errorf("%w: a lease has begun", errNoWork)
		}
		f.At = c.o.Now()
		c.o.Log.Info().Stringer("node", t.node.Address).Dur("took", took).Dur("bound", bound).Msg("work proof is late")
		return f, false, nil
	}
	if err := c.judgeWork(ctx, resp.Work, t.node, period, seed, size); err != nil {
		if ctx.Err() != nil || errors.Is(err, errProven) {
			return f, false, err
		}
		c.o.Log.Info().Err(err).Stringer("node", t.node.Address).Msg("work proof is wrong")
		return f, false, nil
	}
	timing := work.Policy{N: size, BoundMS: t.node.WorkBoundMs}.Judge(took)
	f.Passed, f.Measured, f.Detail = true, timing.TFLOPSx10, resp.Work.Root
	return f, false, nil
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
