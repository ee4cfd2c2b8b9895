package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
)

// pageCredits is what the customer of the page can spend, USDC.
const pageCredits = "25"

func upCommand() *cli.Command {
	return &cli.Command{
		Name:  "up",
		Usage: "start a market and keep it running until Ctrl-C",
		Flags: []cli.Flag{
			engineFlag(), stateFlag(), verboseFlag(),
			&cli.IntFlag{Name: "keepers", Value: 3, Usage: "number of keepers"},
			&cli.IntFlag{Name: "agents", Value: 3, Usage: "number of machines with simulated GPUs"},
			&cli.IntFlag{Name: "customers", Value: 2, Usage: "number of funded customers"},
		},
		Action: up,
	}
}

// personRates is how long keepers leave an ended lease open, seconds: a person reads what it cost before its rating is given.
const personRates = 600

func up(c *cli.Context) (err error) {
	kind, err := chosenEngine(c)
	if err != nil {
		return err
	}
	dir, err := stateDir(c, "gantry-localnet")
	if err != nil {
		return err
	}
	if c.Int("keepers") < 1 || c.Int("agents") < 0 || c.Int("customers") < 0 {
		return cli.Exit("at least one keeper is needed, and no count can be negative", usageError)
	}
	started := time.Now()
	fmt.Fprintf(c.App.ErrWriter, "starting %s (some seconds)\n", kind)
	params := seed.Params()
	params.RatingSecs = personRates
	n, err := network.Start(c.Context, network.Config{
		Engine: kind, Dir: dir, Keepers: c.Int("keepers"), Customers: c.Int("customers"), Params: &params,
		Nodes: network.DefaultNodes(c.Int("agents")), Log: logger(c),
	})
	if err != nil {
		return interruptedIsFine(c.Context, err)
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if err := n.Launch(c.Context); err != nil {
		return interruptedIsFine(c.Context, fmt.Errorf("%w (logs: %s/logs)", err, dir))
	}
	explorer, err := n.Chain.Explorer(c.Context)
	if err != nil {
		return interruptedIsFine(c.Context, err)
	}
	var served network.Served
	if len(n.Keys.Customers) > 0 {
		if served, err = n.StartServe(c.Context, n.Keys.Customers[0], pageCredits); err != nil {
			return interruptedIsFine(c.Context, err)
		}
	}
	describe(c.App.Writer, n.State(), dir, explorer)
	if len(n.Keys.Customers) > 1 {
		w := n.Keys.Customers[1]
		fmt.Fprintf(c.App.Writer, "  gantry --config %s serve --customer %s   # for a wallet without credits; it signs in on the page with %s\n", network.ConfigPath(dir), w.Address(), w.Path)
	}
	if served.Page != "" {
		fmt.Fprintf(c.App.Writer, "page      %s\n          signs one browser in within 15 minutes; then sign in with the development wallet's file %s\n          or with the token in %s\n", served.Page, n.Keys.Customers[0].Path, served.TokenFile)
	}
	fmt.Fprintf(c.App.Writer, "\nready after %.1f s. Ctrl-C stops everything.\n", time.Since(started).Seconds())
	select {
	case <-c.Context.Done():
		fmt.Fprintln(c.App.ErrWriter, "stopping")
		return nil
	case <-n.Done():
		return fmt.Errorf("the Solana node is gone; its log: %s", n.LogPath("node"))
	}
}

// interruptedIsFine drops an error that only says that the user pressed Ctrl-C.
func interruptedIsFine(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// describe prints what a person needs to use the network.
func describe(out io.Writer, s network.State, dir string, explorer chain.Explorer) {
	fmt.Fprintf(out, "engine    %s\nrpc       %s\nws        %s\nprogram   %s\nmints     USDC %s   GNT %s\nstate     %s\n",
		s.Engine, s.RPC, s.WS, s.Program, s.PaymentMint, s.StakeMint, dir)
	fmt.Fprintf(out, "explorer  %s\n", explorer.Address(s.Program))
	members(out, "keepers", s.Keepers)
	members(out, "nodes", s.Nodes)
	members(out, "providers", s.Providers)
	members(out, "customers", s.Customers)
	if len(s.Customers) == 0 {
		return
	}
	config := network.ConfigPath(dir)
	fmt.Fprintf(out, `
try
  alias g='gantry --config %s'   # the first customer; others with --keypair
  g credits add 50
  g search 'gpu=A100'
  g deploy --gpu A100 --max-price 1.60 --minutes 10 --allow-simulated --job -- sh -c 'echo hello; sleep 10'
  g leases
or keep its settings as a context; then gantry alone is for this market
  gantry context set local --rpc-url %s --ws-url %s --keypair %s && gantry context use local
`, config, s.RPC, s.WS, s.Customers[0].Keypair)
}

func members(out io.Writer, title string, list []network.Member) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(out, title)
	for _, m := range list {
		fmt.Fprintf(out, "  %-12s %-44s  %s\n", m.Name, m.Address, m.Detail)
		if m.Log != "" {
			fmt.Fprintf(out, "  %-12s log %s\n", "", m.Log)
		} else {
			fmt.Fprintf(out, "  %-12s key %s\n", "", m.Keypair)
		}
	}
}
