package cli

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/onramp"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/solanapay"
	"github.com/gantry-market/gantry/client/wallet"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txm"
)

const (
	flagPublicURL = "public-url"
	flagOnramp    = "onramp"
)

func publicURLFlag() cli.Flag {
	return &cli.StringFlag{Name: flagPublicURL, Usage: "https:// `ADDRESS` at which wallets reach this server through a proxy with TLS; links and QR codes lead there", EnvVars: []string{"GANTRY_PUBLIC_URL"}}
}

// fundingFlags are those of a server to which money comes from outside.
func fundingFlags() []cli.Flag {
	return []cli.Flag{
		publicURLFlag(),
		&cli.StringSliceFlag{Name: flagOnramp, Usage: "take the webhooks of an on-ramp: `NAME=FILE` with the file of its signing secret, mode 0600; repeat. Names: " + strings.Join(onramp.Names(), ", ")},
	}
}

// base is the public address; nil where none is given.
func (s *session) base() (*url.URL, error) {
	text := s.cli.String(flagPublicURL)
	if text == "" {
		return nil, nil
	}
	base, err := solanapay.ParseBase(text)
	if err != nil {
		return nil, usage(fmt.Sprintf("--%s: %v", flagPublicURL, err), "give the address of the proxy, such as https://credits.example.org")
	}
	return base, nil
}

// funding prepares how money comes to the credits of the server's customer.
func (s *session) funding(f *purchase.Folder, o *serve.Options) error {
	base, err := s.base()
	if err != nil {
		return err
	}
	if base != nil {
		if o.Funding.Payments, err = s.payments(base, o.Customer); err != nil {
			return err
		}
		o.Hosts = append(o.Hosts, base.Hostname())
	}
	return s.inbox(f, o)
}

// inbox takes the webhooks of on-ramps, where some are named.
func (s *session) inbox(f *purchase.Folder, o *serve.Options) error {
	providers, err := s.onramps()
	if err != nil || len(providers) == 0 {
		return err
	}
	mk, err := s.market()
	if err != nil {
		return err
	}
	customer := o.Customer
	store, err := onramp.OpenStore(filepath.Join(f.Dir(), "onramp.db"), customer)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() { _ = store.Close() }) // every notice is synced already
	o.Funding.Onramps = onramp.New(onramp.Options{
		Store: store, Providers: providers, Customer: customer, Now: time.Now, Log: s.log,
		Received: func(ctx context.Context, sig solana.Signature) (market.USDC, error) {
			n, err := s.client.TokensReceived(ctx, sig, customer, mk.PaymentMint, chain.Confirmed)
			return market.USDC(n), err
		},
	})
	return nil
}

// onramps reads the secrets of on-ramps.
func (s *session) onramps() (all []onramp.Provider, err error) {
	seen := map[string]bool{}
	for _, text := range s.cli.StringSlice(flagOnramp) {
		name, file, found := strings.Cut(text, "=")
		if !found || file == "" || seen[name] {
			return nil, usage(fmt.Sprintf("--%s %q is not NAME=FILE, or names an on-ramp twice", flagOnramp, text), "such as --onramp stripe=webhook.secret")
		}
		seen[name] = true
		secret, err := onramp.ReadSecret(file)
		if err != nil {
			return nil, usage(fmt.Sprintf("--%s %s: %v", flagOnramp, name, err), "put the secret that the provider shows for the webhook in a separate file: umask 077; cat > FILE")
		}
		p, err := onramp.NewProvider(name, secret)
		if err != nil {
			return nil, usage(fmt.Sprintf("--%s: %v", flagOnramp, err), "")
		}
		all = append(all, p)
	}
	return all, nil
}

// payments are deposits of a customer, whose wallet fetches and signs them.
func (s *session) payments(base *url.URL, customer solana.PublicKey) (*solanapay.Payments, error) {
	// Nothing is stored in it: what is built here is sent by the wallet.
	dir, err := os.MkdirTemp("", "gantry-pay-*")
	if err != nil {
		return nil, fmt.Errorf("temporary folder: %w", err)
	}
	s.closers = append(s.closers, func() { _ = os.RemoveAll(dir) })
	m, end, err := s.unsigned().OpenFor(s.ctx, filepath.Join(dir, "t.db"), txm.Options{Keys: txm.NewKeys(), Payer: customer})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, end)
	b := wallet.New(wallet.Options{Client: s.client, Service: s.service, Manager: m, Customer: customer, Now: time.Now})
	return solanapay.New(solanapay.Options{Base: base, Customer: customer, Build: b.BuildDeposit, Chain: s.client, Now: time.Now, Log: s.log}), nil
}
