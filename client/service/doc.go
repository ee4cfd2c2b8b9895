// Package service is what Gantry's interfaces read: offers, leases and the market, and failures with their advice. The
// command line, the HTTP API and the tools for language models answer with the same documents and the same errors. What
// they buy they buy with client/buy.
package service
