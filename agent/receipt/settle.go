package receipt

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	settlePoll    = time.Second     // how often the server looks for settlements that are due
	retryDelay    = 2 * time.Second // between attempts after one that failed
	settleTimeout = 20 * time.Second
)

// attempt is the last time that a lease was settled, or that it was tried.
type attempt struct {
	at     time.Time
	failed bool
}

// Run settles until ctx ends. What an earlier process left signed and unsettled is settled too.
func (s *Server) Run(ctx context.Context) error {
	t := time.NewTicker(settlePoll)
	defer t.Stop()
	for {
		s.settleDue(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		case <-s.wakeUp:
		}
	}
}

// settleDue settles what is due.
func (s *Server) settleDue(ctx context.Context) {
	leases := s.o.Chain.Leases()
	s.dropClosed(leases)
	for _, l := range leases {
		if ctx.Err() != nil {
			return
		}
		// A settlement may take long, and a receipt is of the lease as it is when it is signed.
		l, ok := s.o.Chain.Lease(l.Address)
		if !ok {
			continue
		}
		r, due := s.pending(l)
		if !due || !s.due(l) {
			continue
		}
		if err := s.submit(ctx, l, r); err != nil && ctx.Err() == nil {
			s.logFailure(l.Address, err)
		}
	}
}

// dropClosed deletes what the server remembers of leases that are closed.
func (s *Server) dropClosed(live []market.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := func(a solana.PublicKey) bool {
		return !slices.ContainsFunc(live, func(l market.Lease) bool { return l.Address == a })
	}
	maps.DeleteFunc(s.last, func(a solana.PublicKey, _ attempt) bool { return gone(a) })
	maps.DeleteFunc(s.lastErr, func(a solana.PublicKey, _ string) bool { return gone(a) })
}

// pending is the newest receipt of both sides that the chain does not have.
func (s *Server) pending(l market.Lease) (Signed, bool) {
	if l.StartedAt == 0 {
		return Signed{}, false
	}
	r, err := s.o.Store.Receipt(store.Key(l.Address))
	if err != nil || r.Signed == nil || r.Signed.Sequence <= l.ReceiptSequence || r.Signed.Seconds > math.MaxUint32 ||
		r.Signed.Seconds < uint64(l.ReceiptSecs) || len(r.Signed.NodeSignature) != 64 || len(r.Signed.CustomerSignature) != 64 {
		return Signed{}, false
	}
	rec, err := s.o.Store.Lease(store.Key(l.Address))
	if err != nil || rec.AwardedAt.Unix() != l.AwardedAt {
		return Signed{}, false
	}
	by := solana.PublicKey(r.Signed.CustomerKey)
	if !by.IsZero() && !s.o.Chain.ActsFor(by, l.Customer) {
		return Signed{}, false // the session key has expired: reports settle what it signed for
	}
	return Signed{
		CustomerKey: by,
		Sequence:    r.Signed.Sequence, Seconds: uint32(r.Signed.Seconds),
		NodeSignature:     solana.SignatureFromBytes(r.Signed.NodeSignature),
		CustomerSignature: solana.SignatureFromBytes(r.Signed.CustomerSignature),
	}, true
}

// due: a running lease is settled from time to time, one that is over at once; a failed attempt is given a pause.
func (s *Server) due(l market.Lease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.last[l.Address]
	wait := s.o.Interval
	switch {
	case ok && last.failed:
		wait = retryDelay
	case l.State() != market.LeaseRunning:
		return true
	case !ok:
		last.at = time.Unix(l.StartedAt, 0) // the first interval counts from the lease's start
	}
	return !s.o.Now().Before(last.at.Add(wait))
}

func (s *Server) submit(ctx context.Context, l market.Lease, r Signed) error {
	s.settle.Lock()
	defer s.settle.Unlock()
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	err := s.o.Chain.SettleReceipt(ctx, l, r)
	s.mu.Lock()
	s.last[l.Address] = attempt{at: s.o.Now(), failed: err != nil}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	s.o.Log.Info().Str("lease", l.Address.String()).Uint64("sequence", r.Sequence).Uint32("seconds", r.Seconds).Msg("receipt settled")
	return nil
}

func (s *Server) logFailure(address solana.PublicKey, err error) {
	s.mu.Lock()
	same := s.lastErr[address] == err.Error()
	s.lastErr[address] = err.Error()
	s.mu.Unlock()
	switch {
	case same:
	case market.Is(err, bindings.ErrorCodeReceiptTooLarge):
		// The chain's clock moves in steps of slots and runs a little behind ours.
		s.o.Log.Info().Str("lease", address.String()).Msg("the chain's clock has not reached the receipt's last second yet; it is settled as soon as it has")
	default:
		s.o.Log.Warn().Str("lease", address.String()).Err(err).Msg("the receipt was not settled; the server tries again")
	}
}

// SettleNow settles a lease's pending receipt, if there is one: the last attempt before the lease is ended.
func (s *Server) SettleNow(ctx context.Context, address solana.PublicKey) error {
	l, ok := s.o.Chain.Lease(address)
	if !ok {
		return errors.New("receipt: the lease is not on chain")
	}
	r, ok := s.pending(l)
	if !ok {
		return nil
	}
	return s.submit(ctx, l, r)
}
