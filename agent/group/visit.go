package group

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

const (
	// visitLife is how long a visitor stays that says nothing.
	visitLife = time.Minute
	// visitorsEvery is how often it is looked up which visitors may stay.
	visitorsEvery = 5 * time.Second
)

// visitor is a computer of the customer's in the lease's network.
type visitor struct {
	peer  mesh.Peer
	from  solana.PublicKey // who asked: the customer, or a session key
	heard time.Time
}

// Visit lets a computer of a customer's into the network of a lease. from may act for the customer: the caller has asked
// Options.Visits.
func (m *Manager) Visit(from solana.PublicKey, req messages.GroupVisitRequest) (messages.GroupVisitAnswer, error) {
	m.mu.Lock()
	e, ok := m.ends[req.Lease]
	m.mu.Unlock()
	if !ok {
		return messages.GroupVisitAnswer{Version: messages.Version, Refused: messages.NetworkStarts}, nil
	}
	return e.visit(from, req, time.Now())
}

func (e *end) visit(from solana.PublicKey, req messages.GroupVisitRequest, now time.Time) (messages.GroupVisitAnswer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	answer := messages.GroupVisitAnswer{Version: messages.Version}
	at := mesh.Visitor
	if req.Kept {
		at = mesh.KeptVisitor
	}
	held, taken := e.visitors[at]
	same := taken && held.peer.Key == req.Key
	switch {
	case taken && !same && !req.Begin:
		answer.Taken, answer.Refused = true, "another computer of the customer's has taken the place in the private network"
		return answer, nil
	case !same && (req.Key == [mesh.KeyLen]byte{} || req.Key == e.device.Public() || e.visits(req.Key)):
		answer.Refused = "the key is none, or has a place in the private network already"
		return answer, nil
	}
	e.visitors[at] = visitor{from: from, heard: now, peer: mesh.Peer{Key: req.Key, Allowed: []netip.Prefix{netip.PrefixFrom(at, at.BitLen())}}}
	if !same {
		// The customer is known better than a member, which could have heard the key and named it as its own.
		for member, p := range e.peers {
			if p.Key == req.Key {
				delete(e.peers, member)
			}
		}
		e.log.Info().Stringer("address", at).Msg("a computer of the customer's is in the lease's private network")
		if err := e.apply(); err != nil {
			return answer, err
		}
	}
	answer.Key, answer.Port = e.device.Public(), e.o.Port.Number()
	answer.Index, answer.Members = e.group.Index, uint8(len(e.group.Members))
	return answer, nil
}

func (e *end) visits(key mesh.Key) bool {
	for _, v := range e.visitors {
		if v.peer.Key == key {
			return true
		}
	}
	return false
}

// expire forgets visitors that are silent, or that may not act for the customer any more.
func (e *end) expire(ctx context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := len(e.visitors)
	for at, v := range e.visitors {
		var refused *lease.RefusedError
		silent := at == mesh.Visitor && time.Since(v.heard) > visitLife
		if silent || errors.As(e.o.Visits(ctx, v.from, e.lease), &refused) {
			delete(e.visitors, at)
		}
	}
	if len(e.visitors) < before {
		_ = e.apply() // it has logged what is wrong
	}
}
