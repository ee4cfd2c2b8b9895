package cli

import (
	"context"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// leaseOutput is the output of a lease's job, read by a session of its own.
type leaseOutput struct {
	s     *session
	lease market.Lease
	logs  *service.Logs
}

// Output implements serve.Outputs.
func (b *buyer) Output(ctx context.Context, lease solana.PublicKey) (_ serve.Output, err error) {
	if _, err := b.s.service.Lease(ctx, b.s.actsFor, lease); err != nil {
		return nil, err
	}
	ss := b.s.fork(ctx)
	defer func() {
		if err != nil {
			ss.close()
		}
	}()
	v, l, err := ss.ownLease(ss.live, lease.String(), query.Kind(market.KindKeeper))
	if err != nil {
		return nil, err
	}
	r, err := ss.dial(v)
	if err != nil {
		return nil, err
	}
	return &leaseOutput{s: ss, lease: l, logs: r.Logs()}, nil
}

// Read implements serve.Output.
func (o *leaseOutput) Read(ctx context.Context, offset uint64, take func(service.Output) error) (ended bool, err error) {
	_, ended, err = o.logs.Read(ctx, o.lease, offset, false, take)
	return ended, unread(err)
}

// Follow implements serve.Output.
func (o *leaseOutput) Follow(ctx context.Context, offset uint64, take func(service.Output) error) error {
	return unread(o.logs.Follow(ctx, o.lease, offset, take))
}

// Close implements serve.Output.
func (o *leaseOutput) Close() { o.s.close() }

// unread is why output cannot be read.
func unread(err error) error {
	if err == nil {
		return nil
	}
	return network(err.Error(), "the machine may be starting; try again", err)
}
