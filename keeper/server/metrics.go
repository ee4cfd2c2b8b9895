package server

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Metrics are a keeper's figures. It implements consensus.Observer.
type Metrics struct {
	Registry *prometheus.Registry

	collectors []prometheus.Collector // of the keeper itself

	checks     *prometheus.CounterVec
	skipped    prometheus.Counter
	duties     *prometheus.GaugeVec
	latency    *prometheus.HistogramVec
	statements *prometheus.CounterVec
	rejected   prometheus.Counter
	proposals  prometheus.Counter
	refusals   prometheus.Counter
	votes      *prometheus.CounterVec
	finals     prometheus.Counter
	finalLag   prometheus.Histogram
	lastFinal  prometheus.Gauge
	cranked    *prometheus.CounterVec
	crankTook  *prometheus.HistogramVec
	crankLag   *prometheus.HistogramVec
	awards     *prometheus.CounterVec
	awardLag   prometheus.Histogram
	units      *prometheus.HistogramVec
	fees       prometheus.Counter
}

// Gauge is a figure that is read when metrics are asked for.
type Gauge struct {
	Name string // without the namespace
	Help string
	Read func() float64
}

// NewMetrics registers all figures, and the gauges of the components that have them.
func NewMetrics(gauges ...Gauge) *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		checks:   counter("checks_total", "Checks of nodes, by kind and result.", "kind", "result"),
		skipped:  counter("checks_skipped_total", "Checks that the keeper left out because too many were due.").WithLabelValues(),
		duties: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "nodes_watched", Help: "Nodes that this keeper watches in the running period: as a member of their committee, and all.",
		}, []string{"duty"}),
		latency:    histogram("check_seconds", "Time until a node answered.", prometheus.ExponentialBuckets(0.001, 2, 13), "kind"),
		statements: counter("statements_total", "Signed statements, by source: own, or of peers.", "source"),
		rejected:   counter("statements_rejected_total", "Messages of peers with an invalid statement, manifest or proof.").WithLabelValues(),
		proposals:  counter("proposals_total", "Proposals that this keeper made.").WithLabelValues(),
		refusals:   counter("proposals_refused_total", "Proposals of other keepers that were not acceptable.").WithLabelValues(),
		votes:      counter("votes_total", "Votes sent, by result.", "result"),
		finals:     counter("reports_final_total", "Reports that became final.").WithLabelValues(),
		finalLag:   hist("report_final_lag_seconds", "Time between the end of a period and its report becoming final.", prometheus.ExponentialBuckets(1, 2, 12)),
		lastFinal:  gauge("last_final_period", "Newest period whose report is final."),
		cranked:    counter("crank_actions_total", "Crank actions sent, by kind and outcome.", "kind", "outcome"),
		crankTook:  histogram("crank_seconds", "Time until a crank transaction was confirmed.", prometheus.ExponentialBuckets(0.01, 2, 12), "kind"),
		crankLag:   histogram("crank_lag_seconds", "How long a crank action was due until some keeper had done it.", prometheus.ExponentialBuckets(0.05, 1.5, 24), "kind"),
		awards:     counter("awards_total", "Nodes awarded, by result.", "result"),
		awardLag:   hist("award_lag_seconds", "Time between an order, or the end of its reveals, and its award.", prometheus.ExponentialBuckets(0.05, 2, 12)),
		units:      histogram("transaction_compute_units", "Compute units of confirmed transactions.", prometheus.ExponentialBuckets(1000, 2, 11), "kind"),
		fees:       counter("transaction_fees_lamports_total", "Fees that the keeper paid, in lamports.").WithLabelValues(),
	}
	for _, g := range gauges {
		m.collectors = append(m.collectors, g.collector())
	}
	m.collectors = append(m.collectors, m.checks, m.skipped, m.duties, m.latency, m.statements, m.rejected, m.proposals, m.refusals, m.votes,
		m.finals, m.finalLag, m.lastFinal, m.cranked, m.crankTook, m.crankLag, m.awards, m.awardLag, m.units, m.fees)
	m.Registry.MustRegister(m.collectors...)
	m.Registry.MustRegister(ofProcess()...)
	return m
}

// NewStandby has the figures of a keeper that stands by: of its process, and the given ones.
func NewStandby(gauges ...Gauge) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(ofProcess()...)
	for _, g := range gauges {
		r.MustRegister(g.collector())
	}
	return r
}

func ofProcess() []prometheus.Collector {
	return []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
}

func (g Gauge) collector() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: g.Name, Help: g.Help}, g.Read)
}

// Names lists the figures of the keeper, with the namespace.
func (m *Metrics) Names() []string {
	var names []string
	for _, c := range m.collectors {
		descriptions := make(chan *prometheus.Desc, 1)
		c.Describe(descriptions)
		name := strings.TrimPrefix((<-descriptions).String(), `Desc{fqName: "`)
		names = append(names, name[:strings.IndexByte(name, '"')])
	}
	return names
}

const namespace = "gantry_keeper"

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

func hist(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

// Check counts one check of a node.
func (m *Metrics) Check(kind records.CheckKind, passed bool, latency time.Duration) {
	m.checks.WithLabelValues(kind.String(), passedLabel(passed)).Inc()
	m.latency.WithLabelValues(kind.String()).Observe(latency.Seconds())
}

// Skipped counts checks for which there was no room.
func (m *Metrics) Skipped(n int) { m.skipped.Add(float64(n)) }

// Duties shows how many nodes are watched in a period.
func (m *Metrics) Duties(member, watched int) {
	m.duties.WithLabelValues("committee").Set(float64(member))
	m.duties.WithLabelValues("all").Set(float64(watched))
}

func passedLabel(passed bool) string {
	if passed {
		return "passed"
	}
	return "failed"
}

// Statements counts statements that were signed here (own) or came in.
func (m *Metrics) Statements(own bool, n int) {
	source := "peers"
	if own {
		source = "own"
	}
	m.statements.WithLabelValues(source).Add(float64(n))
}

// Rejected counts a message with an unsound statement.
func (m *Metrics) Rejected() { m.rejected.Inc() }

// Proposed implements consensus.Observer.
func (m *Metrics) Proposed(uint64) { m.proposals.Inc() }

// Refused implements consensus.Observer.
func (m *Metrics) Refused(uint64, error) { m.refusals.Inc() }

// Voted implements consensus.Observer.
func (m *Metrics) Voted(_ uint64, err error) { m.votes.WithLabelValues(outcome(err)).Inc() }

// Final implements consensus.Observer.
func (m *Metrics) Final(period uint64, lag time.Duration) {
	m.finals.Inc()
	m.finalLag.Observe(lag.Seconds())
	m.lastFinal.Set(float64(period))
}

// Cranked counts actions of one transaction.
func (m *Metrics) Cranked(kind crank.Kind, actions int, result string, took time.Duration) {
	m.cranked.WithLabelValues(string(kind), result).Add(float64(actions))
	m.crankTook.WithLabelValues(string(kind)).Observe(took.Seconds())
}

// CrankLag observes how long something was due.
func (m *Metrics) CrankLag(kind crank.Kind, lag time.Duration) {
	m.crankLag.WithLabelValues(string(kind)).Observe(lag.Seconds())
}

// Awarded counts nodes of one award.
func (m *Metrics) Awarded(nodes int, lag time.Duration, err error) {
	m.awards.WithLabelValues(outcome(err)).Add(float64(nodes))
	if err == nil {
		m.awardLag.Observe(lag.Seconds())
	}
}

// Landed counts a transaction in a block.
func (m *Metrics) Landed(l txm.Landed) {
	m.units.WithLabelValues(l.Kind).Observe(float64(l.Units))
	m.fees.Add(float64(l.Fee))
}

func outcome(err error) string {
	if err != nil {
		return "failed"
	}
	return "done"
}
