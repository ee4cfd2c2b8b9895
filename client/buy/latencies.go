package buy

import (
	"context"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// keepersKeep is how long keepers' addresses are taken for current.
const keepersKeep = 5 * time.Minute

// Latencies measures round trips from this machine to machines of the market, with a peer that is made when it is first
// needed.
type Latencies struct {
	Service *service.Service
	// Dial joins the network; the caller closes what it makes.
	Dial func(v *view.View) (*Remote, error)

	mu   sync.Mutex
	net  *Remote
	l    *service.Latencies
	read time.Time // when the keepers' addresses were read
}

// Offers adds round trips to the first of some offers.
func (l *Latencies) Offers(ctx context.Context, offers []service.Offer) ([]service.Offer, error) {
	with, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	return with.Offers(ctx, offers), nil
}

func (l *Latencies) open(ctx context.Context) (*service.Latencies, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.l != nil && time.Since(l.read) < keepersKeep {
		return l.l, nil
	}
	v, err := l.Service.Snapshot(ctx, view.Only(view.Kinds(market.KindKeeper)))
	if err != nil {
		return nil, err
	}
	if l.l == nil {
		if l.net, err = l.Dial(v); err != nil {
			return nil, err
		}
		l.l = service.NewLatencies(l.net.Net, l.find)
	} else {
		l.net.Know(v)
	}
	l.read = time.Now()
	return l.l, nil
}

// find connects to a machine, once.
func (l *Latencies) find(ctx context.Context, node solana.PublicKey) error {
	l.mu.Lock()
	keepers := l.net.Keepers()
	l.mu.Unlock()
	return l.net.Net.Find(ctx, node, keepers)
}
