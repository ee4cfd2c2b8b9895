package serve

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/wallet"
)

const aboutPath = "/page/about"

// Wallet builds what only the customer's own key may sign, and sends what it has signed. *wallet.Builder implements it.
type Wallet interface {
	Build(ctx context.Context, r wallet.Request) (wallet.Transaction, error)
	Submit(ctx context.Context, id string, signed []byte) (service.Sent, error)
	Funds(ctx context.Context) (wallet.Funds, error)
	Chain(ctx context.Context) (string, error)
}

// About is what a page has to know before somebody is signed in.
type About struct {
	// Chain is how wallets name the cluster.
	Chain string `json:"chain"`
	// Local says that it is a local network, on which the page has a wallet for development.
	Local bool `json:"local"`
}

type submitInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Signed []byte `json:"signed" doc:"The transaction with the wallet's signature"`
	}
}

// registerWallet adds the operations of the page that are about the customer's wallet.
func (s *Server) registerWallet(api huma.API) {
	hidden := func(id, method, path string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Hidden: true}
	}
	huma.Register(api, hidden("about", http.MethodGet, aboutPath), func(ctx context.Context, _ *struct{}) (*reply[About], error) {
		chain, err := s.o.Wallet.Chain(ctx)
		if err != nil {
			return nil, failed(err)
		}
		return &reply[About]{About{Chain: chain, Local: s.o.Local}}, nil
	})
	huma.Register(api, hidden("wallet-funds", http.MethodGet, "/page/funds"), func(ctx context.Context, _ *struct{}) (*reply[wallet.Funds], error) {
		f, err := s.o.Wallet.Funds(ctx)
		if err != nil {
			return nil, failed(err)
		}
		return &reply[wallet.Funds]{f}, nil
	})
	type buildInput struct{ Body wallet.Request }
	huma.Register(api, hidden("wallet-build", http.MethodPost, "/page/transactions"), func(ctx context.Context, in *buildInput) (*reply[wallet.Transaction], error) {
		t, err := s.o.Wallet.Build(ctx, in.Body)
		if err != nil {
			return nil, failed(err)
		}
		return &reply[wallet.Transaction]{t}, nil
	})
	huma.Register(api, hidden("wallet-submit", http.MethodPost, "/page/transactions/{id}"), func(ctx context.Context, in *submitInput) (*reply[service.Sent], error) {
		sent, err := s.o.Wallet.Submit(ctx, in.ID, in.Body.Signed)
		if err == nil {
			err = s.o.Service.AwaitCredits(ctx)
		}
		if err != nil {
			return nil, failed(err)
		}
		return &reply[service.Sent]{sent}, nil
	})
	huma.Register(api, hidden("keepers", http.MethodGet, "/page/keepers"), func(ctx context.Context, _ *struct{}) (*reply[service.Keepers], error) {
		k, err := s.o.Service.Keepers(ctx)
		if err != nil {
			return nil, failed(err)
		}
		return &reply[service.Keepers]{k}, nil
	})
	s.registerWalletSignIn(api)
}
