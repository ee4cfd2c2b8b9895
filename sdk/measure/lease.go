package measure

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// A customer's side of the protocols. How long is waited is the caller's.
var (
	leaseProtocol = p2p.Protocol{ID: messages.LeaseMeasure, MaxRequest: 1 << 10, MaxResponse: messages.MaxMeasureItem, Timeout: time.Minute}
	drawProtocol  = p2p.Protocol{ID: messages.LeaseMeasureOpen, MaxRequest: 1 << 10, MaxResponse: messages.MaxMeasureAnswer + 1<<10, Timeout: time.Minute}
)

const (
	// doneTime is how long the machine is told that a measurement is over.
	doneTime = time.Second
	// othersTime is how long the customer of another lease may measure the machine.
	othersTime = time.Minute
	// protocolTime is how long a machine may not know the protocol, protocolPause lies between two questions.
	protocolTime, protocolPause = 3 * time.Second, 300 * time.Millisecond
)

// Lease is a lease whose GPUs its customer measures.
type Lease struct {
	Domain records.Domain
	// Address is the lease's, Node the node's account, Key the machine's.
	Address, Node, Key solana.PublicKey
	GPUs               []format.Asked
	Simulated          bool // as in Asked
	// Beside has it measured while the lease's job has the GPUs, by the profile's light form: it shows little of the
	// memory.
	Beside bool
	// Began, if not nil, is called once, when the machine has begun: from then on an honest one holds the start.
	Began func()
}

// MeasureLease measures the GPUs of a lease as its customer, at an instant of 32 random bytes, and tells the machine when it
// has its answers, so that it gives the memory back. It tries again while the machine is measured by another lease's customer. The
// node must be connected with the machine.
func (k *Asker) MeasureLease(ctx context.Context, n *p2p.Node, l Lease) Result {
	for until := time.Now().Add(othersTime); ; {
		r := k.measureLease(ctx, n, l)
		var refused *RefusedError
		if !errors.As(r.Why, &refused) || refused.Why != messages.MeasureTooMany || time.Now().After(until) {
			return r
		}
		if wait.For(ctx, k.o.Pause) != nil {
			return r
		}
	}
}

func (k *Asker) measureLease(ctx context.Context, n *p2p.Node, l Lease) Result {
	line := &leaseLine{peer: n, lease: l}
	if _, err := rand.Read(line.nonce[:]); err != nil {
		return Result{Outcome: Unknown, Why: fmt.Errorf("there is no randomness: %w", err)}
	}
	asked := slices.Clone(l.GPUs)
	for i := range asked {
		if l.Beside {
			asked[i].Profile = asked[i].Profile.Light()
		}
	}
	r := k.Measure(ctx, Asked{
		Place: format.Place{Domain: l.Domain, Instant: instant.OfLease(l.Domain, l.Address, line.nonce), Node: l.Node},
		Key:   l.Key, GPUs: asked, Simulated: l.Simulated, Start: k.o.Now(),
	}, line)
	if r.Outcome != Refused { // one that is silent may have begun
		line.done(ctx)
	}
	return r
}

// leaseLine reaches the machine of one lease.
type leaseLine struct {
	peer  *p2p.Node
	lease Lease
	nonce [32]byte
	began bool
}

// Join implements Line. A machine that does not know the protocol is asked again for a while: an agent that starts anew answers
// before it does.
func (l *leaseLine) Join(ctx context.Context, item func(messages.MeasureItem) error) error {
	for until := time.Now().Add(protocolTime); ; {
		err := l.join(ctx, item)
		if l.began || !errors.Is(err, p2p.ErrProtocol) || time.Now().After(until) {
			return err
		}
		if wait.For(ctx, protocolPause) != nil {
			return err
		}
	}
}

func (l *leaseLine) join(ctx context.Context, item func(messages.MeasureItem) error) error {
	req := messages.LeaseMeasureRequest{Version: messages.Version, Lease: l.lease.Address, Nonce: l.nonce, Beside: l.lease.Beside}
	return p2p.CallStream(ctx, l.peer, l.lease.Key, leaseProtocol, req, func(m messages.MeasureItem) error {
		if !l.began && m.Refused == 0 {
			l.began = true
			if l.lease.Began != nil {
				l.lease.Began()
			}
		}
		return item(m)
	})
}

// Open implements Line.
func (l *leaseLine) Open(ctx context.Context, gpu uint8, challenge [32]byte) (messages.MeasureOpening, error) {
	return p2p.Call[messages.LeaseMeasureOpenRequest, messages.MeasureOpening](ctx, l.peer, l.lease.Key, drawProtocol, messages.LeaseMeasureOpenRequest{
		Version: messages.Version, Lease: l.lease.Address, Nonce: l.nonce, GPU: gpu, Challenge: challenge,
	})
}

// Renew implements Line.
func (l *leaseLine) Renew(ctx context.Context) error { return l.peer.Renew(ctx, l.lease.Key) }

// done tells the machine that nothing more is asked for. One that does not hear it ends the measurement by its own clock.
func (l *leaseLine) done(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doneTime)
	defer cancel()
	_, _ = p2p.Call[messages.LeaseMeasureOpenRequest, messages.MeasureOpening](ctx, l.peer, l.lease.Key, drawProtocol, messages.LeaseMeasureOpenRequest{
		Version: messages.Version, Lease: l.lease.Address, Nonce: l.nonce, Done: true,
	})
}
