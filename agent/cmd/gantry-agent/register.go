package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/pricing"
	"github.com/gantry-market/gantry/agent/register"
	"github.com/gantry-market/gantry/sdk/browserwallet"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func registerCommand() *cli.Command {
	return &cli.Command{
		Name: "register", Usage: "register this machine: provider, stake, node, and a little SOL for the machine's key",
		Flags: commonFlags(append([]cli.Flag{
			walletFlag(), browserwallet.NewFlag(),
			&cli.StringFlag{Name: "stake", Usage: "the provider's whole stake in `GNT`; auto is what is needed", Value: "auto"},
			&cli.BoolFlag{Name: "over-claims", Usage: "register GPUs that another node claims without evidence; needs evidence of tier 2"},
			priceFlag("`USDC` per GPU-hour such as 1.26; auto follows the market, auto:FLOOR never below a floor"),
		}, machineFlags()...)...),
		Action: runRegister,
	}
}

func runRegister(c *cli.Context) error {
	if c.Args().Len() > 0 {
		return usage(fmt.Errorf("register takes no argument (got %q)", c.Args().First()))
	}
	join, policy, err := parseJoin(c)
	if err != nil {
		return err
	}
	s, err := open(c, true)
	if err != nil {
		return err
	}
	defer s.close()
	if policy == nil {
		if policy, err = pricing.Parse(s.cfg.Price); err != nil {
			return fmt.Errorf("--price: %w", err)
		}
	}
	if err := errors.Join(checkSimulated(c.Context, s.cfg, s.client), checkIsolation(c.Context, s.cfg, s.client)); err != nil {
		return err
	}
	m, err := openMachine(c.Context, s.cfg, s.nodeKey.PublicKey(), 0)
	if err != nil {
		return err
	}
	defer m.Close()
	if join, _, err = s.prepare(c.Context, m, join, policy, solana.PublicKey{}); err != nil {
		return err
	}
	if _, err := s.commands.Register(c.Context, join); err != nil {
		return err
	}
	s.cfg.Price = policy.String()
	if err := s.cfg.Save(); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "\n next       gantry-agent run --data-dir %s\n", s.cfg.DataDir)
	return nil
}

// parseJoin reads the amounts before anything is opened. A nil policy means that the settings file decides.
func parseJoin(c *cli.Context) (register.Join, pricing.Policy, error) {
	j := register.Join{OverClaims: c.Bool("over-claims")}
	var err error
	if v := c.String("stake"); !strings.EqualFold(v, "auto") {
		if j.Stake, err = market.ParseGNT(v); err != nil {
			return j, nil, fmt.Errorf("--stake: %w", err)
		}
	}
	if !c.IsSet("price") {
		cfg, err := config.Load(c.String("data-dir"))
		if err != nil || cfg.Price != "" {
			return j, nil, err
		}
		return j, pricing.FollowMarket{}, nil
	}
	policy, err := pricing.Parse(c.String("price"))
	if err != nil {
		return j, nil, fmt.Errorf("--price: %w", err)
	}
	return j, policy, nil
}

// prepare refuses GPUs whose driver the sandbox does not know, and completes what it registers with: its model, hardware and ask. It
// also returns what the market asks for that model, but for one node.
func (s *env) prepare(ctx context.Context, m *host.Machine, join register.Join, policy pricing.Policy, except solana.PublicKey) (register.Join, pricing.Snapshot, error) {
	if err := checkDriver(ctx, s.cfg, m); err != nil {
		return join, pricing.Snapshot{}, err
	}
	return s.complete(ctx, m, join, policy, except, s.cfg.Isolation())
}

// complete is prepare for a machine that has looked at its driver itself.
func (s *env) complete(ctx context.Context, m *host.Machine, join register.Join, policy pricing.Policy, except solana.PublicKey, isolation market.Isolation) (register.Join, pricing.Snapshot, error) {
	var prices pricing.Snapshot
	if _, err := query.Load(ctx, s.client, chain.Confirmed); err != nil {
		return join, prices, err
	}
	accounts := view.New(view.Options{})
	if err := view.Snapshot(ctx, s.client, accounts, chain.Confirmed, view.Only(view.Kinds(market.KindModel))); err != nil {
		return join, prices, err
	}
	model, err := m.Model(accounts.Models())
	if err != nil {
		return join, prices, err
	}
	comparable := view.Only([]chain.Filter{query.NodesOfModel(model.Id)})
	if err := view.Snapshot(ctx, s.client, accounts, chain.Confirmed, comparable); err != nil {
		return join, prices, err
	}
	join.Model, join.Spec, join.Devices = model, m.Spec(model, s.cfg.Region, s.cfg.Site), m.Devices()
	join.Spec.Isolation = uint8(isolation)
	prices = pricing.Observe(accounts, model.Id, except)
	if join.Price = policy.Ask(prices); join.Price == 0 {
		return join, prices, fmt.Errorf("%w: the market has no price to follow yet; give one with --price", pricing.ErrPolicy)
	}
	return join, prices, nil
}
