package serve

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// routeOther is the route of requests that no operation answers: refused ones, and paths that do not exist. A label for each such path
// would let strangers fill memory.
const routeOther = "other"

// What a purchase came to.
const (
	resultBought = "bought"
	resultFailed = "failed"
)

// Metrics are a server's figures for Prometheus.
type Metrics struct {
	Registry *prometheus.Registry

	requests  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	purchases *prometheus.CounterVec
	follows   atomic.Pointer[feed] // nil until the customer's accounts are followed
}

// NewMetrics are figures of one server.
func NewMetrics() *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gantry_serve_requests_total", Help: "Requests that were answered, by route and status.",
		}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gantry_serve_request_seconds", Help: "How long answers took. Streams last as long as their reader stays.",
			Buckets: []float64{.005, .025, .1, .25, 1, 2.5, 10, 60},
		}, []string{"route"}),
		purchases: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gantry_serve_purchases_total", Help: "Orders that have ended in leases, and those that have not.",
		}, []string{"result"}),
	}
	for _, result := range []string{resultBought, resultFailed} {
		m.purchases.WithLabelValues(result) // 0 before the first one
	}
	m.Registry.MustRegister(m.requests, m.seconds, m.purchases, account{m}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Ready lists what keeps the server from its work.
func (m *Metrics) Ready() []string {
	if m.follows.Load() == nil {
		return []string{"the customer's accounts have not been read yet"}
	}
	return nil
}

// follow shows the accounts of a feed.
func (m *Metrics) follow(f *feed) {
	if m != nil {
		m.follows.Store(f)
	}
}

// bought counts a purchase.
func (m *Metrics) bought(err error) {
	switch {
	case m == nil:
	case err != nil:
		m.purchases.WithLabelValues(resultFailed).Inc()
	default:
		m.purchases.WithLabelValues(resultBought).Inc()
	}
}

type routeKey struct{}

// counted counts requests and their answers.
func (m *Metrics) counted(next http.Handler) http.Handler {
	if m == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route, a, began := routeOther, &answer{ResponseWriter: w}, time.Now()
		defer func() {
			m.requests.WithLabelValues(methodOf(r), route, strconv.Itoa(a.status)).Inc()
			m.seconds.WithLabelValues(route).Observe(time.Since(began).Seconds())
		}()
		next.ServeHTTP(a, r.WithContext(context.WithValue(r.Context(), routeKey{}, &route)))
	})
}

// answers notes which route answers a request.
func answers(ctx context.Context, pattern string) {
	if route, counted := ctx.Value(routeKey{}).(*string); counted {
		*route = pattern[strings.Index(pattern, " ")+1:] // without its method
	}
}

// methodOf is a request's method; anybody can invent others.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return routeOther
}

// account shows the customer's accounts.
type account struct{ m *Metrics }

var (
	creditsDesc = prometheus.NewDesc("gantry_serve_credits_usdc", "The customer's credits: free, and reserved by open orders and leases.", []string{"part"}, nil)
	leasesDesc  = prometheus.NewDesc("gantry_serve_leases", "The customer's leases on chain, by status.", []string{"status"}, nil)
	gpusDesc    = prometheus.NewDesc("gantry_serve_gpus", "GPUs of leases that run.", nil, nil)
	hourlyDesc  = prometheus.NewDesc("gantry_serve_usdc_per_hour", "What leases that run cost an hour, with all of it verified.", nil, nil)
	ordersDesc  = prometheus.NewDesc("gantry_serve_open_orders", "Orders that wait for machines.", nil, nil)
)

// Describe implements prometheus.Collector.
func (account) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{creditsDesc, leasesDesc, gpusDesc, hourlyDesc, ordersDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector. A server that has not read the accounts yet has no such figures.
func (c account) Collect(to chan<- prometheus.Metric) {
	f := c.m.follows.Load()
	if f == nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	leases := map[market.LeaseStatus]int{market.LeaseAwarded: 0, market.LeaseRunning: 0}
	var gpus, open int
	var hourly, free, reserved float64
	f.v.Read(func(a *view.Accounts) {
		for _, l := range a.Leases {
			if l.Customer != f.s.o.Customer {
				continue
			}
			if leases[l.State()]++; l.State() == market.LeaseRunning {
				gpus += int(l.Gpus)
				hourly += float64(l.Price) * float64(l.Gpus) / float64(market.OneUSDC)
			}
		}
		for _, o := range a.Orders {
			if o.Customer == f.s.o.Customer && o.State() == market.OrderOpen {
				open++
			}
		}
		for _, x := range a.Credits {
			if x.Credits.Customer == f.s.o.Customer {
				reserved = float64(x.Reserved) / float64(market.OneUSDC)
				free = float64(x.Balance)/float64(market.OneUSDC) - reserved
			}
		}
	})
	for status, n := range leases {
		gauge(leasesDesc, float64(n), status.String())
	}
	gauge(gpusDesc, float64(gpus))
	gauge(hourlyDesc, hourly)
	gauge(ordersDesc, float64(open))
	gauge(creditsDesc, free, "free")
	gauge(creditsDesc, reserved, "reserved")
}
