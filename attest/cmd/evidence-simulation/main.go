// Command evidence-simulation prints how often and how soon evidence finds out machines that are not what they claim,
// as a Markdown table: see package simulate.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/gantry-market/gantry/attest/simulate"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "evidence-simulation:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := simulate.Defaults()
	flag.Uint64Var(&o.Seed, "seed", o.Seed, "what all draws follow from")
	flag.IntVar(&o.Machines, "machines", o.Machines, "machines of each kind")
	flag.IntVar(&o.Challenges, "challenges", o.Challenges, "challenges of each machine at most")
	flag.Parse()
	if o.Machines < 1 || o.Challenges < 1 || flag.NArg() != 0 {
		return fmt.Errorf("machines and challenges must be positive, and there are no other arguments")
	}
	scenarios, err := simulate.Scenarios(time.Now())
	if err != nil {
		return err
	}
	rows, err := simulate.Run(ctx, o, scenarios)
	if err != nil {
		return err
	}
	fmt.Printf("Seed %d, %d machines of each kind, a challenge every %v.\n\n", o.Seed, o.Machines, o.Every)
	return simulate.Table(os.Stdout, o, rows)
}
