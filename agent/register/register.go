// Package register brings a machine into the market, keeps its ask and status, and takes it out again.
//
// Every command reads the chain first and does only what is missing, so that it may be repeated after any interruption.
// What was signed before the interruption is in the transaction store; a command waits for it before it reads the
// chain.
package register

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/txm"
)

var (
	// ErrNoSOL: the wallet cannot pay rent and fees.
	ErrNoSOL = errors.New("not enough SOL")
	// ErrNoStake: the wallet has too few stake tokens.
	ErrNoStake = errors.New("not enough stake tokens")
	// ErrStakeTooLow: the named stake does not cover the machine.
	ErrStakeTooLow = errors.New("the stake is too low")
	// ErrDeviceClaimed: a GPU of this machine is registered with another node.
	ErrDeviceClaimed = errors.New("a GPU of this machine is registered already")
	// ErrNotRegistered: the market has no such node.
	ErrNotRegistered = errors.New("this machine is not registered")
	// ErrOtherDevices: the node is registered with other GPUs than the machine has.
	ErrOtherDevices = errors.New("the node is registered with other GPUs")
)

// Options of New. Those of the plan and Txm are required.
type Options struct {
	PlanOptions
	Txm *txm.Manager
	// Progress gets one line for each thing that is done; may be nil.
	Progress func(format string, args ...any)
}

// Commands sends a provider's transactions.
type Commands struct {
	*Planner
	txm      *txm.Manager
	progress func(format string, args ...any)
}

// New checks the options.
func New(o Options) (*Commands, error) {
	if o.Txm == nil {
		return nil, errors.New("register: a transaction manager is required")
	}
	p, err := NewPlanner(o.PlanOptions)
	if err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	return &Commands{Planner: p, txm: o.Txm, progress: o.Progress}, nil
}

// level is what these commands wait for.
const level = chain.Confirmed

// pendingTime is how long transactions of an interrupted command are waited for.
const pendingTime = 90 * time.Second

// resume waits for what an interrupted command left in flight. What is confirmed already is visible to what follows and
// needs no wait.
func (c *Commands) resume(ctx context.Context) error {
	open := map[string]bool{}
	_, err := c.txm.Resume(func(r txm.Entry) txm.ReadBack {
		if r.State != txm.StateConfirmed {
			open[r.ID] = true
		}
		return nil
	})
	if err != nil || len(open) == 0 {
		return err
	}
	c.progress("an interrupted command left %d transaction(s) in flight; waiting for them", len(open))
	ctx, cancel := context.WithTimeout(ctx, pendingTime)
	defer cancel()
	for id := range open {
		// A refusal had no effect, so that the state on chain is what counts from here on.
		if _, err := c.txm.Wait(ctx, id, level); ctx.Err() != nil {
			return fmt.Errorf("transaction %s of an interrupted command: %w", id, errors.Join(ctx.Err(), err))
		}
	}
	return nil
}

// submit sends one step under a new id: the command has read what was there before, and resume has waited for the rest.
func (c *Commands) submit(ctx context.Context, kind string, payer solana.PublicKey, ixs ...solana.Instruction) (solana.Signature, error) {
	res, err := c.txm.Submit(ctx, txm.Intent{
		ID: fmt.Sprintf("%s/%s/%d", kind, c.o.NodeKey, time.Now().UnixNano()), Kind: kind,
		Instructions: ixs, Payer: payer, Commitment: level,
	})
	if err != nil {
		if errors.Is(err, txm.ErrNoFunds) {
			return res.Signature, fmt.Errorf("%s: %w for the fee: send some to %s", kind, ErrNoSOL, payer)
		}
		return res.Signature, fmt.Errorf("%s: %w", kind, market.Explain(err))
	}
	return res.Signature, nil
}

// node finds the machine's node account: that of the wallet's provider, or if there is no wallet, the one registered
// with the machine's key. Error: ErrNotRegistered.
func (c *Commands) node(ctx context.Context) (market.Node, error) {
	if !c.o.Wallet.IsZero() {
		address := market.NodeAddress(market.ProviderAddress(c.o.Wallet), c.o.NodeKey)
		n, ok, err := query.Find[market.Node](ctx, c.o.Chain, address, level)
		if err != nil || ok {
			return n, err
		}
	}
	nodes, err := NodesByKey(ctx, c.o.Chain, c.o.NodeKey)
	if err != nil {
		return market.Node{}, err
	}
	switch len(nodes) {
	case 0:
		return market.Node{}, fmt.Errorf("%w with key %s; run gantry-agent register first", ErrNotRegistered, c.o.NodeKey)
	case 1:
		return nodes[0], nil
	}
	return market.Node{}, fmt.Errorf("%w: %d providers have registered this machine's key; name one with --keypair", ErrNotRegistered, len(nodes))
}

// NodesByKey reads the node accounts that are registered with a machine's key.
func NodesByKey(ctx context.Context, c *chain.Client, key solana.PublicKey) ([]market.Node, error) {
	return query.Select[market.Node](ctx, c, query.NodesWithKey(key), level)
}
