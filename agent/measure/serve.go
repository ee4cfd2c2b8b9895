package measure

import (
	"context"
	"errors"
	"time"

	"github.com/gagliardetto/solana-go"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// The node's side of the protocols. A member joins once, and again when its stream was lost.
var (
	joinProtocol = p2p.Protocol{
		ID: messages.Measure, MaxRequest: 1 << 10, MaxResponse: messages.MaxMeasureItem, Timeout: 10 * time.Second,
		Rate: 1, Burst: 8, Concurrent: 2 * maxMembers, PerPeer: 2,
	}
	openProtocol = p2p.Protocol{
		ID: messages.MeasureOpen, MaxRequest: 1 << 10, MaxResponse: messages.MaxMeasureAnswer + 1<<10, Timeout: 30 * time.Second,
		Rate: 2, Burst: 24, Concurrent: 2 * maxMembers, PerPeer: 8,
	}
	leaseProtocol = p2p.Protocol{
		ID: messages.LeaseMeasure, MaxRequest: 1 << 10, MaxResponse: messages.MaxMeasureItem, Timeout: 10 * time.Second,
		Rate: 1, Burst: 8, Concurrent: 2 * format.MaxGPUs, PerPeer: 2,
	}
	drawProtocol = p2p.Protocol{
		ID: messages.LeaseMeasureOpen, MaxRequest: 1 << 10, MaxResponse: messages.MaxMeasureAnswer + 1<<10, Timeout: 30 * time.Second,
		Rate: 2, Burst: 36, Concurrent: 2 * format.MaxGPUs, PerPeer: 8,
	}
)

// Register has a peer answer the protocols.
func (s *Server) Register(n *p2p.Node) {
	join, open := joinProtocol, openProtocol
	join.May, open.May = s.o.Member, s.o.Member
	p2p.HandleStream(n, join, s.Join)
	p2p.Handle(n, open, s.Open)
	if s.o.Leases == nil {
		return
	}
	lease, draw := leaseProtocol, drawProtocol
	lease.May, draw.May = s.o.Leases.Customer, s.o.Leases.Customer
	lease.First, draw.First = lease.May, draw.May
	lease.Grace = 3 * time.Second // the customer may see its lease before this node does
	p2p.HandleStream(n, lease, s.JoinLease)
	p2p.Handle(n, draw, s.OpenLease)
}

// Join tells a member of the run of the instant that it names, from its first root to its commitment. Error: *p2p.Error
// for a request that is none of this node's, send's, the context's.
func (s *Server) Join(ctx context.Context, from solana.PublicKey, req messages.MeasureRequest, send func(messages.MeasureItem) error) error {
	if err := s.admit(from, req.Version, req.Node); err != nil {
		return err
	}
	if int(req.Tick) >= instant.Ticks {
		return p2p.Refuse(p2p.CodeBadRequest, "a period has %d ticks", instant.Ticks)
	}
	at := instant.Instant{Period: records.Period(req.Period), Tick: int(req.Tick), Slot: req.Slot, Hash: req.BlockHash}
	tell := func(m messages.MeasureItem) error {
		s.count.answered(m.Refused)
		return send(m)
	}
	r, no, err := s.enter(ctx, from, at)
	switch {
	case err != nil:
		return err
	case no != 0:
		return tell(messages.MeasureItem{Refused: no})
	}
	return r.follow(ctx, tell)
}

// Open answers a member's draw. Error: *p2p.Error for a request that is none of this node's, the context's.
func (s *Server) Open(ctx context.Context, from solana.PublicKey, req messages.MeasureOpenRequest) (messages.MeasureOpening, error) {
	if err := s.admit(from, req.Version, req.Node); err != nil {
		return messages.MeasureOpening{}, err
	}
	r, answer, no, err := s.opening(ctx, from, req)
	return s.opened(ctx, from, r, req.Challenge, req.GPU, answer, no, err)
}

// opened makes the answer to a draw of a run, nil for none, of what came of it.
func (s *Server) opened(
	ctx context.Context, from solana.PublicKey, r *run, challenge [32]byte, gpu uint8, answer []byte, no messages.MeasureRefusal, err error,
) (messages.MeasureOpening, error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		s.o.Log.Error().Err(err).Uint8("gpu", gpu).Stringer("asks", from).Msg("a measurement was not opened")
		no, err = messages.MeasureFailed, nil
	}
	if err != nil {
		return messages.MeasureOpening{}, err
	}
	s.count.answered(no)
	if no == 0 {
		s.count.opened()
	}
	m := messages.MeasureOpening{Answer: answer, Refused: no}
	if c := r.signedBytes(); c != nil {
		m.Signature, err = records.NewOpening(c, challenge, gpu, uint8(no), answer).Sign(s.o.Signer)
	}
	return m, err
}

// admit refuses requests of other versions, of keys that may not ask, and for other nodes.
func (s *Server) admit(from solana.PublicKey, version uint8, node solana.PublicKey) error {
	switch {
	case version != messages.Version:
		return p2p.Refuse(p2p.CodeVersion, "this node speaks another version")
	case !s.o.Member(from):
		return p2p.Refuse(p2p.CodeRefused, "only keepers whose records count may ask")
	case node != s.o.Node:
		return p2p.Refuse(p2p.CodeNotFound, "this is another node")
	}
	return nil
}
