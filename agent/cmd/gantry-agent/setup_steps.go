package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/doctor"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/host/bench"
	"github.com/gantry-market/gantry/agent/pricing"
	"github.com/gantry-market/gantry/agent/register"
	"github.com/gantry-market/gantry/agent/setup"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// joining is a machine on its way into the market. Each step leaves here what later ones need.
type joining struct {
	cli *cli.Context
	// walletless is a machine whose owner's wallet is on another computer.
	walletless bool
	asker      *setup.Asker
	cfg        config.Config
	policy     pricing.Policy
	nodeKey    solana.PublicKey
	machine    *host.Machine
	figures    bench.Result
	join       register.Join
	prices     pricing.Snapshot
	needs      register.Needs
	ask        market.PricePerHour
}

func (j *joining) close() {
	if j.machine != nil {
		j.machine.Close()
	}
}

func (j *joining) settings(context.Context) (string, bool, error) {
	path := filepath.Join(j.cfg.DataDir, config.FileName)
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("settings: %w", err)
	}
	if err := j.cfg.Save(); err != nil {
		return "", false, err
	}
	after, err := os.ReadFile(path)
	if err != nil {
		return "", false, fmt.Errorf("settings: %w", err)
	}
	return path, !bytes.Equal(before, after), nil
}

func (j *joining) key(context.Context) (string, bool, error) {
	key, fresh, err := chain.LoadOrMakeKeypair(j.cfg.NodeKey)
	if err != nil {
		return "", false, err
	}
	j.nodeKey = key.PublicKey()
	return fmt.Sprintf("%s at %s", j.nodeKey, j.cfg.NodeKey), fresh, nil
}

func (j *joining) hardware(ctx context.Context) (string, bool, error) {
	var err error
	if j.machine, err = openMachine(ctx, j.cfg, j.nodeKey, 0); err != nil {
		return "", false, err
	}
	printDetected(j.cli.App.Writer, j.machine)
	if len(j.machine.Inventory.GPUs) == 0 {
		return "", false, fmt.Errorf("%w: %s", host.ErrNoGPUs, j.machine.Inventory.GPUStatement)
	}
	return counted(len(j.machine.Inventory.GPUs), "GPU"), false, nil
}

// benchmark keeps a result that is whole: an interrupted measurement leaves none, or one that does not parse.
func (j *joining) benchmark(context.Context) (string, bool, error) {
	if r, ok := benchmarkOf(j.cfg.BenchPath()); ok {
		j.figures = r
		return fmt.Sprintf("%s, measured at %s", benchmarkText(r), r.At.UTC().Format("2006-01-02 15:04")), false, nil
	}
	var err error
	if j.figures, err = benchmark(j.cli, j.cfg, j.machine); err != nil {
		return "", false, err
	}
	return "written to " + j.cfg.BenchPath(), true, nil
}

// checks prints what doctor finds wrong, and ends setup where the machine could not serve: before anything is paid.
func (j *joining) checks(ctx context.Context) (string, bool, error) {
	m, err := doctor.This(j.cfg)
	if err != nil {
		return "", false, err
	}
	found, wrong := j.look(ctx, m)
	if err := ctx.Err(); err != nil {
		return "", false, err
	}
	switch mended, err := j.mend(ctx, wrong); {
	case err != nil:
		return "", false, err
	case mended:
		if found, wrong = j.look(ctx, m); ctx.Err() != nil {
			return "", false, ctx.Err()
		}
	}
	var stops []string
	for _, f := range wrong {
		if f.Result == doctor.Error && !slices.Contains(j.cli.StringSlice("accept"), f.ID) {
			stops = append(stops, f.ID)
		}
	}
	if len(stops) > 0 {
		return "", false, fmt.Errorf("%w: mend %s as shown above and run setup again; nothing was paid", errUnfit, strings.Join(stops, ", "))
	}
	errs, warnings := doctor.Count(found)
	return fmt.Sprintf("%s: %s, accepted; %s", counted(len(found), "check"), counted(errs, "error"), counted(warnings, "warning")), false, nil
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// look runs all checks and prints what is wrong.
func (j *joining) look(ctx context.Context, m *doctor.Machine) (found, wrong []doctor.Finding) {
	found = doctor.Run(ctx, m, doctor.Checks(), doctor.Limit)
	wrong = slices.DeleteFunc(slices.Clone(found), func(f doctor.Finding) bool { return f.Result != doctor.Error && f.Result != doctor.Warning })
	for _, f := range wrong {
		fmt.Fprintf(j.cli.App.Writer, "   %-14s %-18s %s\n   %-33s → %s\n", f.Result, f.ID, strings.ReplaceAll(f.Cause, "\n", "; "), "", f.Fix)
	}
	return found, wrong
}

// mend runs what installs what is missing, where the owner agrees: by --install, or when asked. What the owner accepts as it is
// stays so.
func (j *joining) mend(ctx context.Context, wrong []doctor.Finding) (bool, error) {
	var commands []string
	for _, f := range wrong {
		if f.Automatic && !slices.Contains(j.cli.StringSlice("accept"), f.ID) {
			commands = append(commands, f.Fix)
		}
	}
	if len(commands) == 0 || os.Geteuid() != 0 {
		return false, nil
	}
	if !j.cli.Bool("install") {
		if !j.asker.Terminal() {
			return false, nil
		}
		fmt.Fprintf(j.cli.App.Writer, "   %d of these commands install what is missing and need no restart: run them now?\n   ", len(commands))
		if err := j.asker.Agree(ctx); errors.Is(err, setup.ErrDeclined) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return true, setup.Mend(ctx, j.cli.App.Writer, commands)
}

// register shows what registering costs and where, asks, and does it.
func (j *joining) register(ctx context.Context) (string, bool, error) {
	s, err := openWith(j.cli, j.cfg, false)
	if err != nil {
		return "", false, err
	}
	defer s.close()
	own := market.NodeAddress(market.ProviderAddress(s.wallet), j.nodeKey)
	nodes, err := register.NodesByKey(ctx, s.client, j.nodeKey)
	if err != nil {
		return "", false, err
	}
	if s.wallet.IsZero() {
		if len(nodes) == 0 {
			return "", false, fmt.Errorf("%w: %s; make a wallet with gantry key new, or pass --keypair", chain.ErrKeypairMissing, j.cfg.Wallet)
		}
		own = nodes[0].Address
	}
	if err := errors.Join(checkSimulated(ctx, j.cfg, s.client), checkIsolation(ctx, j.cfg, s.client)); err != nil {
		return "", false, err
	}
	if j.join, j.prices, err = s.prepare(ctx, j.machine, j.join, j.policy, own); err != nil {
		return "", false, err
	}
	printClass(j.cli.App.Writer, j.figures, j.join.Model, []market.Model{j.join.Model})
	if s.wallet.IsZero() {
		if j.needs.Market, err = query.Load(ctx, s.client, chain.Confirmed); err != nil {
			return "", false, err
		}
		j.ask = nodes[0].Ask()
		return fmt.Sprintf("%s is registered, %s, and asks %s USDC per GPU-hour (the wallet is not here, so its stake was not looked at)",
			own, nodes[0].State(), j.ask), false, nil
	}
	if j.needs, err = s.commands.Needs(ctx, j.join); err != nil {
		return "", false, err
	}
	n := j.needs
	if n.IsNode && n.StakeMissing == 0 && n.NodeFunds == 0 {
		j.ask = n.Node.Ask()
		return fmt.Sprintf("%s is registered, %s, and asks %s USDC per GPU-hour", own, n.Node.State(), j.ask), false, nil
	}
	if err := s.commands.Check(n, j.join); err != nil {
		return "", false, err
	}
	if err := j.agree(ctx, s); err != nil {
		return "", false, err
	}
	node, err := s.commands.Register(ctx, j.join)
	if err != nil {
		return "", false, err
	}
	j.ask = node.Ask()
	return fmt.Sprintf("%s is registered and asks %s USDC per GPU-hour", node.Address, j.ask), true, nil
}

// agree shows the amounts, the wallet and the cluster, and asks.
func (j *joining) agree(ctx context.Context, s *env) error {
	genesis, err := s.client.Genesis(ctx)
	if err != nil {
		return err
	}
	n, w := j.needs, j.cli.App.Writer
	fmt.Fprintf(w, "   stake    %s GNT of the wallet; they can be slashed; when the machine leaves they come back after two waits of %s\n", n.StakeMissing, market.Seconds(n.Market.Params.UnstakeCooldownSecs))
	fmt.Fprintf(w, "   SOL      %s rent, returned when you leave · %s for the machine's fees · a little for these transactions\n", n.Rent, n.NodeFunds)
	fmt.Fprintf(w, "   cluster  %s (genesis %.8s…)   wallet %s\n", chain.ClusterOf(genesis), genesis, s.wallet)
	if j.cli.Bool("yes") {
		return nil
	}
	return j.asker.Agree(ctx)
}
