package serve

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

// waitFor is how long a request waits for its purchase before it is answered that the purchase goes on.
const waitFor = answerWithin - 5*time.Second

// Phases of a purchase.
const (
	phaseBuying = "buying"
	phaseBought = "bought"
)

// maxPurchases is how many purchases run at once.
const maxPurchases = 16

// OrderRequest is what a purchase asks for: what [buy.Request] says in JSON.
type OrderRequest buy.Request

// Order is a purchase.
type Order struct {
	Key    string          `json:"idempotencyKey"`
	Phase  string          `json:"phase" enum:"buying,bought" doc:"buying until its machine has started; repeat the request to learn more"`
	Order  string          `json:"order,omitempty" doc:"Address of the order"`
	Leases []service.Lease `json:"leases" doc:"Also those that were awarded and do not run yet"`
	Public []buy.Public    `json:"public,omitempty" doc:"What the gateway has given to ports of the leases"`
	// Image is known to the purchase that has placed the order.
	Image *service.ImageRuns `json:"image,omitempty" doc:"How the image had started on the best machines that fit, before the order; absent where nobody knows, and when a purchase that is done is asked for again"`
}

// Bought is what a purchase has come to.
type Bought struct {
	Order  string
	Leases []service.Lease
	Public []buy.Public
	Image  *service.ImageRuns // before the order; nil where that is not known
}

// Buyer acts for a customer. Its methods are safe for concurrent use.
type Buyer interface {
	// Buy brings the purchase of this name to a running lease, or goes on with it where an earlier call ended, also one of
	// another process. It buys once for a name, and stores before it sends. Errors: Failure; one for a name that stands for
	// another request.
	Buy(ctx context.Context, name string, r OrderRequest) (Bought, error)
	// SoFar is what the purchase of this name has come to by now: its order, and leases that may not run yet.
	SoFar(ctx context.Context, name string) (Bought, error)
	// Stop ends a lease of the customer that runs.
	Stop(ctx context.Context, lease solana.PublicKey) (service.Lease, error)
}

// orders runs purchases: one at a time for a key, whose requests share it. A purchase goes on when the request that has
// begun it is gone, until the server ends.
type orders struct {
	// ended is told of purchases that have come to leases, and of those that have failed; nil for nothing.
	ended func(Bought, OrderRequest, error)

	mu      sync.Mutex
	ctx     context.Context // of the server; nil when it does not serve
	wg      sync.WaitGroup
	running map[string]*buying
}

// buying is a purchase that runs.
type buying struct {
	request [32]byte
	cancel  context.CancelFunc
	done    chan struct{} // closed when bought and err are set
	bought  Bought
	err     error
}

// within waits for the purchase so long at most. done: bought and err are set. Error: that of ctx.
func (b *buying) within(ctx context.Context, wait time.Duration) (done bool, err error) {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-b.done:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-t.C:
		return false, nil
	}
}

// begin lets purchases run until ctx ends. The returned function ends them and waits.
func (o *orders) begin(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	o.mu.Lock()
	o.ctx = ctx
	o.mu.Unlock()
	return func() {
		cancel()
		o.mu.Lock()
		o.ctx = nil
		o.mu.Unlock()
		o.wg.Wait()
	}
}

// run begins a purchase by a buyer, or finds the one of the key that runs. Keys are the budget's own.
func (o *orders) run(buyer Buyer, budget, key string, r OrderRequest) (*buying, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.open(); err != nil {
		return nil, err
	}
	request := sha256.Sum256(raw)
	name := budget + "/" + key
	if b, runs := o.running[name]; runs {
		if b.request != request {
			return nil, problem(http.StatusConflict, fmt.Sprintf("the key %q stands for another purchase, which runs", key), "choose another Idempotency-Key")
		}
		return b, nil
	}
	return o.start(name, request, func(ctx context.Context) (Bought, error) {
		bought, err := buyer.Buy(ctx, key, r)
		if o.ended != nil {
			o.ended(bought, r, err)
		}
		return bought, err
	})
}

// open refuses what would begin while the server ends. Callers hold mu.
func (o *orders) open() error {
	if o.ctx == nil || o.ctx.Err() != nil {
		return problem(http.StatusServiceUnavailable, "the server ends", "repeat the request with the same key when it runs again")
	}
	return nil
}

// start begins what no request waits for alone. Callers hold mu.
func (o *orders) start(name string, request [32]byte, buy func(context.Context) (Bought, error)) (*buying, error) {
	if len(o.running) >= maxPurchases {
		return nil, problem(http.StatusServiceUnavailable, fmt.Sprintf("%d purchases run already", len(o.running)), "repeat the request with the same key when one is done")
	}
	ctx, cancel := context.WithCancel(o.ctx)
	b := &buying{request: request, cancel: cancel, done: make(chan struct{})}
	o.running[name] = b
	o.wg.Go(func() {
		defer cancel()
		b.bought, b.err = buy(ctx)
		o.mu.Lock()
		delete(o.running, name)
		o.mu.Unlock()
		close(b.done)
	})
	return b, nil
}

// purchase is the one of a key that runs; nil for none.
func (o *orders) purchase(budget, key string) *buying {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.running[budget+"/"+key]
}

// runs reports whether the purchase of a key runs.
func (o *orders) runs(budget, key string) bool { return o.purchase(budget, key) != nil }

// breakOff ends the purchase of a key, if it runs, as the end of the server does: what it has come to stays. It waits until the
// purchase has ended.
func (o *orders) breakOff(ctx context.Context, budget, key string) error {
	b := o.purchase(budget, key)
	if b == nil {
		return nil
	}
	b.cancel()
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type orderInput struct {
	Key  string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9._-]+$" doc:"Names the purchase; a random one, such as a UUID"`
	Body OrderRequest
}

type orderOutput struct {
	Status int
	Body   Order
}

func (s *Server) order(ctx context.Context, in *orderInput) (*orderOutput, error) {
	a, err := s.actorOfCaller(ctx)
	if err != nil {
		return nil, err
	}
	c, _ := callerOf(ctx)
	out, err := s.orders.buy(ctx, a.Buyer, c.Budget, in.Key, in.Body, waitFor)
	if err != nil {
		return nil, failed(err)
	}
	bought(ctx, out)
	if out.Phase == phaseBuying {
		return &orderOutput{http.StatusAccepted, out}, nil
	}
	if err := s.o.Service.Await(ctx, out.Leases...); err != nil {
		return nil, failed(err)
	}
	return &orderOutput{http.StatusCreated, out}, nil
}

// buy begins a purchase or joins it, and waits for it so long at most.
func (o *orders) buy(ctx context.Context, buyer Buyer, budget, key string, r OrderRequest, wait time.Duration) (Order, error) {
	b, err := o.run(buyer, budget, key, r)
	if err != nil {
		return Order{}, err
	}
	done, err := b.within(ctx, wait)
	switch {
	case err != nil:
		return Order{}, err
	case !done:
		so, _ := buyer.SoFar(ctx, key) // what is not known now is in the next answer
		return Order{Key: key, Phase: phaseBuying, Order: so.Order, Leases: append([]service.Lease{}, so.Leases...)}, nil
	}
	return Order{Key: key, Phase: phaseBought, Order: b.bought.Order, Leases: b.bought.Leases, Public: b.bought.Public, Image: b.bought.Image}, b.err
}

// Purchases runs purchases as the HTTP API does, for other interfaces.
type Purchases struct {
	orders orders
	buyer  Buyer
}

// NewPurchases lets purchases run until ctx ends or end is called, which waits for them.
func NewPurchases(ctx context.Context, b Buyer) (p *Purchases, end func()) {
	p = &Purchases{orders: orders{running: map[string]*buying{}}, buyer: b}
	return p, p.orders.begin(ctx)
}

// Buy begins a purchase or joins the one of this key, and waits for it so long at most. Errors: Failure, Problem.
func (p *Purchases) Buy(ctx context.Context, key string, r OrderRequest, wait time.Duration) (Order, error) {
	return p.orders.buy(ctx, p.buyer, "", key, r, wait)
}

// BreakOff ends the purchase of a key, if it runs, and waits for that. What it has come to stays.
func (p *Purchases) BreakOff(ctx context.Context, key string) error {
	return p.orders.breakOff(ctx, "", key)
}

func (s *Server) stop(ctx context.Context, in *leaseInput) (*reply[service.Lease], error) {
	id, err := address(in.ID)
	if err != nil {
		return nil, err
	}
	l, a, err := s.ofLease(ctx, id, false)
	if err != nil {
		return nil, err
	}
	if l.Status == market.LeaseEnded.String() {
		return &reply[service.Lease]{l}, nil
	}
	if l, err = a.Buyer.Stop(ctx, id); err != nil {
		return nil, failed(err)
	}
	if err := s.o.Service.Await(ctx, l); err != nil {
		return nil, failed(err)
	}
	return &reply[service.Lease]{l}, nil
}
