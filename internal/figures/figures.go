// Package figures shows a daemon's state: /metrics for Prometheus, /healthz (the process works) and /readyz (it does what it is
// there for). It serves on loopback, or anywhere by TLS to users with a password.
package figures

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-market/gantry/internal/options"
)

// ErrNotLoopback: without TLS and users figures are for this machine only.
var ErrNotLoopback = errors.New("metrics address is not on this machine")

// ErrWebConfig: the web config file cannot be used.
var ErrWebConfig = errors.New("web config of the metrics")

// Check lists what is wrong; empty when nothing is.
type Check func() []string

// Server serves until its context ends.
type Server struct {
	listener  net.Listener
	http      *http.Server
	webConfig string
}

// Options of a Server; all but WebConfig are required.
type Options struct {
	// Addr is a loopback address such as 127.0.0.1:9464; port 0 takes any. It may be another where WebConfig has TLS and users.
	Addr string
	// WebConfig is a file as Prometheus's exporters take it, with TLS and passwords; empty for plain HTTP. It is read again when it
	// changes.
	WebConfig string
	Registry  *prometheus.Registry
	// Healthy lists what only a person can repair, Ready what keeps the daemon from taking part.
	Healthy, Ready Check
}

// New listens. Errors: options.ErrMissing, ErrNotLoopback, ErrWebConfig, those of listening.
func New(o Options) (*Server, error) {
	if err := options.Complete("metrics server", o, "WebConfig"); err != nil {
		return nil, err
	}
	addr := o.Addr
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("metrics address %q: %w; give one such as 127.0.0.1:9464", addr, err)
	}
	if err := web.Validate(o.WebConfig); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrWebConfig, o.WebConfig, err)
	}
	ip := net.ParseIP(host)
	public := host != "localhost" && (ip == nil || !ip.IsLoopback())
	if public {
		if err := protects(o.WebConfig); err != nil {
			return nil, fmt.Errorf("%w: %s: %w; give an address such as 127.0.0.1:9464, or a --web-config with tls_server_config and basic_auth_users", ErrNotLoopback, addr, err)
		}
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("metrics address %s: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", answer(o.Healthy))
	mux.HandleFunc("GET /readyz", answer(o.Ready))
	var handler http.Handler = mux
	if public {
		handler = protected(o.WebConfig, mux)
	}
	return &Server{l, &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}, o.WebConfig}, nil
}

// protects reports why a web config does not protect an address that others reach. Error: ErrWebConfig.
func protects(path string) error {
	if path == "" {
		return fmt.Errorf("%w: there is none", ErrWebConfig)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWebConfig, err)
	}
	var c web.Config
	if err := yaml.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrWebConfig, path, err)
	}
	switch {
	case !c.TLSConfig.IsEnabled():
		return fmt.Errorf("%w: %s has no TLS", ErrWebConfig, path)
	case len(c.Users) == 0:
		return fmt.Errorf("%w: %s has no users", ErrWebConfig, path)
	}
	return nil
}

// protected answers only while the file protects the address: it may have changed since the start.
func protected(path string, to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if protects(path) != nil {
			http.Error(w, "the web config does not protect this address any more", http.StatusInternalServerError)
			return
		}
		to.ServeHTTP(w, r)
	})
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
	defer s.listener.Close() // it is closed already, unless the web config was wrong
	if err := web.Serve(s.listener, s.http, &web.FlagConfig{WebConfigFile: &s.webConfig}, slog.New(slog.DiscardHandler)); !errors.Is(err, http.ErrServerClosed) {
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
