package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

func fundCommand() *cli.Command {
	return &cli.Command{
		Name: "fund", Usage: "give a wallet SOL, test USDC and stake tokens of a running market", ArgsUsage: "ADDRESS|KEYPAIR",
		Description: "For a wallet of your own: a customer needs USDC, a provider stake tokens, and each some SOL for fees. Make one with\n" +
			"gantry key new. What is given has no value outside of this network.",
		Flags: []cli.Flag{
			stateFlag(),
			&cli.StringFlag{Name: "sol", Value: "10"},
			&cli.StringFlag{Name: "usdc", Value: "1000", Usage: "`USDC`"},
			&cli.StringFlag{Name: "gnt", Value: "1000", Usage: "stake tokens, `GNT`"},
		},
		Action: fund,
	}
}

func fund(c *cli.Context) error {
	if c.NArg() != 1 {
		return fmt.Errorf("ADDRESS is missing; write: gantry-localnet fund ADDRESS, or the path of a keypair file")
	}
	to, err := solana.PublicKeyFromBase58(c.Args().First())
	if err != nil {
		key, kerr := chain.LoadKeypair(c.Args().First())
		if kerr != nil {
			return fmt.Errorf("%q is neither an address nor a keypair file: %w", c.Args().First(), kerr)
		}
		to = key.PublicKey()
	}
	sol, err := chain.ParseSOL(c.String("sol"))
	if err != nil {
		return fmt.Errorf("--sol: %w", err)
	}
	usdc, err := market.ParseUSDC(c.String("usdc"))
	if err != nil {
		return fmt.Errorf("--usdc: %w", err)
	}
	gnt, err := market.ParseGNT(c.String("gnt"))
	if err != nil {
		return fmt.Errorf("--gnt: %w", err)
	}
	dir, err := stateDir(c, "gantry-localnet")
	if err != nil {
		return err
	}
	s, err := network.ReadState(dir)
	if err != nil {
		return err
	}
	keys, err := seed.OpenKeys(filepath.Join(dir, "keys"), seed.Counts{})
	if err != nil {
		return err
	}
	client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.RPC, WS: s.WS}}, Timeout: 10 * time.Second})
	if err != nil {
		return err
	}
	defer client.Close()
	if err := seed.Fund(c.Context, seed.Sender{Chain: client}, keys, to, sol, uint64(usdc), uint64(gnt)); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "%s has %s SOL, %s USDC and %s GNT more\n", to, c.String("sol"), usdc, gnt)
	return nil
}
