package provide

import (
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/rewards"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func payoutCommands(s command.Streams) []*cli.Command {
	wallet := &cli.StringFlag{Name: "wallet", Usage: "`WALLET` that they belong to; --keypair's if left out"}
	return []*cli.Command{{
		Name: "payouts", Usage: "parts of slashes that wait for a finder or a customer",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "all payouts, or a wallet's", Flags: []cli.Flag{wallet}, Action: action(s, (*session).payouts)},
			{Name: "claim", Usage: "send a wallet's payouts whose time has come to it; anyone may", Flags: []cli.Flag{wallet}, Action: action(s, (*session).payoutsClaim)},
		},
	}}
}

func (s *session) payouts() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	var of solana.PublicKey
	if text := s.CLI.String("wallet"); text != "" {
		var err error
		if of, err = service.Address(text, "wallet"); err != nil {
			return err
		}
	}
	scope := command.Only(market.KindPayout)
	if !of.IsZero() {
		scope = view.Only([]chain.Filter{query.PayoutsOf(of)})
	}
	v, err := s.Snapshot(scope)
	if err != nil {
		return err
	}
	out := []rewards.Payout{}
	for _, p := range v.Payouts() {
		if of.IsZero() || p.Beneficiary == of {
			out = append(out, rewards.DescribePayout(&p))
		}
	}
	return s.Done(out, func(w *terminal.Page) {
		if len(out) == 0 {
			fmt.Fprintln(w, "no payouts wait")
			return
		}
		rows := make([][]string, len(out))
		for i, p := range out {
			rows[i] = []string{p.Beneficiary, p.Amount, service.When(p.PayableAt), p.Source}
		}
		w.Table("WALLET|>GNT|PAYABLE (UTC)~1|@OUT OF", rows)
	})
}

func (s *session) payoutsClaim() error {
	_, mk, key, err := s.Begin()
	if err != nil {
		return err
	}
	of := key.PublicKey()
	if text := s.CLI.String("wallet"); text != "" {
		if of, err = service.Address(text, "wallet"); err != nil {
			return err
		}
	}
	v, now, err := s.SnapshotNow(view.Only([]chain.Filter{query.PayoutsOf(of)}))
	if err != nil {
		return err
	}
	out, err := rewards.Pay(&mk, v.Payouts(), of, key.PublicKey(), now, s.Sends)
	if err != nil {
		return err
	}
	return s.Done(out, func(w *terminal.Page) {
		fmt.Fprintf(w, "%s GNT paid out to %s   tx %s\n", out.Total, out.Wallet, out.Txs[len(out.Txs)-1].Signature)
	})
}
