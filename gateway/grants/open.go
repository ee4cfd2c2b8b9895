package grants

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/gateway/limit"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Open takes a grant, in place of an earlier one of the lease once it has been tried. A grant that is here already
// changes nothing: whoever knows one can bring it again. moves is the signature for the leases that go on for it, or
// nil: then its names end with the lease. Errors: *RefusedError, that of Options.Try.
func (t *Table) Open(ctx context.Context, s messages.SignedGrant, moves []byte) (*Entry, error) {
	g := &s.Grant
	now := t.o.Now().UnixMilli()
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
	if e := t.equal(s, moves); e != nil {
		return e, t.try(ctx, e)
	}
	facts, err := t.o.Chain(ctx, []Question{{g.Lease, s.Signer}})
	if err != nil {
		return nil, fmt.Errorf("ask the chain about lease %s: %w", g.Lease, err)
	}
	if err := holds(facts[0]); err != nil {
		return nil, err
	}
	came := stored{SignedGrant: s, Order: facts[0].Lease.Order, Moves: moves}
	if err := came.verifyMoves(); err != nil {
		return nil, refuse("the grant for leases that continue is not valid: %v", err)
	}
	e := t.entryOf(came, g.Lease, facts[0].Lease, false)
	if err := t.tryNew(ctx, e); err != nil {
		e.end()
		return nil, err
	}
	return e, nil
}

// tryNew puts an entry into the table if it opens something.
func (t *Table) tryNew(ctx context.Context, e *Entry) error {
	t.mu.Lock()
	_, err := t.replaces(e)
	t.mu.Unlock()
	if err == nil {
		err = t.try(ctx, e)
	}
	if err == nil {
		_, err = t.put(e, nil)
	}
	return err
}

func (t *Table) try(ctx context.Context, e *Entry) error {
	if t.o.Try == nil {
		return nil
	}
	return t.o.Try(ctx, e)
}

// equal is the entry of the same grant, which one signature of one key says, if there is one. One that comes without the signature for leases that go on is
// the same: only its customer takes that back, with a newer grant.
func (t *Table) equal(s messages.SignedGrant, moves []byte) *Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.tails {
		if (len(moves) == 0 || bytes.Equal(moves, e.came.Moves)) && e.came.Signer == s.Signer && e.came.Signature == s.Signature {
			return e
		}
	}
	return nil
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

// entryOf makes an entry of a grant, which reaches a lease now.
func (t *Table) entryOf(came stored, lease solana.PublicKey, l market.Lease, moving bool) *Entry {
	e := &Entry{
		Signed: came.shownFor(lease), Customer: l.Customer, NodeKey: l.NodeKey, Moving: moving, came: came, lease: lease, tail: came.tail(),
		Places: limit.NewPlaces(t.o.PerLease), Rate: limit.NewRate(t.o.Rate), In: new(atomic.Uint64), Out: new(atomic.Uint64),
	}
	if t.o.Toll != nil {
		e.Toll = t.o.Toll(lease, l.Customer)
	}
	e.Lasts, e.end = context.WithCancel(context.Background())
	return e
}

// replaces lists the entries of the same lease or order as a new one, in whose place it comes. The caller holds the lock.
// Error: *RefusedError.
func (t *Table) replaces(e *Entry) ([]*Entry, error) {
	same := t.tails[e.tail]
	var olds []*Entry
	for _, old := range t.tails {
		if old.lease == e.lease || old == same && old.came.Order == e.came.Order && len(old.came.Moves) > 0 {
			olds = append(olds, old)
		}
	}
	newer := func(old *Entry) bool { return old.Signed.Grant.IssuedAt > e.Signed.Grant.IssuedAt }
	switch {
	case !t.serves(e.Customer):
		return nil, refuse("this gateway does not serve your wallet: ask who runs it")
	case slices.ContainsFunc(olds, newer):
		return nil, refuse("a newer grant of this lease is here already")
	case same != nil && !slices.Contains(olds, same):
		return nil, refuse("another lease has this lease's name here; choose another gateway")
	case len(olds) == 0 && len(t.tails) >= t.o.MostLeases:
		return nil, refuse("this gateway serves %d leases and takes no more", t.o.MostLeases)
	case len(olds) == 0 && t.countOf(e.Customer) >= t.o.MostOfOne:
		return nil, refuse("this gateway serves %d leases of your wallet and takes no more", t.o.MostOfOne)
	}
	return olds, nil
}

// put stores an entry in place of those that it replaces. With of it does nothing unless that entry still holds; taken
// says whether it did. Error: *RefusedError.
func (t *Table) put(e, of *Entry) (taken bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of != nil && of != t.tails[e.tail] {
		return false, nil // its customer has replaced it meanwhile, or taken it back
	}
	olds, err := t.replaces(e)
	if err != nil {
		return false, err
	}
	if err := t.save(e.came); err != nil {
		return false, err
	}
	for _, old := range olds {
		e.Places, e.Rate, e.In, e.Out = old.Places, old.Rate, old.In, old.Out
		old.end()
		delete(t.tails, old.tail)
		if old.came.Grant.Lease != e.came.Grant.Lease {
			if err := t.remove(old.came.Grant.Lease); err != nil {
				t.o.Log.Warn().Err(err).Msg("a grant that was replaced stays on disk")
			}
		}
	}
	t.tails[e.tail] = e
	return true, nil
}
