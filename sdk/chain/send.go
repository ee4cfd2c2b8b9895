package chain

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/rpc"
)

// SendOptions configure the sending of a signed transaction.
type SendOptions struct {
	SkipPreflight       bool
	PreflightCommitment Commitment
}

// Send hands a signed transaction to every endpoint that is healthy and of this cluster, to all if none is healthy, and
// returns when the first has taken it; the others are told meanwhile. maxRetries is zero: the transaction manager
// repeats it itself, so that it knows what is in flight. A refusal joined with ErrAmbiguous came while another endpoint
// gave no answer, so the transaction may be on its way all the same.
func (c *Client) Send(ctx context.Context, raw []byte, o SendOptions) error {
	if _, err := c.Genesis(ctx); err != nil {
		return fmt.Errorf("sendTransaction: %w", err)
	}
	params := []any{base64.StdEncoding.EncodeToString(raw), map[string]any{
		"encoding": "base64", "skipPreflight": o.SkipPreflight,
		"preflightCommitment": string(o.PreflightCommitment), "maxRetries": 0,
	}}
	type answer struct {
		place   int // in the order of preference
		err     error
		unclear bool // it may have taken the transaction
	}
	nodes := c.healthy(time.Now())
	answers := make(chan answer, len(nodes))
	// An endpoint that answers late is told all the same: the caller may be done by then.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
	c.sends.Add(1)
	left := len(nodes)
	for i, n := range nodes {
		c.sends.Go(func() {
			err, failover := c.on(late, n, "sendTransaction", func(ctx context.Context, r *rpc.Client) error {
				var sig solana.Signature
				return rawCall(ctx, r, &sig, "sendTransaction", params...)
			})
			// Nothing was sent to one of another cluster.
			answers <- answer{i, err, failover && !errors.Is(err, ErrWrongCluster)}
		})
	}
	best, unclear := answer{place: -1}, false
	finish := func() {
		for ; left > 0; left-- {
			<-answers
		}
		cancel()
		c.sends.Done()
	}
	for left > 0 {
		select {
		case a := <-answers:
			left--
			if a.err == nil {
				go finish()
				return nil
			}
			unclear = unclear || a.unclear
			if best.place < 0 || better(a.err, best.err) || (!better(best.err, a.err) && a.place < best.place) {
				best = a
			}
		case <-ctx.Done():
			go finish()
			return fmt.Errorf("%w: sendTransaction: %w", ErrAmbiguous, ctx.Err())
		}
	}
	finish()
	var re *RPCError
	if !errors.As(best.err, &re) {
		best.err = c.unreachable("sendTransaction", nodes[best.place], best.err)
		if errors.Is(best.err, ErrWrongCluster) && !unclear {
			return best.err
		}
	}
	if unclear || !errors.As(best.err, &re) {
		return fmt.Errorf("%w: %w", ErrAmbiguous, best.err)
	}
	return best.err
}

// better reports whether a says more than b: a node's refusal says more than a broken connection.
func better(a, b error) bool {
	var re *RPCError
	return errors.As(a, &re) && !errors.As(b, &re)
}

// healthy lists the nodes that may be asked now, all of them if there is none.
func (c *Client) healthy(now time.Time) []*node {
	var up []*node
	for _, n := range c.nodes {
		if n.mayBeAsked(now) {
			up = append(up, n)
		}
	}
	if len(up) == 0 {
		return c.nodes
	}
	return up
}
