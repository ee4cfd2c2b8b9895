package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/daemon"
	"github.com/gantry-market/gantry/agent/gpus"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/offer"
	"github.com/gantry-market/gantry/agent/pricing"
	"github.com/gantry-market/gantry/agent/register"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/browserwallet"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txm"
)

// env is what the provider's commands work with.
type env struct {
	cfg      config.Config
	client   *chain.Client
	commands *register.Commands
	nodeKey  solana.PrivateKey
	// wallet is the provider's; zero where the machine's key signs alone.
	wallet solana.PublicKey
	close  func()
}

// open loads keys and connects. Without wallet the machine's own key signs alone.
func open(c *cli.Context, wallet bool) (*env, error) {
	cfg, err := settings(c)
	if err != nil {
		return nil, err
	}
	return openWith(c, cfg, wallet)
}

// openWith is open with settings that are read already.
func openWith(c *cli.Context, cfg config.Config, wallet bool) (*env, error) {
	log, err := logger(c)
	if err != nil {
		return nil, err
	}
	s := &env{cfg: cfg}
	if s.nodeKey, err = chain.LoadKeypair(cfg.NodeKey); err != nil {
		if errors.Is(err, chain.ErrKeypairMissing) {
			return nil, fmt.Errorf("%w: %s is the machine's own key; make it with: gantry-agent init --data-dir %s", chain.ErrKeypairMissing, cfg.NodeKey, cfg.DataDir)
		}
		return nil, err
	}
	if s.client, err = newClient(cfg, log); err != nil {
		return nil, err
	}
	signers := []txm.Signer{s.nodeKey}
	payer, owner := s.nodeKey.PublicKey(), solana.PublicKey{}
	key, closeKey, err := s.walletKey(c, log)
	switch {
	case err == nil:
		signers = append(signers, key)
		payer, owner = key.PublicKey(), key.PublicKey()
	case wallet || c.IsSet("keypair") || c.IsSet(browserwallet.FlagName):
		s.client.Close()
		return nil, err
	}
	s.wallet = owner
	genesis, err := s.client.Genesis(c.Context)
	if err != nil {
		return nil, err
	}
	store, err := txm.OpenStore(cfg.ProviderPath(), genesis)
	if err != nil {
		return nil, err
	}
	m, err := txm.New(txm.Options{RPC: s.client, Store: store, Keys: txm.NewKeys(signers...), Payer: payer, Log: log, Fees: cfg.Fees})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	s.commands, err = register.New(register.Options{
		PlanOptions: register.PlanOptions{Chain: s.client, Wallet: owner, NodeKey: s.nodeKey.PublicKey()}, Txm: m,
		Progress: func(format string, args ...any) { fmt.Fprintf(c.App.Writer, " ✓ "+format+"\n", args...) },
	})
	if err != nil {
		return nil, err
	}
	s.close = func() {
		closeKey()
		m.Close()
		if err := store.Close(); err != nil {
			log.Warn().Err(err).Msg("closing the transaction store failed")
		}
		s.client.Close()
	}
	return s, nil
}

// walletKey is the provider's wallet: a key file, or with --sign-with a wallet in a browser. The returned function ends that.
func (s *env) walletKey(c *cli.Context, log zerolog.Logger) (txm.Signer, func(), error) {
	with := c.String(browserwallet.FlagName)
	if with == "" {
		key, err := chain.LoadKeypair(s.cfg.Wallet)
		return key, func() {}, err
	}
	w, err := browserwallet.FromFlag(c.Context, with, s.client, c.Command.HelpName, c.App.ErrWriter, log)
	if err != nil {
		return nil, func() {}, usage(err)
	}
	return w, w.Close, nil
}

func newClient(cfg config.Config, log zerolog.Logger) (*chain.Client, error) {
	return chain.New(chain.Options{Endpoints: cfg.Endpoints(), Commitment: chain.Confirmed, Log: log})
}

// checkSimulated refuses simulated GPUs on a cluster that is not local.
func checkSimulated(ctx context.Context, cfg config.Config, client *chain.Client) error {
	if !cfg.Simulates() {
		return nil
	}
	why, err := foreign(ctx, cfg, client)
	if why != nil {
		return fmt.Errorf("%w: %w", daemon.ErrSimulation, why)
	}
	return err
}

// checkIsolation refuses a machine that runs no images on a cluster that is not local: its agent would not start.
func checkIsolation(ctx context.Context, cfg config.Config, client *chain.Client) error {
	why, err := foreign(ctx, cfg, client)
	if why != nil && cfg.Isolation() < market.Sandbox {
		return fmt.Errorf("%w: this machine runs no images; it needs runsc (--runsc, or in PATH) and an agent that runs as root: %w", config.ErrConfig, why)
	}
	return err
}

// checkDriver refuses GPUs whose driver the sandbox does not know: containers would not get them.
func checkDriver(ctx context.Context, cfg config.Config, m *host.Machine) error {
	if inv := m.Inventory; !inv.Simulated && len(inv.GPUs) > 0 && cfg.Isolation() >= market.Sandbox {
		return gpus.Check(ctx, cfg.FindRunsc(), inv.Driver.Version)
	}
	return nil
}

// foreign says why the cluster is not local, nil if it is.
func foreign(ctx context.Context, cfg config.Config, client *chain.Client) (why, err error) {
	genesis, err := client.Genesis(ctx)
	if err != nil {
		return nil, err
	}
	return runtime.Cluster{GenesisHash: genesis.String(), Endpoints: cfg.URLs()}.CheckLocal(), nil
}

func openMachine(ctx context.Context, cfg config.Config, nodeKey solana.PublicKey, diskTest int64) (*host.Machine, error) {
	source, err := config.ParseInventory(cfg.Inventory)
	if err != nil {
		return nil, err
	}
	return host.New(ctx, host.Options{Source: source, Seed: nodeKey, DiskPath: cfg.DataDir, DiskTestBytes: diskTest})
}

func updateCommand() *cli.Command {
	return &cli.Command{
		Name: "update", Usage: "set the ask, the status, how jobs are isolated, or the CUDA of the driver",
		Flags: commonFlags(walletFlag(), browserwallet.NewFlag(),
			priceFlag("`USDC` per GPU-hour such as 1.26; auto and auto:FLOOR follow the market from the next start"),
			&cli.StringFlag{Name: "status", Usage: "`STATUS`: active, draining or hibernated"},
			&cli.StringFlag{Name: "spot", Usage: "`PERCENT` of the price for interruptible work, which you may end after a notice of two minutes; 0 for no such work"},
			&cli.StringFlag{Name: "isolation", Usage: "`HOW` jobs run: volumes (containers from images, in gVisor, with encrypted volumes), sandbox (without volumes), process, or auto for the best that this machine can"},
			&cli.BoolFlag{Name: "cuda", Usage: "tell the market the newest CUDA that the installed driver has, after an upgrade of the driver"}),
		Action: runUpdate,
	}
}

func runUpdate(c *cli.Context) error {
	var change register.Change
	var policy pricing.Policy
	var err error
	if !c.IsSet("price") && !c.IsSet("spot") && !c.IsSet("status") && !c.IsSet("isolation") && !c.Bool("cuda") {
		return usage(errors.New("nothing to update; give --price, --spot, --status, --isolation or --cuda"))
	}
	if text := c.String("spot"); text != "" {
		spot, err := market.ParsePercent(text)
		if err != nil {
			return usage(fmt.Errorf("--spot: %w", err))
		}
		change.SpotBPS = &spot
	}
	if text := c.String("isolation"); text != "" {
		if change.Isolation, err = isolationFlag(c, text); err != nil {
			return err
		}
	}
	if c.Bool("cuda") {
		if change.CUDA, err = installedCUDA(c); err != nil {
			return err
		}
	}
	if c.IsSet("price") {
		if policy, err = pricing.Parse(c.String("price")); err != nil {
			return fmt.Errorf("--price: %w", err)
		}
	}
	if c.IsSet("status") {
		if change.Status, err = market.ParseNodeStatus(c.String("status")); err != nil {
			return usage(fmt.Errorf("--status: %w", err))
		}
	}
	return apply(c, change, policy)
}

// installedCUDA is the newest CUDA that this machine's driver has now.
func installedCUDA(c *cli.Context) (*market.CUDA, error) {
	cfg, err := settings(c)
	if err != nil {
		return nil, err
	}
	m, err := openMachine(c.Context, cfg, solana.PublicKey{}, 0)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	newest := m.Inventory.Driver.Newest()
	if newest == 0 {
		return nil, fmt.Errorf("--cuda: this machine's driver does not say its CUDA: %w", host.ErrNoDriver)
	}
	return &newest, nil
}

// isolationFlag reads --isolation, and refuses one that this machine does not have.
func isolationFlag(c *cli.Context, text string) (*market.Isolation, error) {
	cfg, err := settings(c)
	if err != nil {
		return nil, err
	}
	can := cfg.Isolation()
	if text == "auto" {
		return &can, nil
	}
	wanted, err := market.ParseIsolation(text)
	if err != nil {
		return nil, usage(fmt.Errorf("--isolation: %w, or auto", err))
	}
	switch {
	case wanted > can && can < market.Sandbox:
		return nil, usage(fmt.Errorf("--isolation %s: this machine runs no images; it needs runsc (--runsc, or in PATH) and an agent that runs as root", wanted))
	case wanted > can:
		return nil, usage(fmt.Errorf("--isolation %s: %w; it needs mkfs.ext4 (package e2fsprogs), loop devices, and a kernel with ext4 and CONFIG_FS_ENCRYPTION", wanted, runtime.CheckVolumes()))
	}
	return &wanted, nil
}

// apply sends a change and keeps a new pricing policy in the settings.
func apply(c *cli.Context, change register.Change, policy pricing.Policy) error {
	s, err := open(c, false)
	if err != nil {
		return err
	}
	defer s.close()
	if policy != nil {
		if fixed, ok := policy.(pricing.Fixed); ok {
			change.Price = market.PricePerHour(fixed)
		}
	}
	if change.Status != 0 { // what the owner sets stays
		if err := offer.Mark(s.cfg.OfferPath()).Clear(); err != nil {
			return err
		}
	}
	if change != (register.Change{}) {
		if _, err := s.commands.Update(c.Context, change); err != nil {
			return err
		}
	}
	if policy == nil {
		return nil
	}
	s.cfg.Price = policy.String()
	return s.cfg.Save()
}

const (
	drainTo     = market.NodeDraining
	hibernateTo = market.NodeHibernated
)

func statusChange(name, text string, to market.NodeStatus) *cli.Command {
	return &cli.Command{
		Name: name, Usage: text + "; back with: gantry-agent update --status active",
		Flags:  commonFlags(walletFlag(), browserwallet.NewFlag()),
		Action: func(c *cli.Context) error { return apply(c, register.Change{Status: to}, nil) },
	}
}

func reportDeadCommand() *cli.Command {
	return &cli.Command{
		Name: "report-dead", Usage: "report that a GPU has died, before a check fails: costs a part of the stake and 30 days without work",
		Flags: commonFlags(walletFlag(), &cli.BoolFlag{Name: "yes", Usage: "do it: it cannot be taken back"}),
		Action: func(c *cli.Context) error {
			if !c.Bool("yes") {
				return usage(errors.New("the machine takes no work for 30 days, and 1 % of its stake is burned, twice as much each time within a year; confirm with --yes"))
			}
			s, err := open(c, false)
			if err != nil {
				return err
			}
			defer s.close()
			_, err = s.commands.ReportDead(c.Context)
			return err
		},
	}
}

func retireCommand() *cli.Command {
	return &cli.Command{
		Name: "retire", Usage: "take the machine out of the market for good, once its leases are over",
		Flags: commonFlags(walletFlag(), browserwallet.NewFlag()),
		Action: func(c *cli.Context) error {
			s, err := open(c, true)
			if err != nil {
				return err
			}
			defer s.close()
			_, err = s.commands.Retire(c.Context)
			return err
		},
	}
}

func closeCommand() *cli.Command {
	return &cli.Command{
		Name: "close", Usage: "close a retired machine: its rent comes back",
		Flags: commonFlags(walletFlag(), browserwallet.NewFlag(), &cli.DurationFlag{Name: "wait", Usage: "keep trying for this `TIME` until the cool-down of its stake is over and its leases are closed"}),
		Action: func(c *cli.Context) error {
			s, err := open(c, true)
			if err != nil {
				return err
			}
			defer s.close()
			deadline := time.Now().Add(c.Duration("wait"))
			for {
				err := s.commands.Close(c.Context)
				early := market.Is(err, market.CodeTooEarly) || market.Is(err, bindings.ErrorCodeStillInUse)
				if !early || time.Now().After(deadline) {
					return err
				}
				if err := wait.For(c.Context, time.Second); err != nil {
					return err
				}
			}
		},
	}
}
