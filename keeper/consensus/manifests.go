package consensus

import (
	"context"
	"errors"

	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// announce makes the set of our own statements of a sealed period and sends its manifest to all keepers, once. The
// store takes no more statements about the period, so that it is the same after a restart; and it holds what was signed
// before, so that whatever happens to statements or to how they are written, no other manifest is signed: two of them
// cost the bond.
func (e *Engine) announce(ctx context.Context, c chainFacts, s *periodState) error {
	if s.own != nil || s.withheld || c.period < e.o.Store.FirstPeriod() { // what was signed before that the store does not know
		return nil
	}
	have, err := e.o.Store.Statements(c.period)
	if err != nil {
		return err
	}
	all := make([]records.CheckStatement, len(have))
	for i := range have {
		all[i] = have[i].Statement
	}
	frame := frameOf(e.o.Domain, c)
	raw, count := statement.EncodeSet(frame, all)
	mine := statement.Manifest{
		Keeper: e.o.Signer.PublicKey(), Period: c.period, Count: uint32(count), Size: uint32(len(raw)), Digest: statement.Digest(raw),
	}
	if other, ok := e.cache.contradicting(mine); ok {
		s.withheld = true
		if e.o.DuplicateSigner != nil {
			e.o.DuplicateSigner(other)
		}
		return nil
	}
	err = e.o.Store.PutManifest(c.period, store.SetRef{Count: mine.Count, Size: mine.Size, Digest: mine.Digest})
	if errors.Is(err, store.ErrManifest) || errors.Is(err, store.ErrEarly) {
		s.withheld = true
		e.o.Log.Warn().Err(err).Uint64("period", uint64(c.period)).
			Msg("our statements of this period are not announced: they are not known to be the ones that were before")
		return nil
	}
	if err != nil {
		return err
	}
	m, err := statement.NewManifest(frame, raw, count, e.o.Signer)
	if err != nil {
		return err
	}
	s.own = &m
	e.cache.addManifest(m)
	e.cache.putSet(m, raw, e.o.Now())
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		if err := e.o.Peers.Announce(ctx, m.Message()); err != nil && ctx.Err() == nil {
			e.o.Log.Warn().Err(err).Uint64("period", uint64(m.Period)).Msg("manifest was not published")
		}
		return nil
	})
	return nil
}

// addManifest keeps a verified manifest and reports whether it is new.
func (e *Engine) addManifest(m statement.Manifest) bool {
	fresh, equivocates := e.cache.addManifest(m)
	ours := m.Keeper == e.o.Signer.PublicKey()
	if other, two := e.cache.contradicting(m); two && !ours && e.o.Equivocation != nil {
		e.o.Equivocation(other, m)
	}
	if fresh && equivocates && ours && e.o.DuplicateSigner != nil {
		e.o.DuplicateSigner(m)
	}
	if fresh && equivocates {
		e.o.Log.Warn().Stringer("keeper", m.Keeper).Uint64("period", uint64(m.Period)).
			Msg("keeper signed two different manifests for one period; its statements are left out of our proposals")
	}
	return fresh
}

// addVerified verifies manifests of a period that a peer has sent and keeps them.
func (e *Engine) addVerified(got []messages.Manifest, p records.Period) {
	c, _, ok := e.chain(p)
	if !ok {
		return
	}
	for _, raw := range got[:min(len(got), maxManifests*report.MaxManifests)] {
		m := statement.ReadManifest(raw)
		if m.Period != p || e.cache.hasManifest(m) || c.weights[m.Keeper] == 0 || m.Verify(e.o.Domain, e.o.Keys) != nil {
			continue
		}
		e.addManifest(m)
	}
}
