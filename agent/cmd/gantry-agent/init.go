package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/daemon"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/host/bench"
	"github.com/gantry-market/gantry/agent/pricing"
	"github.com/gantry-market/gantry/agent/register"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "make the machine's key, detect and measure the hardware, and say what registering takes",
		Flags: commonFlags(append([]cli.Flag{
			walletFlag(),
			&cli.BoolFlag{Name: "skip-benchmark", Usage: "do not measure"},
		}, machineFlags()...)...),
		Action: runInit,
	}
}

func runInit(c *cli.Context) error {
	cfg, err := settings(c)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	key, fresh, err := chain.LoadOrMakeKeypair(cfg.NodeKey)
	if err != nil {
		return err
	}
	if err := cfg.Save(); err != nil {
		return err
	}
	w := c.App.Writer
	made := "found"
	if fresh {
		made = "made"
	}
	fmt.Fprintf(w, " key        %s   %s at %s\n", key.PublicKey(), made, cfg.NodeKey)
	m, err := openMachine(c.Context, cfg, key.PublicKey(), 0)
	if err != nil {
		return err
	}
	defer m.Close()
	printDetected(w, m)
	var figures bench.Result
	if !c.Bool("skip-benchmark") {
		if figures, err = benchmark(c, cfg, m); err != nil {
			return err
		}
	}
	return printNeeds(c, cfg, m, key.PublicKey(), figures)
}

func printDetected(w io.Writer, m *host.Machine) {
	inv := m.Inventory
	line := func(label, format string, args ...any) {
		fmt.Fprintf(w, " %-10s "+format+"\n", append([]any{label}, args...)...)
	}
	virt := ""
	if inv.Host.Virtualization != "" {
		virt = " · " + inv.Host.Virtualization
	}
	line("detected", "%s · %d cores, %d threads · %.1f GiB RAM · %d GiB disk free%s", orUnknown(inv.CPU.Model), inv.CPU.Cores, inv.CPU.Threads, float64(inv.RAMMiB)/1024, inv.Disk.FreeGiB, virt)
	if len(inv.GPUs) == 0 {
		line("", "%s", inv.GPUStatement)
	} else {
		g := inv.GPUs[0]
		line("", "%d × %s · %d MiB · %s · driver %s · confidential computing %s", len(inv.GPUs), g.Model, g.VRAMMiB, g.Interconnect, orUnknown(inv.Driver.Version), inv.Driver.CC)
	}
	if inv.Simulated {
		line("", "these GPUs are SIMULATED: for local networks only, evidence tier 0")
	} else if len(inv.GPUs) > 0 {
		line("", "what it can prove with hardware evidence: gantry-agent evidence collect")
	}
	line("", "network bandwidth %s", inv.Network.Note)
	for _, n := range inv.Notes {
		line("", "not found out: %s", strings.ReplaceAll(n, "\n", "; "))
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// printNeeds says what is missing and what comes next. An unreachable network is no error here: the rest is printed. figures
// are of the benchmark, nothing where it was skipped.
func printNeeds(c *cli.Context, cfg config.Config, m *host.Machine, nodeKey solana.PublicKey, figures bench.Result) error {
	w := c.App.Writer
	client, err := newClient(cfg, zerolog.Nop())
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(c.Context, 20*time.Second)
	defer cancel()
	if err := checkSimulated(ctx, cfg, client); errors.Is(err, daemon.ErrSimulation) {
		return err
	}
	accounts := view.New(view.Options{})
	if _, err := query.Load(ctx, client, chain.Confirmed); err != nil {
		fmt.Fprintf(w, " market     not reached: %v\n", err)
		return nil
	}
	if err := view.Snapshot(ctx, client, accounts, chain.Confirmed, view.Only(view.Kinds(market.KindModel))); err != nil {
		fmt.Fprintf(w, " market     not read: %v\n", err)
		return nil
	}
	model, err := m.Model(accounts.Models())
	if err != nil {
		fmt.Fprintf(w, " missing    %v\n", err)
		return nil
	}
	printClass(w, figures, model, accounts.Models())
	plan := register.PlanOptions{Chain: client, NodeKey: nodeKey}
	if key, err := chain.LoadKeypair(cfg.Wallet); err == nil {
		plan.Wallet = key.PublicKey()
	}
	planner, err := register.NewPlanner(plan)
	if err != nil {
		return err
	}
	needs, err := planner.Needs(ctx, register.Join{Spec: m.Spec(model, cfg.Region, cfg.Site), Model: model, Devices: m.Devices()})
	if err != nil {
		fmt.Fprintf(w, " missing    %v\n", err)
		return nil
	}
	fmt.Fprintf(w, " model      %s as the market knows it: %.1f TFLOPS fp16; a GPU is to reach %s\n", model.ModelName(), float64(model.TflopsX10)/10, model.ClassText())
	fmt.Fprintf(w, " needed     stake %s GNT (%d × %s) · %s rent, returned when you leave · %s for the machine's fees\n",
		market.GNT(model.MinStake)*market.GNT(len(m.Inventory.GPUs)), len(m.Inventory.GPUs), market.GNT(model.MinStake), needs.Rent, needs.NodeFunds)
	if others := needs.Provider.LockedStake; others > 0 && !needs.IsNode {
		fmt.Fprintf(w, "            %s GNT in total with the provider's other machines; %s are staked\n", needs.StakeNeeded, market.GNT(needs.Provider.Stake))
	}
	if plan.Wallet.IsZero() {
		fmt.Fprintf(w, " missing    a wallet: %s does not exist; make one with gantry key new, or pass --keypair\n", cfg.Wallet)
	} else {
		fmt.Fprintf(w, " wallet     %s has %s and %s GNT\n", plan.Wallet, needs.SOL, needs.Tokens)
		if err := planner.Check(needs, register.Join{Model: model, Spec: m.Spec(model, "", ""), Price: 1}); err != nil {
			fmt.Fprintf(w, " missing    %v\n", err)
		}
	}
	s := pricing.Observe(accounts, model.Id, needs.Node.Address)
	ask := pricing.FollowMarket{}.Ask(s)
	fmt.Fprintf(w, " price      reference %s · asks of other nodes with this model: %d · suggested %s USDC per GPU-hour\n", s.Reference, len(s.Others), ask)
	if needs.IsNode {
		fmt.Fprintf(w, " registered as node %s\n next       gantry-agent run --data-dir %s\n", needs.Node.Address, cfg.DataDir)
		return nil
	}
	fmt.Fprintf(w, " next       gantry-agent register --data-dir %s --stake %s --price auto\n", cfg.DataDir, needs.StakeNeeded)
	return nil
}
