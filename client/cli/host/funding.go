package host

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/onramp"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/server"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

const flagOnramp = "onramp"

// fundingFlags are those of a server to which money comes from outside.
func fundingFlags() []cli.Flag {
	return []cli.Flag{
		command.PublicURLFlag(),
		&cli.StringSliceFlag{Name: flagOnramp, Usage: "take the webhooks of an on-ramp: `NAME=FILE` with the file of its signing secret, mode 0600; repeat. Names: " + strings.Join(onramp.Names(), ", ")},
	}
}

// funding prepares how money comes to the credits of the server's customer.
func (s *session) funding(f *purchase.Folder, o *serve.Options) error {
	base, err := s.PublicURL()
	if err != nil {
		return err
	}
	if base != nil {
		payments, end, err := server.OpenPayments(s.Context, server.PaymentOptions{Service: s.Service, Sender: s.Unsigned(), Customer: o.Customer, Base: base})
		if err != nil {
			return err
		}
		s.OnClose(end)
		o.Funding.Payments = payments
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
	mk, err := s.Market()
	if err != nil {
		return err
	}
	customer := o.Customer
	store, err := onramp.OpenStore(filepath.Join(f.Dir(), "onramp.db"), customer)
	if err != nil {
		return err
	}
	s.OnClose(func() { _ = store.Close() }) // every notice is synced already
	o.Funding.Onramps = onramp.New(onramp.Options{
		Store: store, Providers: providers, Customer: customer, Now: time.Now, Log: s.Log,
		Received: func(ctx context.Context, sig solana.Signature) (market.USDC, error) {
			n, err := s.Client.TokensReceived(ctx, sig, customer, mk.PaymentMint, chain.Confirmed)
			return market.USDC(n), err
		},
	})
	return nil
}

// onramps reads the secrets of on-ramps.
func (s *session) onramps() (all []onramp.Provider, err error) {
	seen := map[string]bool{}
	for _, text := range s.CLI.StringSlice(flagOnramp) {
		name, file, found := strings.Cut(text, "=")
		if !found || file == "" || seen[name] {
			return nil, service.Usage(fmt.Sprintf("--%s %q is not NAME=FILE, or names an on-ramp twice", flagOnramp, text), "such as --onramp stripe=webhook.secret")
		}
		seen[name] = true
		secret, err := onramp.ReadSecret(file)
		if err != nil {
			return nil, service.Usage(fmt.Sprintf("--%s %s: %v", flagOnramp, name, err), "put the secret that the provider shows for the webhook in a separate file: umask 077; cat > FILE")
		}
		p, err := onramp.NewProvider(name, secret)
		if err != nil {
			return nil, service.Usage(fmt.Sprintf("--%s: %v", flagOnramp, err), "")
		}
		all = append(all, p)
	}
	return all, nil
}
