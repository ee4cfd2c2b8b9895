// Package metrics has an agent's figures for Prometheus, and those of its GPUs under the names of NVIDIA's dcgm-exporter, so
// that dashboards made for that one show them. Readings of simulated GPUs are labelled as such.
package metrics
