package consensus

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/protocol"
	"github.com/gantry-market/gantry/client/wire"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
)

// own are our statements of a period, from the book.
func (e *Engine) own(p wire.Period) ([]statement.Signed, error) {
	have, err := e.Book.Statements(p)
	if err != nil {
		return nil, err
	}
	out := make([]statement.Signed, len(have))
	for i, s := range have {
		out[i] = statement.Signed{Keeper: e.Signer.PublicKey(), Statement: s.Statement, Signature: s.Signature}
	}
	return out, nil
}

// consider checks a proposal and remembers the verdict.
func (e *Engine) consider(m protocol.Proposal) {
	p := wire.Period(m.Period)
	sealed, err := e.Book.Sealed()
	if err != nil || p >= sealed {
		return // not ours to judge yet: it is published again
	}
	r, retention, ok := e.view(p)
	if !ok || e.Now().Unix() > r.end+retention {
		return
	}
	s := e.state(p)
	root := wire.Hash(m.Root)
	if _, known := s.sound[root]; known || e.Now().Before(s.unsound[root]) {
		return
	}
	if err := report.Authentic(m, r.weights); err != nil {
		e.Log.Debug().Err(err).Uint64("period", m.Period).Msg("proposal")
		return
	}
	own, err := e.own(p)
	if err != nil {
		e.Log.Error().Err(err).Msg("own statements")
		return
	}
	set, err := report.Check(m, e.input(r), own, e.verify)
	if err != nil {
		// What we know of the chain may lag behind what the proposer knew.
		s.unsound[root] = e.Now().Add(e.Timing.Round)
		e.Observe.Refused(m.Period, err)
		e.Log.Warn().Err(err).Uint64("period", m.Period).Stringer("proposer", solana.PublicKey(m.Proposer)).Msg("proposal refused")
		return
	}
	s.sound[root], s.rounds[root] = m, m.Round
	e.keepSet(set)
}

// verify checks a statement unless it was checked before.
func (e *Engine) verify(s statement.Signed) error {
	if e.Pool.Has(s) {
		return nil
	}
	return s.Verify(e.Domain)
}
