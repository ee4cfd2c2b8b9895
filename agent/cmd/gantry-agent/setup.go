package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/doctor"
	"github.com/gantry-market/gantry/agent/hours"
	"github.com/gantry-market/gantry/agent/pricing"
	"github.com/gantry-market/gantry/agent/register"
	"github.com/gantry-market/gantry/agent/setup"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

func setupCommand() *cli.Command {
	return &cli.Command{
		Name: "setup", Usage: "all steps to a registered machine: settings, key, benchmark, checks, registration; then the earnings to expect",
		Description: "It asks for what no flag and no settings file says. It says what is missing, and what to type; what comes from the system's own packages it installs,\n" +
			"where you agree. Drivers and other sources of packages are yours to choose.\n" +
			"Every step sees whether it is done: after an interruption the same command continues, and once all is done it changes nothing.",
		Flags: commonFlags(append([]cli.Flag{
			walletFlag(),
			priceFlag("`USDC` per GPU-hour such as 1.26; auto follows the market, auto:FLOOR never below a floor"),
			&cli.BoolFlag{Name: "yes", Usage: "agree to the stake and the fees, and ask nothing: what no flag says is as in the settings file, or the default"},
			&cli.BoolFlag{Name: "install", Usage: "run doctor's commands that install packages of the system's own sources or load modules, without a question"},
			&cli.StringSliceFlag{Name: "accept", Usage: "continue even if `CHECK` of doctor fails; may be repeated"},
		}, slices.Concat(machineFlags(), hoursFlags())...)...),
		Action: runSetup,
	}
}

func runSetup(c *cli.Context) error {
	if c.Args().Present() {
		return usage(fmt.Errorf("setup takes no argument (got %q)", c.Args().First()))
	}
	if err := knownChecks(c.StringSlice("accept")); err != nil {
		return err
	}
	j := &joining{cli: c, asker: setup.NewAsker(c.App.Reader, c.App.Writer, isTerminal(c.App.Reader) && !c.Bool("yes"))}
	if err := j.answers(); err != nil {
		return err
	}
	defer j.close()
	steps := []setup.Step{
		{Name: "settings", Do: j.settings},
		{Name: "key", Do: j.key},
		{Name: "hardware", Do: j.hardware},
		{Name: "benchmark", Do: j.benchmark},
		{Name: "checks", Do: j.checks},
		{Name: "node", Do: j.register},
	}
	changed, err := setup.Run(c.Context, c.App.Writer, steps)
	if err != nil {
		return err
	}
	w := c.App.Writer
	if changed == 0 {
		fmt.Fprintln(w, "\n all of this was done already; nothing has changed")
	}
	schedule, err := j.cfg.Schedule()
	if err != nil {
		return err
	}
	e := setup.Earnings{Price: j.ask, GPUs: len(j.machine.Inventory.GPUs), Hours: schedule.Of(setup.HoursPerMonth), FeeBPS: j.needs.Market.Params.FeeBps}
	if err := e.Print(w, j.join.Model.ModelName(), j.prices.Reference, j.prices.Others); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n next       sudo systemctl start gantry-agent; without the package: gantry-agent run --data-dir %s\n", j.cfg.DataDir)
	return err
}

// knownChecks refuses names that no check of doctor has.
func knownChecks(ids []string) error {
	for _, id := range ids {
		if !slices.ContainsFunc(doctor.Checks(), func(k doctor.Check) bool { return k.ID == id }) {
			return usage(fmt.Errorf("--accept %q: doctor has no such check; see gantry-agent doctor", id))
		}
	}
	return nil
}

// isTerminal reports whether a person answers. A reader of a test may say so itself.
func isTerminal(r io.Reader) bool {
	if t, ok := r.(interface{ Terminal() bool }); ok {
		return t.Terminal()
	}
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// questions are what setup must know, with what suits most owners.
func questions(complete config.Config) []setup.Question {
	return []setup.Question{
		{Flag: "url", Text: "Solana RPC URL, or devnet, testnet, mainnet-beta", Default: complete.RPC, Check: func(s string) error {
			_, err := chain.ResolveURL(s)
			return err
		}},
		{Flag: "keypair", Text: "keypair file of the wallet that owns the machine", Default: complete.Wallet, Check: func(s string) error {
			_, err := chain.LoadKeypair(s)
			return err
		}},
		{Flag: "region", Text: "region, such as us-west-2", Check: func(s string) error {
			if len(s) > 16 {
				return fmt.Errorf("%w: a region has at most 16 characters", config.ErrConfig)
			}
			return nil
		}},
		{Flag: "price", Text: "USDC per GPU-hour, or auto to follow the market, or auto:FLOOR", Default: "auto", Check: checkPrice},
		{Flag: "hours", Text: "hours in which it takes new leases, by this machine's clock, such as weekdays 19:00-08:00; weekends", Default: "always", Optional: true, Check: func(s string) error {
			_, err := hours.Parse(s, "")
			return err
		}},
	}
}

func checkPrice(s string) error {
	p, err := pricing.Parse(s)
	if fixed, ok := p.(pricing.Fixed); err == nil && ok && fixed == 0 {
		return fmt.Errorf("%w: a price of 0 is refused by the market", market.ErrAmount)
	}
	return err
}

// answers asks for what neither flags nor the settings file say, and completes the settings. It writes nothing. Where
// nobody can be asked it says all flags that are missing.
func (j *joining) answers() error {
	c := j.cli
	saved, err := config.Load(c.String("data-dir"))
	if err != nil {
		return err
	}
	complete, err := saved.Complete()
	if err != nil {
		return err
	}
	said := map[string]string{"url": saved.RPC, "keypair": saved.Wallet, "region": saved.Region, "price": saved.Price, "hours": saved.Hours}
	var missing []string
	for _, q := range questions(complete) {
		switch {
		case j.walletless && q.Flag == "keypair":
		case c.IsSet(q.Flag):
			if q.Flag == "url" {
				continue // settings checks all of them
			}
			if err := q.Check(c.String(q.Flag)); err != nil {
				return usage(fmt.Errorf("--%s: %w", q.Flag, err))
			}
		case said[q.Flag] != "":
		case !j.asker.Terminal() && q.Optional:
		case !j.asker.Terminal():
			missing = append(missing, "--"+q.Flag)
		default:
			answer, err := j.asker.Ask(c.Context, q)
			if err != nil {
				return err
			}
			if err := c.Set(q.Flag, answer); err != nil {
				return fmt.Errorf("--%s: %w", q.Flag, err)
			}
		}
	}
	if j.cfg, err = settings(c); err != nil {
		return err
	}
	if !j.walletless && !j.asker.Terminal() && !c.Bool("yes") && !known(c.Context, j.cfg) {
		missing = append(missing, "--yes")
	}
	if len(missing) > 0 {
		return usage(fmt.Errorf("%w, and these flags are missing: %s; nothing has changed", setup.ErrNobody, strings.Join(missing, ", ")))
	}
	if j.policy, err = pricing.Parse(j.cfg.Price); err != nil {
		return usage(fmt.Errorf("--price: %w", err))
	}
	j.cfg.Price = j.policy.String()
	return nil
}

// known reports whether the chain has a node with the machine's key, so that setup may have nothing to pay.
func known(ctx context.Context, cfg config.Config) bool {
	key, err := chain.LoadKeypair(cfg.NodeKey)
	if err != nil {
		return false
	}
	client, err := newClient(cfg, zerolog.Nop())
	if err != nil {
		return false
	}
	defer client.Close()
	nodes, err := register.NodesByKey(ctx, client, key.PublicKey())
	return err == nil && len(nodes) > 0
}
