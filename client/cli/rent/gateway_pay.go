package rent

import (
	"context"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/expose"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txm"
)

// printTerms prints what a gateway asks; nothing where it asks nothing.
func printTerms(w *terminal.Page, gateway solana.PublicKey, t *expose.Terms) {
	if t == nil {
		return
	}
	w.Pairs([2]string{"gateway", gateway.String()}, [2]string{"relaying costs", t.Price + " USDC a GiB, both ways together"},
		[2]string{"free, left", fmt.Sprintf("%s of the %s of each lease", terminal.Mebibytes(t.FreeLeft), terminal.Mebibytes(t.Free))},
		[2]string{"paid, left", terminal.Mebibytes(t.Left) + " for all your leases"})
}

// gatewayShow prints a gateway's terms.
func (s *session) gatewayShow() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	g, c, err := s.toGateway(args[0])
	if err != nil {
		return err
	}
	terms, err := g.Terms(s.Context, c.Lease().Address)
	if err != nil {
		return err
	}
	out := struct {
		Lease   string        `json:"lease"`
		Gateway string        `json:"gateway"`
		Terms   *expose.Terms `json:"terms,omitempty"`
	}{c.Lease().Address.String(), g.Key().String(), terms}
	return s.Done(out, func(w *terminal.Page) {
		if out.Terms == nil {
			fmt.Fprintf(w, "gateway %s asks nothing\n", g.Key())
		}
		printTerms(w, g.Key(), out.Terms)
	})
}

// gatewayPay pays once, or finishes what an earlier command has begun.
func (s *session) gatewayPay() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	want, err := s.gatewayPayment()
	if err != nil {
		return err
	}
	g, c, err := s.toGateway(args[0])
	if err != nil {
		return err
	}
	if want.Folder, err = s.Folder(); err != nil {
		return err
	}
	sender, err := s.Sender()
	if err != nil {
		return err
	}
	want.Sender = sender
	if s.DryRun {
		want.Simulate = func(_ context.Context, path string, in txm.Intent) error { return s.Simulate(sender, path, in) }
	}
	out, err := g.Pay(s.Context, c.Lease(), want)
	if err != nil {
		return err
	}
	return s.Done(out, func(w *terminal.Page) {
		fmt.Fprintf(w, "paid %s USDC for %s   tx %s\n", out.Amount, terminal.Mebibytes(out.Bytes), out.Tx.Signature)
		printTerms(w, g.Key(), out.Terms)
	})
}

// gatewayPayment is what the flags say of a payment, and how it is agreed to.
func (s *session) gatewayPayment() (p expose.Payment, err error) {
	if p.Amount, err = market.ParseUSDC(s.CLI.String(flagAmount)); err != nil {
		return p, err
	}
	if err = p.Check(); err != nil {
		return p, err
	}
	if text := s.CLI.String(flagMaxPrice); text != "" {
		most, err := market.ParseUSDC(text)
		if err != nil {
			return p, err
		}
		p.MaxPrice = &most
	}
	p.Continues = func(earlier purchase.Payment) {
		s.Say(" · an earlier command began to pay %s USDC to this gateway at %s UTC; it is finished first", earlier.Amount, service.When(earlier.Created.Unix()))
	}
	p.Confirm = func(_ context.Context, a expose.Ask) error {
		if a.Then != nil {
			return s.Confirm("pay      %s USDC to gateway %s, which asks %s USDC a GiB now, and asked %s then", a.Amount, a.Gateway, a.Price, *a.Then)
		}
		return s.Confirm("pay      %s USDC to gateway %s (wallet %s), at %s USDC a GiB; nothing gives it back", a.Amount, a.Gateway, a.Wallet, a.Price)
	}
	return p, nil
}
