// Package server shows a keeper's state on a loopback address: /metrics for Prometheus, /healthz (the process works)
// and /readyz (it follows the chain and its votes count).
package server
