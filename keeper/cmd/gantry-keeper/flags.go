package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	solanago "github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/internal/command"
	"github.com/gantry-market/gantry/keeper/daemon"
	"github.com/gantry-market/gantry/sdk/browserwallet"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/feeflags"
	"github.com/gantry-market/gantry/sdk/listflags"
)

var errFlags = errors.New("wrong flags")

func keypairFlag() cli.Flag {
	return &cli.StringFlag{Name: "keypair", Aliases: []string{"k"}, Usage: "keypair `FILE` of the keeper's wallet (default: as solana config says)", EnvVars: []string{"GANTRY_KEYPAIR"}}
}

func dataFlag() cli.Flag {
	return &cli.StringFlag{Name: "data-dir", Aliases: []string{"data"}, Value: "~/.local/state/gantry-keeper", Usage: "`FOLDER` of the keeper's stores", EnvVars: []string{"GANTRY_KEEPER_DATA"}}
}

func logFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "log-level", Value: "info", Usage: "trace, debug, info, warn or error", EnvVars: []string{"GANTRY_LOG"}},
		&cli.BoolFlag{Name: "log-json", Usage: "logs as JSON lines"},
	}
}

// signerFolderFlags are those of a signer, which does not talk to the chain.
func signerFolderFlags() []cli.Flag {
	return append([]cli.Flag{keypairFlag(), dataFlag()}, logFlags()...)
}

func commonFlags() []cli.Flag {
	flags := []cli.Flag{
		keypairFlag(),
		&cli.StringSliceFlag{Name: "url", Aliases: []string{"u"}, Usage: "RPC `URL` or moniker; repeat for failover (default: as solana config says)", EnvVars: []string{"GANTRY_RPC_URL"}},
		&cli.StringSliceFlag{Name: "ws", Usage: "WebSocket `URL` of each --url (default: derived)", EnvVars: []string{"GANTRY_WS_URL"}},
		dataFlag(),
	}
	return append(append(append(flags, listflags.Flag()), logFlags()...), feeflags.Flags()...)
}

func addressFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "listen", Usage: "multiaddress to listen on (default: /ip4/127.0.0.1/tcp/0 for a cluster on this machine, else /ip4/0.0.0.0/tcp/4101)"},
		&cli.StringFlag{Name: "announce", Aliases: []string{"multiaddr"}, Usage: "multiaddress at which others reach this keeper (default: the one listened on)"},
	}
}

// logger writes to stderr.
func logger(c *cli.Context) (zerolog.Logger, error) {
	log, err := command.Log(c.String("log-level"), c.Bool("log-json"))
	if err != nil {
		err = fmt.Errorf("%w: %w", errFlags, err)
	}
	return log, err
}

// config reads the flags that all commands share. The caller closes the client.
func config(c *cli.Context) (daemon.Config, error) {
	var out daemon.Config
	log, err := logger(c)
	if err != nil {
		return out, err
	}
	solana, err := chain.LoadCLIConfig("")
	if err != nil && (!c.IsSet("url") || !c.IsSet("keypair") && c.String("signer") == "" && c.String(browserwallet.FlagName) == "") {
		return out, err
	}
	urls, ws := c.StringSlice("url"), c.StringSlice("ws")
	if len(urls) == 0 {
		urls = []string{solana.RPCURL}
		if len(ws) == 0 {
			ws = []string{solana.WebsocketURL}
		}
	}
	endpoints, err := chain.PairEndpoints(urls, ws)
	if err != nil {
		return out, fmt.Errorf("%w: %w", errFlags, err)
	}
	if out.Fees, err = feeflags.Read(c); err != nil {
		return out, fmt.Errorf("%w: %w", errFlags, err)
	}
	lists, err := listflags.Read(c)
	if err != nil {
		return out, fmt.Errorf("%w: %w", errFlags, err)
	}
	keypair := c.String("keypair")
	if keypair == "" {
		keypair = solana.KeypairPath
	}
	if out.Data, err = makeData(c.String("data")); err != nil {
		return out, err
	}
	if text := c.String("keeper"); text != "" {
		if out.Keeper, err = solanago.PublicKeyFromBase58(text); err != nil {
			return out, fmt.Errorf("%w: --keeper %q is not an address", errFlags, text)
		}
	}
	if c.Command.Name == "run" { // `register` and `set-signer` have another flag of this name
		out.Signer, err = signerOf(c)
	}
	if err != nil {
		return out, err
	}
	if out.Signer == nil && c.String(browserwallet.FlagName) == "" {
		if out.Wallet, out.Locks, err = wallet(keypair); err != nil {
			return out, err
		}
	}
	if out.Client, err = chain.New(chain.Options{Endpoints: endpoints, Lists: lists, Log: log}); err != nil {
		return out, err
	}
	out.Log = log
	out.Listen, out.Announce = c.String("listen"), c.String("announce")
	if out.Listen == "" {
		out.Listen = "/ip4/0.0.0.0/tcp/4101"
		if out.Client.Local() {
			out.Listen = "/ip4/127.0.0.1/tcp/0"
		}
	}
	return out, nil
}

func timingFlags() []cli.Flag {
	d := daemon.DefaultTiming()
	return []cli.Flag{
		&cli.BoolFlag{Name: "localnet", Usage: "timing for local networks with short periods; single flags below still win"},
		&cli.DurationFlag{Name: "check-interval", Value: d.CheckInterval, Usage: "between liveness checks of a node"},
		&cli.DurationFlag{Name: "check-timeout", Value: d.CheckTimeout, Usage: "how long to wait for an answer of a node"},
		&cli.UintFlag{Name: "evidence-every", Value: d.EvidenceEvery, Usage: "one of so many nodes is drawn to show evidence in a period; 0 for none, at most 255"},
		&cli.UintFlag{Name: "checks-at-once", Value: d.ChecksAtOnce, Usage: "the most checks in flight; checks that do not fit within half of --check-interval are left out", EnvVars: []string{"GANTRY_KEEPER_CHECKS_AT_ONCE"}},
		&cli.DurationFlag{Name: "report-delay", Value: d.ReportDelay, Usage: "between a period's end and the first proposal of its report"},
		&cli.DurationFlag{Name: "round-timeout", Value: d.RoundTimeout, Usage: "before the next keeper proposes"},
		&cli.DurationFlag{Name: "crank-interval", Usage: "between looks for due crank actions (default: an eighth of a period, 500ms to 10s)"},
		&cli.DurationFlag{Name: "crank-step", Usage: "wait of each keeper for the one before it, to crank (default: 1.5 crank intervals)"},
		&cli.DurationFlag{Name: "award-step", Usage: "wait of each keeper for the one before it, to award an order (default: a sixtieth of the award deadline, 250ms to 2s)"},
		&cli.DurationFlag{Name: "keep", Value: d.Keep, Usage: "how long own statements, votes and leaf sets are kept"},
	}
}

// timing reads the timing flags.
func timing(c *cli.Context) daemon.Timing {
	t := daemon.DefaultTiming()
	if c.Bool("localnet") {
		t = daemon.LocalTiming()
	}
	set := func(name string, d *time.Duration) {
		if c.IsSet(name) {
			*d = c.Duration(name)
		}
	}
	set("check-interval", &t.CheckInterval)
	set("check-timeout", &t.CheckTimeout)
	set("report-delay", &t.ReportDelay)
	set("round-timeout", &t.RoundTimeout)
	set("crank-interval", &t.CrankInterval)
	set("crank-step", &t.CrankStep)
	set("award-step", &t.AwardStep)
	set("keep", &t.Keep)
	if c.IsSet("evidence-every") {
		t.EvidenceEvery = c.Uint("evidence-every")
	}
	if c.IsSet("checks-at-once") {
		t.ChecksAtOnce = c.Uint("checks-at-once")
	}
	return t
}

func evidenceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "evidence-policy", Usage: "`FILE` with the market's evidence policy (default: built in, see docs/protocol/evidence.md)", EnvVars: []string{"GANTRY_EVIDENCE_POLICY"}},
		&cli.StringFlag{Name: "evidence-collateral", Usage: "`FOLDER` with revocation lists, manifests and roots that the policy pins", EnvVars: []string{"GANTRY_EVIDENCE_COLLATERAL"}},
		&cli.DurationFlag{Name: "evidence-keep", Value: daemon.DefaultKeepEvidence, Usage: "how long bundles of evidence are kept for auditors", EnvVars: []string{"GANTRY_EVIDENCE_KEEP"}},
	}
}

// evidencePolicy reads the evidence flags.
func evidencePolicy(c *cli.Context, out *daemon.Config) error {
	if out.KeepEvidence = c.Duration("evidence-keep"); out.KeepEvidence <= 0 {
		return fmt.Errorf("%w: --evidence-keep is %v: auditors ask for bundles long afterwards", errFlags, out.KeepEvidence)
	}
	out.Collateral = c.String("evidence-collateral")
	if out.Collateral != "" {
		if info, err := os.Stat(out.Collateral); err != nil || !info.IsDir() {
			return fmt.Errorf("%w: --evidence-collateral %s is not a folder", errFlags, out.Collateral)
		}
	}
	path := c.String("evidence-policy")
	if path == "" {
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w: --evidence-policy: %w", errFlags, err)
	}
	p, err := policy.Parse(raw)
	if err != nil {
		return fmt.Errorf("%w: --evidence-policy %s: %w", errFlags, path, err)
	}
	out.Evidence = &p
	return nil
}
