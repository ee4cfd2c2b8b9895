package cli

import (
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

func creditsCommand(s Streams) *cli.Command {
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
	Customer string `json:"customer"`
	Account  string `json:"account"`
	Balance  string `json:"balance"`
	Reserved string `json:"reserved"`
	Free     string `json:"free"`
	Orders   uint32 `json:"liveOrders"`
	Leases   uint32 `json:"liveLeases"`
	Wallet   string `json:"wallet,omitempty"` // USDC in the wallet, where the command has looked
	Tx       *sent  `json:"transaction,omitempty"`
}

func creditsOf(customer solana.PublicKey, c market.Credits, tx *sent) creditsJSON {
	return creditsJSON{
		Customer: customer.String(), Account: market.CreditsAddress(customer).String(), Balance: market.USDC(c.Balance).String(),
		Reserved: market.USDC(c.Credits.Reserved).String(), Free: c.Free().String(), Orders: c.LiveOrders, Leases: c.LiveLeases, Tx: tx,
	}
}

// credits reads the customer's money; the zero value when the account does not exist.
func (s *session) credits(customer solana.PublicKey) (market.Credits, bool, error) {
	return query.Find[market.Credits](s.ctx, s.client, market.CreditsAddress(customer), s.client.WaitLevel())
}

func (s *session) creditsAdd() error {
	args, err := s.args("AMOUNT")
	if err != nil {
		return err
	}
	amount, err := market.ParseUSDC(args[0])
	if err != nil {
		return err
	}
	if amount == 0 {
		return usage("an amount of 0 moves nothing", "give an amount such as 25 or 12.50")
	}
	mk, key, err := s.open()
	if err != nil {
		return err
	}
	have, err := s.tokenBalance(market.TokenAddress(key.PublicKey(), mk.PaymentMint))
	if err != nil {
		return err
	}
	if have < uint64(amount) {
		return refused(fmt.Sprintf("deposit refused: %s USDC asked, the wallet %s holds %s", amount, key.PublicKey(), market.USDC(have)),
			fmt.Sprintf("send %s USDC (mint %s) to it first", amount-market.USDC(have), mk.PaymentMint))
	}
	if err := s.confirm("deposit  %s USDC of the wallet into its credits", amount); err != nil {
		return err
	}
	instruction, err := ix.CreditsDeposit(ix.CreditsArgs{Customer: key.PublicKey(), PaymentMint: mk.PaymentMint, Amount: amount})
	return s.creditsDone("credits_deposit", fmt.Sprintf("added %s USDC", amount), key.PublicKey(), instruction, err)
}

func (s *session) creditsWithdraw() error {
	args, mk, key, err := s.begin("AMOUNT|all")
	if err != nil {
		return err
	}
	c, ok, err := s.credits(key.PublicKey())
	if err != nil {
		return err
	}
	amount := c.Free()
	if args[0] != "all" {
		if amount, err = market.ParseUSDC(args[0]); err != nil {
			return err
		}
	}
	switch {
	case !ok:
		return refused("withdrawal refused: this wallet has no credits", "add some with: gantry credits add AMOUNT")
	case amount == 0:
		return usage("an amount of 0 moves nothing", "free credits: "+c.Free().String()+" USDC")
	case amount > c.Free():
		return refused(fmt.Sprintf("withdrawal refused: %s USDC asked, %s free%s", amount, c.Free(), buy.ReservedBy(c)),
			"withdraw what is free with: gantry credits withdraw all")
	}
	if err := s.confirm("withdraw %s USDC of the credits into the wallet", amount); err != nil {
		return err
	}
	ixs := []solana.Instruction{ix.CreateTokenAccount(key.PublicKey(), key.PublicKey(), mk.PaymentMint)}
	instruction, err := ix.CreditsWithdraw(ix.CreditsArgs{Customer: key.PublicKey(), PaymentMint: mk.PaymentMint, Amount: amount})
	return s.creditsDone("credits_withdraw", fmt.Sprintf("withdrew %s USDC", amount), key.PublicKey(), instruction, err, ixs...)
}

func (s *session) creditsDone(kind, what string, customer solana.PublicKey, instruction solana.Instruction, err error, before ...solana.Instruction) error {
	if err != nil {
		return err
	}
	tx, err := s.send(kind, append(before, instruction))
	if err != nil {
		return err
	}
	c, _, err := s.credits(customer)
	if err != nil {
		return err
	}
	return s.done(creditsOf(customer, c, &tx), func(w io.Writer) {
		fmt.Fprintf(w, "%s   balance %s, reserved %s, free %s   tx %s\n", what, market.USDC(c.Balance), market.USDC(c.Credits.Reserved), c.Free(), tx.Signature)
	})
}

func (s *session) creditsShow() error {
	_, mk, key, err := s.begin()
	if err != nil {
		return err
	}
	c, _, err := s.credits(key.PublicKey())
	if err != nil {
		return err
	}
	have, err := s.tokenBalance(market.TokenAddress(key.PublicKey(), mk.PaymentMint))
	if err != nil {
		return err
	}
	out := creditsOf(key.PublicKey(), c, nil)
	out.Wallet = market.USDC(have).String()
	return s.done(out, func(w io.Writer) {
		pairs(w, [2]string{"customer", key.PublicKey().String()}, [2]string{"balance", out.Balance + " USDC"},
			[2]string{"reserved", out.Reserved + " USDC" + buy.ReservedBy(c)},
			[2]string{"free", out.Free + " USDC"}, [2]string{"in wallet", out.Wallet + " USDC"})
	})
}

func (s *session) creditsClose() error {
	_, mk, key, err := s.begin()
	if err != nil {
		return err
	}
	c, ok, err := s.credits(key.PublicKey())
	if err != nil {
		return err
	}
	switch {
	case !ok:
		return refused("this wallet has no credits account", "")
	case c.LiveOrders > 0 || c.LiveLeases > 0:
		return refused(fmt.Sprintf("credits are in use%s", buy.ReservedBy(c)), "close your leases and cancel your orders first: gantry leases, gantry order list")
	}
	instruction, err := ix.CreditsClose(ix.CreditsArgs{Customer: key.PublicKey(), PaymentMint: mk.PaymentMint})
	ixs := ix.CreateTokenAccount(key.PublicKey(), key.PublicKey(), mk.PaymentMint)
	return s.creditsDone("credits_close", fmt.Sprintf("closed, %s USDC and the rent are back in your wallet", market.USDC(c.Balance)), key.PublicKey(), instruction, err, ixs)
}
