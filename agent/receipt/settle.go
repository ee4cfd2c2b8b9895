package receipt

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/idl/bindings"
)

const (
	look    = time.Second     // how often due settlements are looked for
	retry   = 2 * time.Second // between attempts after one that failed
	timeout = 20 * time.Second
)

// attempt is the last time that a lease was settled, or that it was tried.
type attempt struct {
	at     time.Time
	failed bool
}

// Run settles until ctx ends. What an earlier process left signed and unsettled is settled too.
func (o *Office) Run(ctx context.Context) error {
	t := time.NewTicker(look)
	defer t.Stop()
	for {
		o.round(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		case <-o.nudge:
		}
	}
}

// round settles what is due.
func (o *Office) round(ctx context.Context) {
	leases := o.o.Ledger.Leases()
	o.forget(leases)
	for _, l := range leases {
		if ctx.Err() != nil {
			return
		}
		// A settlement may take long, and a receipt is of the lease as it is when it is signed.
		l, ok := o.o.Ledger.Lease(l.Address)
		if !ok {
			continue
		}
		r, due := o.pending(l)
		if !due || !o.dueNow(l) {
			continue
		}
		if err := o.submit(ctx, l, r); err != nil && ctx.Err() == nil {
			o.complain(l.Address, err)
		}
	}
}

// forget drops what is remembered of leases that are closed.
func (o *Office) forget(live []lease.OnChain) {
	o.mu.Lock()
	defer o.mu.Unlock()
	gone := func(a solana.PublicKey) bool {
		return !slices.ContainsFunc(live, func(l lease.OnChain) bool { return l.Address == a })
	}
	maps.DeleteFunc(o.last, func(a solana.PublicKey, _ attempt) bool { return gone(a) })
	maps.DeleteFunc(o.lastErr, func(a solana.PublicKey, _ string) bool { return gone(a) })
}

// pending is the newest receipt of both sides that the chain does not have.
func (o *Office) pending(l lease.OnChain) (Signed, bool) {
	if l.StartedAt == 0 {
		return Signed{}, false
	}
	r, err := o.o.Store.Receipt(store.Key(l.Address))
	if err != nil || r.Signed == nil || r.Signed.Sequence <= l.ReceiptSequence || r.Signed.Seconds > math.MaxUint32 ||
		r.Signed.Seconds < uint64(l.ReceiptSecs) || len(r.Signed.NodeSignature) != 64 || len(r.Signed.CustomerSignature) != 64 {
		return Signed{}, false
	}
	rec, err := o.o.Store.Lease(store.Key(l.Address))
	if err != nil || rec.AwardedAt.Unix() != l.AwardedAt {
		return Signed{}, false
	}
	by := solana.PublicKey(r.Signed.CustomerKey)
	if !by.IsZero() && !o.o.Ledger.ActsFor(by, l.Customer) {
		return Signed{}, false // the session key is over: reports settle what it signed for
	}
	return Signed{
		CustomerKey: by,
		Sequence:    r.Signed.Sequence, Seconds: uint32(r.Signed.Seconds),
		NodeSignature:     solana.SignatureFromBytes(r.Signed.NodeSignature),
		CustomerSignature: solana.SignatureFromBytes(r.Signed.CustomerSignature),
	}, true
}

// dueNow: a running lease is settled from time to time, one that is over at once; a failed attempt is given a pause.
func (o *Office) dueNow(l lease.OnChain) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	last, ok := o.last[l.Address]
	wait := o.o.Interval
	switch {
	case ok && last.failed:
		wait = retry
	case l.State() != market.LeaseRunning:
		return true
	case !ok:
		last.at = time.Unix(l.StartedAt, 0) // the first interval counts from the lease's start
	}
	return !o.o.Now().Before(last.at.Add(wait))
}

func (o *Office) submit(ctx context.Context, l lease.OnChain, r Signed) error {
	o.settle.Lock()
	defer o.settle.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := o.o.Ledger.SettleReceipt(ctx, l, r)
	o.mu.Lock()
	o.last[l.Address] = attempt{at: o.o.Now(), failed: err != nil}
	o.mu.Unlock()
	if err != nil {
		return err
	}
	o.o.Log.Info().Str("lease", l.Address.String()).Uint64("sequence", r.Sequence).Uint32("seconds", r.Seconds).Msg("receipt settled")
	return nil
}

func (o *Office) complain(address solana.PublicKey, err error) {
	o.mu.Lock()
	same := o.lastErr[address] == err.Error()
	o.lastErr[address] = err.Error()
	o.mu.Unlock()
	switch {
	case same:
	case market.Is(err, bindings.ErrorCodeReceiptTooLarge):
		// The chain's clock moves in steps of slots and runs a little behind ours.
		o.o.Log.Info().Str("lease", address.String()).Msg("the chain's clock has not reached the receipt's last second yet; it is settled as soon as it has")
	default:
		o.o.Log.Warn().Str("lease", address.String()).Err(err).Msg("receipt not settled; it will be tried again")
	}
}

// Flush settles a lease's pending receipt now, if there is one: the last attempt before the lease is ended.
func (o *Office) Flush(ctx context.Context, address solana.PublicKey) error {
	l, ok := o.o.Ledger.Lease(address)
	if !ok {
		return errors.New("receipt: lease is not on chain")
	}
	r, ok := o.pending(l)
	if !ok {
		return nil
	}
	return o.submit(ctx, l, r)
}
