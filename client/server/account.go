package server

import (
	"context"
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/sponsor"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Options of an account.
type Options struct {
	Client  *chain.Client
	Service *service.Service
	// Key is the session key, and Customer the wallet for which it acts.
	Key      solana.PrivateKey
	Customer solana.PublicKey
	// Root is the folder of what this machine keeps, of all wallets and clusters.
	Root string
	Fees txm.Fees
	// Sponsor pays fees, and the rent that the key has no SOL for; nil where the key pays.
	Sponsor *sponsor.Client
	// Bucket keeps volumes of the customer beyond their leases; the zero value for none.
	Bucket buy.Bucket
	Log    zerolog.Logger
	// OnEvent and Waiting are told how purchases go; nil for nothing.
	OnEvent func(buy.Event)
	Waiting func(buy.Wait) (stop func())
}

// Account acts for the customer with one session key.
type Account struct {
	Options
	// Inspections measure machines of leases that were bought; nil for none.
	Inspections *buy.Inspections
	// Backups of the volumes of what is bought. Set them before Open.
	Backups Backups

	folder  *purchase.Folder
	keys    *container.Keys
	network *buy.Network
	ends    *buy.GuestEnds
}

// New opens the folder of the key's purchases. The caller closes the account.
func New(ctx context.Context, o Options) (*Account, error) {
	genesis, err := o.Client.Genesis(ctx)
	if err != nil {
		return nil, err
	}
	a := &Account{Options: o, network: &buy.Network{}, ends: &buy.GuestEnds{}}
	if a.folder, err = purchase.Open(o.Root, genesis, o.Key.PublicKey()); err != nil {
		return nil, err
	}
	a.keys, err = container.OpenKeys(o.Root)
	return a, err
}

// with acts with another key for the same customer, in a folder and with a membership of the network of its own.
func (a *Account) with(ctx context.Context, key solana.PrivateKey) (*Account, error) {
	o := a.Options
	o.Key = key
	b, err := New(ctx, o)
	if err == nil {
		b.Inspections, b.Backups = a.Inspections, a.Backups
	}
	return b, err
}

// Close leaves the network.
func (a *Account) Close() { a.network.Close() }

// Folder is where the key's purchases are.
func (a *Account) Folder() *purchase.Folder { return a.folder }

// ofCustomer is the folder of the customer's own purchases.
func (a *Account) ofCustomer(ctx context.Context) (*purchase.Folder, error) {
	genesis, err := a.Client.Genesis(ctx)
	if err != nil {
		return nil, err
	}
	return purchase.Open(a.Root, genesis, a.Customer)
}

// NameLeases names leases of the customer as people have on this computer.
func (a *Account) NameLeases(ctx context.Context, leases []service.Lease) {
	f, err := a.ofCustomer(ctx)
	if err == nil {
		err = buy.NameLeases(leases, f, nil)
	}
	if err != nil {
		a.Log.Warn().Err(err).Msg("some leases are shown without their names")
	}
}

// buyer buys with the account. attends: see [buyer.attend].
func (a *Account) buyer(ctx context.Context, attends bool) (*buy.Buyer, error) {
	return buy.New(ctx, buy.Options{
		Client: a.Client, Service: a.Service, Key: a.Key, Customer: a.Customer, Root: a.Root, Fees: a.Fees, Sponsor: a.Sponsor, Network: a.network,
		Inspects: a.Inspections != nil, Attends: attends, Log: a.Log, OnEvent: a.OnEvent, Waiting: a.Waiting,
	})
}

// sender sends transactions that the key signs.
func (a *Account) sender() *buy.Sender {
	return &buy.Sender{Client: a.Client, Signer: a.Key, Fees: a.Fees, Sponsor: a.Sponsor, Log: a.Log, Waiting: a.Waiting}
}

// dial joins the network with the key, or takes the membership that there is.
func (a *Account) dial(ctx context.Context, v *view.View) (*buy.Remote, error) {
	r, err := buy.Dial(ctx, buy.Dialling{Client: a.Client, Key: a.Key, Shared: a.network, Log: a.Log}, v)
	if err == nil {
		r.Folder, r.Ends = a.folder, a.ends
	}
	return r, err
}

// way leads to the machine of a lease of the customer.
type way struct {
	lease  market.Lease
	view   *view.View // follows the lease until ctx ends or stop is called
	remote *buy.Remote
	stop   func()
}

// to is the way to the machine of a lease. Error: service.ErrNoLease for one that is not the customer's.
func (a *Account) to(ctx context.Context, lease solana.PublicKey) (w way, err error) {
	if _, err := a.Service.Lease(ctx, a.Customer, lease); err != nil {
		return w, err
	}
	if w.view, w.stop, err = a.Service.Live(ctx, view.With(view.Kinds(market.KindKeeper), lease)); err != nil {
		return w, err
	}
	defer func() {
		if err != nil {
			w.stop()
		}
	}()
	var ok bool
	if w.lease, ok = w.view.Lease(lease); !ok || w.lease.Customer != a.Customer {
		return w, service.Refused(fmt.Sprintf("there is no lease %s of this customer", lease), "see: gantry leases")
	}
	w.remote, err = a.dial(ctx, w.view)
	return w, err
}

// enter is the way into the container of a lease.
func (a *Account) enter(ctx context.Context, lease solana.PublicKey) (*container.Container, way, error) {
	w, err := a.to(ctx, lease)
	if err != nil {
		return nil, w, err
	}
	c, err := container.New(w.remote, w.lease, a.keys.Own)
	if err != nil {
		w.stop()
	}
	return c, w, err
}

// login is a client of the SSH server in the container of a lease, as one of its users, until end is called.
func (a *Account) login(ctx context.Context, lease solana.PublicKey, user string) (client *ssh.Client, end func(), err error) {
	c, w, err := a.enter(ctx, lease)
	if err != nil {
		return nil, nil, err
	}
	if c, err = c.As(user); err == nil {
		client, err = c.Login(ctx)
	}
	if err != nil {
		w.stop()
		return nil, nil, err
	}
	return client, func() {
		_ = client.Close()
		w.stop()
	}, nil
}

// Explain implements service.Attestations, of what the account has bought.
func (a *Account) Explain(w *service.Why) {
	if err := buy.Explain(a.folder, w); err != nil {
		a.Log.Warn().Err(err).Str("of", w.Address).Msg("what purchases say of an order or a lease cannot be read")
	}
}

// Attestation implements service.Attestations, of what the account has bought.
func (a *Account) Attestation(order, lease string) *service.Attestation {
	key, err := solana.PublicKeyFromBase58(lease)
	if err != nil {
		return nil
	}
	of, err := solana.PublicKeyFromBase58(order)
	if err != nil {
		of = solana.PublicKey{}
	}
	out, err := buy.AttestationOf(a.folder, of, key)
	if err != nil {
		a.Log.Warn().Err(err).Str("lease", lease).Msg("what a machine has proved cannot be read")
	}
	return out
}
