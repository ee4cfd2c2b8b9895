package govern

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/governance"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
)

func marketCommands(s command.Streams) []*cli.Command {
	set := &cli.StringSliceFlag{Name: "set", Usage: "`NAME=VALUE` of a parameter, such as fee_bps=1300; repeat"}
	params := &cli.StringFlag{Name: "params", Usage: "JSON `FILE` with parameters"}
	return []*cli.Command{{
		Name: "market", Usage: "the market itself: parameters, models, governance",
		Subcommands: []*cli.Command{
			{Name: "show", Usage: "mints, parameters, models", Action: action(s, (*session).marketShow)},
			programCommand(s),
			classesCommand(s),
			{
				Name: "init", Usage: "create the market; by the program's upgrade authority",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "payment-mint", Usage: "`MINT` with 6 decimals"}, &cli.StringFlag{Name: "stake-mint", Usage: "`MINT` with 9 decimals"},
					&cli.StringFlag{Name: "treasury", Usage: "token `ACCOUNT` of the payment mint (default: your own)"},
					&cli.StringFlag{Name: "guardian", Usage: "`ADDRESS` that may pause (default: yourself)"}, params, set, command.VaultFlag(),
				},
				Action: action(s, (*session).marketInit),
			},
			{Name: "propose", Usage: "propose parameters; they wait for the timelock", Flags: []cli.Flag{params, set, command.VaultFlag()}, Action: action(s, (*session).marketPropose)},
			{Name: "apply", Usage: "put proposed parameters into force; anyone may", Action: action(s, (*session).marketApply)},
			{Name: "pause", Usage: "stop new orders or awards, never refunds and withdrawals", ArgsUsage: "orders|awards|orders,awards|none", Flags: []cli.Flag{command.VaultFlag()}, Action: action(s, (*session).marketPause)},
			{
				Name: "roles", Usage: "authority, guardian and treasury; a change waits for the timelock",
				Subcommands: []*cli.Command{
					{
						Name: "propose", Usage: "propose the next authority, a guardian, or a treasury; replaces a pending proposal",
						Flags: []cli.Flag{
							&cli.StringFlag{Name: "authority", Usage: "`ADDRESS` that governs next, and applies the proposal itself (default: as it is)"},
							&cli.StringFlag{Name: "guardian", Usage: "`ADDRESS` that may pause (default: as it is)"},
							&cli.StringFlag{Name: "treasury", Usage: "token `ACCOUNT` of the payment mint (default: as it is)"}, command.VaultFlag(),
						},
						Action: action(s, (*session).rolesPropose),
					},
					{Name: "apply", Usage: "put the proposed ones in place: the next authority, or anyone where it stays", Flags: []cli.Flag{command.VaultFlag()}, Action: action(s, (*session).rolesApply)},
				},
			},
			{
				Name: "model", Usage: "GPU models; a change waits for the timelock",
				Subcommands: []*cli.Command{{
					Name: "propose", Usage: "propose a GPU model, or other terms for one", ArgsUsage: "ID NAME, or ID --class CLASS",
					Flags: []cli.Flag{
						&cli.StringFlag{Name: flagClass, Usage: "`NAME` of the table (gantry market classes): name, memory, TFLOPS, profile, and, where you give none, price and stake are taken from it"},
						&cli.UintFlag{Name: "vram", Usage: "`MIB` per GPU"}, &cli.StringFlag{Name: "tflops", Usage: "dense FP16 `TFLOPS`, one decimal"},
						&cli.StringFlag{Name: "min-stake", Usage: "`GNT` per GPU"}, &cli.StringFlag{Name: "reference-price", Usage: "`USDC` per GPU-hour"},
						&cli.StringFlag{Name: "min-tops", Value: "0", Usage: "int8 `TOPS` that a GPU of the class reaches in a measurement; a class of the table has its own. 0 asks for nothing, not even for a GPU"},
						&cli.StringFlag{Name: "min-bandwidth", Value: "0", Usage: "`GB/S` of its memory, the same"}, &cli.UintFlag{Name: "min-tier"},
						&cli.StringFlag{Name: "profile", Value: "1024,4,1024,1000,16,500,16", Usage: "what GPUs are measured by: `N,F,ROWS,CHAIN_MS,K,WALK_MS,LANES`"}, command.VaultFlag(),
					},
					Action: action(s, (*session).modelPropose),
				}, {
					Name: "apply", Usage: "put a proposed model into force; anyone may", ArgsUsage: "ID", Action: action(s, (*session).modelApply),
				}},
			},
		},
	}}
}

func (s *session) marketShow() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	out, err := s.Service.Market(s.Context)
	if err != nil {
		return err
	}
	return s.Done(out, func(w *terminal.Page) { printMarket(w, &out) })
}

func printMarket(w *terminal.Page, m *service.Market) {
	paused := strings.Join(m.Paused, ", ")
	if paused == "" {
		paused = "nothing"
	}
	w.Pairs([2]string{"program", m.Program}, [2]string{"market", m.Address}, [2]string{"authority", m.Authority}, [2]string{"guardian", m.Guardian},
		[2]string{"payment mint", m.PaymentMint}, [2]string{"stake mint", m.StakeMint}, [2]string{"treasury", m.Treasury},
		[2]string{"fee vault", m.FeeVault + ", " + m.Fees + " USDC"}, [2]string{"paused", paused},
		[2]string{"keepers", fmt.Sprintf("%d, weight %s GNT", m.Keepers, m.Weight)})
	if m.RolesEta != 0 {
		fmt.Fprintf(w, "\nfrom %s UTC on, by gantry market roles apply: authority %s, guardian %s, treasury %s\n", service.When(m.RolesEta), m.NextAuth, m.NextGuard, m.NextTreas)
	}
	fmt.Fprintln(w, "\nparameters")
	names, values := governance.ParamList(m.Params)
	var next map[string]string
	if m.PendingPars != nil {
		_, next = governance.ParamList(*m.PendingPars)
	}
	rows := make([][2]string, len(names))
	for i, n := range names {
		rows[i] = [2]string{"  " + n, values[n]}
		if next != nil && next[n] != values[n] {
			rows[i][1] += fmt.Sprintf("   → %s from %s UTC on, by: gantry market apply", next[n], service.When(m.PendingEta))
		}
	}
	w.Pairs(rows...)
	fmt.Fprintln(w)
	models := make([][]string, len(m.Models))
	for i, x := range m.Models {
		models[i] = []string{fmt.Sprint(x.ID), x.Name, fmt.Sprintf("%d G", x.VRAMMiB/1024), x.TFLOPS, classText(x.MinOperations, x.MinBandwidth), x.MinStake, x.Reference, inForce(&x)}
	}
	w.Table(">MODEL|NAME|>VRAM~2|>TFLOPS~1|CLASS~3|>STAKE PER GPU|>REFERENCE $/GPU-H|IN FORCE", models)
	fmt.Fprintln(w, "\nwhat GPUs are measured by: order, fold, rows, ms of the chain, resident rounds, ms of walks, lanes")
	profiles := make([][]string, len(m.Models))
	for i, x := range m.Models {
		profiles[i] = []string{fmt.Sprint(x.ID), x.Profile, cmp.Or(x.PreviousProfile, "-")}
		if x.Pending != nil && x.Pending.Profile != x.Profile {
			profiles[i][1] += " → " + x.Pending.Profile
		}
	}
	w.Table(">MODEL|PROFILE|BEFORE", profiles)
	printRelations(w, m.Relations)
}

// classText is what a GPU of a model is to reach in a measurement.
func classText(operations, bandwidth uint32) string {
	if operations == 0 && bandwidth == 0 {
		return "not calibrated"
	}
	return market.TOPS(operations) + " TOPS, " + market.GBs(bandwidth) + " GB/s"
}

// inForce says since when a model's terms hold, and what is proposed.
func inForce(m *service.Model) string {
	since := "not yet"
	if m.Since != 0 {
		since = "since " + service.When(m.Since) + " UTC"
	}
	if p := m.Pending; p != nil {
		since += fmt.Sprintf("; from %s UTC on, by gantry market model apply %d: stake %s, reference %s, class of %s TOPS and %s GB/s, tier %d",
			service.When(m.PendingEta), m.ID, p.MinStake, p.Reference, market.TOPS(p.MinOperations), market.GBs(p.MinBandwidth), p.MinTier)
	}
	return since
}

// printRelations prints what must hold between parameters so that cheating costs more than it brings.
func printRelations(w *terminal.Page, all []service.Relation) {
	fmt.Fprintln(w, "\nrelations between parameters")
	rows := make([][]string, len(all))
	for i, r := range all {
		holds := "holds"
		if !r.Holds {
			holds = "BROKEN"
		}
		by := "print only"
		if r.Enforced {
			by = "program"
		}
		rows[i] = []string{holds, r.Name, r.Figures, r.Assumption, by}
	}
	w.Table("|RELATION|FIGURES~1|ASSUMPTION~2|CHECKED BY~3", rows)
}

// marketTx is the result of a transaction about the market.
type marketTx struct {
	Market string       `json:"market"`
	Tx     service.Sent `json:"transaction"`
}

func (s *session) keyFlag(name string, otherwise solana.PublicKey) (solana.PublicKey, error) {
	text := s.CLI.String(name)
	if text == "" {
		if otherwise.IsZero() {
			return otherwise, service.Usage("--"+name+" is missing", "see gantry market init --help")
		}
		return otherwise, nil
	}
	key, err := solana.PublicKeyFromBase58(text)
	if err != nil {
		return key, service.Usage(fmt.Sprintf("--%s %q is not an address", name, text), "")
	}
	return key, nil
}
