package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

var (
	gatewayAccountProtocol = since(7, p2p.Protocol{ID: messages.GatewayAccount, MaxRequest: 1 << 10, MaxResponse: 4 << 10})
	gatewayPayProtocol     = since(7, p2p.Protocol{ID: messages.GatewayPay, MaxRequest: 1 << 10, MaxResponse: 4 << 10, Timeout: container.EnterTime})
)

// termsJSON is what a gateway asks, and what is left; bytes.
type termsJSON struct {
	Price    string `json:"price"` // USDC a GiB, both ways together
	Free     uint64 `json:"free"`  // of each lease
	FreeLeft uint64 `json:"freeLeft"`
	Left     uint64 `json:"left"` // of what was paid, for all leases of the wallet
	Wallet   string `json:"wallet"`
	Mint     string `json:"mint"`
}

func newTerms(t *messages.GatewayTerms) *termsJSON {
	if t == nil {
		return nil
	}
	return &termsJSON{
		Price: market.USDC(t.Price).String(), Free: t.Free, FreeLeft: t.FreeLeft, Left: t.Left,
		Wallet: solana.PublicKey(t.Wallet).String(), Mint: solana.PublicKey(t.Mint).String(),
	}
}

func (t *termsJSON) print(w io.Writer) {
	fmt.Fprintf(w, "the gateway asks %s USDC a GiB, both ways together; left: %s of the %s that each lease has for nothing, %s that you have paid\n",
		t.Price, mebibytes(t.FreeLeft), mebibytes(t.Free), mebibytes(t.Left))
}

// termsOf asks a gateway for its price for a lease; nil if it has none.
func (s *session) termsOf(r *buy.Remote, lease, at solana.PublicKey) (*messages.GatewayTerms, error) {
	answer, err := p2p.Call[messages.GatewayAccountRequest, messages.GatewayAccountAnswer](s.ctx, r.Net, at, gatewayAccountProtocol,
		messages.GatewayAccountRequest{Version: messages.Version, Lease: lease})
	switch {
	case errors.Is(err, p2p.ErrProtocol):
		return nil, refused(fmt.Sprintf("%s is not a gateway, or runs a version without payments", at), "it needs no payment; look at the address if you expected a price")
	case p2p.IsCode(err, p2p.CodeRefused):
		return nil, refused(fmt.Sprintf("gateway %s has no grant of yours", at), "open the lease first: gantry gateway open")
	case err != nil:
		return nil, network(err.Error(), "try again", err)
	case answer.Refused != "":
		return nil, refused("the gateway refuses: "+answer.Refused, "open the lease first: gantry gateway open")
	}
	return answer.Terms, nil
}

// gatewayShow prints a gateway's terms.
func (s *session) gatewayShow() error {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	c, err := s.container(args[0])
	if err != nil {
		return err
	}
	at, err := s.gateway(c.Remote())
	if err != nil {
		return err
	}
	terms, err := s.termsOf(c.Remote(), c.Lease().Address, at)
	if err != nil {
		return err
	}
	out := struct {
		Lease   string     `json:"lease"`
		Gateway string     `json:"gateway"`
		Terms   *termsJSON `json:"terms,omitempty"`
	}{c.Lease().Address.String(), at.String(), newTerms(terms)}
	return s.done(out, func(w io.Writer) {
		if out.Terms == nil {
			fmt.Fprintf(w, "gateway %s asks nothing\n", at)
			return
		}
		out.Terms.print(w)
	})
}
