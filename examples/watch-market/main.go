// Command watch-market follows a market and prints what changes: asks of nodes, orders, leases and what they were paid.
//
//	watch-market [--config FILE] [--once]
//
// It needs no key. The file is a Solana configuration (default: that of `solana config`); --once prints what is there
// and ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func main() {
	config := flag.String("config", "", "Solana configuration `FILE`")
	once := flag.Bool("once", false, "print what is there and end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := watch(ctx, *config, *once); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "watch-market:", err)
		os.Exit(1)
	}
}

func watch(ctx context.Context, config string, once bool) error {
	settings, err := chain.LoadCLIConfig(config)
	if err != nil {
		return err
	}
	client, err := chain.New(chain.Options{
		Endpoints:  []chain.Endpoint{{RPC: settings.RPCURL, WS: settings.WebsocketURL}},
		Commitment: settings.Commitment,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	// Load makes sure that the program is there and that this version understands its accounts.
	if _, err := query.Load(ctx, client, client.Commitment()); err != nil {
		return err
	}

	// A View holds every account of the market and follows the chain: a snapshot, then a subscription, with gaps
	// repaired.
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	v := view.New(view.Options{})
	go func() { done <- v.Run(ctx, view.Source{Client: client, Commitment: client.Commitment()}) }()
	defer func() { cancel(); <-done }()
	if err := v.Ready(ctx); err != nil {
		return err
	}
	fmt.Printf("%d nodes, %d orders, %d leases at slot %d\n", len(v.Nodes()), len(v.Orders()), len(v.Leases()), v.Slot())
	for _, n := range v.Nodes() {
		fmt.Printf("node  %s asks %s USDC per GPU-hour in %s\n", n.Address, n.Ask(), n.Region())
	}
	if once {
		return nil
	}

	// A Subscription is a queue of every change from now on; nothing is lost while we print.
	changes := v.Subscribe(false)
	defer changes.Close()
	for {
		change, err := changes.Next(ctx)
		if err != nil {
			return err
		}
		describe(change)
	}
}

// describe prints the changes that a reader of a market follows. An account that is not there is nil.
func describe(c view.Change) {
	switch after := c.After.(type) {
	case *market.Node:
		if before, ok := c.Before.(*market.Node); !ok || before.Price != after.Price || before.Status != after.Status {
			fmt.Printf("node  %s is %s and asks %s USDC per GPU-hour\n", c.Address, after.State(), after.Ask())
		}
	case *market.Order:
		if before, ok := c.Before.(*market.Order); !ok || before.Status != after.Status {
			fmt.Printf("order %s is %s: %d nodes, at most %s USDC per GPU-hour\n", c.Address, after.State(), after.NodesWanted, market.PricePerHour(after.MaxPrice))
		}
	case *market.Lease:
		if before, ok := c.Before.(*market.Lease); !ok || before.Status != after.Status || before.Paid != after.Paid {
			fmt.Printf("lease %s is %s: %s USDC paid for %d s\n", c.Address, after.State(), market.USDC(after.Paid), after.PaidSecs)
		}
	case nil: // closed: what it held went to whom it belonged
		if c.Kind == market.KindOrder || c.Kind == market.KindLease {
			fmt.Printf("%s %s is closed\n", c.Kind, c.Address)
		}
	}
}
