package sim

import (
	"context"
	"errors"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/protocol"
	"github.com/gantry-market/gantry/client/wire"
	"github.com/gantry-market/gantry/keeper/consensus"
	"github.com/gantry-market/gantry/keeper/index"
	"github.com/gantry-market/gantry/keeper/proof"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
)

// What a keeper does on the network, after keeper/node/peers.go and keeper/challenge/asker.go.

// maxBatch is how many statements travel in one message of gossip.
const maxBatch = 256

var errNoAnswer = errors.New("no answer")

// size is how many bytes a message has.
func size(v any) int {
	raw, err := p2p.Encode(v)
	if err != nil {
		panic(err) // messages of ours
	}
	return len(raw)
}

// Ask implements challenge.Asker.
func (k *keeper) Ask(ctx context.Context, nodeKey solana.PublicKey, req protocol.ChallengeRequest) (protocol.ChallengeResponse, error) {
	w, m := k.w, k.w.byKey[nodeKey]
	var got protocol.ChallengeResponse
	err := k.group.Wait(ctx, func(wake func()) {
		w.net.send(k.place, m.place, w.sizes.request(req), func() {
			resp, takes, ok := m.answer(k.place, k.wallet(), req, w.loop.Now(), w.o.times().timeout)
			if !ok {
				return
			}
			w.loop.After(takes, func() {
				w.net.send(m.place, k.place, w.sizes.response(resp), func() {
					got = resp
					wake()
				})
			})
		})
	})
	return got, err
}

// call asks another keeper. serve runs there, on arrival, and says how long its answer is; take is called when it is back.
func (k *keeper) call(ctx context.Context, to solana.PublicKey, bytes int, serve func(o *keeper) (int, func())) error {
	w := k.w
	o := w.byWallet[to]
	if o == nil {
		return errNoAnswer
	}
	return k.group.Wait(ctx, func(wake func()) {
		w.net.send(k.place, o.place, bytes, func() {
			if !o.up() {
				return
			}
			answer, take := serve(o)
			w.net.send(o.place, k.place, answer, func() {
				take()
				wake()
			})
		})
	})
}

// Statements implements consensus.Peers.
func (k *keeper) Statements(ctx context.Context, to solana.PublicKey, p wire.Period) (out []protocol.SignedStatement, err error) {
	req := protocol.StatementsRequest{Version: protocol.Version, Period: uint64(p)}
	var refused error
	err = k.call(ctx, to, size(req), func(o *keeper) (int, func()) {
		if sealed, _ := o.book.Sealed(); p >= sealed {
			return 40, func() { refused = consensus.ErrNotSealed }
		}
		held := o.pool.Period(p)
		answer := make([]protocol.SignedStatement, 0, len(held))
		for _, s := range held {
			if !o.twin || s.Keeper != o.wallet() || k.place%2 == 0 || !o.w.opposites[s.Signature] {
				answer = append(answer, s.Message())
			}
		}
		return 10 + len(answer)*o.w.sizes.statement, func() { out = answer }
	})
	return out, errors.Join(err, refused)
}

// Proposal implements consensus.Peers.
func (k *keeper) Proposal(ctx context.Context, to solana.PublicKey, p wire.Period, root wire.Hash) (m protocol.Proposal, err error) {
	var refused error
	err = k.call(ctx, to, 80, func(o *keeper) (int, func()) {
		raw, err := o.book.Proposal(p, root)
		if err != nil {
			return 40, func() { refused = err }
		}
		return len(raw), func() { refused = p2p.Decode(raw, &m) }
	})
	return m, errors.Join(err, refused)
}

// Publish implements consensus.Peers.
func (k *keeper) Publish(_ context.Context, m protocol.Proposal) error {
	if k.lie != nil {
		k.lie.propose(k, m)
		return nil
	}
	k.spreadProposal(m, nil)
	return nil
}

// spreadProposal gossips a proposal; only, when given, says who hears it from the author itself.
func (k *keeper) spreadProposal(m protocol.Proposal, only func(place) bool) {
	w := k.w
	w.net.gossip(k.place, size(m), func(to place) bool {
		o := w.keepers[to]
		if only != nil && !only(to) || !o.up() || !o.inTime(m.Period) {
			return false
		}
		var weights report.Weights
		o.index.Read(func(v *index.View) { weights = v.Weights(int64(m.Period+1) * int64(w.secs())) })
		if report.Authentic(m, weights) != nil {
			return false
		}
		o.engine.Handle(o.group.Context(), m)
		o.engine.Drain(o.group.Context())
		return true
	})
}

// inTime reports whether a period's statements and proposals are of interest now.
func (k *keeper) inTime(p uint64) bool {
	now := uint64(k.w.period(k.now()))
	return p+retentionPeriods+2 >= now && p <= now+1
}

// publish takes own statements that are in the book already: Recorder.Publish.
func (k *keeper) publish(all []statement.Signed) {
	for _, s := range all {
		k.w.signed(k, s)
		k.w.result.countAdd(k.pool.Add(s))
	}
	if k.twin {
		k.publishTwins(all)
	}
	for len(all) > 0 {
		batch := all[:min(len(all), maxBatch)]
		all = all[len(batch):]
		k.spread(batch, func(place) bool { return true })
	}
}

// spread gossips statements to those who take them.
func (k *keeper) spread(batch []statement.Signed, takes func(place) bool) {
	w := k.w
	w.net.gossip(k.place, 10+len(batch)*w.sizes.statement, func(to place) bool {
		o := w.keepers[to]
		if !takes(to) || !o.up() || !o.inTime(uint64(batch[0].Statement.Period)) {
			return false
		}
		for _, s := range batch {
			if w.genuine(s) {
				w.result.countAdd(o.pool.Add(s))
			}
		}
		return true
	})
}

// contradicted takes a pair that the pool has found, and tells the others of the first against each keeper: see
// keeper/node/contradictions.go.
func (k *keeper) contradicted(one, other statement.Signed) {
	if k.lie != nil || k.twin || !k.convict(one, other) {
		return
	}
	m := protocol.Contradiction{Version: protocol.Version, One: one.Message(), Other: other.Message()}
	k.w.net.gossip(k.place, size(m), func(to place) bool {
		o := k.w.keepers[to]
		return o.up() && o.convict(one, other)
	})
}

// convict keeps the proof until it is on chain, and reports whether it is the first against the keeper.
func (k *keeper) convict(one, other statement.Signed) bool {
	bonded := false
	k.index.Read(func(v *index.View) {
		a, ok := v.Keepers[one.Keeper]
		bonded = ok && a.State() != market.KeeperSlashed
	})
	if !bonded || !k.w.genuine(one) || !k.w.genuine(other) {
		return false
	}
	first, err := k.proofs.Contradiction(one, other)
	if !errors.Is(err, proof.ErrNoProof) && !errors.Is(err, proof.ErrOwn) {
		k.must(err)
	}
	return first
}

// republish brings own statements that may still count back into the pool and to the peers, as a restart does.
func (k *keeper) republish() {
	now := k.w.period(k.now())
	for p := now - min(retentionPeriods, now); p <= now; p++ {
		have, err := k.book.Statements(p)
		k.must(err)
		own := make([]statement.Signed, len(have))
		for i, s := range have {
			own[i] = statement.Signed{Keeper: k.wallet(), Statement: s.Statement, Signature: s.Signature}
		}
		if len(own) > 0 {
			k.publish(own)
		}
	}
}
