package register

import (
	"context"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// End ends a running lease, at once where its price fell because its award was unjust, or where its job was all that was
// ordered; otherwise it gives notice, and ends the lease when it is called again after it. The machine's key signs.
// Errors: ErrNoLease, *market.Error.
func (c *Commands) End(ctx context.Context, lease solana.PublicKey) error {
	if err := c.resume(ctx); err != nil {
		return err
	}
	l, err := c.running(ctx, lease)
	if err != nil {
		return err
	}
	instruction, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: c.o.NodeKey, Lease: l})
	if err != nil {
		return err
	}
	sig, err := c.submit(ctx, "lease_end", c.o.NodeKey, instruction)
	if err != nil {
		return err
	}
	what := "ended"
	if !l.Repriced() && l.RunToCompletion == 0 && l.NoticeAt == 0 {
		what = fmt.Sprintf("has notice of %s: call this again after it", market.Seconds(l.NoticeSecs))
	}
	c.progress("lease %s %s   tx %s", lease, what, sig)
	return nil
}
