// Command buy-compute buys compute with the purchase library: it deposits credits, orders a node, hands it a job,
// prints the job's output, signs receipts, and follows the lease to another machine if the first one fails.
//
//	buy-compute [--config FILE] [--gpu MODEL] [--max-price USDC] [--seconds N] -- COMMAND...
//
// Simulated GPUs are accepted, since this is meant for a local network.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

func main() {
	config := flag.String("config", "", "Solana configuration `FILE`, with the customer's keypair")
	r := buy.Request{RunToCompletion: true, Migrate: true, AllowSimulated: true}
	flag.StringVar(&r.GPU, "gpu", "A100", "GPU `MODEL`, or part of its name")
	flag.StringVar(&r.MaxPrice, "max-price", "2.00", "`USDC` per GPU-hour at most")
	flag.StringVar(&r.Name, "name", "", "`NAME` of the purchase: started again with it, a killed program continues")
	seconds := flag.Uint("seconds", 600, "time to reserve")
	flag.Parse()
	r.Seconds, r.Command = uint32(*seconds), flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *config, r); err != nil {
		fmt.Fprintln(os.Stderr, "buy-compute:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, config string, r buy.Request) error {
	settings, err := chain.LoadCLIConfig(config)
	if err != nil {
		return err
	}
	key, err := chain.LoadKeypair(settings.KeypairPath)
	if err != nil {
		return err
	}
	client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: settings.RPCURL, WS: settings.WebsocketURL}}})
	if err != nil {
		return err
	}
	defer client.Close()
	output := func(market.Lease, bool) io.Writer { return os.Stdout }
	b, err := buy.New(ctx, buy.Options{Client: client, Key: key, OnEvent: show, Output: output})
	if err != nil {
		return err
	}
	if _, err := b.AddCredits(ctx, market.OneUSDC); err != nil { // what the order does not use stays in the credits
		return err
	}
	outcome, err := b.Buy(ctx, r)
	if outcome != nil {
		fmt.Printf("stopped: %d leases of order %s; the rest of the reservation is free again\n", len(outcome.Leases), outcome.Order)
	}
	return err
}

// show prints the steps that a reader wants to see; there are more.
func show(e buy.Event) {
	switch e := e.(type) {
	case buy.Awarded:
		fmt.Printf("awarded: lease %s at %s USDC per GPU-hour\n", e.Lease.Address, market.PricePerHour(e.Lease.Price))
	case buy.ReceiptSigned:
		fmt.Printf("signed: %d s of lease %s\n", e.Seconds, e.Lease)
	case buy.Moved:
		fmt.Printf("moved: lease %s\n", e.Lease.Address)
	}
}
