package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/daemon"
	"github.com/gantry-market/gantry/agent/guestvm"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/pricing"
	"github.com/gantry-market/gantry/agent/register"
	"github.com/gantry-market/gantry/agent/setup"
	"github.com/gantry-market/gantry/internal/command"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/feeflags"
	"github.com/gantry-market/gantry/sdk/market"
)

// Flags that every command has.
func commonFlags(more ...cli.Flag) []cli.Flag {
	return append(append([]cli.Flag{
		&cli.StringFlag{Name: "data-dir", Usage: "`FOLDER` that holds all that the agent keeps", Value: config.DefaultDataDir(), EnvVars: []string{"GANTRY_DATA_DIR"}},
		&cli.StringSliceFlag{Name: "url", Aliases: []string{"u"}, Usage: "Solana RPC `URL` or localhost, devnet, testnet, mainnet-beta; repeat for failover (default: solana config)", EnvVars: []string{"GANTRY_RPC_URL"}},
		&cli.StringSliceFlag{Name: "ws", Usage: "Solana WebSocket `URL` of each --url (default: follows from the RPC URL)", EnvVars: []string{"GANTRY_WS_URL"}},
		&cli.StringFlag{Name: "node-key", Usage: "the machine's own keypair `FILE` (default: node.json in the data folder)", EnvVars: []string{"GANTRY_NODE_KEY"}},
		&cli.StringFlag{Name: "log-level", Usage: "debug, info, warn or error", Value: "info", EnvVars: []string{"GANTRY_LOG_LEVEL"}},
		&cli.StringFlag{Name: "log-format", Usage: "text or json (default: text on a terminal, else json)", EnvVars: []string{"GANTRY_LOG_FORMAT"}},
	}, feeflags.Flags()...), more...)
}

func notifyFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "notify", Usage: "send what needs a person to this `URL`: https://…, ntfy://HOST/TOPIC, smtp://USER:PASSWORD@HOST/?from=…&to=…, or file:PATH with such a URL; repeat", EnvVars: []string{"GANTRY_NOTIFY"}}
}

func walletFlag() cli.Flag {
	return &cli.StringFlag{Name: "keypair", Aliases: []string{"k"}, Usage: "the provider's keypair `FILE` (default: solana config)", EnvVars: []string{"GANTRY_KEYPAIR"}}
}

func machineFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "inventory", Usage: "where GPUs come from: `nvml`, or simulated:A100:N, simulated:H100:N on local networks", EnvVars: []string{"GANTRY_INVENTORY"}},
		&cli.StringFlag{Name: "runsc", Usage: "gVisor's runtime, which runs jobs with an image: `FILE` (default: in the folder of this program, or in PATH)", EnvVars: []string{"GANTRY_RUNSC"}},
		&cli.Uint64Flag{Name: "image-cache", Usage: "the most that images which no lease uses may take on the disk, `GIB` (default: a quarter of the data folder's file system)", EnvVars: []string{"GANTRY_IMAGE_CACHE"}},
		&cli.BoolFlag{Name: "local-registries", Usage: "fetch images also from addresses of this machine and of private networks; customers choose the address", EnvVars: []string{"GANTRY_LOCAL_REGISTRIES"}},
		&cli.StringFlag{Name: "region", Usage: "`REGION` such as us-west-2, at most 16 characters", EnvVars: []string{"GANTRY_REGION"}},
		&cli.StringFlag{Name: "site", Usage: "`NAME` that machines share when they stand together", EnvVars: []string{"GANTRY_SITE"}},
	}
}

// leaseFlags say what the containers of leases reach.
func leaseFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "no-lease-network", Usage: "containers reach nothing, not even the internet", EnvVars: []string{"GANTRY_NO_LEASE_NETWORK"}},
		&cli.StringFlag{Name: "lease-pool", Usage: "`RANGE` of the containers' addresses (default: a private one that the machine has no route to)", EnvVars: []string{"GANTRY_LEASE_POOL"}},
		&cli.StringSliceFlag{Name: "lease-dns", Usage: "`ADDRESS` of a public resolver that containers ask; repeat (default: the machine's own if public, else 1.1.1.1 and 9.9.9.9)", EnvVars: []string{"GANTRY_LEASE_DNS"}},
		&cli.StringSliceFlag{Name: "lease-deny", Usage: "`RANGE` that containers must not reach, in addition to private ones and the machine; repeat", EnvVars: []string{"GANTRY_LEASE_DENY"}},
		&cli.StringFlag{Name: "lease-closed-ports", Usage: "TCP `PORTS` that containers cannot connect to, with commas between, or none (default: 25,465,587,2525)", EnvVars: []string{"GANTRY_LEASE_CLOSED_PORTS"}},
		&cli.UintFlag{Name: "lease-mbit", Usage: "the most that one container sends, and receives, `MBIT/S` (default: no limit)", EnvVars: []string{"GANTRY_LEASE_MBIT"}},
	}
}

// guestFlags say how measured guests are started.
func guestFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "guest-image", Usage: "measured guest that orders with --guest run in: `FILE` guest.efi (default: such orders are declined)", EnvVars: []string{"GANTRY_GUEST_IMAGE"}},
		&cli.StringFlag{Name: "guest-firmware", Usage: "UEFI firmware of measured guests, with its variables beside it: `FILE` (default: " + guestvm.DefaultFirmware + ")", EnvVars: []string{"GANTRY_GUEST_FIRMWARE"}},
		&cli.StringFlag{Name: "guest-accelerator", Usage: "`kvm`, or tcg, which emulates a processor and is slow (default: kvm)", EnvVars: []string{"GANTRY_GUEST_ACCELERATOR"}},
	}
}

// costFlags say what a GPU-hour costs; bids in sealed auctions are never below it.
func costFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "power-price", Usage: "what electricity costs, `USDC` per kWh (default: 0.12)", EnvVars: []string{"GANTRY_POWER_PRICE"}},
		&cli.UintFlag{Name: "watts", Usage: "what one GPU with its part of the machine draws at work, `WATTS` (default: 700)", EnvVars: []string{"GANTRY_WATTS"}},
		&cli.StringFlag{Name: "wear", Usage: "what an hour of work takes off the hardware's worth, `USDC` per GPU-hour (default: 0.05)", EnvVars: []string{"GANTRY_WEAR"}},
	}
}

// hoursFlags say when the machine takes new leases.
func hoursFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "hours", Usage: "`HOURS` in which the machine takes new leases, such as \"weekdays 19:00-08:00; weekends\", or always", EnvVars: []string{"GANTRY_HOURS"}},
		&cli.StringFlag{Name: "time-zone", Usage: "`ZONE` of --hours, such as Europe/Berlin (default: this machine's own)", EnvVars: []string{"GANTRY_TIME_ZONE"}},
		&cli.BoolFlag{Name: "stay-when-slow", Usage: "stay in the market though keepers measure the GPUs below their class: it costs stake in the end", EnvVars: []string{"GANTRY_STAY_WHEN_SLOW"}},
		&cli.BoolFlag{Name: "pause-when-used", Usage: "take no new leases while a process outside of leases uses a GPU", EnvVars: []string{"GANTRY_PAUSE_WHEN_USED"}},
		&cli.DurationFlag{Name: "quiet-time", Usage: "`TIME` without use after which a machine that paused takes leases again (default: 15m)", EnvVars: []string{"GANTRY_QUIET_TIME"}},
	}
}

func priceFlag(text string) cli.Flag {
	return &cli.StringFlag{Name: "price", Usage: text, EnvVars: []string{"GANTRY_PRICE"}}
}

// settings merges file, environment and flags.
func settings(c *cli.Context) (config.Config, error) {
	cfg, err := config.Load(c.String("data-dir"))
	if err != nil {
		return cfg, err
	}
	if err := endpoints(c, &cfg); err != nil {
		return cfg, err
	}
	if cfg.Fees, err = feeflags.Read(c); err != nil {
		return cfg, err
	}
	for name, field := range map[string]*string{
		"keypair": &cfg.Wallet, "node-key": &cfg.NodeKey, "inventory": &cfg.Inventory, "runsc": &cfg.Runsc,
		"region": &cfg.Region, "site": &cfg.Site, "price": &cfg.Price, "power-price": &cfg.Power, "wear": &cfg.Wear,
		"hours": &cfg.Hours, "time-zone": &cfg.TimeZone,
		"guest-image": &cfg.Guest.Image, "guest-firmware": &cfg.Guest.Firmware, "guest-accelerator": &cfg.Guest.Accelerator,
	} {
		if c.IsSet(name) {
			*field = c.String(name)
		}
	}
	leaseNetwork(c, &cfg.Network)
	if c.IsSet("listen") {
		cfg.Listen = c.StringSlice("listen")
	}
	if c.IsSet("notify") {
		cfg.Notify = c.StringSlice("notify")
	}
	if c.IsSet("watts") {
		cfg.Watts = uint32(min(c.Uint("watts"), 1<<20))
	}
	if c.IsSet("image-cache") {
		cfg.ImageCache = min(c.Uint64("image-cache"), 1<<30)
	}
	if c.IsSet("local-registries") {
		cfg.LocalRegistries = c.Bool("local-registries")
	}
	if c.IsSet("stay-when-slow") {
		cfg.StayWhenSlow = c.Bool("stay-when-slow")
	}
	if c.IsSet("pause-when-used") {
		cfg.PauseWhenUsed = c.Bool("pause-when-used")
	}
	if c.IsSet("quiet-time") {
		cfg.QuietTime = c.Duration("quiet-time")
	}
	if c.IsSet("settle-interval") {
		cfg.SettleInterval = c.Duration("settle-interval")
	}
	if c.IsSet("report-dead-after") {
		cfg.ReportDeadAfter = c.Duration("report-dead-after")
	}
	cfg.Simulation = simulation(c)
	return cfg.Complete()
}

// leaseNetwork takes the flags of the containers' network.
func leaseNetwork(c *cli.Context, l *config.LeaseNetwork) {
	if c.IsSet("no-lease-network") {
		l.Off = c.Bool("no-lease-network")
	}
	for name, field := range map[string]*string{"lease-pool": &l.Pool, "lease-closed-ports": &l.ClosedPorts} {
		if c.IsSet(name) {
			*field = c.String(name)
		}
	}
	for name, field := range map[string]*[]string{"lease-dns": &l.DNS, "lease-deny": &l.Deny} {
		if c.IsSet(name) {
			*field = c.StringSlice(name)
		}
	}
	if c.IsSet("lease-mbit") {
		l.Mbit = uint32(min(c.Uint("lease-mbit"), 1<<20))
	}
}

// endpoints takes the RPC nodes of the flags, where they name any, in place of the file's.
func endpoints(c *cli.Context, cfg *config.Config) error {
	ws := c.StringSlice("ws")
	if c.IsSet("url") {
		urls := c.StringSlice("url")
		all, err := chain.PairEndpoints(urls, ws)
		if err != nil {
			return usage(err)
		}
		// A file's WebSocket URLs belong to the file's RPC URLs.
		cfg.RPC, cfg.WS, cfg.Failover, cfg.FailoverWS = all[0].RPC, all[0].WS, urls[1:], nil
		if len(ws) > 0 {
			cfg.FailoverWS = ws[1:]
		}
		return nil
	}
	if len(ws) > 0 {
		if len(ws) != 1+len(cfg.Failover) {
			return usage(fmt.Errorf("%d of --ws for %d endpoints in the settings; give one for each", len(ws), 1+len(cfg.Failover)))
		}
		cfg.WS, cfg.FailoverWS = ws[0], ws[1:]
	}
	return nil
}

// logger writes to standard error.
func logger(c *cli.Context) (zerolog.Logger, error) {
	format := c.String("log-format")
	if format == "" {
		format = "json"
		if command.OnTerminal(os.Stderr) {
			format = "text"
		}
	}
	if format != "json" && format != "text" {
		return zerolog.Nop(), usage(fmt.Errorf("--log-format %q; use text or json", format))
	}
	log, err := command.Log(c.String("log-level"), format == "json")
	if err != nil {
		err = usage(err)
	}
	return log, err
}

// exitCode is the exit status for an error.
func exitCode(err error, interrupted bool) int {
	var wrong *usageError
	switch {
	case interrupted:
		return exitInterrupted
	case errors.As(err, &wrong), errors.Is(err, config.ErrConfig), errors.Is(err, chain.ErrEndpoint), errors.Is(err, chain.ErrConfig),
		errors.Is(err, chain.ErrKeypairMissing), errors.Is(err, chain.ErrKeypairFormat), errors.Is(err, market.ErrAmount),
		errors.Is(err, pricing.ErrPolicy), errors.Is(err, daemon.ErrSimulation),
		errors.Is(err, setup.ErrNobody), errors.Is(err, setup.ErrNoAnswer):
		return exitUsage
	case errors.Is(err, chain.ErrUnreachable), errors.Is(err, chain.ErrClosed):
		return exitNetwork
	case errors.Is(err, host.ErrNoGPUs), errors.Is(err, register.ErrNoSOL):
		return exitRefused
	}
	return exitRefused
}
