package buy

import (
	"context"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/starts"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// keepersKeep is how long keepers' addresses are taken for current.
const keepersKeep = 5 * time.Minute

// Latencies measures round trips from this machine to machines of the market, and asks them how an image has started, with a peer that is
// made when it is first needed.
type Latencies struct {
	Service *service.Service
	Client  *chain.Client
	// Dial joins the network; the caller closes what it makes.
	Dial func(v *view.View) (*Remote, error)

	mu   sync.Mutex
	net  *Remote
	l    *service.Latencies
	s    *starts.Asker
	read time.Time // when the keepers' addresses were read
}

// Offers adds round trips to the first of some offers.
func (l *Latencies) Offers(ctx context.Context, offers []service.Offer) ([]service.Offer, error) {
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	return l.l.Offers(ctx, offers), nil
}

// Starts adds how an image has started to the first of some offers, and puts those on which it ran before the others.
func (l *Latencies) Starts(ctx context.Context, image string, offers []service.Offer) ([]service.Offer, error) {
	digest, err := digestOf(ctx, image)
	if err != nil || len(offers) == 0 {
		return offers, err
	}
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	return l.s.Offers(ctx, digest, offers, starts.Search)
}

// open joins the network, or takes the membership that there is. What it makes stays.
func (l *Latencies) open(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.l != nil && time.Since(l.read) < keepersKeep {
		return nil
	}
	v, err := l.Service.Snapshot(ctx, view.Only(view.Kinds(market.KindKeeper)))
	if err != nil {
		return err
	}
	if l.l == nil {
		genesis, err := l.Client.Genesis(ctx)
		if err != nil {
			return err
		}
		if l.net, err = l.Dial(v); err != nil {
			return err
		}
		l.l, l.s = service.NewLatencies(l.net.Net, l.find), starts.New(l.net.Net, l.find, l.Client, records.DomainOf(genesis))
	} else {
		l.net.Know(v)
	}
	l.read = time.Now()
	return nil
}

// find connects to a machine, once.
func (l *Latencies) find(ctx context.Context, node solana.PublicKey) error {
	l.mu.Lock()
	keepers := l.net.Keepers()
	l.mu.Unlock()
	return l.net.Net.Find(ctx, node, keepers)
}
