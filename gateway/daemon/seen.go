package daemon

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/gantry-market/gantry/gateway/limit"
	"github.com/gantry-market/gantry/gateway/toll"
	"github.com/gantry-market/gantry/sdk/market"
)

const namespace = "gantry_gateway"

// seen are a gateway's figures.
type seen struct {
	registry *prometheus.Registry
	events   *prometheus.CounterVec
}

func newSeen(g *Gateway) *seen {
	s := &seen{
		registry: prometheus.NewRegistry(),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "events_total", Help: "What became of connections and requests, by side: tls or ssh.",
		}, []string{"side", "event"}),
	}
	gauge := func(name, help string, read func() float64) {
		s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, read))
	}
	count := func(r *limit.Room) func() float64 {
		return func() float64 { n, _ := r.Count(); return float64(n) }
	}
	gauge("tls_connections", "Open connections of TLS.", count(g.tlsRoom))
	gauge("ssh_connections", "Open connections of SSH.", count(g.sshRoom))
	gauge("leases", "Leases that are granted.", func() float64 { return float64(len(g.table.All())) })
	gauge("sessions", "Sessions with containers.", func() float64 { return float64(g.links.Count()) })
	gauge("strangers", "Connected peers of the market's network that no grant concerns.", func() float64 { n, _ := g.net.Strangers(); return float64(n) })
	gauge("certificate_expiry_timestamp_seconds", "When the certificate ends that ends first, of those that are needed; 0: there is none.", func() float64 {
		if ends, _ := g.cert.State(); !ends.IsZero() {
			return float64(ends.Unix())
		}
		return 0
	})
	gauge("certificates_missing", "Granted names without a certificate.", func() float64 { _, missing := g.cert.State(); return float64(missing) })
	if g.book != nil {
		s.paid(g.book)
	}
	s.registry.MustRegister(s.events, &bytesOf{g}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

// paid shows what the book has counted since the process began.
func (s *seen) paid(b *toll.Book) {
	count := func(name, help string, read func(toll.Counts) float64) {
		s.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, func() float64 { return read(b.Counts()) }))
	}
	count("free_bytes_total", "Bytes taken from allowances of leases, in chunks.", func(c toll.Counts) float64 { return float64(c.FreeBytes) })
	count("paid_bytes_total", "Bytes taken from what customers have paid, in chunks.", func(c toll.Counts) float64 { return float64(c.PaidBytes) })
	count("payments_total", "Payments that were counted.", func(c toll.Counts) float64 { return float64(c.Payments) })
	count("received_usdc_total", "What they have brought, USDC.", func(c toll.Counts) float64 { return float64(c.Received) / float64(market.OneUSDC) })
	count("payments_refused_total", "Payments that were refused.", func(c toll.Counts) float64 { return float64(c.Refused) })
	count("payment_lookups_total", "Transactions that were read on chain to check payments.", func(c toll.Counts) float64 { return float64(c.Lookups) })
}

func (s *seen) tls(what string) { s.events.WithLabelValues("tls", what).Inc() }
func (s *seen) ssh(what string) { s.events.WithLabelValues("ssh", what).Inc() }

// bytesOf shows the bytes of each lease: what an operator who asks for a price needs.
type bytesOf struct{ g *Gateway }

var bytesDesc = prometheus.NewDesc(namespace+"_relayed_bytes_total", "Bytes relayed for a lease since its grant came, from and to its container.", []string{"lease", "customer", "way"}, nil)

// Describe implements prometheus.Collector.
func (b *bytesOf) Describe(to chan<- *prometheus.Desc) { to <- bytesDesc }

// Collect implements prometheus.Collector.
func (b *bytesOf) Collect(to chan<- prometheus.Metric) {
	for _, e := range b.g.table.All() {
		for way, n := range map[string]uint64{"from": e.In.Load(), "to": e.Out.Load()} {
			to <- prometheus.MustNewConstMetric(bytesDesc, prometheus.CounterValue, float64(n), e.Lease().String(), e.Customer.String(), way)
		}
	}
}
