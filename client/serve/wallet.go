package serve

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/wallet"
)

// Wallet builds what only the customer's own key may sign, and sends what it has signed. *wallet.Builder implements it.
type Wallet interface {
	Build(ctx context.Context, r wallet.Request) (wallet.Transaction, error)
	Submit(ctx context.Context, id string, signed []byte) (service.Sent, error)
	Funds(ctx context.Context) (wallet.Funds, error)
	Chain(ctx context.Context) (string, error)
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
	s.registerWalletSignIn(api)
}
