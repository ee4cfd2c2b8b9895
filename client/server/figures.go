package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/alert"
	"github.com/gantry-market/gantry/internal/figures"
)

// Figures says where Prometheus reads a server's figures; the zero value: nowhere.
type Figures struct {
	// Addr is on loopback, unless WebConfig, a file of Prometheus' exporters, has TLS and passwords.
	Addr, WebConfig string
}

// open listens, and has the server count. The server is nil without an address. Error: a service.Failure that names the flags.
func (f Figures) open(o *serve.Options) (*figures.Server, error) {
	if f.Addr == "" {
		if f.WebConfig != "" {
			return nil, service.Usage("--web-config is for the address of --metrics, which is not given", "such as --metrics 127.0.0.1:9466")
		}
		return nil, nil
	}
	o.Metrics = serve.NewMetrics()
	none := func() []string { return nil }
	ready := o.Metrics.Ready
	if o.Public { // it has no accounts
		ready = none
	}
	s, err := figures.New(figures.Options{
		Addr: f.Addr, WebConfig: f.WebConfig, Registry: o.Metrics.Registry, Healthy: none, Ready: ready,
	})
	if err != nil {
		return nil, service.Usage("--metrics: "+err.Error(), "how figures are read: docs/operate/monitoring.md")
	}
	return s, nil
}

// countNotices shows what became of notices for people.
func countNotices(to *prometheus.Registry, of *alert.Sender) {
	for outcome, read := range map[string]func(alert.Counts) uint64{
		"sent": func(c alert.Counts) uint64 { return c.Sent }, "failed": func(c alert.Counts) uint64 { return c.Failed }, "dropped": func(c alert.Counts) uint64 { return c.Dropped },
	} {
		to.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "gantry_serve_notices_total", Help: "Notices for people, by target and attempt: sent, failed attempts, dropped.",
			ConstLabels: prometheus.Labels{"outcome": outcome},
		}, func() float64 { return float64(read(of.Counts())) }))
	}
}

// runFigures shows figures beside a server until ctx ends.
func runFigures(ctx context.Context, g *errgroup.Group, f *figures.Server) {
	if f != nil {
		g.Go(func() error { return f.Run(ctx) })
	}
}
