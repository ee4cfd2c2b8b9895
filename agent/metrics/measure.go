package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gantry-market/gantry/sdk/messages"
)

// whys are the labels of why a measurement ends, or a keeper is refused. All are always shown, so that rates begin at 0.
var whys = []struct {
	why  messages.MeasureRefusal
	name string
}{
	{messages.MeasureLease, "lease"},
	{messages.MeasureBlock, "block"},
	{messages.MeasureOver, "over"},
	{messages.MeasureUnready, "unready"},
	{messages.MeasureFailed, "failed"},
	{messages.MeasureTooMany, "too_many"},
	{messages.MeasureJob, "job"},
}

// measurements are the figures of the node's measurements.
type measurements struct {
	committed, ended, refused, opened, share *prometheus.Desc
}

func newMeasurements() measurements {
	return measurements{
		committed: describe("measurements_committed_total", "Measurements whose commitment was signed since the agent started."),
		ended:     describe("measurements_ended_total", "Measurements since the agent started, by why they ended; over is the good end.", "why"),
		refused:   describe("measurement_refusals_total", "Answers that refuse a keeper a measurement or an opening, by why.", "why"),
		share:     describe("class_share_ratio", "What the weakest GPU reached of its class when keepers measured it last, at most 1; not there while the class asks for nothing."),
		opened:    describe("measurement_openings_total", "Openings of measurements that keepers were sent."),
	}
}

func (m measurements) describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.committed, m.ended, m.refused, m.opened, m.share} {
		to <- d
	}
}

func (m measurements) collect(to chan<- prometheus.Metric, s State) {
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	if s.Share != nil {
		to <- prometheus.MustNewConstMetric(m.share, prometheus.GaugeValue, *s.Share)
	}
	count(m.committed, s.Measured.Committed)
	count(m.opened, s.Measured.Opened)
	for _, w := range whys {
		count(m.ended, s.Measured.Ended[w.why], w.name)
		count(m.refused, s.Measured.Refused[w.why], w.name)
	}
}

// lastMeasured are the figures of the last measurement; 0 before the first.
func lastMeasured() []figure {
	return []figure{
		{describe("measurement_seconds", "How long the last measurement took until it was signed."), func(s State) float64 { return s.Measured.Last.Took.Seconds() }},
		{describe("measured_operations_per_second", "Int8 operations a second of the slowest GPU in the last measurement, by this machine's clock."), func(s State) float64 { return s.Measured.Last.Figures.Operations }},
		{describe("measured_memory_bytes", "Memory that each GPU had resident in the last measurement, the least of them."), func(s State) float64 { return float64(s.Measured.Last.Figures.Memory) }},
		{describe("measured_bandwidth_bytes_per_second", "Bandwidth of the slowest GPU in the last measurement, by this machine's clock."), func(s State) float64 { return s.Measured.Last.Figures.Bandwidth }},
	}
}
