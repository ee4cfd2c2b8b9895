package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/dispute"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/socket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Use implements serve.Machines.
func (b *buyer) Use(ctx context.Context, lease solana.PublicKey, every time.Duration, take func(service.Use) error) error {
	w, err := b.to(ctx, lease)
	if err != nil {
		return err
	}
	defer w.stop()
	return container.Watch(ctx, w.remote, w.lease, b.Client.Now, every, take)
}

// Job implements serve.Machines.
func (a *Account) Job(ctx context.Context, lease solana.PublicKey) (service.Job, error) {
	w, err := a.to(ctx, lease)
	if err != nil {
		return service.Job{}, err
	}
	defer w.stop()
	status, err := w.remote.JobStatus(ctx, w.lease)
	if err != nil {
		return service.Job{}, err
	}
	return service.DescribeJob(&w.lease, status), nil
}

// Terminal implements serve.Machines.
func (b *buyer) Terminal(ctx context.Context, lease solana.PublicKey, t socket.Screen) error {
	client, end, err := b.login(ctx, lease, "")
	if err != nil {
		return err
	}
	defer end()
	return container.Shell(ctx, client, t)
}

// Exec implements serve.Machines.
func (b *buyer) Exec(ctx context.Context, lease solana.PublicKey, c socket.Command) (exitCode int, err error) {
	client, end, err := b.login(ctx, lease, "")
	if err != nil {
		return 0, err
	}
	defer end()
	err = container.Run(ctx, client, container.Quote(c.Args), container.Streams{In: c.In, Out: c.Out, Err: c.Err})
	if code, exited := container.ExitCode(err); exited {
		return code, nil
	}
	return 0, err
}

// Files implements serve.Machines.
func (b *buyer) Files(ctx context.Context, lease solana.PublicKey, do func(serve.Files) error) error {
	client, end, err := b.login(ctx, lease, "")
	if err != nil {
		return err
	}
	defer end()
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
	f, err := container.OpenFiles(client, serve.MaxFile)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // what was done is done
	return do(f)
}

// Complain implements serve.Machines.
func (b *buyer) Complain(ctx context.Context, lease solana.PublicKey, text []byte) (reached, all int, err error) {
	if _, err := b.Service.Lease(ctx, b.Customer, lease); err != nil {
		return 0, 0, err
	}
	d, err := query.Fetch[market.Dispute](ctx, b.Client, market.DisputeAddress(lease), b.Client.WaitLevel())
	if err != nil {
		return 0, 0, service.Refused(fmt.Sprintf("lease %s is not disputed, or its dispute is closed", lease), "open one first")
	}
	if hash := sha256.Sum256(text); d.EvidenceHash != hash {
		return 0, 0, service.Refused(fmt.Sprintf("the dispute names a complaint with sha256 %x, this text has %x", d.EvidenceHash, hash), "give the text with which it was opened")
	}
	v, err := b.Service.Snapshot(ctx, view.Only(view.Kinds(market.KindKeeper)))
	if err != nil {
		return 0, 0, err
	}
	r, err := b.dial(ctx, v)
	if err != nil {
		return 0, 0, err
	}
	reached, err = dispute.Complain(ctx, r.Net, v, lease, text, b.Log)
	return reached, len(v.Keepers()), err
}
