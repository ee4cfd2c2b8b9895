package expose

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// Auto in the place of a gateway stands for one that keepers know: the cheapest, and of those the nearest.
const Auto = "auto"

const (
	// findTime is how long keepers and gateways may take to be asked.
	findTime = 8 * time.Second
	// askedKeepers is how many keepers are asked. One that leaves gateways out, or makes some up, is one of several.
	askedKeepers = 5
	// askedGateways is how many gateways are asked for their offers.
	askedGateways = 16
	// triedGateways is how many of those found are asked to take a lease, one after another.
	triedGateways = 3
	// beforeTime is how long the gateway that served an order before may take to be reached.
	beforeTime = 10 * time.Second
)

var (
	gatewaysProtocol = p2p.Protocol{ID: messages.Gateways, MaxRequest: 1 << 10, MaxResponse: 192 << 10, Timeout: 4 * time.Second}
	offerProtocol    = p2p.Protocol{ID: messages.GatewayOffer, MaxRequest: 1 << 10, MaxResponse: 4 << 10, Timeout: 4 * time.Second}
)

// Found is a gateway that takes new leases.
type Found struct {
	Gateway string `json:"gateway"` // its key
	Domain  string `json:"domain"`  // below which leases have names
	Price   string `json:"price"`   // USDC a GiB, both ways together
	Free    uint64 `json:"free"`    // bytes of each lease that cost nothing
	SSH     bool   `json:"ssh"`
	// Millis is the time from a question to its answer, over a connection that was there.
	Millis float64 `json:"roundTripMs"`
	// Keepers is how many of those that were asked named it.
	Keepers int `json:"keepers"`

	key   solana.PublicKey
	price uint64
}

// Find asks keepers for gateways, and each for its offer. The cheapest come first, and of those the nearest. Those that are full,
// that serve other customers, or that do not answer in time are left out. Error: that of the chain.
func (e *Exposer) Find(ctx context.Context) ([]Found, error) {
	cluster, err := e.o.Client.Domain(ctx)
	if err != nil {
		return nil, err
	}
	return e.find(ctx, cluster), nil
}

// find is Find on a cluster.
func (e *Exposer) find(ctx context.Context, cluster records.Domain) (found []Found) {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, p := range e.known(ctx) {
		wg.Go(func() {
			f, offer, err := e.ask(ctx, p.Peer)
			if err != nil || offer.Full || offer.Cluster != cluster || !plainHost(offer.Domain) {
				return
			}
			f.Keepers = p.keepers
			mu.Lock()
			defer mu.Unlock()
			found = append(found, f)
		})
	}
	wg.Wait()
	slices.SortFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(a.Millis, b.Millis), strings.Compare(a.Gateway, b.Gateway))
	})
	return found
}

// named is a gateway with the number of keepers that named it.
type named struct {
	p2p.Peer

	keepers int
}

// known are the gateways that keepers name; those that most name come first.
func (e *Exposer) known(ctx context.Context) []named {
	keepers := slices.Clone(e.o.Remote.Keepers())
	rand.Shuffle(len(keepers), func(i, j int) { keepers[i], keepers[j] = keepers[j], keepers[i] })
	var mu sync.Mutex
	all := map[solana.PublicKey]*named{}
	var wg sync.WaitGroup
	for _, k := range keepers[:min(len(keepers), askedKeepers)] {
		wg.Go(func() {
			answer, err := p2p.Call[messages.GatewaysRequest, messages.GatewaysAnswer](ctx, e.o.Net, k, gatewaysProtocol, messages.GatewaysRequest{Version: messages.Version})
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			heard := map[solana.PublicKey]bool{}
			for _, g := range answer.Gateways {
				if heard[g.Key] {
					continue
				}
				heard[g.Key] = true
				if all[g.Key] == nil {
					all[g.Key] = &named{Peer: p2p.Peer{Key: g.Key}}
				}
				all[g.Key].keepers++
				all[g.Key].Addrs = append(all[g.Key].Addrs, e.o.Net.Heard(g.Key, g.Addrs).Addrs...)
			}
		})
	}
	wg.Wait()
	var out []named
	for _, n := range all {
		slices.Sort(n.Addrs)
		n.Addrs = slices.Compact(n.Addrs)
		out = append(out, *n)
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	slices.SortStableFunc(out, func(a, b named) int { return cmp.Compare(b.keepers, a.keepers) })
	return out[:min(len(out), askedGateways)]
}

// ask connects with a gateway, and asks it twice: the first answer takes the time of the connection, too.
func (e *Exposer) ask(ctx context.Context, p p2p.Peer) (f Found, offer messages.GatewayOfferAnswer, err error) {
	if !e.o.Net.Connected(p.Key) {
		if err := e.o.Net.Connect(ctx, p); err != nil {
			return f, offer, err
		}
	}
	var took time.Duration
	for range 2 {
		began := time.Now()
		offer, err = p2p.Call[messages.GatewayOfferRequest, messages.GatewayOfferAnswer](ctx, e.o.Net, p.Key, offerProtocol, messages.GatewayOfferRequest{Version: messages.Version})
		if err != nil {
			return f, offer, err
		}
		took = time.Since(began)
	}
	return Found{
		Gateway: p.Key.String(), Domain: offer.Domain, Price: market.USDC(offer.Price).String(), Free: offer.Free, SSH: offer.SSH,
		Millis: float64(took.Microseconds()) / 1e3, key: p.Key, price: offer.Price,
	}, offer, nil
}

// NoGatewayError is that of a market without a gateway that takes the lease.
type NoGatewayError struct{}

func (*NoGatewayError) Error() string { return "no gateway of this market takes leases now" }

func noGateway() error {
	none := &NoGatewayError{}
	return &service.Failure{Code: service.CodeRefused, Reason: none.Error(), Advice: "name one with --via, or reach ports with gantry port", Cause: none}
}

// ConnectFor is Connect for a lease, where via may be [Auto]: then the gateway is the one that served the order before, or the
// first that is found.
func (e *Exposer) ConnectFor(ctx context.Context, via string, l market.Lease) (*Gateway, error) {
	if via != Auto {
		return e.Connect(ctx, via)
	}
	g, err := e.before(ctx, l)
	if g != nil || err != nil {
		return g, err
	}
	found, err := e.Find(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, noGateway()
	}
	return &Gateway{e, found[0].key}, nil
}

// OpenStarting grants a gateway what a request says of a lease that has just begun to run. via names the gateway, or is [Auto]: then
// it is the one that served the order before, or one that is found.
func (e *Exposer) OpenStarting(ctx context.Context, via string, l market.Lease, r Request) (*Opened, error) {
	if via != Auto {
		g, err := e.Connect(ctx, via)
		if err != nil {
			return nil, err
		}
		return g.OpenStarting(ctx, l, r)
	}
	g, err := e.before(ctx, l)
	if err != nil {
		return nil, err
	}
	if g != nil {
		if out, err := g.OpenStarting(ctx, l, r); err == nil {
			return out, nil
		}
	}
	found, err := e.Find(ctx)
	if err != nil {
		return nil, err
	}
	if len(r.SSHKeys) > 0 {
		found = slices.DeleteFunc(found, func(f Found) bool { return !f.SSH })
	}
	err = noGateway()
	for _, f := range found[:min(len(found), triedGateways)] {
		var out *Opened
		if out, err = (&Gateway{e, f.key}).OpenStarting(ctx, l, r); err == nil || ctx.Err() != nil {
			return out, err
		}
	}
	return nil, err
}

// before is the gateway that served a lease's order before; nil where none did, or where it is not reached.
func (e *Exposer) before(ctx context.Context, l market.Lease) (*Gateway, error) {
	f, err := e.folder(ctx, l.Customer)
	if err != nil {
		return nil, err
	}
	key, err := f.Gateway(l.Order)
	if err != nil || key.IsZero() {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, beforeTime)
	defer cancel()
	if e.o.Remote.Reach(ctx, key) != nil {
		return nil, nil //nolint:nilnil // another one may serve
	}
	return &Gateway{e, key}, nil
}
