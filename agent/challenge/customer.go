package challenge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/time/rate"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// A TPM needs a second for a step, some need ten. So customers have at most half of its time, one after the other, and
// each lease as many steps as asking three times takes, then six each minute. A keeper waits for one step of a customer's at
// most.
const (
	customerEvery = 10 * time.Second // between steps of one lease, when its burst is used up
	customerBurst = 9
	// maxLeases is of how many leases the steps are counted: a node has fewer.
	maxLeases = 64
	// maxKeys of a lease are kept: its customer may ask while it brings the job.
	maxKeys = 4
)

// ErrNoKey: this process has no such key of the lease; it may have started anew.
var ErrNoKey = errors.New("this machine has no such key of the lease")

// customers bounds what the customers of leases have this machine do.
type customers struct {
	turn chan struct{} // holds a token while a customer's step waits or runs

	mu    sync.Mutex
	free  time.Time // when the next step of a customer may begin
	steps map[[32]byte]*rate.Limiter
	// keys are what customers may seal to, of each lease the latest last. They are in memory alone.
	keys map[[32]byte][]*seal.Key
}

func newCustomers() *customers {
	return &customers{turn: make(chan struct{}, 1), steps: map[[32]byte]*rate.Limiter{}, keys: map[[32]byte][]*seal.Key{}}
}

// may reports whether a lease has a step left.
func (c *customers) may(lease [32]byte, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.steps[lease]
	if !ok {
		for old, x := range c.steps {
			if len(c.steps) < maxLeases && x.TokensAt(now) < customerBurst {
				continue
			}
			delete(c.steps, old) // it has all its steps again, or is one of too many
		}
		l = rate.NewLimiter(rate.Every(customerEvery), customerBurst)
		c.steps[lease] = l
	}
	return l.AllowN(now, 1)
}

// do runs f when no other customer's step does, and not before the machine had as long for others as the last one took.
// Error: f's, the context's.
func (c *customers) do(ctx context.Context, f func() error) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	c.mu.Lock()
	pause := time.Until(c.free)
	c.mu.Unlock()
	if err := wait.For(ctx, pause); err != nil {
		return err
	}
	began := time.Now()
	err := f()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = time.Now().Add(time.Since(began))
	return err
}

// keep keeps the key of a lease. Of too many leases another one's keys go: its customer asks again.
func (c *customers) keep(lease [32]byte, key *seal.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for old := range c.keys {
		if _, has := c.keys[lease]; has || len(c.keys) < maxLeases {
			break
		}
		delete(c.keys, old)
	}
	keys := append(c.keys[lease], key)
	c.keys[lease] = keys[max(0, len(keys)-maxKeys):]
}

// Open opens what the customer of a lease has sealed to one of its keys. Errors: ErrNoKey, and those of seal.Key.
func (s *Server) Open(lease, id [32]byte, sealed []byte) ([]byte, error) {
	s.customers.mu.Lock()
	keys := slices.Clone(s.customers.keys[lease])
	s.customers.mu.Unlock()
	for _, k := range keys {
		if k.ID() == id {
			return k.Open(sealed)
		}
	}
	return nil, ErrNoKey
}

// Forget drops the keys of leases that are over.
func (s *Server) Forget(held func(lease solana.PublicKey) bool) {
	s.customers.mu.Lock()
	defer s.customers.mu.Unlock()
	for lease := range s.customers.keys {
		if !held(lease) {
			delete(s.customers.keys, lease)
		}
	}
}

// Attest answers the customer of a lease with this machine's evidence, or with a step of enrolling its TPM. Error:
// *RefusedError for who is not answered at all.
func (s *Server) Attest(ctx context.Context, from solana.PublicKey, req messages.AttestRequest) (messages.AttestAnswer, error) {
	out := messages.AttestAnswer{Version: messages.Version}
	if req.Version != messages.Version {
		return out, &RefusedError{Why: "this node speaks another version"}
	}
	if s.o.Tenant == nil {
		return out, &RefusedError{Why: "this node does not prove itself to customers"}
	}
	job, err := s.o.Tenant(ctx, from, req.Lease)
	if err != nil {
		return out, err
	}
	if req.Guest {
		return s.measured(ctx, req, job)
	}
	switch {
	case req.TPM != nil && s.o.TPM == nil:
		out.Refused, out.NoTPM = "this machine shows no TPM", true
		return out, nil
	case req.TPM == nil && s.o.Evidence == nil:
		out.Refused = "this node shows no evidence"
		return out, nil
	case !s.customers.may(req.Lease, s.o.Now()):
		out.Refused, out.Again = "this lease has asked often; the machine answers again in a few seconds", true
		return out, nil
	}
	err = s.customers.do(ctx, func() error { return s.attest(ctx, from, req, job, &out) })
	switch {
	case err == nil:
		s.count.add(messages.CheckEvidence, len(out.Evidence) > 0)
	case errors.Is(err, errQueued), ctx.Err() != nil:
		out.Refused, out.Again = "the machine answers others now", true
	default:
		return out, err
	}
	out.Refused = printable.Text(out.Refused)
	return out, nil
}

// otherTime is what is said of a question that is not open now.
const otherTime = "the question is open at another time; is a clock wrong?"

// question is the challenge of a customer's; open is false where it is not open now.
func (s *Server) question(req messages.AttestRequest) (c attest.Challenge, open bool) {
	left := time.Unix(req.Expiry, 0).Sub(s.o.Now())
	return attest.Challenge{
		GenesisHash: s.o.Genesis, Program: market.ProgramID, ID: attest.LeaseID(req.Lease, req.Nonce), Node: s.o.Node,
		NodeKey: s.o.Signer.PublicKey(), SlotHash: req.SlotHash, Expiry: req.Expiry,
	}, left >= -maxClockOff && left <= maxChallengeOpen+maxClockOff
}

// attest does one step for a customer, whose turn it is.
func (s *Server) attest(ctx context.Context, from solana.PublicKey, req messages.AttestRequest, job [32]byte, out *messages.AttestAnswer) error {
	if req.TPM != nil {
		out.TPM, out.Refused = s.answerTPM(ctx, from, req.TPM)
		out.NoTPM = out.Refused == noTPM
		if out.Refused == errQueued.Error() {
			return errQueued
		}
		return ctx.Err()
	}
	challenge, open := s.question(req)
	if !open {
		out.Refused = otherTime
		return nil
	}
	key, err := seal.New(seal.Subject{Lease: req.Lease, Job: job})
	if err != nil {
		return err
	}
	err = s.evidenceQueue.do(ctx, from, func(ctx context.Context) (err error) {
		out.Evidence, err = s.o.Evidence(ctx, challenge, nil, key.Evidence())
		return err
	})
	if err == nil {
		s.customers.keep(req.Lease, key)
	}
	if err == nil || errors.Is(err, errQueued) || ctx.Err() != nil {
		return err
	}
	s.o.Log.Warn().Err(err).Str("customer", from.String()).Msg("evidence collection failed")
	out.Refused = "the evidence could not be collected"
	return nil
}
