package consensus

import (
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

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

// manifestMessages are manifests as they travel.
func manifestMessages(all []statement.Manifest) []messages.Manifest {
	out := make([]messages.Manifest, len(all))
	for i, m := range all {
		out[i] = m.Message()
	}
	return out
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

// Piece cuts one piece out of a blob.
func Piece(raw []byte, offset uint32) messages.Piece {
	at := min(int(offset), len(raw))
	return messages.Piece{
		Version: messages.Version, Total: uint32(len(raw)), Data: raw[at:min(at+messages.MaxPiece, len(raw))],
	}
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

// Set returns the leaf set of a period with a root; nil when it is not held.
func (e *Engine) Set(p records.Period, root records.Hash) *report.Set {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s, ok := e.sets[setKey{p, root}]; ok {
		return s
	}
	raw, err := e.o.Store.Leaves(p, root)
	if err != nil {
		return nil
	}
	s, err := report.ReadLeaves(raw, p, root)
	if err != nil {
		e.o.Log.Error().Err(err).Uint64("period", uint64(p)).Msg("the store's leaves do not lead to their root")
		return nil
	}
	e.sets[setKey{p, root}] = s
	return s
}

// keepLeaves keeps a leaf set in memory.
func (e *Engine) keepLeaves(s *report.Set) {
	e.mu.Lock()
	e.sets[setKey{s.Period, s.Root}] = s
	e.mu.Unlock()
}

// forgetLeaves drops the leaf sets of old periods from memory.
func (e *Engine) forgetLeaves(before records.Period) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for k := range e.sets {
		if k.period < before {
			delete(e.sets, k)
		}
	}
}

// storeFinalLeaves keeps the leaf set of a report that the chain made final.
func (e *Engine) storeFinalLeaves(set *report.Set) {
	if err := e.o.Store.PutLeaves(set.Period, set.Root, set.EncodeLeaves()); err != nil {
		e.o.Log.Error().Err(err).Uint64("period", uint64(set.Period)).Msg("leaf set was not stored")
		return
	}
	e.keepLeaves(set)
}
