package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/gateway/grants"
	"github.com/gantry-market/gantry/gateway/toll"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// Only customers of grants are answered here. A payment makes the gateway read the chain, so that few are taken.
var (
	accountProtocol = p2p.Protocol{ID: messages.GatewayAccount, MaxRequest: 1 << 10, MaxResponse: 4 << 10, Rate: 2, Burst: 20, Concurrent: 64, PerPeer: 4}
	payProtocol     = p2p.Protocol{
		ID: messages.GatewayPay, MaxRequest: 1 << 10, MaxResponse: 4 << 10, Timeout: 20 * time.Second, Rate: 1, Burst: 10, Concurrent: 32, PerPeer: 2,
	}
)

// openBook reads what was paid, where a price is asked.
func (g *Gateway) openBook(ctx context.Context, domain records.Domain, mint solana.PublicKey) (err error) {
	p := g.c.Price
	if p.PerGiB == 0 {
		return nil
	}
	if p.Payee.IsZero() {
		p.Payee = g.c.Key.PublicKey()
	}
	account := market.TokenAddress(p.Payee, mint)
	if _, err := g.c.Client.Account(ctx, account, chain.Confirmed); errors.Is(err, chain.ErrAccountNotFound) {
		return fmt.Errorf("%w: wallet %s has no account of the token that customers pay with (mint %s); create it: spl-token create-account %s --owner %s",
			ErrConfig, p.Payee, mint, mint, p.Payee)
	} else if err != nil {
		return err
	}
	g.book, err = toll.Open(toll.Options{
		Path: filepath.Join(g.c.Data, "payments.db"), Domain: domain, Gateway: g.c.Key.PublicKey(), Price: p.PerGiB, Free: p.Free, Mint: mint, Payee: p.Payee,
		Transaction: func(ctx context.Context, sig solana.Signature) (chain.Landed, error) {
			return g.c.Client.Transaction(ctx, sig, chain.Finalized)
		},
	})
	if err != nil {
		return err
	}
	g.terms = messages.GatewayTerms{Domain: domain, Price: uint64(p.PerGiB), Free: p.Free, Mint: mint, Wallet: p.Payee}
	g.c.Log.Info().Stringer("usdc_a_gib", p.PerGiB).Uint64("free_bytes", p.Free).Stringer("account", account).Msg("customers pay for what is relayed")
	return nil
}

// termsOf are the gateway's, with what a lease has left; nil where nothing is asked.
func (g *Gateway) termsOf(e *grants.Entry) (*messages.GatewayTerms, error) {
	if g.book == nil {
		return nil, nil //nolint:nilnil // there are none
	}
	t := g.terms
	var err error
	t.FreeLeft, t.Left, err = e.Toll.Left()
	return &t, err
}

func (g *Gateway) showAccount(_ context.Context, from solana.PublicKey, req messages.GatewayAccountRequest) (messages.GatewayAccountAnswer, error) {
	answer := messages.GatewayAccountAnswer{Version: messages.Version}
	e, ok := g.table.Of(from, req.Lease)
	if !ok {
		answer.Refused = "this gateway has no grant of yours for the lease"
		return answer, nil
	}
	var err error
	answer.Terms, err = g.termsOf(e)
	return answer, err
}

func (g *Gateway) takePayment(ctx context.Context, from solana.PublicKey, req messages.GatewayPayRequest) (messages.GatewayPayAnswer, error) {
	answer := messages.GatewayPayAnswer{Version: messages.Version}
	switch {
	case g.book == nil:
		answer.Refused = "this gateway asks nothing now, and counts no payments"
		return answer, nil
	case !g.table.Speaks(from, req.Customer):
		answer.Refused = "this gateway has no grant of that wallet"
		return answer, nil
	}
	bought, err := g.book.Pay(ctx, req.Customer, req.Number, req.Signature)
	var no *toll.RefusedError
	if errors.As(err, &no) {
		answer.Refused, answer.Later = printable.Text(no.Why), no.Later
		return answer, nil
	}
	if err != nil {
		if ctx.Err() == nil {
			g.c.Log.Warn().Err(err).Msg("a payment cannot be looked at")
		}
		return answer, err
	}
	g.c.Log.Info().Stringer("customer", solana.PublicKey(req.Customer)).Stringer("transaction", solana.Signature(req.Signature)).Uint64("bytes", bought).Msg("payment counted")
	answer.Bytes = bought
	return answer, nil
}
