// Package buy buys compute. It places an order, waits for the award, measures the machine and hands the job over. Then
// it attends the lease with receipts and moves. It stores each step first, so a process that is killed does not buy
// twice.
//
// A [Request] describes what is wanted. [Buyer.Buy] carries the request out until its end and reports each step as an
// [Event]:
//
//	b, err := buy.New(ctx, buy.Options{Client: client, Key: key})
//	outcome, err := b.Buy(ctx, buy.Request{GPU: "A100", Seconds: 3600, Image: "debian:12"})
//
// The package reads no flags and prints nothing. Its errors are a [service.Failure] where somebody can do something
// about them. Their advice names commands and flags of gantry, as in client/service. The command line, the HTTP API,
// the tools for language models and model serving all buy with this package.
package buy
