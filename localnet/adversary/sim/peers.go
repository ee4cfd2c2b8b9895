package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/consensus"
	"github.com/gantry-market/gantry/keeper/measure"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/slashing"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/market/view"
	asking "github.com/gantry-market/gantry/sdk/measure"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// What a keeper does on the network, after keeper/gossip and keeper/check/asker.go.

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

// Ask implements check.Asker.
func (k *keeper) Ask(ctx context.Context, nodeKey solana.PublicKey, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
	sim, m := k.sim, k.sim.byKey[nodeKey]
	var got messages.ChallengeResponse
	err := k.group.Wait(ctx, func(wake func()) {
		sim.net.send(k.place, m.place, sim.sizes.request(req), func() {
			resp, takes, ok := m.answer(k.place, req, sim.loop.Now(), sim.o.times().timeout)
			if !ok {
				return
			}
			sim.loop.After(takes, func() {
				sim.net.send(m.place, k.place, sim.sizes.response(resp), func() {
					got = resp
					wake()
				})
			})
		})
	})
	return got, err
}

// Measure implements check.Measurer.
func (k *keeper) Measure(ctx context.Context, n measure.Node, named instant.Instant, _ time.Time) measure.Result {
	const bytes = 100_000 // of roots and openings
	sim, m := k.sim, k.sim.byKey[n.Key]
	ctx, cancel := k.group.Timeout(ctx, sim.o.Period/4)
	defer cancel()
	got := measure.Result{Outcome: measure.Unknown, Why: asking.ErrLost}
	// What is lost on the way leaves it as it is.
	_ = k.group.Wait(ctx, func(wake func()) {
		sim.net.send(k.place, m.place, 200, func() {
			r, takes, ok := m.measured(k.place, named, sim.loop.Now(), sim.o.Period)
			if !ok {
				return
			}
			sim.loop.After(takes, func() {
				if !m.up() {
					return
				}
				sim.net.send(m.place, k.place, bytes, func() {
					got = r
					wake()
				})
			})
		})
	})
	return got
}

// call asks another keeper. serve runs there, on arrival, and says how long its answer is; take is called when it is
// back.
func (k *keeper) call(ctx context.Context, to solana.PublicKey, bytes int, serve func(o *keeper) (int, func())) error {
	sim := k.sim
	o := sim.byWallet[to]
	if o == nil {
		return errNoAnswer
	}
	return k.group.Wait(ctx, func(wake func()) {
		sim.net.send(k.place, o.place, bytes, func() {
			if !o.up() {
				return
			}
			answer, take := serve(o)
			sim.net.send(o.place, k.place, answer, func() {
				take()
				wake()
			})
		})
	})
}

// Manifests implements consensus.Peers.
func (k *keeper) Manifests(ctx context.Context, to solana.PublicKey, p records.Period) (out []messages.Manifest, err error) {
	var refused error
	err = k.call(ctx, to, size(messages.ManifestsRequest{Version: messages.Version, Period: uint64(p)}), func(o *keeper) (int, func()) {
		all, err := o.engine.Manifests(p)
		return 40 + len(all)*k.sim.sizes.manifest, func() { out, refused = all, err }
	})
	return out, errors.Join(err, refused)
}

// Announce implements consensus.Peers.
func (k *keeper) Announce(_ context.Context, m messages.Manifest) error {
	k.sim.net.gossip(k.place, k.sim.sizes.manifest, func(to place) bool {
		o := k.sim.keepers[to]
		if !o.up() || !o.inTime(m.Period) || statement.ReadManifest(m).Verify(domain, records.Wallets) != nil {
			return false
		}
		o.engine.HandleManifest(o.group.Context(), m)
		o.engine.Drain(o.group.Context())
		return true
	})
	return nil
}

// Blob implements consensus.Peers.
func (k *keeper) Blob(ctx context.Context, to solana.PublicKey, req messages.BlobRequest) (out messages.Piece, err error) {
	var refused error
	err = k.call(ctx, to, size(req), func(o *keeper) (int, func()) {
		raw, err := o.engine.Blob(req.Kind, records.Period(req.Period), req.Digest)
		if err != nil && o.collusion != nil && o.collusion.secondSets[req.Digest] != nil {
			raw, err = o.collusion.secondSets[req.Digest], nil
		}
		if err != nil {
			return 40, func() { refused = err }
		}
		piece := consensus.Piece(raw, req.Offset)
		return 20 + len(piece.Data), func() { out = piece }
	})
	return out, errors.Join(err, refused)
}

// Proposal implements consensus.Peers.
func (k *keeper) Proposal(ctx context.Context, to solana.PublicKey, p records.Period, root records.Hash) (m messages.Proposal, err error) {
	var refused error
	err = k.call(ctx, to, 80, func(o *keeper) (int, func()) {
		raw, err := o.store.Proposal(p, root)
		if err != nil {
			return 40, func() { refused = err }
		}
		return len(raw), func() { refused = p2p.Decode(raw, &m) }
	})
	return m, errors.Join(err, refused)
}

// Publish implements consensus.Peers.
func (k *keeper) Publish(_ context.Context, m messages.Proposal) error {
	if k.collusion != nil {
		k.collusion.propose(k, m)
		return nil
	}
	k.spreadProposal(m, nil)
	return nil
}

// spreadProposal gossips a proposal; only, when given, says who hears it from the author itself.
func (k *keeper) spreadProposal(m messages.Proposal, only func(place) bool) {
	sim := k.sim
	sim.net.gossip(k.place, size(m), func(to place) bool {
		o := sim.keepers[to]
		if only != nil && !only(to) || !o.up() || !o.inTime(m.Period) {
			return false
		}
		var weights report.Weights
		o.view.Read(func(v *view.Accounts) { weights = v.Weights(int64(m.Period+1) * int64(sim.secs())) })
		if report.Authentic(m, domain, weights, records.Wallets) != nil {
			return false
		}
		o.engine.HandleProposal(o.group.Context(), m)
		o.engine.Drain(o.group.Context())
		return true
	})
}

// inTime reports whether a period's statements and proposals are of interest now.
func (k *keeper) inTime(p uint64) bool {
	now := uint64(k.sim.period(k.now()))
	return p+retentionPeriods+2 >= now && p <= now+1
}

// small reports whether all keepers check all nodes.
func (k *keeper) small() bool { return len(k.sim.keepers) <= committee.Size }

// publish takes own statements that are in the store already: Recorder.Publish. Where committees are drawn, only what
// failed is gossiped.
func (k *keeper) publish(all []statement.Signed) {
	for _, s := range all {
		k.sim.signed(k, s)
	}
	if k.equivocator {
		k.publishOpposite(all)
	}
	if !k.small() {
		all = slices.DeleteFunc(slices.Clone(all), func(s statement.Signed) bool { return s.Statement.Passed })
	}
	for _, s := range all {
		k.add(s)
	}
	for len(all) > 0 {
		batch := all[:min(len(all), maxBatch)]
		all = all[len(batch):]
		k.spread(batch, func(place) bool { return true })
	}
}

// add puts a genuine statement into the pool.
func (k *keeper) add(s statement.Signed) {
	fresh, err := k.pool.Add(s)
	if errors.Is(err, statement.ErrEquivocation) {
		k.sim.result.Equivocations++
	}
	if fresh && s.Keeper != k.wallet() {
		k.checker.PeerFailure(s.Keeper, s.Statement)
	}
}

// spread gossips statements to those who take them.
func (k *keeper) spread(batch []statement.Signed, takes func(place) bool) {
	sim := k.sim
	sim.net.gossip(k.place, 10+len(batch)*sim.sizes.statement, func(to place) bool {
		o := sim.keepers[to]
		if !takes(to) || !o.up() || !o.inTime(uint64(batch[0].Statement.Period)) {
			return false
		}
		for _, s := range batch {
			if sim.genuine(s) {
				o.add(s)
			}
		}
		return true
	})
}

// statementEquivocation takes a pair that the pool has found, and tells the others of the first against each keeper:
// see keeper/gossip/equivocation.go.
func (k *keeper) statementEquivocation(one, other statement.Signed) {
	if k.collusion != nil || k.equivocator || !k.convict(one, other) {
		return
	}
	m := messages.EquivocationProof{Version: messages.Version, One: one.Message(), Other: other.Message()}
	k.sim.net.gossip(k.place, size(m), func(to place) bool {
		o := k.sim.keepers[to]
		return o.up() && o.convict(one, other)
	})
}

// convict keeps the proof until it is on chain, and reports whether it is the first against the keeper.
func (k *keeper) convict(one, other statement.Signed) bool {
	if !k.bonded(one.Keeper) || !k.sim.genuine(one) || !k.sim.genuine(other) {
		return false
	}
	first, err := k.proofs.Statements(one, other)
	if !errors.Is(err, slashing.ErrNoProof) && !errors.Is(err, slashing.ErrOwn) {
		k.must(err)
	}
	return first
}

// equivocation keeps two manifests of a keeper until they are on chain: see keeper/gossip/equivocation.go.
func (k *keeper) equivocation(one, other statement.Manifest) {
	if k.collusion != nil || k.equivocator || !k.bonded(one.Keeper) || k.proofs.Against(one.Keeper) {
		return
	}
	_, err := k.proofs.Manifests(domain, one, other)
	k.must(err)
}

// duplicateSigner hears of a manifest with the keeper's own signature that its store does not know.
func (k *keeper) duplicateSigner(m statement.Manifest) {
	if !k.signedTwoManifests {
		k.sim.fail(fmt.Errorf("keeper %d: %w: period %d", k.place, store.ErrManifest, m.Period))
	}
}

// bonded reports whether a keeper has a bond that a contradiction would cost.
func (k *keeper) bonded(wallet solana.PublicKey) (found bool) {
	k.view.Read(func(v *view.Accounts) {
		a, ok := v.Keepers[wallet]
		found = ok && a.State() != market.KeeperSlashed
	})
	return found
}

// republish brings own statements that may still count back into the pool and to the peers, as a restart does.
func (k *keeper) republish() {
	now := k.sim.period(k.now())
	for p := now - min(retentionPeriods, now); p <= now; p++ {
		have, err := k.store.Statements(p)
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
