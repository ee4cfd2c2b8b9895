package server

import (
	"context"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
)

// leaseOutput is the output of a lease's job.
type leaseOutput struct {
	way
	logs *service.Logs
}

// Output implements serve.Outputs.
func (a *Account) Output(ctx context.Context, lease solana.PublicKey) (serve.Output, error) {
	w, err := a.to(ctx, lease)
	if err != nil {
		return nil, err
	}
	return &leaseOutput{way: w, logs: w.remote.Logs()}, nil
}

// Read implements serve.Output.
func (o *leaseOutput) Read(ctx context.Context, offset uint64, take func(service.Output) error) (ended bool, err error) {
	_, ended, err = o.logs.Read(ctx, o.lease, offset, false, take)
	return ended, service.Unread(err)
}

// Follow implements serve.Output.
func (o *leaseOutput) Follow(ctx context.Context, offset uint64, take func(service.Output) error) error {
	return service.Unread(o.logs.Follow(ctx, o.lease, offset, take))
}

// Close implements serve.Output.
func (o *leaseOutput) Close() { o.stop() }
