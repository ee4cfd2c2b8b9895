// Package complete finds how a command line of gantry may go on, for shells: commands, flags, and the customer's own
// addresses, which the market is asked for. What does not answer in time is left out, and nothing is ever an error.
package complete
