// Package figures shows a daemon's state on a loopback address: /metrics for Prometheus, /healthz (the process works) and
// /readyz (it does what it is there for).
package figures

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gantry-market/gantry/internal/options"
)

// ErrNotLoopback: figures are for this machine only.
var ErrNotLoopback = errors.New("metrics address is not on this machine")

// Check lists what is wrong; empty when nothing is.
type Check func() []string

// Server serves until its context ends.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// Options of a Server; all are required.
type Options struct {
	// Addr is a loopback address such as 127.0.0.1:9464; port 0 takes any.
	Addr     string
	Registry *prometheus.Registry
	// Healthy lists what only a person can repair, Ready what keeps the daemon from taking part.
	Healthy, Ready Check
}

// New listens. Errors: options.ErrMissing, ErrNotLoopback, those of listening.
func New(o Options) (*Server, error) {
	if err := options.Complete("metrics server", o); err != nil {
		return nil, err
	}
	addr := o.Addr
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("metrics address %q: %w; give one such as 127.0.0.1:9464", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%w: %s; give one such as 127.0.0.1:9464", ErrNotLoopback, addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("metrics address %s: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", answer(o.Healthy))
	mux.HandleFunc("GET /readyz", answer(o.Ready))
	return &Server{l, &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute,
	}}, nil
}

// Addr is where it listens.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// WriteAddr writes where it listens to a file, for who gave port 0.
func (s *Server) WriteAddr(path string) error {
	if err := os.WriteFile(path, []byte(s.Addr()+"\n"), 0o600); err != nil {
		return fmt.Errorf("address of the metrics: %w", err)
	}
	return nil
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		sctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if s.http.Shutdown(sctx) != nil {
			_ = s.http.Close() // the process ends: no client waits for the answer any more
		}
	})
	defer stop()
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("metrics: %w", err)
	}
	return ctx.Err()
}

func answer(check Check) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if wrong := check(); len(wrong) > 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintln(w, strings.Join(wrong, "\n"))
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	}
}
