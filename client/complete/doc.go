// Package complete knows the values that a command line of gantry may have: templates, contexts, and what the market is asked
// for: the customer's own leases and orders, nodes, and models of GPUs.
package complete
