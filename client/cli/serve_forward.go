package cli

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

const (
	// startedWithin is how long a container may take to begin after its lease has, for which a request waits.
	startedWithin = 20 * time.Second
	startedAgain  = 500 * time.Millisecond
)

// await finds the way into the container, which begins a moment after its lease.
func (f *forwarder) await(ctx context.Context) error {
	late := time.Now().Add(startedWithin)
	for {
		_, err := f.session()
		if err == nil || service.Classify(err).Code != service.CodeRefused || time.Now().After(late) {
			return err
		}
		t := time.NewTimer(startedAgain)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
}

// Forward implements serve.Forwarder: gantry port in a session of its own, until the lease is over.
func (b *buyer) Forward(ctx context.Context, lease solana.PublicKey, port uint16) (endpoint string, ended <-chan struct{}, err error) {
	ctx, cancel := context.WithCancel(ctx)
	ss := b.s.fork(ctx)
	fail := func(err error) (string, <-chan struct{}, error) {
		cancel()
		ss.close()
		return "", nil, err
	}
	c, err := ss.container(lease.String())
	if err != nil {
		return fail(err)
	}
	f := &forwarder{c: c, port: port}
	if err := f.await(ctx); err != nil {
		return fail(err)
	}
	live, err := ss.live(view.With(nil, lease))
	if err != nil {
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
		_ = live.WaitFor(ctx, func(v *view.View) bool {
			cur, ok := v.Lease(lease)
			return !ok || cur.State() != market.LeaseRunning
		})
		cancel()
		_ = l.Close()
	})
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				cancel()
				return
			}
			wg.Go(func() {
				if err := f.serve(ctx, conn); err != nil {
					b.s.log.Info().Err(err).Str("lease", lease.String()).Uint16("port", port).Msg("a forwarded connection is refused")
				}
			})
		}
	})
	go func() {
		defer close(done)
		wg.Wait()
		ss.close()
	}()
	return l.Addr().String(), done, nil
}

// publicNames are the addresses that gateways have given to ports of an order of the server's customer.
func (s *session) publicNames(order solana.PublicKey) (map[uint16]string, error) {
	f, err := s.grantsOf(s.actsFor)
	if err != nil {
		return nil, err
	}
	return f.Published(order, s.service.Clock.Latest(s.ctx))
}

// publish keeps the names that a gateway has given to a lease, for the server's page.
func (s *session) publish(l market.Lease, n purchase.Names) error {
	f, err := s.grantsOf(l.Customer)
	if err != nil {
		return err
	}
	return f.Publish(l.Order, n)
}
