package buy

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/sponsor"
	"github.com/gantry-market/gantry/sdk/txm"
	"github.com/gantry-market/gantry/sdk/watch"
)

// ErrSimulated ends a purchase of a Buyer with DryRun, after its transaction was simulated.
var ErrSimulated = errors.New("dry run")

// Options of a Buyer.
type Options struct {
	// Client reaches the chain.
	Client *chain.Client
	// Service answers about the market; nil for one of the client.
	Service *service.Service
	// Key signs receipts and is the customer's identity in the network. It also signs transactions, unless there is a
	// Wallet. Without it nothing can be handed to a machine.
	Key solana.PrivateKey
	// Wallet signs transactions; nil for Key.
	Wallet txm.Signer
	// Customer is the wallet for which the signer is a session key; zero for the signer itself.
	Customer solana.PublicKey
	// Root is the folder of what is bought, of all wallets and clusters; empty for [purchase.DefaultRoot].
	Root string
	Fees txm.Fees
	// Sponsor pays fees, and the rent that the signer has no SOL for; nil where the signer pays.
	Sponsor *sponsor.Client
	// Network is a membership of the network that several buyers share; nil for one of each call.
	Network *Network
	// Inspects: the program measures leases of detached purchases itself.
	Inspects bool
	// Attends: the program brings jobs of detached purchases to the machines to which their leases move, see [Buyer.Attend].
	Attends bool
	// DockerLogins: images that are not public are opened with the accounts that the docker command has on this computer, where the
	// request names none. A program that buys for others leaves it out: they would read what its owner may read.
	DockerLogins bool
	// DryRun simulates the order and sends nothing.
	DryRun bool
	Log    zerolog.Logger

	// OnEvent hears each step; calls do not overlap, and must not call the buyer. Nil for nothing.
	OnEvent func(Event)
	// Confirm agrees to an order before anything is sent, or is the error that ends the purchase. Nil agrees.
	Confirm func(context.Context, Offer) error
	// Waiting is told what is waited for until stop is called. Nil for nothing.
	Waiting func(Wait) (stop func())
	// Serves waits until the program in a lease's container answers its health check; nil: nobody asks. container.Serves is one.
	Serves func(ctx context.Context, r *Remote, l market.Lease, probe template.Probe) error
	// Output is where the output of a lease's job goes; oneOfSeveral: the order has others. A writer with Flush() error,
	// such as a [bufio.Writer], is flushed at the output's end. Nil discards the output.
	Output func(l market.Lease, oneOfSeveral bool) io.Writer
}

// Buyer buys for a customer. Its methods are safe for concurrent use.
type Buyer struct {
	o         Options
	client    *chain.Client
	service   *service.Service
	folder    *purchase.Folder
	signer    txm.Signer
	customer  solana.PublicKey
	authority solana.PublicKey // the session key that acts for the customer; zero for the customer itself
	log       zerolog.Logger
	events    *sync.Mutex
}

// New opens the folder of the signer's purchases. It asks the chain for its genesis.
func New(ctx context.Context, o Options) (*Buyer, error) {
	b := &Buyer{o: o, client: o.Client, service: o.Service, signer: o.Wallet, customer: o.Customer, log: o.Log, events: &sync.Mutex{}}
	if o.Client == nil || (b.signer == nil && o.Key == nil) {
		return nil, errors.New("a buyer needs a client of the chain and a key")
	}
	if b.signer == nil {
		b.signer = o.Key
	}
	if b.service == nil {
		b.service = service.New(o.Client, o.Log)
	}
	switch me := b.signer.PublicKey(); {
	case b.customer.IsZero():
		b.customer = me
	case b.customer != me:
		b.authority = me
	}
	if b.o.Root == "" {
		root, err := purchase.DefaultRoot()
		if err != nil {
			return nil, usage(err.Error(), "")
		}
		b.o.Root = root
	}
	var err error
	b.folder, err = b.folderOf(ctx, b.signer.PublicKey())
	return b, err
}

// Folder is where the signer's purchases are.
func (b *Buyer) Folder() *purchase.Folder { return b.folder }

// Customer is whose credits pay.
func (b *Buyer) Customer() solana.PublicKey { return b.customer }

// folderOf is the state of a wallet on the cluster.
func (b *Buyer) folderOf(ctx context.Context, wallet solana.PublicKey) (*purchase.Folder, error) {
	genesis, err := b.client.Genesis(ctx)
	if err != nil {
		return nil, err
	}
	return purchase.Open(b.o.Root, genesis, wallet)
}

// market loads the market and checks that it is one that this client understands.
func (b *Buyer) market(ctx context.Context) (market.Market, error) { return b.service.Load(ctx) }

func (b *Buyer) credits(ctx context.Context, customer solana.PublicKey) (market.Credits, error) {
	c, _, err := query.Find[market.Credits](ctx, b.client, market.CreditsAddress(customer), b.client.WaitLevel())
	return c, err
}

// missing reports whether there is no account at an address.
func (b *Buyer) missing(ctx context.Context, at solana.PublicKey) (bool, error) {
	_, err := b.client.Account(ctx, at, b.client.Commitment())
	if errors.Is(err, chain.ErrAccountNotFound) {
		return true, nil
	}
	return false, err
}

// scope is that of the orders and leases of the customers for whom this folder has purchases, and of one more; zero for
// none.
func (b *Buyer) scope(customer solana.PublicKey, also ...chain.Filter) watch.Scope {
	var customers []solana.PublicKey
	if !customer.IsZero() {
		customers = append(customers, customer)
	}
	return ScopeOf(b.folder, customers, also...)
}

// ScopeOf is the scope of the orders and leases of customers, and of those for whom a folder has purchases, with what
// belongs to them.
func ScopeOf(f *purchase.Folder, customers []solana.PublicKey, also ...chain.Filter) watch.Scope {
	if f != nil {
		all, _ := f.All() // a list of purchases says which cannot be read
		for _, p := range all {
			if !slices.Contains(customers, p.Args.Customer) {
				customers = append(customers, p.Args.Customer)
			}
		}
	}
	for _, c := range customers {
		also = append(also, query.OrdersOf(c), query.LeasesOf(c))
	}
	return view.With(also)
}

// purchases reads all records of the folder; those that cannot be read are reported and left out.
func (b *Buyer) purchases() []purchase.Purchase {
	all, err := b.folder.All()
	if err != nil {
		b.tell(Unreadable{Err: err})
	}
	return all
}
