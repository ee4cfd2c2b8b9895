// Package cli is the gantry command: credits, search, deploy, leases, providers, nodes, keepers, the market itself, and
// audits. It prints for people on standard output and progress on standard error; with --json standard output holds
// exactly one JSON document.
package cli
