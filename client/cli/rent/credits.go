package rent

import (
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
)

func creditsCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "credits", Usage: "money that orders are paid from",
		Subcommands: []*cli.Command{
			{Name: "add", Usage: "deposit USDC of your wallet", ArgsUsage: "AMOUNT", Action: action(s, (*session).creditsAdd)},
			creditsPayCommand(s),
			{Name: "withdraw", Usage: "take out what no order and no lease holds", ArgsUsage: "AMOUNT|all", Action: action(s, (*session).creditsWithdraw)},
			{Name: "show", Usage: "what is there, reserved and free", Action: action(s, (*session).creditsShow)},
			{Name: "close", Usage: "take everything out, rent included", Action: action(s, (*session).creditsClose)},
		},
	}
}

// creditsJSON is a customer's money.
type creditsJSON struct {
	Customer string        `json:"customer"`
	Account  string        `json:"account"`
	Balance  string        `json:"balance"`
	Reserved string        `json:"reserved"`
	Free     string        `json:"free"`
	Orders   uint32        `json:"liveOrders"`
	Leases   uint32        `json:"liveLeases"`
	Wallet   string        `json:"wallet,omitempty"` // USDC in the wallet, where the command has looked
	Tx       *service.Sent `json:"transaction,omitempty"`
}

func creditsOf(customer solana.PublicKey, c market.Credits, tx *service.Sent) creditsJSON {
	return creditsJSON{
		Customer: customer.String(), Account: market.CreditsAddress(customer).String(), Balance: market.USDC(c.Balance).String(),
		Reserved: market.USDC(c.Credits.Reserved).String(), Free: c.Free().String(), Orders: c.LiveOrders, Leases: c.LiveLeases, Tx: tx,
	}
}

func (s *session) creditsAdd() error {
	args, err := s.Args("AMOUNT")
	if err != nil {
		return err
	}
	amount, err := market.ParseUSDC(args[0])
	if err != nil {
		return err
	}
	return s.creditsAct(func(d *operate.Desk) (operate.Action, error) { return d.Deposit(s.Context, amount) })
}

func (s *session) creditsWithdraw() error {
	args, err := s.Args("AMOUNT|all")
	if err != nil {
		return err
	}
	all := args[0] == "all"
	var amount market.USDC
	if !all {
		if amount, err = market.ParseUSDC(args[0]); err != nil {
			return err
		}
	}
	return s.creditsAct(func(d *operate.Desk) (operate.Action, error) { return d.Withdraw(s.Context, amount, all) })
}

func (s *session) creditsClose() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	return s.creditsAct(func(d *operate.Desk) (operate.Action, error) { return d.CloseCredits(s.Context) })
}

// creditsAct sends what is built for the wallet's credits, and reports it.
func (s *session) creditsAct(build func(d *operate.Desk) (operate.Action, error)) error {
	var desk *operate.Desk
	a, tx, err := s.Act(func(d *operate.Desk) (operate.Action, error) {
		desk = d
		return build(d)
	})
	if err != nil {
		return err
	}
	c, _, err := desk.Credits(s.Context)
	if err != nil {
		return err
	}
	return s.Done(creditsOf(a.Of, c, &tx), func(w *terminal.Page) {
		fmt.Fprintf(w, "%s   balance %s, reserved %s, free %s   tx %s\n", a.Did, market.USDC(c.Balance), market.USDC(c.Credits.Reserved), c.Free(), tx.Signature)
	})
}

func (s *session) creditsShow() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	d, err := s.Desk()
	if err != nil {
		return err
	}
	c, _, err := d.Credits(s.Context)
	if err != nil {
		return err
	}
	have, err := s.TokenBalance(market.TokenAddress(d.Key, d.Market.PaymentMint))
	if err != nil {
		return err
	}
	out := creditsOf(d.Key, c, nil)
	out.Wallet = market.USDC(have).String()
	return s.Done(out, func(w *terminal.Page) {
		w.Pairs([2]string{"customer", out.Customer}, [2]string{"balance", out.Balance + " USDC"},
			[2]string{"reserved", out.Reserved + " USDC" + service.ReservedBy(c)},
			[2]string{"free", out.Free + " USDC"}, [2]string{"in wallet", out.Wallet + " USDC"})
	})
}
