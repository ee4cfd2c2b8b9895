package cli

import (
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func payoutCommands(s Streams) []*cli.Command {
	wallet := &cli.StringFlag{Name: "wallet", Usage: "`WALLET` that they belong to; --keypair's if left out"}
	return []*cli.Command{{
		Name: "payouts", Usage: "parts of slashes that wait for a finder or a customer",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "all payouts, or a wallet's", Flags: []cli.Flag{wallet}, Action: action(s, (*session).payouts)},
			{Name: "claim", Usage: "send a wallet's payouts whose time has come to it; anyone may", Flags: []cli.Flag{wallet}, Action: action(s, (*session).payoutsClaim)},
		},
	}}
}

// payoutJSON is a payout as printed.
type payoutJSON struct {
	Address     string `json:"address"`
	Beneficiary string `json:"beneficiary"`
	Source      string `json:"source"`
	Amount      string `json:"amount"`
	PayableAt   int64  `json:"payableAt"`
}

func describePayout(p *market.Payout) payoutJSON {
	return payoutJSON{p.Address.String(), p.Beneficiary.String(), p.Source.String(), market.GNT(p.Amount).String(), p.PayableAt}
}

func (s *session) payouts() error {
	if _, err := s.args(); err != nil {
		return err
	}
	var of solana.PublicKey
	if text := s.cli.String("wallet"); text != "" {
		var err error
		if of, err = address(text, "wallet"); err != nil {
			return err
		}
	}
	scope := only(market.KindPayout)
	if !of.IsZero() {
		scope = view.Only([]chain.Filter{query.PayoutsOf(of)})
	}
	v, err := s.snapshot(scope)
	if err != nil {
		return err
	}
	out := []payoutJSON{}
	for _, p := range v.Payouts() {
		if of.IsZero() || p.Beneficiary == of {
			out = append(out, describePayout(&p))
		}
	}
	return s.done(out, func(w io.Writer) {
		if len(out) == 0 {
			fmt.Fprintln(w, "no payouts wait")
			return
		}
		rows := make([][]string, len(out))
		for i, p := range out {
			rows[i] = []string{p.Beneficiary, p.Amount, when(p.PayableAt), p.Source}
		}
		table(w, "WALLET|GNT|PAYABLE (UTC)|OUT OF", rows)
	})
}

// payoutsJSON are claims as printed.
type payoutsJSON struct {
	Wallet  string       `json:"wallet"`
	Total   string       `json:"total"`
	Payouts []payoutJSON `json:"payouts"`
	Txs     []sent       `json:"transactions"`
}

func (s *session) payoutsClaim() error {
	_, mk, key, err := s.begin()
	if err != nil {
		return err
	}
	of := key.PublicKey()
	if text := s.cli.String("wallet"); text != "" {
		if of, err = address(text, "wallet"); err != nil {
			return err
		}
	}
	v, now, err := s.snapshotNow(view.Only([]chain.Filter{query.PayoutsOf(of)}))
	if err != nil {
		return err
	}
	due, next := payable(v.Payouts(), of, now)
	if len(due) == 0 {
		why := "nothing waits for " + of.String()
		if next != 0 {
			why = fmt.Sprintf("nothing is payable to %s before %s UTC", of, when(next))
		}
		return refused(why, "see gantry payouts list")
	}
	out, total := payoutsJSON{Wallet: of.String()}, market.GNT(0)
	for _, p := range due {
		instruction, err := ix.PayoutClaim(p, mk.StakeMint)
		if err != nil {
			return err
		}
		tx, err := s.send("payout_claim", []solana.Instruction{ix.CreateTokenAccount(key.PublicKey(), of, mk.StakeMint), instruction})
		if err != nil {
			return err
		}
		total += market.GNT(p.Amount)
		out.Payouts, out.Txs = append(out.Payouts, describePayout(&p)), append(out.Txs, tx)
	}
	out.Total = total.String()
	return s.done(out, func(w io.Writer) {
		fmt.Fprintf(w, "%s GNT paid out to %s   tx %s\n", out.Total, out.Wallet, out.Txs[len(out.Txs)-1].Signature)
	})
}

// payable are a wallet's payouts whose time has come, and when the next one's comes; 0 when there is none.
func payable(all []market.Payout, of solana.PublicKey, now int64) (due []market.Payout, next int64) {
	for _, p := range all {
		switch {
		case p.Beneficiary != of:
		case now >= p.PayableAt:
			due = append(due, p)
		case next == 0 || p.PayableAt < next:
			next = p.PayableAt
		}
	}
	return due, next
}
