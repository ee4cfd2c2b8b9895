package expose

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// connectTime is how long the way to a gateway or a machine may take.
const connectTime = 30 * time.Second

// Remote reaches members of the market's network as the customer; client/buy has one.
type Remote interface {
	// Keepers are those that can be asked.
	Keepers() []solana.PublicKey
	// Reach connects with a member that keepers know.
	Reach(ctx context.Context, key solana.PublicKey) error
	// Revoke has a lease's machine refuse what was granted until an instant, unix milliseconds. Error:
	// [service.RefusedByNode].
	Revoke(ctx context.Context, l market.Lease, until int64) error
}

// Options of an Exposer. All are needed.
type Options struct {
	// Client reaches the chain, and Service answers about the market and knows the chain's time.
	Client  *chain.Client
	Service *service.Service
	// Key is the customer's or its session key: it signs grants.
	Key solana.PrivateKey
	// Root is the folder of what the customer's programs keep, of all wallets and clusters.
	Root string
	// Net is the customer's membership of the network, and Remote reaches machines over it.
	Net    *p2p.Node
	Remote Remote
}

// Exposer works for one customer.
type Exposer struct{ o Options }

// New takes what an Exposer works with. It asks nobody.
func New(o Options) *Exposer { return &Exposer{o} }

// Gateway is one with which there is a connection.
type Gateway struct {
	e   *Exposer
	key solana.PublicKey
}

// Key of the gateway.
func (g *Gateway) Key() solana.PublicKey { return g.key }

// Named is a gateway as its operator publishes it: a key, which keepers find, or an address with an identity.
func Named(text string) (p2p.Peer, error) {
	if key, err := solana.PublicKeyFromBase58(text); err == nil {
		return p2p.Peer{Key: key}, nil
	}
	peer, err := p2p.ParsePeer(text)
	if err != nil {
		return peer, service.Usage(fmt.Sprintf("--via %q is neither a key nor an address with an identity", text), "write what the gateway's operator has published, such as /dns/gw.example.org/tcp/4102/p2p/12D3…")
	}
	return peer, nil
}

// CheckVia says what is wrong with the text that names a gateway. Error: a [service.Failure].
func CheckVia(via string) error {
	if via == Auto {
		return nil
	}
	_, err := Named(via)
	return err
}

// Connect connects with a gateway; via is a text as of [Named].
func (e *Exposer) Connect(ctx context.Context, via string) (*Gateway, error) {
	peer, err := Named(via)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if len(peer.Addrs) == 0 {
		if err := e.o.Remote.Reach(ctx, peer.Key); err != nil {
			return nil, service.Network(fmt.Sprintf("gateway %s is not reachable: no keeper of the market knows where it is", peer.Key), "name its address after --via", err)
		}
		return &Gateway{e, peer.Key}, nil
	}
	if err := errors.Join(e.o.Net.Remember(peer), e.o.Net.Connect(ctx, peer)); err != nil {
		return nil, service.Network(fmt.Sprintf("gateway %s is not reachable", via), "try again, or choose another", err)
	}
	return &Gateway{e, peer.Key}, nil
}

// TakeBack has a lease's machine refuse all grants of the lease that were signed so far, of all gateways. What is taken
// back is stored first: the machine may be gone before it answers, and the next one is told then.
func (e *Exposer) TakeBack(ctx context.Context, l market.Lease) error {
	f, err := e.folder(ctx, l.Customer)
	if err != nil {
		return err
	}
	now, err := e.grantTime(ctx, f, l, false)
	if err != nil {
		return err
	}
	until := now.UnixMilli()
	if err := f.Revoke(l.Order, until); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	var no *service.RefusedByNode
	switch err := e.o.Remote.Revoke(ctx, l, until); {
	case errors.As(err, &no):
		return service.Refused(no.Error(), "")
	case err != nil:
		return service.Network(fmt.Sprintf("the machine of lease %s does not answer, so that grants stay valid: %v", l.Address, err), "try again", err)
	}
	return nil
}

// folder keeps what a customer has granted and taken back, whichever key signs for it.
func (e *Exposer) folder(ctx context.Context, customer solana.PublicKey) (*purchase.Folder, error) {
	genesis, err := e.o.Client.Genesis(ctx)
	if err != nil {
		return nil, err
	}
	return purchase.Open(e.o.Root, genesis, customer)
}
