package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/daemon"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

func bidsCommand() *cli.Command {
	return &cli.Command{
		Name: "bids", Usage: "the machine's bids in sealed auctions: what became of each, and why",
		Flags: commonFlags(
			&cli.BoolFlag{Name: "json", Usage: "one JSON document with all signatures, as `gantry auction replay --acks` reads it"},
			&cli.StringFlag{Name: "order", Usage: "bids for `ORDER` only"},
		),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage(fmt.Errorf("bids takes no argument (got %q)", c.Args().First()))
			}
			cfg, err := settings(c)
			if err != nil {
				return err
			}
			bids, err := daemon.ReadBids(cfg.BidsPath())
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("no bids are known: the agent has not run with this data folder (%s)", cfg.DataDir)
			}
			if err != nil {
				return err
			}
			if order := c.String("order"); order != "" {
				bids = slices.DeleteFunc(bids, func(e sealedbid.BidHistory) bool { return e.Order != order })
			}
			if c.Bool("json") {
				e := json.NewEncoder(c.App.Writer)
				e.SetIndent("", "  ")
				return e.Encode(bids)
			}
			printBids(c.App.Writer, bids)
			return nil
		},
	}
}

func printBids(w io.Writer, bids []sealedbid.BidHistory) {
	if len(bids) == 0 {
		fmt.Fprintln(w, "no bids")
		return
	}
	for _, b := range bids {
		fmt.Fprintf(w, "%s  order %s  bid %s of at most %s USDC per GPU-hour\n", b.BidAt.Format(time.RFC3339), b.Order,
			market.PricePerHour(b.Price), market.PricePerHour(b.MaxPrice))
		commitments, reveals := 0, 0
		for _, a := range b.Acks {
			if a.Stage == 1 {
				commitments++
			} else {
				reveals++
			}
		}
		switch {
		case b.Outcome != nil:
			fmt.Fprintf(w, "    %s (signed by keeper %s)\n", b.Outcome.Detail, b.Outcome.Keeper)
		case b.Over:
			fmt.Fprintf(w, "    %s\n", b.Note)
		default:
			fmt.Fprintln(w, "    under way")
		}
		fmt.Fprintf(w, "    commitment acknowledged by %d keepers, reveal by %d\n", commitments, reveals)
		for _, r := range b.Refusals {
			fmt.Fprintf(w, "    keeper %s: %s\n", r.Keeper, r.Detail)
		}
	}
}
