// Package receipt signs for the time that a node has delivered, accepts the customer's signature and settles receipts
// on chain.
//
// A receipt states the total number of seconds that this lease has had so far. The node never signs a lower number
// after a higher one, and never signs two numbers with one sequence number. It stores what it is about to sign before
// it signs. Settling costs a fee. So the node settles a receipt only from time to time while the lease runs, and at
// once when the lease is over. A lost receipt costs nothing once a later one exists; if there is no receipt, the
// keepers' reports decide the payment.
package receipt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Signed is a receipt with both signatures.
type Signed struct {
	Sequence          uint64
	Seconds           uint32
	NodeSignature     solana.Signature
	CustomerKey       solana.PublicKey // that signed for the customer; zero is its own
	CustomerSignature solana.Signature
}

// Chain is what the server needs of the chain. package daemon implements it.
type Chain interface {
	// Leases are all leases of this node.
	Leases() []market.Lease
	// Lease is one of them.
	Lease(address solana.PublicKey) (market.Lease, bool)
	// SettleReceipt sends lease_settle_receipt and waits until it is confirmed.
	SettleReceipt(ctx context.Context, l market.Lease, r Signed) error
	// ActsFor reports whether a key acts for a customer now: its own, or one of its session keys.
	ActsFor(key, customer solana.PublicKey) bool
}

// Options of New. Chain, Store, Key and Domain are required.
type Options struct {
	Chain  Chain
	Store  *store.Store
	Key    records.Signer
	Domain records.Domain
	// Interval between two settlements of a running lease; default 15 minutes.
	Interval time.Duration
	Log      zerolog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Server offers receipts to customers, accepts their signatures and settles.
type Server struct {
	o      Options
	wakeUp chan struct{}

	mu      sync.Mutex // one offer or answer at a time: they are rare and must not interleave
	settle  sync.Mutex // one settlement at a time
	last    map[solana.PublicKey]attempt
	lastErr map[solana.PublicKey]string
}

// New checks the options. Run settles receipts.
func New(o Options) (*Server, error) {
	if o.Chain == nil || o.Store == nil || o.Key == nil || o.Domain.IsZero() {
		return nil, errors.New("receipt: chain, store, key and domain are required")
	}
	if o.Interval <= 0 {
		o.Interval = 15 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{
		o: o, wakeUp: make(chan struct{}, 1),
		last: map[solana.PublicKey]attempt{}, lastErr: map[solana.PublicKey]string{},
	}, nil
}

// clockMargin, in seconds, keeps a receipt below what a chain with a slightly late clock accepts.
const clockMargin = 1

// Seconds is what the node claims for a lease at a time: all of it up to the end once it is over; while it runs, up to a
// second ago. A lease that ends with its job is claimed up to the job's end, also when the agent was dead then and has
// ended the lease later, and so is one whose job the machine has lost.
func Seconds(l market.Lease, exit *store.Exit, now time.Time) uint64 {
	if l.StartedAt == 0 {
		return 0
	}
	until := l.FundedUntil
	if l.EndedAt != 0 {
		until = min(until, l.EndedAt)
	} else {
		until = min(until, now.Unix()-clockMargin)
	}
	if exit != nil && (l.RunToCompletion == 1 || exit.Reason == string(runtime.Lost)) {
		until = min(until, exit.At.Unix()+1) // the started second is owed
	}
	return uint64(max(0, until-l.StartedAt-int64(l.DowntimeSecs)))
}

// Offer signs a receipt for the lease's customer. Error: *lease.RefusedError.
func (s *Server) Offer(_ context.Context, from solana.PublicKey, address solana.PublicKey) (messages.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, entry, err := s.find(from, address)
	if err != nil {
		return messages.Receipt{}, err
	}
	last, err := s.o.Store.Receipt(store.Key(address))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return messages.Receipt{}, err
	}
	sequence, seconds, err := nextReceipt(last, l, Seconds(l, entry.Exit, s.o.Now()))
	if err != nil {
		return messages.Receipt{}, err
	}
	if _, err := s.o.Store.ReserveReceipt(store.Key(address), sequence, seconds); err != nil {
		return messages.Receipt{}, err
	}
	signature, err := s.record(l, sequence, seconds).Sign(s.o.Key)
	if err != nil {
		return messages.Receipt{}, err
	}
	if err := s.o.Store.SignReceipt(store.Key(address), sequence, signature[:], nil, store.Key{}); err != nil {
		return messages.Receipt{}, err
	}
	return messages.Receipt{
		Version: messages.Version, Lease: address, StartedAt: l.StartedAt, Sequence: sequence, Seconds: seconds, NodeSignature: signature,
	}, nil
}

// nextReceipt chooses sequence and seconds of an offer, given the last one signed and what the chain has.
func nextReceipt(last store.Receipt, l market.Lease, seconds uint64) (uint64, uint64, error) {
	open := last.Sequence > l.ReceiptSequence // signed by the node, not settled
	switch {
	case seconds <= uint64(l.ReceiptSecs):
		return 0, 0, refuse("nothing to sign: %d s are settled", l.ReceiptSecs)
	case open && seconds <= last.Seconds:
		return last.Sequence, last.Seconds, nil // the same receipt again
	case seconds < last.Seconds:
		return 0, 0, refuse("nothing to sign: %d s were signed before", last.Seconds)
	}
	return max(last.Sequence, l.ReceiptSequence) + 1, seconds, nil
}

func refuse(format string, args ...any) error {
	return &lease.RefusedError{Why: fmt.Sprintf(format, args...)}
}

func (s *Server) record(l market.Lease, sequence, seconds uint64) records.Receipt {
	r := market.LeaseReceipt(l, sequence, seconds)
	r.Domain = s.o.Domain // this cluster's, whatever an endpoint says about the lease
	return r
}

// find checks that the lease is this node's, started, and the caller's.
func (s *Server) find(from, address solana.PublicKey) (market.Lease, store.Lease, error) {
	l, ok := s.o.Chain.Lease(address)
	if !ok {
		return l, store.Lease{}, refuse("this node has no such lease, or it is closed")
	}
	if !s.o.Chain.ActsFor(from, l.Customer) {
		return l, store.Lease{}, refuse("the lease is of another customer")
	}
	if l.State() < market.LeaseRunning || l.StartedAt == 0 {
		return l, store.Lease{}, refuse("the lease has not started")
	}
	r, err := s.o.Store.Lease(store.Key(address))
	if errors.Is(err, store.ErrNotFound) || (err == nil && r.AwardedAt.Unix() != l.AwardedAt) {
		return l, r, refuse("the lease is new to this node; try again in a moment")
	}
	return l, r, err
}

// Accept takes a receipt with the customer's signature. Error: *lease.RefusedError.
func (s *Server) Accept(_ context.Context, from solana.PublicKey, signed messages.SignedReceipt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	address := solana.PublicKey(signed.Receipt.Lease)
	l, _, err := s.find(from, address)
	if err != nil {
		return err
	}
	last, err := s.o.Store.Receipt(store.Key(address))
	if errors.Is(err, store.ErrNotFound) {
		return refuse("this receipt was not offered")
	}
	if err != nil {
		return err
	}
	if signed.Receipt.StartedAt != l.StartedAt || signed.Receipt.Sequence != last.Sequence || signed.Receipt.Seconds != last.Seconds {
		return refuse("receipt %d over %d s was offered last", last.Sequence, last.Seconds)
	}
	// A session key signs for its customer with itself.
	if err := s.record(l, last.Sequence, last.Seconds).Verify(from, signed.CustomerSignature); err != nil {
		return refuse("the signature is not yours over this receipt")
	}
	var by store.Key
	if from != l.Customer {
		by = store.Key(from)
	}
	if err := s.o.Store.SignReceipt(store.Key(address), last.Sequence, nil, signed.CustomerSignature[:], by); err != nil {
		return err
	}
	s.o.Log.Debug().Str("lease", address.String()).Uint64("sequence", last.Sequence).Uint64("seconds", last.Seconds).Msg("node and customer have signed a receipt")
	select {
	case s.wakeUp <- struct{}{}:
	default:
	}
	return nil
}
