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
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/solanapay"
	"github.com/gantry-market/gantry/client/wallet"
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
	// Nothing is stored in it: what is built here is sent by the wallet.
	dir, err := os.MkdirTemp("", "gantry-pay-*")
	if err != nil {
		return nil, nil, fmt.Errorf("temporary folder: %w", err)
	}
	m, end, err := o.Sender.OpenFor(ctx, filepath.Join(dir, "t.db"), txm.Options{Keys: txm.NewKeys(), Payer: o.Customer})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, nil, err
	}
	b := wallet.New(wallet.Options{Client: o.Sender.Client, Service: o.Service, Manager: m, Customer: o.Customer, Now: time.Now})
	p = solanapay.New(solanapay.Options{
		Base: o.Base, Customer: o.Customer, Build: b.BuildDeposit, Chain: o.Sender.Client, Now: time.Now, Log: o.Sender.Log,
	})
	return p, func() {
		end()
		_ = os.RemoveAll(dir)
	}, nil
}
