package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/txm"
)

// extensionsKept is how long the key of an extension stands for it.
const extensionsKept = 365 * 24 * time.Hour

// extender extends leases over HTTP. A key is a transaction of the manager's store, which sends it once.
type extender struct {
	buyer
	m *txm.Manager
}

// Extend implements serve.Extender.
func (x *extender) Extend(ctx context.Context, key string, lease solana.PublicKey, seconds uint32) (service.Lease, error) {
	if _, err := x.s.service.Lease(ctx, x.s.actsFor, lease); err != nil {
		return service.Lease{}, err
	}
	ss, _, err := x.session(ctx, &cli.Command{Name: "extend", Flags: asSession()}, nil, nil)
	if err != nil {
		return service.Lease{}, err
	}
	defer ss.close()
	v, l, err := ss.ownLease(ss.snapshot, lease.String())
	if err != nil {
		return service.Lease{}, err
	}
	by, err := ss.authority()
	if err != nil {
		return service.Lease{}, err
	}
	instruction, err := ix.LeaseExtend(ix.LeaseExtendArgs{Lease: l, Authority: by, Seconds: seconds})
	if err != nil {
		return service.Lease{}, err
	}
	in := txm.Intent{ID: "lease_extend-" + key, Kind: "lease_extend", Instructions: []solana.Instruction{instruction}}
	if _, err := x.m.Get(in.ID); errors.Is(err, txm.ErrUnknownIntent) {
		if err := ss.mayExtend(&l, seconds); err != nil {
			return service.Lease{}, err
		}
	}
	tx, err := ss.submit(x.m, in)
	if errors.Is(err, txm.ErrMismatch) {
		return service.Lease{}, refused(fmt.Sprintf("the key %q stands for another extension", key), "choose another Idempotency-Key")
	}
	if err != nil {
		return service.Lease{}, err
	}
	if l, err = query.Fetch[market.Lease](ctx, ss.client, lease, ss.waitLevel()); err != nil {
		return service.Lease{}, err
	}
	now, err := ss.now()
	out := service.DescribeLease(v, &l, now)
	out.Tx = &tx
	return out, err
}

// mayExtend says why a lease cannot have more time, before anything is sent.
func (s *session) mayExtend(l *market.Lease, seconds uint32) error {
	if l.State() != market.LeaseRunning {
		return refused(fmt.Sprintf("lease %s is %s; only one that runs is extended", l.Address, l.State()), "order anew")
	}
	cost, err := l.Owed(seconds)
	if err != nil {
		return usage("the cost of that time overflows", "set less time")
	}
	c, _, err := s.credits(l.Customer)
	if err != nil {
		return err
	}
	if c.Free() < cost {
		return refused(fmt.Sprintf("extension refused: %s USDC needed, %s free%s", cost, c.Free(), reservedBy(c)),
			fmt.Sprintf("add %s with: gantry credits add %s      or give less time", cost-c.Free(), cost-c.Free()))
	}
	return nil
}
