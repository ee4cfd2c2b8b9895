// Package grants keeps what customers have granted to a gateway: which of their containers' ports and SSH servers it
// reaches for them, by which names, and until when. A grant is what the customer has signed, so that the table can be
// read again after a restart; nodes check every grant for themselves.
package grants

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/gateway/limit"
	"github.com/gantry-market/gantry/internal/options"
)

// RefusedError is the error of a request that is refused; its text may be shown to the caller.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Facts is what the chain says of a grant.
type Facts struct {
	Lease market.Lease
	Found bool // there is such a lease
	// ActsFor: the key that has signed speaks for the lease's customer.
	ActsFor bool
}

// Question names a lease and the key that has signed about it.
type Question struct{ Lease, Signer solana.PublicKey }

// Options of a Table. All but Customers and Log are required.
type Options struct {
	Domain  records.Domain
	Gateway solana.PublicKey
	Dir     string
	// Chain answers questions in their order.
	Chain func(ctx context.Context, about []Question) ([]Facts, error)
	// Customers that are served; empty for all.
	Customers []solana.PublicKey
	// MostLeases, and of one customer.
	MostLeases, MostOfOne int
	// PerLease connections at once, and bytes a second.
	PerLease, Rate int
	Log            zerolog.Logger
}

// Entry is a grant that holds.
type Entry struct {
	Signed   messages.SignedGrant
	Customer solana.PublicKey
	// NodeKey of the machine that runs the container.
	NodeKey solana.PublicKey
	// Lasts ends with the grant: by time, by its customer or with its lease.
	Lasts context.Context //nolint:containedctx // the grant's life is no call's
	// Places and Rate are what the lease's connections share; In and Out count bytes from and to the container.
	Places  *limit.Places
	Rate    *rate.Limiter
	In, Out *atomic.Uint64

	tail string
	end  context.CancelFunc
}

// Lease is what the grant is of.
func (e *Entry) Lease() solana.PublicKey { return e.Signed.Grant.Lease }

// Names are the labels of the granted ports in front of the gateway's domain, in their order.
func (e *Entry) Names() []string {
	out := make([]string, len(e.Signed.Grant.Ports))
	for i, p := range e.Signed.Grant.Ports {
		out[i] = p.Name + "-" + e.tail
	}
	return out
}

// SSHName is the name of the container's SSH server at the jump host.
func (e *Entry) SSHName() string { return "ssh-" + e.tail }

// Table is safe for concurrent use.
type Table struct {
	o    Options
	asks *rate.Limiter // of the chain, by those who open

	mu     sync.Mutex
	leases map[solana.PublicKey]*Entry
	tails  map[string]*Entry
}

const (
	// refreshEvery is how often the chain is asked whether grants still hold.
	refreshEvery = 5 * time.Second
	// asksPerSecond is how many new grants are looked up.
	asksPerSecond, asksBurst = 20, 60
)

// New reads what was granted before. Error: options.ErrMissing.
func New(o Options) (*Table, error) {
	if err := options.Complete("grants", o, "Customers", "Log"); err != nil {
		return nil, err
	}
	t := &Table{o: o, asks: rate.NewLimiter(asksPerSecond, asksBurst), leases: map[solana.PublicKey]*Entry{}, tails: map[string]*Entry{}}
	return t, t.load()
}

// tailOf names a lease in a host name: 80 bits of its address, which nobody can choose.
func tailOf(lease solana.PublicKey) string {
	return strings.ToLower(base32.StdEncoding.EncodeToString(lease[:10]))
}

// Open takes a grant, in place of an earlier one of the lease. Error: *RefusedError.
func (t *Table) Open(ctx context.Context, s messages.SignedGrant) (*Entry, error) {
	g := &s.Grant
	now := time.Now().UnixMilli()
	switch {
	case g.Domain != t.o.Domain:
		return nil, refuse("the grant is for another cluster")
	case g.Gateway != t.o.Gateway:
		return nil, refuse("the grant is for another gateway: this one is %s", t.o.Gateway)
	case now >= g.Expiry:
		return nil, refuse("the grant has expired")
	}
	if err := s.Verify(); err != nil {
		return nil, refuse("the grant is not valid: %v", err)
	}
	if !t.asks.Allow() {
		return nil, refuse("too many grants are brought at once; try again in a moment")
	}
	facts, err := t.o.Chain(ctx, []Question{{g.Lease, s.Signer}})
	if err != nil {
		return nil, fmt.Errorf("ask the chain about lease %s: %w", g.Lease, err)
	}
	if err := holds(facts[0]); err != nil {
		return nil, err
	}
	e, err := t.put(s, facts[0])
	if err != nil {
		return nil, err
	}
	return e, nil
}

// holds reports what the chain has against a grant. Error: *RefusedError.
func holds(f Facts) error {
	switch {
	case !f.Found:
		return refuse("there is no such lease, or not any more")
	case f.Lease.State() != market.LeaseRunning:
		return refuse("the lease does not run: it is %s", f.Lease.State())
	case !f.ActsFor:
		return refuse("the lease is of another customer than the one who signed the grant")
	}
	return nil
}

func (t *Table) put(s messages.SignedGrant, f Facts) (*Entry, error) {
	g := &s.Grant
	e := &Entry{
		Signed: s, Customer: f.Lease.Customer, NodeKey: f.Lease.NodeKey, tail: tailOf(g.Lease),
		Places: limit.NewPlaces(t.o.PerLease), Rate: limit.NewRate(t.o.Rate), In: new(atomic.Uint64), Out: new(atomic.Uint64),
	}
	e.Lasts, e.end = context.WithCancel(context.Background())
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.leases[g.Lease]
	same := t.tails[e.tail]
	switch {
	case len(t.o.Customers) > 0 && !slices.Contains(t.o.Customers, e.Customer):
		return nil, refuse("this gateway does not serve your wallet: ask who runs it")
	case old != nil && old.Signed.Grant.IssuedAt > g.IssuedAt:
		return nil, refuse("a newer grant of this lease is here already")
	case same != nil && same != old:
		return nil, refuse("another lease has this lease's name here; choose another gateway")
	case old == nil && len(t.leases) >= t.o.MostLeases:
		return nil, refuse("this gateway serves %d leases and takes no more", t.o.MostLeases)
	case old == nil && t.countOf(e.Customer) >= t.o.MostOfOne:
		return nil, refuse("this gateway serves %d leases of your wallet and takes no more", t.o.MostOfOne)
	}
	if err := t.save(s); err != nil {
		return nil, err
	}
	if old != nil {
		e.Places, e.Rate, e.In, e.Out = old.Places, old.Rate, old.In, old.Out
		old.end()
	}
	t.leases[g.Lease], t.tails[e.tail] = e, e
	return e, nil
}

func (t *Table) countOf(customer solana.PublicKey) (n int) {
	for _, e := range t.leases {
		if e.Customer == customer {
			n++
		}
	}
	return n
}

// Close forgets a lease. Only its customer, and the key that has signed, may ask for that. Error: *RefusedError.
func (t *Table) Close(from, lease solana.PublicKey) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.leases[lease]
	switch {
	case e == nil:
		return refuse("this gateway has no grant of the lease")
	case from != e.Customer && from != solana.PublicKey(e.Signed.Signer):
		return refuse("the lease is of another customer")
	}
	return t.drop(e, "its customer has taken it back")
}

// Discard forgets a grant that opens nothing.
func (t *Table) Discard(e *Entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.drop(e, "")
}

// drop ends a grant, and logs why if there is a reason. The caller holds the lock.
func (t *Table) drop(e *Entry, why string) error {
	lease := e.Lease()
	if t.leases[lease] != e {
		return nil
	}
	delete(t.leases, lease)
	delete(t.tails, e.tail)
	e.end()
	if why != "" {
		t.o.Log.Info().Str("lease", lease.String()).Str("why", why).Msg("grant ended")
	}
	return t.remove(lease)
}

// ByName finds the granted port with a label.
func (t *Table) ByName(label string) (*Entry, records.GrantedPort, bool) {
	i := strings.LastIndexByte(label, '-')
	if i < 0 {
		return nil, records.GrantedPort{}, false
	}
	e := t.byTail(label[i+1:])
	if e == nil {
		return nil, records.GrantedPort{}, false
	}
	for _, p := range e.Signed.Grant.Ports {
		if p.Name == label[:i] {
			return e, p, true
		}
	}
	return nil, records.GrantedPort{}, false
}

// BySSHName finds the lease with an SSH name.
func (t *Table) BySSHName(label string) (*Entry, bool) {
	tail, ok := strings.CutPrefix(label, "ssh-")
	if !ok {
		return nil, false
	}
	e := t.byTail(tail)
	return e, e != nil && len(e.Signed.Grant.SSHKeys) > 0
}

func (t *Table) byTail(tail string) *Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.tails[tail]
	if e != nil && time.Now().UnixMilli() >= e.Signed.Grant.Expiry {
		return nil
	}
	return e
}

// KnowsKey reports whether any grant names an SSH key, in SSH's encoding.
func (t *Table) KnowsKey(key []byte) bool {
	return slices.ContainsFunc(t.All(), func(e *Entry) bool { return e.Signed.Grant.AllowsKey(key) })
}

// Concerns reports whether a key is that of a customer or of a node of any grant.
func (t *Table) Concerns(key solana.PublicKey) bool {
	return slices.ContainsFunc(t.All(), func(e *Entry) bool {
		return key == e.Customer || key == e.NodeKey || key == solana.PublicKey(e.Signed.Signer)
	})
}

// All grants.
func (t *Table) All() []*Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.leases))
}

// Run ends grants whose time or lease is over, until ctx ends.
func (t *Table) Run(ctx context.Context) error {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		if err := t.refresh(ctx); err != nil && ctx.Err() == nil {
			t.o.Log.Warn().Err(err).Msg("the chain cannot be asked whether grants still hold; nodes check them meanwhile")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (t *Table) refresh(ctx context.Context) error {
	all := t.All()
	if len(all) == 0 {
		return nil
	}
	about := make([]Question, len(all))
	for i, e := range all {
		about[i] = Question{e.Lease(), e.Signed.Signer}
	}
	facts, err := t.o.Chain(ctx, about)
	now := time.Now().UnixMilli()
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, e := range all {
		var refused *RefusedError
		switch {
		case now >= e.Signed.Grant.Expiry:
			err = errors.Join(err, t.drop(e, "its time is over"))
		case facts != nil && errors.As(holds(facts[i]), &refused):
			err = errors.Join(err, t.drop(e, refused.Why))
		}
	}
	return err
}
