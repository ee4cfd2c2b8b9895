// Package alone has an agent find out whether another process runs with its machine's key, as a copied disk and a
// restored machine do. Two that serve side by side take each other's leases, and none of them knows.
//
// The agent asks itself through a keeper: the keeper asks every process that is connected to it with the key. A process
// answers with a random id of its own, signed with the key over the nonce of the agent that asks. So a keeper cannot
// invent another process, and what a process has signed that has ended answers no nonce that was drawn since.
//
// A process that is asked with a nonce that it has not drawn asks too: another process has just begun, and of two that
// begin together the one that serves already may be the one that has to stop.
package alone

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// ErrAnother: another process has the machine's key, and has run for longer.
var ErrAnother = errors.New("another agent runs with this machine's key")

// Options of New. All but Log are required.
type Options struct {
	Signer records.Signer
	Domain records.Domain
	// Keepers are those to ask that are connected.
	Keepers func() []solana.PublicKey
	// Ask has a keeper ask all processes with the key.
	Ask func(ctx context.Context, keeper solana.PublicKey, req messages.BootsRequest) (messages.BootsAnswer, error)
	Log zerolog.Logger
}

// Process is this process as others see it.
type Process struct {
	o     Options
	id    records.BootID
	since time.Time
	// soon is how often the agent asks until a keeper has answered, and again how often after that.
	soon, again time.Duration
	answered    atomic.Bool
	// others has an item when somebody else has asked.
	others chan struct{}

	mu    sync.Mutex
	drawn [][32]byte // the nonces of the last questions
}

// New draws the process's id.
func New(o Options) (*Process, error) {
	if o.Signer == nil || o.Domain.IsZero() || o.Keepers == nil || o.Ask == nil {
		return nil, errors.New("alone: signer, domain, Keepers and Ask are required")
	}
	p := &Process{o: o, since: time.Now(), soon: askSoon, again: askAgain, others: make(chan struct{}, 1)}
	_, err := rand.Read(p.id[:])
	return p, err
}

func (p *Process) up() uint64 { return uint64(time.Since(p.since).Milliseconds()) }

// Answer says which process this is. It has Run ask, where this process has not asked itself.
func (p *Process) Answer(_ context.Context, _ solana.PublicKey, req messages.BootRequest) (messages.BootAnswer, error) {
	if !p.asks(req.Nonce) {
		select {
		case p.others <- struct{}{}:
		default: // Run knows
		}
	}
	b := records.Boot{Domain: p.o.Domain, Nonce: req.Nonce, ID: p.id, UpMillis: p.up()}
	sig, err := b.Sign(p.o.Signer)
	return messages.BootAnswer{Version: messages.Version, Boot: b.ID, UpMillis: b.UpMillis, Signature: sig}, err
}

// asks reports whether a nonce is of one of this process's last questions.
func (p *Process) asks(nonce [32]byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.drawn, nonce)
}

// draw makes a nonce. It remembers as many as two rounds of questions have.
func (p *Process) draw() (nonce [32]byte, err error) {
	if _, err = rand.Read(nonce[:]); err != nil {
		return nonce, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drawn = append(p.drawn, nonce)
	p.drawn = p.drawn[max(0, len(p.drawn)-2*askKeepers):]
	return nonce, nil
}

const (
	// askKeepers is how many keepers are asked at once: one of them may lie, by leaving an answer out.
	askKeepers = 3
	// askWithin bounds a question.
	askWithin = 5 * time.Second
	// connectWithin is how long the agent waits for keepers before it serves.
	connectWithin = 5 * time.Second
	connectPoll   = 100 * time.Millisecond
	// askAgain is how often the agent asks while it serves. askSoon is how often it asks as long as no keeper has answered: it
	// serves then without knowing, since a keeper may be away or the computer busy. It asks as often where others ask.
	askAgain = 5 * time.Minute
	askSoon  = 5 * time.Second
	// together is the difference of two processes' ages that does not say which is older; their ids do.
	together = 2 * time.Second
)

// Before is asked before the agent serves. expected says that there are keepers to wait for. An agent that reaches none serves:
// nobody else asks it for anything either. Error: ErrAnother.
func (p *Process) Before(ctx context.Context, expected bool) error {
	for began := time.Now(); expected && len(p.o.Keepers()) == 0 && time.Since(began) < connectWithin; {
		if err := wait.For(ctx, connectPoll); err != nil {
			return err
		}
	}
	return p.Check(ctx)
}

// Run asks again and again until ctx ends or another process has run for longer. Error: ErrAnother.
func (p *Process) Run(ctx context.Context) error {
	for {
		if err := wait.For(ctx, p.soon); err != nil {
			return err
		}
		if p.answered.Load() {
			if err := p.pause(ctx); err != nil {
				return err
			}
		}
		if err := p.Check(ctx); err != nil {
			return err
		}
	}
}

// pause is the rest of the time until the agent asks again, or until somebody else asks. Error: ctx's.
func (p *Process) pause(ctx context.Context) error {
	again := time.NewTimer(p.again - p.soon)
	defer again.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-again.C:
	case <-p.others:
	}
	return nil
}

// Check asks keepers once. What they do not say, and what the key has not signed, counts for nothing. Error: ErrAnother,
// the context's.
func (p *Process) Check(ctx context.Context) error {
	keepers := p.o.Keepers()
	for _, k := range keepers[:min(askKeepers, len(keepers))] {
		nonce, err := p.draw()
		if err != nil {
			return err
		}
		req := messages.BootsRequest{Version: messages.Version, Nonce: nonce}
		actx, cancel := context.WithTimeout(ctx, askWithin)
		answer, err := p.o.Ask(actx, k, req)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			p.o.Log.Debug().Err(err).Stringer("keeper", k).Msg("keeper does not say whether another agent has this key")
			continue
		}
		p.answered.Store(true)
		for _, b := range answer.Boots {
			if err := p.judge(req.Nonce, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge looks at one process's answer.
func (p *Process) judge(nonce [32]byte, b messages.BootAnswer) error {
	r := records.Boot{Domain: p.o.Domain, Nonce: nonce, ID: b.Boot, UpMillis: b.UpMillis}
	if r.ID == p.id || r.Verify(p.o.Signer.PublicKey(), b.Signature) != nil {
		return nil
	}
	other, own := time.Duration(r.UpMillis)*time.Millisecond, time.Since(p.since)
	older := other > own
	if (other - own).Abs() < together {
		older = bytes.Compare(r.ID[:], p.id[:]) > 0
	}
	if !older {
		p.o.Log.Error().Dur("up", other).Msg("another agent runs with this machine's key, and began later than this one: it has to stop. Is there a copy of this disk? Give the copy its own key (gantry-agent init)")
		return nil
	}
	return fmt.Errorf("%w (%s) and has run for %s: this one stops, since two of them would take each other's leases. If this machine is a copy of another, give it its own key with gantry-agent init; if the other is the copy, stop that one first",
		ErrAnother, p.o.Signer.PublicKey(), other.Round(time.Second))
}

// Protocols of a node: keepers ask it, and it asks keepers.
var (
	BootProtocol  = p2p.Protocol{ID: messages.Boot, MaxRequest: 4 << 10, MaxResponse: 4 << 10, Timeout: askWithin, Rate: 2, Burst: 20, Concurrent: 64, PerPeer: 2}
	BootsProtocol = p2p.Protocol{ID: messages.Boots, MaxRequest: 4 << 10, MaxResponse: 8 << 10, Timeout: askWithin}
)
