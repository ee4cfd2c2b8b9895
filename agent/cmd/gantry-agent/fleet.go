package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/daemon"
	"github.com/gantry-market/gantry/agent/fleet"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/pricing"
	"github.com/gantry-market/gantry/agent/register"
	"github.com/gantry-market/gantry/agent/setup"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txm"
)

// errFleet: not every machine did what it was asked.
var errFleet = errors.New("some machines did not do it")

// atOnce is how many machines are asked at a time.
const atOnce = 8

func fleetCommand() *cli.Command {
	file := []cli.Flag{
		&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "`FILE` that lists the machines", Value: "fleet.yaml", EnvVars: []string{"GANTRY_FLEET"}},
		&cli.StringSliceFlag{Name: "only", Usage: "`MACHINE` of the file; may be repeated (default: all)"},
		&cli.DurationFlag{Name: "timeout", Usage: "`TIME` that one machine may take", Value: 5 * time.Minute},
	}
	return &cli.Command{
		Name: "fleet", Usage: "several machines of one owner, from one file and one computer, over SSH",
		Subcommands: []*cli.Command{
			{
				Name: "setup", Usage: "set all machines up and register them; the wallet stays here",
				Flags: commonFlags(append(append([]cli.Flag{}, file...), walletFlag(),
					&cli.BoolFlag{Name: "yes", Usage: "agree to the stake and the fees, without a question"})...),
				Action: fleetSetup,
			},
			{
				Name: "status", Usage: "a line for each machine: does its agent run, what does the chain say, what needs doing",
				Flags: append(append([]cli.Flag{}, file...), &cli.BoolFlag{Name: "json", Usage: "one JSON document on standard output"}), Action: fleetStatus,
			},
			{
				Name: "exec", Usage: "run a command of gantry-agent on each machine, such as: fleet exec -- update --price 1.20", ArgsUsage: "-- COMMAND…",
				Flags: file, Action: fleetExec,
			},
		},
	}
}

func fleetMachines(c *cli.Context) ([]fleet.Machine, error) {
	f, err := fleet.Load(c.String("file"))
	if err != nil {
		return nil, err
	}
	return f.Only(c.StringSlice("only"))
}

// onEach does something with each machine, several at a time, and returns what failed by name.
func onEach(c *cli.Context, machines []fleet.Machine, do func(context.Context, int, fleet.Machine) error) map[string]error {
	var mu sync.Mutex
	failed := map[string]error{}
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, m := range machines {
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(c.Context, c.Duration("timeout"))
			defer cancel()
			if err := do(ctx, i, m); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[m.Name] = err
			}
			return nil
		})
	}
	_ = g.Wait() // no function fails
	return failed
}

// enrolled is a machine that is ready to be registered.
type enrolled struct {
	fleet.Machine
	fleet.Enrolment
	commands *register.Commands
	join     register.Join
	needs    register.Needs
}

// done reports whether nothing is left to pay for.
func (e *enrolled) done() bool {
	return e.needs.IsNode && e.needs.StakeMissing == 0 && e.needs.NodeFunds == 0
}

// fleetSetup enrols all machines, shows what all of them cost together, asks once, and registers one after the other: each changes
// the stake that the next one needs. What is done is seen and left alone, so that it may be repeated.
func fleetSetup(c *cli.Context) error {
	machines, err := fleetMachines(c)
	if err != nil {
		return err
	}
	cfg, err := settings(c)
	if err != nil {
		return err
	}
	wallet, err := chain.LoadKeypair(cfg.Wallet)
	if err != nil {
		return err
	}
	ready := make([]*enrolled, len(machines))
	w := c.App.Writer
	failed := onEach(c, machines, func(ctx context.Context, i int, m fleet.Machine) error {
		e, err := m.Enrol(ctx)
		if err == nil {
			ready[i] = &enrolled{Machine: m, Enrolment: e}
		}
		return err
	})
	for _, m := range machines {
		if err := failed[m.Name]; err != nil {
			fmt.Fprintf(w, " ✗ %-16s %v\n", m.Name, err)
		}
	}
	s, err := openFleet(c, cfg, wallet, ready)
	if err != nil {
		return err
	}
	defer s.close()
	missing := 0
	for _, e := range ready {
		if e == nil {
			continue
		}
		if err := s.plan(c.Context, e); err != nil {
			fmt.Fprintf(w, " ✗ %-16s %v\n", e.Name, err)
			failed[e.Name] = err
			continue
		}
		if e.done() {
			fmt.Fprintf(w, " · %-16s %s is registered and asks %s USDC per GPU-hour\n", e.Name, e.needs.Node.Address, e.needs.Node.Ask())
			continue
		}
		missing++
	}
	if missing > 0 {
		if err := s.agree(c, ready, failed); err != nil {
			return err
		}
		for _, e := range ready {
			if e == nil || failed[e.Name] != nil || e.done() {
				continue
			}
			node, err := e.commands.Register(c.Context, e.join)
			if err != nil {
				fmt.Fprintf(w, " ✗ %-16s %v\n", e.Name, err)
				failed[e.Name] = err
				continue
			}
			fmt.Fprintf(w, " ✓ %-16s %s asks %s USDC per GPU-hour\n", e.Name, node.Address, node.Ask())
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%w: %d of %d; mend what is said above and run the same command again", errFleet, len(failed), len(machines))
	}
	_, err = fmt.Fprintln(w, "\n next       sudo systemctl start gantry-agent, on each machine; then gantry-agent fleet status")
	return err
}

// fleetEnv is the owner's side: the wallet and the chain.
type fleetEnv struct {
	env
	manager *txm.Manager
	out     io.Writer
}

// openFleet connects, with the owner's wallet and, over the network, the keys of the machines.
func openFleet(c *cli.Context, cfg config.Config, wallet solana.PrivateKey, ready []*enrolled) (*fleetEnv, error) {
	log, err := logger(c)
	if err != nil {
		return nil, err
	}
	keys := txm.NewKeys(wallet)
	for _, e := range ready {
		if e != nil {
			keys[e.NodeKey] = fleet.Signer{Machine: e.Machine, Key: e.NodeKey, Timeout: c.Duration("timeout")}
		}
	}
	s := &fleetEnv{env: env{cfg: cfg, wallet: wallet.PublicKey()}, out: c.App.Writer}
	if s.client, err = newClient(cfg, log); err != nil {
		return nil, err
	}
	genesis, err := s.client.Genesis(c.Context)
	if err != nil {
		return nil, err
	}
	store, err := txm.OpenStore(cfg.ProviderPath(), genesis)
	if err != nil {
		return nil, err
	}
	if s.manager, err = txm.New(txm.Options{RPC: s.client, Store: store, Keys: keys, Payer: s.wallet, Log: log, Fees: cfg.Fees}); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	s.close = func() {
		s.manager.Close()
		if err := store.Close(); err != nil {
			log.Warn().Err(err).Msg("closing the transaction store failed")
		}
		s.client.Close()
	}
	return s, nil
}

// plan finds out what registering a machine takes.
func (s *fleetEnv) plan(ctx context.Context, e *enrolled) (err error) {
	e.commands, err = register.New(register.Options{
		PlanOptions: register.PlanOptions{Chain: s.client, Wallet: s.wallet, NodeKey: e.NodeKey}, Txm: s.manager,
		Progress: func(format string, args ...any) {
			fmt.Fprintf(s.out, "   %-16s "+format+"\n", append([]any{e.Name}, args...)...)
		},
	})
	if err != nil {
		return err
	}
	policy, err := pricing.Parse(e.Enrolment.Price)
	if err != nil {
		return err
	}
	why, err := foreign(ctx, s.cfg, s.client)
	switch isolation := market.Isolation(e.Isolation); {
	case err != nil:
		return err
	case why != nil && e.Inventory.Simulated:
		return fmt.Errorf("%w: %w", daemon.ErrSimulation, why)
	case why != nil && isolation < market.Sandbox:
		return fmt.Errorf("%w: the machine runs no images; it needs runsc and an agent that runs as root: %w", config.ErrConfig, why)
	}
	there := env{cfg: s.cfg, client: s.client}
	there.cfg.Region, there.cfg.Site = e.Enrolment.Region, e.Enrolment.Site
	own := market.NodeAddress(market.ProviderAddress(s.wallet), e.NodeKey)
	e.join, _, err = there.complete(ctx, &host.Machine{Inventory: e.Inventory}, register.Join{}, policy, own, market.Isolation(e.Isolation))
	if err != nil {
		return err
	}
	e.needs, err = e.commands.Needs(ctx, e.join)
	return err
}

// agree shows what all machines cost together, and asks once.
func (s *fleetEnv) agree(c *cli.Context, ready []*enrolled, failed map[string]error) error {
	var stake market.GNT
	var rent, funds chain.Lamports
	count := 0
	var has register.Needs
	for _, e := range ready {
		if e == nil || failed[e.Name] != nil {
			continue
		}
		has = e.needs
		if e.done() {
			continue
		}
		count++
		if !e.needs.IsNode {
			stake += market.GNT(e.join.Model.MinStake) * market.GNT(e.join.Spec.Gpus)
		}
		rent, funds = rent+e.needs.Rent, funds+e.needs.NodeFunds
	}
	genesis, err := s.client.Genesis(c.Context)
	if err != nil {
		return err
	}
	w := c.App.Writer
	fmt.Fprintf(w, "   machines %d to register\n", count)
	fmt.Fprintf(w, "   stake    up to %s GNT of the wallet, which has %s; they can be slashed; when the machine leaves they come back after two waits of %s\n",
		stake, has.Tokens, market.Seconds(has.Market.Params.UnstakeCooldownSecs))
	fmt.Fprintf(w, "   SOL      up to %s rent, returned when you leave · %s for the machines' fees; the wallet has %s\n", rent, funds, has.SOL)
	fmt.Fprintf(w, "   cluster  %s (genesis %.8s…)   wallet %s\n", chain.ClusterOf(genesis), genesis, s.wallet)
	if c.Bool("yes") {
		return nil
	}
	return setup.NewAsker(c.App.Reader, w, isTerminal(c.App.Reader)).Agree(c.Context)
}

// fleetLine is what status says of a machine.
type fleetLine struct {
	Name   string   `json:"name"`
	Error  string   `json:"error,omitempty"`
	Agent  string   `json:"agent,omitempty"`
	Node   string   `json:"node,omitempty"`
	Status string   `json:"status,omitempty"`
	Ask    string   `json:"ask,omitempty"`
	GPUs   string   `json:"gpus,omitempty"`
	ToDo   []string `json:"to_do,omitempty"`
}

func fleetStatus(c *cli.Context) error {
	machines, err := fleetMachines(c)
	if err != nil {
		return err
	}
	lines := make([]fleetLine, len(machines))
	failed := onEach(c, machines, func(ctx context.Context, i int, m fleet.Machine) error {
		lines[i].Name = m.Name
		out, err := m.Run(ctx, nil, "status", "--json")
		if err == nil {
			err = lines[i].read(out)
		}
		if err != nil {
			lines[i].Error = err.Error()
		}
		return err
	})
	if c.Bool("json") {
		e := json.NewEncoder(c.App.Writer)
		e.SetIndent("", "  ")
		if err := e.Encode(lines); err != nil {
			return err
		}
	} else if err := printFleet(c.App.Writer, lines); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("%w: %d of %d", errFleet, len(failed), len(machines))
	}
	return nil
}

func (l *fleetLine) read(raw []byte) error {
	var r struct {
		Running bool         `json:"running"`
		Node    *market.Node `json:"node"`
		ToDo    []string     `json:"to_do"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("its status cannot be read: %w", err)
	}
	l.Agent, l.ToDo = map[bool]string{true: "up", false: "down"}[r.Running], r.ToDo
	if r.Node == nil {
		l.Status = "not registered"
		return nil
	}
	n := r.Node
	l.Node, l.Status, l.Ask = n.Address.String(), n.State().String(), n.Ask().String()
	l.GPUs = fmt.Sprintf("%d of %d leased", n.Spec.Gpus-n.FreeGPUs(), n.Spec.Gpus)
	return nil
}

func printFleet(w io.Writer, lines []fleetLine) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MACHINE\tAGENT\tSTATUS\tGPUS\tASK $/GPU-H\tTO DO")
	for _, l := range lines {
		if l.Error != "" {
			fmt.Fprintf(t, "%s\t?\t%s\n", l.Name, l.Error)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", l.Name, l.Agent, l.Status, l.GPUs, l.Ask, strings.Join(l.ToDo, "; "))
	}
	return t.Flush()
}

func fleetExec(c *cli.Context) error {
	if !c.Args().Present() {
		return usage(errors.New("give a command of gantry-agent behind --, such as: gantry-agent fleet exec -- doctor"))
	}
	machines, err := fleetMachines(c)
	if err != nil {
		return err
	}
	out := make([][]byte, len(machines))
	failed := onEach(c, machines, func(ctx context.Context, i int, m fleet.Machine) (err error) {
		out[i], err = m.Run(ctx, nil, c.Args().Slice()...)
		return err
	})
	for i, m := range machines {
		if err := failed[m.Name]; err != nil {
			fmt.Fprintf(c.App.Writer, "%s: %v\n", m.Name, err)
			continue
		}
		for line := range strings.Lines(strings.TrimRight(string(out[i]), "\n")) {
			fmt.Fprintf(c.App.Writer, "%s: %s\n", m.Name, strings.TrimRight(line, "\n"))
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%w: %d of %d", errFleet, len(failed), len(machines))
	}
	return nil
}
