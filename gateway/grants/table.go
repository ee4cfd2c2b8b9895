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

	"github.com/gantry-market/gantry/gateway/limit"
	"github.com/gantry-market/gantry/gateway/toll"
	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
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

// Options of a Table. All but Try, Customers, Toll and Log are required.
type Options struct {
	Domain  records.Domain
	Gateway solana.PublicKey
	Dir     string
	// Chain answers questions in their order.
	Chain func(ctx context.Context, about []Question) ([]Facts, error)
	// Leases are those of an order.
	Leases func(ctx context.Context, order solana.PublicKey) ([]market.Lease, error)
	// Try makes sure that a grant opens something before it replaces an earlier one; nil takes it as it is.
	Try func(ctx context.Context, e *Entry) error
	// Customers that are served; empty for all.
	Customers []solana.PublicKey
	// MostLeases, and of one customer.
	MostLeases, MostOfOne int
	// PerLease connections at once, and bytes a second.
	PerLease, Rate int
	// Toll is the account that a lease's bytes are taken from; nil where nothing is asked.
	Toll func(lease, customer solana.PublicKey) *toll.Account
	// Now is the chain's time, which grants end by; nil means time.Now.
	Now func() time.Time
	// Turn is called as Run looks at each grant, and without one every few seconds, for a watchdog; nil for none.
	Turn func()
	Log  zerolog.Logger
}

// Entry is a grant that holds.
type Entry struct {
	// Signed is what the lease's node is shown.
	Signed   messages.SignedGrant
	Customer solana.PublicKey
	// NodeKey of the machine that runs the container.
	NodeKey solana.PublicKey
	// Moving: the machine has failed, and another takes the lease if there is one. Nothing is reached meanwhile.
	Moving bool
	// Lasts ends with the grant: by time, by its customer or with its lease.
	Lasts context.Context //nolint:containedctx // the grant's life is no call's
	// Places and Rate are what the lease's connections share; In and Out count bytes from and to the container.
	Places  *limit.Places
	Rate    *rate.Limiter
	In, Out *atomic.Uint64
	// Toll is where its bytes are taken from; nil for free.
	Toll *toll.Account

	came  stored
	lease solana.PublicKey
	tail  string
	end   context.CancelFunc
	lost  time.Time // since when no lease goes on for the one that has failed; guarded by the table's lock
}

// Lease is what is reached now: that of the grant, or the one that goes on for it.
func (e *Entry) Lease() solana.PublicKey { return e.lease }

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

	mu    sync.Mutex
	tails map[string]*Entry
}

const (
	// refreshEvery is how often the chain is asked whether grants still hold.
	refreshEvery = 2 * time.Second
	// movingEvery is how often while a lease moves.
	movingEvery = time.Second
	// asksPerSecond is how many new grants are looked up.
	asksPerSecond, asksBurst = 20, 60
)

// New reads what was granted before. Error: options.ErrMissing.
func New(o Options) (*Table, error) {
	if err := options.Complete("grants", o, "Try", "Customers", "Toll", "Now", "Turn", "Log"); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	t := &Table{o: o, asks: rate.NewLimiter(asksPerSecond, asksBurst), tails: map[string]*Entry{}}
	return t, t.load()
}

// tailOf names a lease in a host name, or an order whose lease may move: 80 bits of the address, which nobody can choose.
func tailOf(address solana.PublicKey) string {
	return strings.ToLower(base32.StdEncoding.EncodeToString(address[:10]))
}

func (t *Table) countOf(customer solana.PublicKey) (n int) {
	for _, e := range t.tails {
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
	var e *Entry
	for _, have := range t.tails {
		if have.lease == lease || have.came.Grant.Lease == lease {
			e = have
		}
	}
	switch {
	case e == nil:
		return refuse("this gateway has no grant of the lease")
	case from != e.Customer && from != solana.PublicKey(e.Signed.Signer):
		return refuse("the lease is of another customer")
	}
	return t.drop(e, "its customer has taken it back")
}

// drop ends a grant, and logs why if there is a reason. The caller holds the lock.
func (t *Table) drop(e *Entry, why string) error {
	if t.tails[e.tail] != e {
		return nil
	}
	delete(t.tails, e.tail)
	e.end()
	if why != "" {
		t.o.Log.Info().Str("lease", e.lease.String()).Str("why", why).Msg("grant ended")
	}
	return t.remove(e.came.Grant.Lease)
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
	if e != nil && t.o.Now().UnixMilli() >= e.Signed.Grant.Expiry {
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

// Takes reports whether a first lease of a customer would be taken now.
func (t *Table) Takes(customer solana.PublicKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.serves(customer) && len(t.tails) < t.o.MostLeases
}

// serves reports whether a customer is one of those that are served.
func (t *Table) serves(customer solana.PublicKey) bool {
	return len(t.o.Customers) == 0 || slices.Contains(t.o.Customers, customer)
}

// All grants.
func (t *Table) All() []*Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.tails))
}

// Run ends grants whose time or lease is over, until ctx ends.
func (t *Table) Run(ctx context.Context) error {
	for {
		t.turn()
		if err := t.refresh(ctx); err != nil && ctx.Err() == nil {
			t.o.Log.Warn().Err(err).Msg("the chain cannot be asked whether grants still hold; until then nodes check them")
		}
		pause := refreshEvery
		if slices.ContainsFunc(t.All(), func(e *Entry) bool { return e.Moving }) {
			pause = movingEvery
		}
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
	}
}

func (t *Table) turn() {
	if t.o.Turn != nil {
		t.o.Turn()
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
	if err != nil {
		facts = nil
	}
	now := t.o.Now()
	for i, e := range all {
		t.turn()
		switch {
		case now.UnixMilli() >= e.Signed.Grant.Expiry:
			err = errors.Join(err, t.over(e, "its time is over"))
		case facts != nil:
			err = errors.Join(err, t.follow(ctx, e, facts[i], now))
		}
	}
	return err
}

func (t *Table) over(e *Entry, why string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.drop(e, why)
}
