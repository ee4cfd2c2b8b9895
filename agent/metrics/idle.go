package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gantry-market/gantry/agent/idle"
)

// idleJob are the figures of the owner's own job, of machines that have one.
type idleJob struct {
	running, failures, seconds, starts, failed, stops *prometheus.Desc
}

func newIdleJob() idleJob {
	return idleJob{
		running:  describe("idle_running", "1 while the owner's idle job has GPUs. No series without such a job."),
		failures: describe("idle_failures", "Failures of the owner's idle job in a row."),
		seconds:  describe("idle_seconds_total", "Time for which the owner's idle job has run since the agent started."),
		starts:   describe("idle_starts_total", "Starts of the owner's idle job since the agent started."),
		failed:   describe("idle_failures_total", "Ends of the owner's idle job by itself, and starts that failed, since the agent started."),
		stops:    describe("idle_stops_total", "Stops of the owner's idle job by the agent since it started, by what the GPUs were needed for.", "why"),
	}
}

func (i idleJob) describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{i.running, i.failures, i.seconds, i.starts, i.failed, i.stops} {
		to <- d
	}
}

func (i idleJob) collect(to chan<- prometheus.Metric, s *idle.State) {
	if s == nil {
		return
	}
	to <- prometheus.MustNewConstMetric(i.running, prometheus.GaugeValue, truth(s.Runs()))
	to <- prometheus.MustNewConstMetric(i.failures, prometheus.GaugeValue, float64(s.Failures))
	to <- prometheus.MustNewConstMetric(i.seconds, prometheus.CounterValue, s.Ran.Seconds())
	to <- prometheus.MustNewConstMetric(i.starts, prometheus.CounterValue, float64(s.Starts))
	to <- prometheus.MustNewConstMetric(i.failed, prometheus.CounterValue, float64(s.Failed))
	for _, why := range idle.Reasons() {
		to <- prometheus.MustNewConstMetric(i.stops, prometheus.CounterValue, float64(s.Stops[why]), string(why))
	}
}
