package solanapay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/internal/wait"
)

// errEnded ends the server of a payment.
var errEnded = errors.New("ended")

// calledAs answers requests for a host, which a proxy may call by an address of loopback.
func calledAs(host string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Host
		if h, _, err := net.SplitHostPort(name); err == nil {
			name = h
		}
		if ip := net.ParseIP(strings.Trim(name, "[]")); !strings.EqualFold(name, host) && name != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this server is not "+host, http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Serve answers wallets, which call it host, until a payment is on chain or its time is over, and returns what it came to. seen is told once
// a wallet has fetched the payment, and of each time that the network does not answer.
func (s *Payments) Serve(ctx context.Context, l net.Listener, p Payment, host string, seen func(error)) (Payment, error) {
	srv := &http.Server{
		Handler: calledAs(host, s), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10,
	}
	last := p
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("server: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		return srv.Shutdown(stop)
	})
	g.Go(func() error {
		for last.State != Paid && last.State != Expired {
			if err := wait.For(ctx, time.Second); err != nil {
				return err
			}
			now, err := s.Look(ctx, p.ID)
			if err != nil {
				if ctx.Err() == nil {
					seen(err)
				}
				continue
			}
			if now.State != last.State && now.State == Fetched {
				seen(nil)
			}
			last = now
		}
		return errEnded
	})
	if err := g.Wait(); !errors.Is(err, errEnded) {
		return last, err
	}
	return last, nil
}
