package server

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/solanapay"
	"github.com/gantry-market/gantry/client/wallet"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txm"
)

// PaymentOptions are what deposits by a wallet on a phone need.
type PaymentOptions struct {
	Service *service.Service
	// Sender builds the deposits: it needs no key, because the wallet signs and sends them.
	Sender   *buy.Sender
	Customer solana.PublicKey
	// Base is the public address at which the wallet fetches them.
	Base *url.URL
}

// OpenPayments are deposits of a customer, whose wallet fetches and signs them. Close ends them.
func OpenPayments(ctx context.Context, o PaymentOptions) (p *solanapay.Payments, closeAll func(), err error) {
	of, closeAll, err := depositors(ctx, o.Service, o.Sender)
	if err != nil {
		return nil, nil, err
	}
	return solanapay.New(solanapay.Options{
		Base: o.Base, Customer: o.Customer, Build: of(o.Customer).BuildDeposit, Chain: o.Sender.Client, Now: time.Now, Log: o.Sender.Log,
	}), closeAll, nil
}

// openActions are the actions of a server for everyone: the account that asks for a deposit is the one that pays it. Close ends them.
func openActions(ctx context.Context, svc *service.Service, sender *buy.Sender, base *url.URL) (a *serve.Actions, closeAll func(), err error) {
	genesis, err := sender.Client.Genesis(ctx)
	if err != nil {
		return nil, nil, err
	}
	of, closeAll, err := depositors(ctx, svc, sender)
	if err != nil {
		return nil, nil, err
	}
	return &serve.Actions{
		Base: base, Genesis: genesis,
		Deposit: func(ctx context.Context, account solana.PublicKey, amount market.USDC) (wallet.Transaction, error) {
			return of(account).BuildDeposit(ctx, amount, solana.PublicKey{})
		},
	}, closeAll, nil
}

// depositors build deposits of any wallet, which signs and sends them itself: there is no key here. Close ends them.
func depositors(ctx context.Context, svc *service.Service, sender *buy.Sender) (of func(customer solana.PublicKey) *wallet.Builder, closeAll func(), err error) {
	// Nothing is stored in it: what is built here is sent by the wallet.
	dir, err := os.MkdirTemp("", "gantry-pay-*")
	if err != nil {
		return nil, nil, fmt.Errorf("temporary folder: %w", err)
	}
	m, end, err := sender.OpenFor(ctx, filepath.Join(dir, "t.db"), txm.Options{Keys: txm.NewKeys()})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, nil, err
	}
	of = func(customer solana.PublicKey) *wallet.Builder {
		return wallet.New(wallet.Options{Client: sender.Client, Service: svc, Manager: m, Customer: customer, Now: time.Now})
	}
	return of, func() {
		end()
		_ = os.RemoveAll(dir)
	}, nil
}
