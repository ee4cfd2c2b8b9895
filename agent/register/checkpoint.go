package register

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// ErrNoLease: the machine has no such running lease.
var ErrNoLease = errors.New("this machine has no such running lease")

// Checkpoint records the sha256 of a checkpoint of a running lease's job: should the machine fail, the next one tells
// the job this hash. The machine's key signs. Errors: ErrNoLease, *market.Error.
func (c *Commands) Checkpoint(ctx context.Context, lease solana.PublicKey, hash [32]byte) error {
	if err := c.resume(ctx); err != nil {
		return err
	}
	l, err := c.running(ctx, lease)
	if err != nil {
		return err
	}
	instruction, err := ix.LeaseCheckpoint(l, hash)
	if err != nil {
		return err
	}
	sig, err := c.submit(ctx, "lease_checkpoint", c.o.NodeKey, instruction)
	if err != nil {
		return err
	}
	c.progress("checkpoint %x of lease %s recorded   tx %s", hash[:4], lease, sig)
	return nil
}

// running is a lease that this machine runs. Errors: ErrNoLease, those of the endpoint.
func (c *Commands) running(ctx context.Context, lease solana.PublicKey) (market.Lease, error) {
	l, ok, err := query.Find[market.Lease](ctx, c.o.Chain, lease, level)
	switch {
	case err != nil:
		return l, err
	case !ok || l.NodeKey != c.o.NodeKey:
		return l, fmt.Errorf("%w: %s", ErrNoLease, lease)
	case l.State() != market.LeaseRunning:
		return l, fmt.Errorf("%w: %s is %s", ErrNoLease, lease, l.State())
	}
	return l, nil
}
