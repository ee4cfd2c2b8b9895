package server

import (
	"context"
	"net"
	"sync"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Forward implements serve.Forwarder, until the lease is over.
func (b *buyer) Forward(ctx context.Context, lease solana.PublicKey, port uint16) (endpoint string, ended <-chan struct{}, err error) {
	ctx, cancel := context.WithCancel(ctx)
	c, way, err := b.enter(ctx, lease)
	if err != nil {
		cancel()
		return "", nil, err
	}
	fail := func(err error) (string, <-chan struct{}, error) {
		cancel()
		way.stop()
		return "", nil, err
	}
	f := container.NewForwarder(c, port)
	if _, err := f.Connect(ctx); err != nil {
		return fail(err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fail(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // until the lease is over, or ctx ends
		_ = way.view.WaitFor(ctx, func(v *view.View) bool {
			cur, ok := v.Lease(lease)
			return !ok || cur.State() != market.LeaseRunning
		})
		cancel()
	})
	wg.Go(func() {
		_ = f.Accept(ctx, l, func(err error) { // it ends when ctx does
			b.Log.Info().Err(err).Str("lease", lease.String()).Uint16("port", port).Msg("a forwarded connection is refused")
		})
		cancel()
	})
	go func() {
		defer close(done)
		wg.Wait()
		way.stop()
	}()
	return l.Addr().String(), done, nil
}
