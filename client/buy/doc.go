// Package buy buys compute: it places an order, waits for the award, measures the machine, hands the job over, attends
// the lease with receipts and moves, and stores each step first, so that a process that is killed buys nothing twice.
//
// A [Request] says what is wanted. [Buyer.Buy] carries it to its end and reports each step as an [Event]:
//
//	b, err := buy.New(ctx, buy.Options{Client: client, Key: key})
//	outcome, err := b.Buy(ctx, buy.Request{GPU: "A100", Seconds: 3600, Image: "debian:12"})
//
// The package reads no flags and prints nothing. Its errors are a [service.Failure] where somebody can do something
// about them; their advice names commands and flags of gantry, as those of client/service do. The command line, the
// HTTP API, the tools for language models and model serving all buy with this package.
package buy
