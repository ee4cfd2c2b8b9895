package expose

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

var (
	accountProtocol = p2p.Protocol{ID: messages.GatewayAccount, MaxRequest: 1 << 10, MaxResponse: 4 << 10}
	payProtocol     = p2p.Protocol{ID: messages.GatewayPay, MaxRequest: 1 << 10, MaxResponse: 4 << 10, Timeout: connectTime}
)

// Terms are what a gateway asks, and what is left; bytes.
type Terms struct {
	Price    string `json:"price" doc:"USDC a GiB, both ways together"`
	Free     uint64 `json:"free" doc:"Bytes of each lease that cost nothing"`
	FreeLeft uint64 `json:"freeLeft" doc:"Bytes that are left of them for this lease"`
	Left     uint64 `json:"left" doc:"Bytes that are left of what was paid, for all leases of the wallet"`
	Wallet   string `json:"wallet" doc:"The gateway's, to which payments go"`
	Mint     string `json:"mint" doc:"Of the token that it takes"`
}

func newTerms(t *messages.GatewayTerms) *Terms {
	if t == nil {
		return nil
	}
	return &Terms{
		Price: market.USDC(t.Price).String(), Free: t.Free, FreeLeft: t.FreeLeft, Left: t.Left,
		Wallet: solana.PublicKey(t.Wallet).String(), Mint: solana.PublicKey(t.Mint).String(),
	}
}

// Terms asks the gateway for its price for a lease that was granted to it; nil where it asks nothing.
func (g *Gateway) Terms(ctx context.Context, lease solana.PublicKey) (*Terms, error) {
	t, err := g.terms(ctx, lease)
	return newTerms(t), err
}

func (g *Gateway) terms(ctx context.Context, lease solana.PublicKey) (*messages.GatewayTerms, error) {
	answer, err := p2p.Call[messages.GatewayAccountRequest, messages.GatewayAccountAnswer](ctx, g.e.o.Net, g.key, accountProtocol,
		messages.GatewayAccountRequest{Version: messages.Version, Lease: lease})
	switch {
	case errors.Is(err, p2p.ErrProtocol):
		return nil, service.Refused(fmt.Sprintf("%s is not a gateway, or runs a version without payments", g.key), "it needs no payment; look at the address if you expected a price")
	case p2p.IsCode(err, p2p.CodeRefused):
		return nil, service.Refused(fmt.Sprintf("gateway %s has no grant of yours", g.key), "open the lease first: gantry gateway open")
	case err != nil:
		return nil, service.Network(err.Error(), "try again", err)
	case answer.Refused != "":
		return nil, service.Refused("the gateway refuses: "+answer.Refused, "open the lease first: gantry gateway open")
	}
	return answer.Terms, nil
}
