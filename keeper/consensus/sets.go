package consensus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
)

// frame is what the statements of a round have in common.
func (e *Engine) frame(r round) statement.Frame {
	return statement.Frame{Domain: e.o.Domain, Period: r.period, Secs: r.secs}
}

// ours makes the set of our own statements of a sealed period and tells everybody its manifest, once. The book takes no
// more statements about the period, so that it is the same after a restart; and it knows what was signed before, so that
// whatever happens to statements or to how they are written, no other manifest is signed: two of them cost the bond.
func (e *Engine) ours(ctx context.Context, r round, s *state) error {
	if s.own != nil || s.silent || r.period < e.o.Store.FirstPeriod() { // what was signed before that the book does not know
		return nil
	}
	have, err := e.o.Store.Statements(r.period)
	if err != nil {
		return err
	}
	all := make([]records.CheckStatement, len(have))
	for i := range have {
		all[i] = have[i].Statement
	}
	raw, count := statement.EncodeSet(e.frame(r), all)
	mine := statement.Manifest{
		Keeper: e.o.Signer.PublicKey(), Period: r.period, Count: uint32(count), Size: uint32(len(raw)), Digest: statement.Digest(raw),
	}
	if other, ok := e.cache.against(mine); ok {
		s.silent = true
		if e.o.DuplicateSigner != nil {
			e.o.DuplicateSigner(other)
		}
		return nil
	}
	err = e.o.Store.PutManifest(r.period, store.SetRef{Count: mine.Count, Size: mine.Size, Digest: mine.Digest})
	if errors.Is(err, store.ErrManifest) || errors.Is(err, store.ErrEarly) {
		s.silent = true
		e.o.Log.Warn().Err(err).Uint64("period", uint64(r.period)).
			Msg("our statements of this period are not announced: they are not known to be the ones that were before")
		return nil
	}
	if err != nil {
		return err
	}
	m, err := statement.NewManifest(e.frame(r), raw, count, e.o.Signer)
	if err != nil {
		return err
	}
	s.own = &m
	e.cache.learn(m)
	e.cache.put(m, raw, e.o.Now())
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		if err := e.o.Peers.Announce(ctx, m.Message()); err != nil && ctx.Err() == nil {
			e.o.Log.Warn().Err(err).Uint64("period", uint64(m.Period)).Msg("manifest was not published")
		}
		return nil
	})
	return nil
}

// Heard takes a manifest that a peer has published and that was verified.
func (e *Engine) Heard(ctx context.Context, raw messages.Manifest) {
	m := statement.ReadManifest(raw)
	if !e.learn(m) {
		return
	}
	select {
	case e.events <- func(ctx context.Context) {
		if r, _, ok := e.view(m.Period); ok {
			e.pull(ctx, r, e.state(m.Period), nil)
		}
	}:
	case <-ctx.Done():
	}
}

// learn keeps a verified manifest and reports whether it is new.
func (e *Engine) learn(m statement.Manifest) bool {
	fresh, liar := e.cache.learn(m)
	if other, two := e.cache.against(m); two && m.Keeper != e.o.Signer.PublicKey() && e.o.Equivocation != nil {
		e.o.Equivocation(other, m)
	}
	if fresh && liar && m.Keeper == e.o.Signer.PublicKey() && e.o.DuplicateSigner != nil {
		e.o.DuplicateSigner(m)
	}
	if fresh && liar {
		e.o.Log.Warn().Stringer("keeper", m.Keeper).Uint64("period", uint64(m.Period)).
			Msg("keeper signed two different manifests for one period; its statements are left out of our proposals")
	}
	return fresh
}

// Manifests are what is known of a period's sets, for peers. Error: ErrNotSealed.
func (e *Engine) Manifests(p records.Period) ([]messages.Manifest, error) {
	sealed, err := e.o.Store.Sealed()
	if err != nil {
		return nil, err
	}
	if p >= sealed {
		return nil, ErrNotSealed
	}
	return manifestMessages(e.cache.manifests(p)), nil
}

// Blob is a set of statements or the leaves of a report, for peers. Error: store.ErrNotFound.
func (e *Engine) Blob(kind messages.BlobKind, p records.Period, digest [32]byte) ([]byte, error) {
	switch kind {
	case messages.BlobSet:
		if raw := e.cache.byDigest(p, digest); raw != nil {
			return raw, nil
		}
	case messages.BlobLeaves:
		return e.leaves(p, digest)
	}
	return nil, store.ErrNotFound
}

// served is the leaf set that was last handed out: it is asked for in dozens of pieces.
type served struct {
	key    setKey
	leaves []byte
}

func (e *Engine) leaves(p records.Period, root records.Hash) ([]byte, error) {
	key := setKey{p, root}
	e.mu.Lock()
	last := e.served
	e.mu.Unlock()
	if last.key == key && last.leaves != nil {
		return last.leaves, nil
	}
	raw, err := e.o.Store.Leaves(p, root)
	if err == nil {
		e.mu.Lock()
		e.served = served{key, raw}
		e.mu.Unlock()
	}
	return raw, err
}

// counted brings the docket up to date with the cache.
func (e *Engine) counted(r round, s *state) *report.Docket {
	if s.docket == nil {
		s.docket = report.NewDocket(e.frame(r))
	}
	for _, m := range e.cache.manifests(r.period) {
		ref := refOf(m)
		raw := e.cache.set(r.period, ref)
		if raw == nil || s.docket.Has(ref) || s.broken[ref] {
			continue
		}
		if _, err := s.docket.Add(m.Keeper, raw); err != nil {
			s.broken[ref] = true
			e.o.Log.Warn().Err(err).Stringer("keeper", m.Keeper).Uint64("period", uint64(r.period)).Msg("a keeper's statements cannot be read")
		}
	}
	return s.docket
}

// pull gets the sets that are missing, one after the other of one keeper, several keepers at a time. hint is who has them
// for sure, if anybody.
func (e *Engine) pull(ctx context.Context, r round, s *state, hint *solana.PublicKey) {
	if s.settled || s.pulling || e.o.Now().Before(s.pullAt) || len(e.cache.missing(r.period)) == 0 {
		return
	}
	s.pulling = true
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		got := e.get(ctx, r, e.cache.missing(r.period), hint)
		return func(ctx context.Context) {
			s.pulling = false
			if got == 0 {
				s.pullAt = e.o.Now().Add(retry)
			}
			if s.settled {
				return
			}
			e.counted(r, s)
			waiting := s.waiting
			s.waiting = map[records.Hash]messages.Proposal{}
			e.considerAll(ctx, waiting)
		}
	})
}

// get fetches sets and returns how many came.
func (e *Engine) get(ctx context.Context, r round, missing []statement.Manifest, hint *solana.PublicKey) int {
	came := make([]bool, len(missing))
	var ask []func()
	for i, m := range missing {
		ask = append(ask, func() { came[i] = e.fetchSet(ctx, r, m, hint) })
	}
	n := 0
	const abreast = 8
	for from := 0; from < len(ask); from += abreast {
		e.o.Tasks.All(ask[from:min(from+abreast, len(ask))]...)
	}
	for _, ok := range came {
		if ok {
			n++
		}
	}
	return n
}

// fetchSet asks whoever may have a set: its keeper, whoever is known to have it, then all others. A keeper that gives its
// statements to some and not to the proposer would otherwise divide them: see overlooks.
func (e *Engine) fetchSet(ctx context.Context, r round, m statement.Manifest, hint *solana.PublicKey) bool {
	from := []solana.PublicKey{m.Keeper}
	if hint != nil {
		from = append(from, *hint)
	}
	all := e.others(r)
	for i := range all {
		from = append(from, all[(int(m.Digest[0])+int(e.o.Signer.PublicKey()[0])+i)%len(all)])
	}
	for _, peer := range from {
		if peer == e.o.Signer.PublicKey() {
			continue
		}
		raw, err := e.blob(ctx, peer, messages.BlobSet, r.period, m.Digest, int(m.Size))
		switch {
		case err == nil && m.Covers(raw):
			e.cache.put(m, raw, e.o.Now())
			return true
		case ctx.Err() != nil:
			return false
		}
		e.o.Log.Debug().Err(err).Stringer("peer", peer).Stringer("keeper", m.Keeper).Uint64("period", uint64(r.period)).Msg("statements")
	}
	return false
}

// ErrPiece: a peer does not hand out what it said that it has.
var ErrPiece = errors.New("pieces do not fit together")

// pieceTimeout is for one piece.
const pieceTimeout = 3 * time.Second

// blob asks a peer for something large, piece by piece. At most `most` bytes are taken.
func (e *Engine) blob(ctx context.Context, peer solana.PublicKey, kind messages.BlobKind, p records.Period, digest [32]byte, most int) ([]byte, error) {
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

// Piece cuts one piece out of a blob.
func Piece(raw []byte, offset uint32) messages.Piece {
	at := min(int(offset), len(raw))
	return messages.Piece{
		Version: messages.Version, Total: uint32(len(raw)), Data: raw[at:min(at+messages.MaxPiece, len(raw))],
	}
}
