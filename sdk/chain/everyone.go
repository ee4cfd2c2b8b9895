package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go/rpc"
)

// said is what an endpoint answered.
type said[T any] struct {
	n   *node
	got T
}

// everyone asks all healthy endpoints the same and returns the answers of those that give one in time, at least one.
func everyone[T any](ctx context.Context, c *Client, what, method string, f func(context.Context, *rpc.Client) (T, error)) ([]said[T], error) {
	if _, err := c.Genesis(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	type answer struct {
		said[T]
		err error
	}
	nodes := c.healthy(time.Now())
	answers := make(chan answer, len(nodes))
	late, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for _, n := range nodes {
		c.sends.Go(func() {
			a := answer{said: said[T]{n: n}}
			a.err, _ = c.on(late, n, method, func(ctx context.Context, r *rpc.Client) (err error) {
				a.got, err = f(ctx, r)
				return err
			})
			answers <- a
		})
	}
	var out []said[T]
	var last error
	var stop <-chan time.Time
	for range nodes {
		select {
		case a := <-answers:
			if a.err != nil {
				last = a.err
				continue
			}
			out = append(out, a.said)
			if stop == nil {
				timer := time.NewTimer(slowerWait)
				defer timer.Stop()
				stop = timer.C
			}
			continue
		case <-stop:
		}
		break
	}
	if re := (*RPCError)(nil); len(out) == 0 && errors.As(last, &re) {
		return nil, fmt.Errorf("%s: %w", what, last)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w", what, c.unreachable(method, nodes[0], last))
	}
	return out, nil
}

// slowerWait is how long slower endpoints may take once one has answered what all are asked.
const slowerWait = 2 * time.Second

// EndpointSlot is the slot that an endpoint names.
type EndpointSlot struct {
	By   string // its URL
	Slot uint64
}

// Slots returns the slot of each healthy endpoint that answers, lowest first. Error: *RPCError where the only answer is a
// refusal.
func (c *Client) Slots(ctx context.Context, at Commitment) ([]EndpointSlot, error) {
	all, err := everyone(ctx, c, "slots", "getSlot", func(ctx context.Context, r *rpc.Client) (unsigned, error) {
		var n unsigned
		if err := rawCall(ctx, r, &n, "getSlot", commitmentParam(at)); err != nil {
			return 0, err
		}
		return n, positive(&n)
	})
	if err != nil {
		return nil, err
	}
	out := make([]EndpointSlot, len(all))
	for i, a := range all {
		out[i] = EndpointSlot{a.n.ep.RPC, uint64(a.got)}
	}
	slices.SortFunc(out, func(a, b EndpointSlot) int { return cmp.Compare(a.Slot, b.Slot) })
	return out, nil
}
