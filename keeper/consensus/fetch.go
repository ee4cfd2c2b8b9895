package consensus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// fetchMissing gets the sets that are missing, one after the other of one keeper, several keepers at a time, and then
// looks again at the proposals that wait for them. hint is the keeper that has them for sure, or nil.
func (e *Engine) fetchMissing(ctx context.Context, c chainFacts, s *periodState, hint *solana.PublicKey) {
	if s.progress >= finished || !s.tasks.ready(taskFetchSets, e.o.Now()) || len(e.cache.missing(c.period)) == 0 {
		return
	}
	s.tasks.start(taskFetchSets)
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		got := e.fetchAll(ctx, c, e.cache.missing(c.period), hint)
		return func(ctx context.Context) {
			s.tasks.finish(taskFetchSets)
			if got == 0 {
				s.tasks.delay(taskFetchSets, e.o.Now().Add(retryDelay))
			}
			if s.progress >= finished {
				return
			}
			e.updateTally(c, s)
			e.considerAll(ctx, s.proposals.takeWaiting())
		}
	})
}

// fetchAll fetches sets and returns how many came.
func (e *Engine) fetchAll(ctx context.Context, c chainFacts, missing []statement.Manifest, hint *solana.PublicKey) int {
	came := make([]bool, len(missing))
	var ask []func()
	for i, m := range missing {
		ask = append(ask, func() { came[i] = e.fetchSet(ctx, c, m, hint) })
	}
	n := 0
	const atATime = 8
	for from := 0; from < len(ask); from += atATime {
		e.o.Tasks.All(ask[from:min(from+atATime, len(ask))]...)
	}
	for _, ok := range came {
		if ok {
			n++
		}
	}
	return n
}

// fetchSet asks the keepers that may have a set: its own keeper, the one that has it for sure, then all others. A
// keeper that gives its statements to some and not to the proposer would otherwise divide them: see omitsKeeper. A set
// that is larger than the market can make it is not taken, and so counts as one that is not handed out.
func (e *Engine) fetchSet(ctx context.Context, c chainFacts, m statement.Manifest, hint *solana.PublicKey) bool {
	if int(m.Size) > statement.MaxSetOf(c.nodes) {
		return false
	}
	from := []solana.PublicKey{m.Keeper}
	if hint != nil {
		from = append(from, *hint)
	}
	all := e.others(c)
	for i := range all {
		from = append(from, all[(int(m.Digest[0])+int(e.o.Signer.PublicKey()[0])+i)%len(all)])
	}
	for _, peer := range from {
		if peer == e.o.Signer.PublicKey() {
			continue
		}
		raw, err := e.fetchBlob(ctx, peer, messages.BlobSet, c.period, m.Digest, int(m.Size))
		switch {
		case err == nil && m.Covers(raw):
			e.cache.putSet(m, raw, e.o.Now())
			return true
		case ctx.Err() != nil:
			return false
		}
		e.o.Log.Debug().Err(err).Stringer("peer", peer).Stringer("keeper", m.Keeper).Uint64("period", uint64(c.period)).
			Msg("a peer did not hand out a keeper's statements")
	}
	return false
}

// ErrPiece: a peer does not hand out what it has announced.
var ErrPiece = errors.New("pieces do not fit together")

// pieceTimeout is for one piece.
const pieceTimeout = 3 * time.Second

// fetchBlob asks a peer for something large, piece by piece. At most `most` bytes are taken.
func (e *Engine) fetchBlob(ctx context.Context, peer solana.PublicKey, kind messages.BlobKind, p records.Period, digest [32]byte, most int) ([]byte, error) {
	var out []byte
	for {
		pctx, cancel := e.o.Tasks.Timeout(ctx, min(pieceTimeout, max(e.o.Timing.Round, 200*time.Millisecond)))
		piece, err := e.o.Peers.Blob(pctx, peer, messages.BlobRequest{
			Version: messages.Version, Kind: kind, Period: uint64(p), Digest: digest, Offset: uint32(len(out)),
		})
		cancel()
		if err != nil {
			return nil, err
		}
		total := int(piece.Total)
		if total > most || len(out)+len(piece.Data) > total || len(piece.Data) > messages.MaxPiece || len(piece.Data) == 0 && len(out) < total {
			return nil, fmt.Errorf("%w: %d of %d bytes at %d", ErrPiece, len(piece.Data), total, len(out))
		}
		out = append(out, piece.Data...)
		if len(out) == total {
			return out, nil
		}
	}
}

// fetchProposals asks the peers for proposals with these roots, and for the leaves of the one that is final.
func (e *Engine) fetchProposals(ctx context.Context, c chainFacts, s *periodState, roots []records.Hash) {
	s.tasks.start(taskFetchProposals)
	final := records.Hash{}
	if c.report != nil {
		final = c.report.Root
	}
	// Each begins with another keeper, and with the next one after a failure: the first may be down.
	peers := e.others(c)
	if len(peers) > 0 {
		first := (int(e.o.Signer.PublicKey()[0]) + s.fetches) % len(peers)
		peers = slices.Concat(peers[first:], peers[:first])
	}
	roots = rootsOfTurn(roots, s.fetches)
	s.fetches++
	held := final != records.Hash{} && e.Set(c.period, final) != nil
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		fctx, cancel := e.o.Tasks.Timeout(ctx, 2*time.Second)
		defer cancel()
		found := e.askForProposals(fctx, c.period, roots, peers)
		var leaves *report.Set
		if final != (records.Hash{}) && !held {
			leaves = e.fetchLeaves(ctx, c.period, final, peers)
		}
		return func(ctx context.Context) {
			s.tasks.finish(taskFetchProposals)
			s.tasks.delay(taskFetchProposals, e.o.Now().Add(retryDelay))
			e.considerAll(ctx, found)
			if leaves != nil {
				e.storeFinalLeaves(leaves)
			}
		}
	})
}

// askForProposals asks peers one after the other for a proposal of each root.
func (e *Engine) askForProposals(ctx context.Context, p records.Period, roots []records.Hash, peers []solana.PublicKey) []messages.Proposal {
	var found []messages.Proposal
	for _, root := range roots {
		for _, key := range peers {
			m, err := e.o.Peers.Proposal(ctx, key, p, root)
			if err == nil && records.Hash(m.Root) == root && m.Period == uint64(p) && e.authentic(m) {
				found = append(found, m)
				break
			}
		}
	}
	return found
}

// rootsOfTurn are the roots that one round of questions is about: the heaviest four, and four of the others in turn.
// Any keeper may vote for a root of which no keeper has a proposal; asking all for all of them would never end.
func rootsOfTurn(roots []records.Hash, turn int) []records.Hash {
	const some = 4
	if len(roots) <= 2*some {
		return roots
	}
	rest := roots[some:]
	out := slices.Clone(roots[:some])
	for i := range some {
		out = append(out, rest[(turn*some+i)%len(rest)])
	}
	return out
}

// fetchLeaves asks the peers for the leaves of a final report and checks them against the root on chain.
func (e *Engine) fetchLeaves(ctx context.Context, p records.Period, root records.Hash, peers []solana.PublicKey) *report.Set {
	for _, key := range peers {
		raw, err := e.fetchBlob(ctx, key, messages.BlobLeaves, p, root, report.MaxLeafSet)
		if err == nil {
			var set *report.Set
			if set, err = report.ReadLeaves(raw, p, root); err == nil {
				return set
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		e.o.Log.Debug().Err(err).Stringer("peer", key).Uint64("period", uint64(p)).Msg("a peer did not hand out the leaves of a final report")
	}
	return nil
}
