package chain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
)

const (
	// genesisAge is how long an endpoint's answer about its cluster is believed: behind one URL may be several machines.
	genesisAge = time.Minute
	// genesisWait is how long the first question waits for slower endpoints after one has answered.
	genesisWait = 2 * time.Second
)

// Genesis returns the genesis hash of the cluster that the client belongs to: the one that it was made for, or else the
// one that all endpoints name that answer at its first use.
// Errors: ErrWrongCluster, ErrUnreachable.
func (c *Client) Genesis(ctx context.Context) (solana.Hash, error) {
	c.genesisMu.Lock()
	defer c.genesisMu.Unlock()
	if !c.genesis.IsZero() {
		return c.genesis, nil
	}
	if err := c.agree(ctx); err != nil {
		return solana.Hash{}, err
	}
	return c.genesis, nil
}

// agree asks every endpoint for its cluster and takes the answer if it is one. The caller holds genesisMu.
func (c *Client) agree(ctx context.Context) error {
	type answer struct {
		n   *node
		err error
	}
	wait, cancel := context.WithCancel(ctx)
	answers := make(chan answer, len(c.nodes))
	var wg sync.WaitGroup
	defer func() { cancel(); wg.Wait() }()
	for _, n := range c.nodes {
		wg.Go(func() { answers <- answer{n, n.askGenesis(wait, c.timeout)} })
	}
	var first *node
	var last answer
	late := (<-chan time.Time)(nil)
	for range c.nodes {
		var a answer
		select {
		case a = <-answers:
		case <-late:
			c.genesis = first.cluster()
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("genesis hash: %w", ctx.Err())
		}
		switch {
		case a.err != nil:
			a.n.failed(a.err, c.log)
			last = a
		case first == nil:
			first = a.n
			timer := time.NewTimer(genesisWait)
			defer timer.Stop()
			late = timer.C
		case a.n.cluster() != first.cluster():
			return fmt.Errorf("%w: %s has the genesis hash %s, %s has %s; give endpoints of one cluster only",
				ErrWrongCluster, first.ep.RPC, first.cluster(), a.n.ep.RPC, a.n.cluster())
		}
	}
	if first == nil {
		if re := (*RPCError)(nil); errors.As(last.err, &re) {
			return fmt.Errorf("genesis hash: %w", last.err)
		}
		return c.unreachable("getGenesisHash", last.n, last.err)
	}
	c.genesis = first.cluster()
	return nil
}

// admit makes sure that a node belongs to the client's cluster: before its first use, after each failure, and every
// minute. Errors: ErrWrongCluster, those of the node.
func (c *Client) admit(ctx context.Context, n *node) error {
	want, err := c.Genesis(ctx)
	if err != nil {
		return err
	}
	n.mu.Lock()
	known := n.genesis == want && time.Since(n.asked) < genesisAge
	n.mu.Unlock()
	if known {
		return nil
	}
	if err := n.askGenesis(ctx, c.timeout); err != nil {
		return err
	}
	if got := n.cluster(); got != want {
		return fmt.Errorf("%w: %s has the genesis hash %s, this is about %s; correct --url, then start again",
			ErrWrongCluster, n.ep.RPC, got, want)
	}
	return nil
}

// askAgain has every endpoint asked for its cluster before its next use: a connection may have ended because the node
// was started again, as one of another cluster.
func (c *Client) askAgain() {
	for _, n := range c.nodes {
		n.mu.Lock()
		n.asked = time.Time{}
		n.mu.Unlock()
	}
}

// askGenesis asks the node which cluster it belongs to.
func (n *node) askGenesis(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var h solana.Hash
	if err := rawCall(ctx, n.rpc, &h, "getGenesisHash"); err != nil {
		err, _ = convert("getGenesisHash", err)
		return err
	}
	if h.IsZero() {
		return fmt.Errorf("%w: %s does not say which cluster it belongs to", ErrWrongCluster, n.ep.RPC)
	}
	n.mu.Lock()
	n.genesis, n.asked = h, time.Now()
	n.mu.Unlock()
	return nil
}

// cluster is the genesis hash that the node named last.
func (n *node) cluster() solana.Hash {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.genesis
}

// foreign joins the endpoints that were refused because they belong to another cluster.
func (c *Client) foreign() error {
	var said []string
	for _, h := range c.Health() {
		if errors.Is(h.LastErr, ErrWrongCluster) {
			said = append(said, strings.TrimPrefix(h.LastErr.Error(), ErrWrongCluster.Error()+": "))
		}
	}
	if len(said) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrWrongCluster, strings.Join(said, "; "))
}
