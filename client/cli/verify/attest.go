package verify

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func attestCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "attest", Usage: "have the machine of a lease that you have prove itself to you", ArgsUsage: "NODE|LEASE",
		Description: "The machine answers a question that your command has just drawn, and the answer is verified here: keepers' word counts for\n" +
			"nothing. Without --policy only what the makers' roots show can be seen, and no machine gets above tier 1.\n" +
			"To have a machine prove itself before it gets anything, order with: gantry deploy --attest FILE\n" +
			"Exit: 0 the machine has proved what the policy asks for, 1 it has not, 2 wrong use.",
		Flags: command.AsSession(
			&cli.StringFlag{Name: "policy", Usage: "policy document `FILE`, or - for standard input"},
			&cli.StringFlag{Name: "collateral", Usage: "`FOLDER` with the certificates and lists that the policy needs"},
			&cli.UintFlag{Name: "tier", Usage: "refuse a machine below this `TIER` (default: the highest that the policy can give)"},
		),
		Action: action(s, (*session).attest),
	}}
}

func (s *session) attest() error {
	args, _, _, err := s.Begin("NODE|LEASE")
	if err != nil {
		return err
	}
	if s.CLI.Uint("tier") > 3 {
		return service.Usage("--tier is more than 3", "there are tiers 0 to 3")
	}
	d := attestation.Document{Policy: policy.Default()}
	if file := s.CLI.String("policy"); file != "" {
		if d, err = attestation.ReadDocument(file, s.CLI.String("collateral"), s.Streams.In); err != nil {
			return err
		}
	}
	customer, err := s.Customer()
	if err != nil {
		return err
	}
	v, err := s.Live(view.With([]chain.Filter{query.LeasesOf(customer), query.Kind(market.KindKeeper)}))
	if err != nil {
		return err
	}
	l, err := buy.LeaseAt(v, customer, args[0])
	if err != nil {
		return err
	}
	r, err := s.Dial(v)
	if err != nil {
		return err
	}
	stop := s.Waiting("the machine to prove itself", "Ctrl-C stops; the lease continues")
	p, err := r.Attest(s.Context, s.Client, func() time.Time { return s.Service.Clock.Latest(s.Context) }, l, d, uint8(s.CLI.Uint("tier")))
	stop()
	if err != nil {
		return err
	}
	if err := s.Done(p, func(w *terminal.Page) { p.Summary.Write(w) }); err != nil {
		return err
	}
	return p.Failure()
}
