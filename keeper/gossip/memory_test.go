package gossip

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// deliver sends one message with statements of an author through the topic's validator and, when it passes, its handler.
func (p *participant) deliver(t *testing.T, author *participant, all ...statement.Signed) p2p.Verdict {
	m := messages.StatementsAnswer{Version: messages.Version}
	for _, s := range all {
		m.Statements = append(m.Statements, s.Message())
	}
	verdict := p.validateStatements(t.Context(), author.wallet.PublicKey(), m)
	if verdict == p2p.Accept && p.mayGossip(author.wallet.PublicKey()) {
		p.handleStatements(t.Context(), author.wallet.PublicKey(), m)
	}
	return verdict
}

// about is a statement of the participant about another node, or made at another time.
func (p *participant) about(period records.Period, change func(*records.CheckStatement)) statement.Signed {
	s := p.statement(period, true).Statement
	change(&s)
	sig, err := s.Sign(p.wallet)
	require.NoError(p.t, err)
	return statement.Signed{Keeper: p.wallet.PublicKey(), Statement: s, Signature: sig}
}

// A keeper that has lost its weight, or invents nodes, periods or times, fills nobody's memory.
func TestOnlyStatementsThatCanCountAreKept(t *testing.T) {
	const current = records.Period(now / periodSecs)
	for name, c := range map[string]struct {
		status market.KeeperStatus
		weight uint64
		made   func(author *participant) statement.Signed
		kept   bool
	}{
		"a keeper with weight": {market.KeeperActive, 1, func(a *participant) statement.Signed { return a.statement(current, true) }, true},
		"of the last period":   {market.KeeperActive, 1, func(a *participant) statement.Signed { return a.statement(current-1, true) }, true},
		"an expelled keeper":   {market.KeeperSlashed, 0, func(a *participant) statement.Signed { return a.statement(current, true) }, false},
		"a keeper that waits":  {market.KeeperPending, 0, func(a *participant) statement.Signed { return a.statement(current, true) }, false},
		"an older period":      {market.KeeperActive, 1, func(a *participant) statement.Signed { return a.statement(current-2, true) }, false},
		"an invented node": {market.KeeperActive, 1, func(a *participant) statement.Signed {
			return a.about(current, func(s *records.CheckStatement) { s.Node = solana.PublicKey{8} })
		}, false},
		"a time outside the period": {market.KeeperActive, 1, func(a *participant) statement.Signed {
			return a.about(current, func(s *records.CheckStatement) { s.CheckedAt += periodSecs })
		}, false},
		"more seconds than a period has": {market.KeeperActive, 1, func(a *participant) statement.Signed {
			return a.about(current, func(s *records.CheckStatement) { s.CoveredSeconds = periodSecs + 1 })
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := view.New(view.Options{})
			p, author := newParticipant(t, v), newParticipant(t, v)
			p.h = p.handlers()
			author.register(v, c.status, c.weight)
			p.deliver(t, author, c.made(author))
			require.Equal(t, c.kept, p.pool.Len() == 1)
		})
	}
}

// Disputes are judged, and statements about them published, by who is reading the view. A change of the chain that waits
// for that reader must not stop it: both would wait for ever.
func TestWhoReadsTheViewMayPublish(t *testing.T) {
	v := view.New(view.Options{})
	p := newParticipant(t, v)
	s := p.statement(records.Period(now/periodSecs), true)
	published := make(chan struct{})
	v.Read(func(*view.Accounts) {
		go v.Put(checked, &market.Node{Meta: market.Meta{Address: checked}})
		time.Sleep(200 * time.Millisecond) // it waits for this reader now
		go func() {
			defer close(published)
			p.PublishStatements([]statement.Signed{s})
		}()
		select {
		case <-published:
		case <-time.After(20 * time.Second):
			t.Error("publishing waits for the change, and the change for the reader")
		}
	})
	<-published
}
