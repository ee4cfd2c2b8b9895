package grants

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// mover is a customer whose lease may move.
type mover struct {
	*world
	key   solana.PrivateKey
	first solana.PublicKey
	order solana.PublicKey
	table *Table
}

func newMover(t *testing.T) *mover {
	w := newWorld(t)
	m := &mover{world: w, key: w.customer()}
	m.first = w.rents(m.key, 1)
	m.order, m.leases[m.first].Lease.MayMigrate = m.leases[m.first].Lease.Order, 1
	m.orders[m.order] = []solana.PublicKey{m.first}
	m.table = w.table()
	return m
}

// moves signs a grant for the leases that go on.
func (m *mover) moves(s messages.SignedGrant, by solana.PrivateKey, order solana.PublicKey) []byte {
	m.t.Helper()
	s.Grant.Lease = order
	sig, err := s.Grant.Sign(by)
	require.NoError(m.t, err)
	return sig[:]
}

func (m *mover) open() *Entry {
	m.t.Helper()
	s := m.grant(m.key, m.first, nil)
	e, err := m.table.Open(m.t.Context(), s, m.moves(s, m.key, m.order))
	require.NoError(m.t, err)
	return e
}

// fails has the machine of a lease gone.
func (m *mover) fails(lease solana.PublicKey) {
	l := &m.leases[lease].Lease
	l.Status, l.StartedAt, l.EndedAt, l.FundedUntil = uint8(market.LeaseFailed), 1, 10, 100
	require.True(m.t, l.CanMigrate())
}

// goesOn creates the next lease in the place of a failed one.
func (m *mover) goesOn(from solana.PublicKey, to byte) solana.PublicKey {
	next := m.rents(m.key, to)
	l, old := &m.leases[next].Lease, &m.leases[from].Lease
	l.Order, l.Continues, l.MayMigrate, l.Status, l.NodeKey = m.order, 1, 1, uint8(market.LeaseAwarded), solana.PublicKey{to, 9}
	old.Status, old.EndReason = uint8(market.LeaseEnded), uint8(market.EndedFailed)
	m.orders[m.order] = append(m.orders[m.order], next)
	return next
}

func (m *mover) runs(lease solana.PublicKey) {
	m.leases[lease].Lease.Status = uint8(market.LeaseRunning)
}

// now is what the names lead to.
func (m *mover) now(names []string) *Entry {
	m.t.Helper()
	require.NoError(m.t, m.table.refresh(m.t.Context()))
	var out *Entry
	for _, name := range names {
		e, _, ok := m.table.ByName(name)
		require.True(m.t, ok, name)
		out = e
	}
	require.Len(m.t, m.table.All(), 1)
	return out
}

func TestNamesStayWhenALeaseMoves(t *testing.T) {
	m := newMover(t)
	e := m.open()
	names, from := e.Names(), m.first
	require.Same(t, e, m.now(names))
	for step, to := range []byte{2, 3} {
		m.fails(from)
		waits := m.now(names)
		require.True(t, waits.Moving)
		require.Error(t, e.Lasts.Err(), "what was connected with the machine before has ended")
		require.Same(t, waits, m.now(names))
		require.Same(t, e.Places, waits.Places)

		next := m.goesOn(from, to)
		require.True(t, m.now(names).Moving, "it does not run yet")
		m.table = m.world.table()
		require.True(t, m.now(names).Moving, "after a restart too")
		m.runs(next)
		e = m.now(names)
		require.False(t, e.Moving, step)
		require.Equal(t, next, e.Lease())
		require.Equal(t, solana.PublicKey{to, 9}, e.NodeKey)
		require.Equal(t, m.order, e.Signed.Grant.Lease, "its node is shown what the order was granted")
		require.NoError(t, e.Signed.Verify())
		require.True(t, m.table.Concerns(solana.PublicKey{to, 9}))
		_, ok := m.table.BySSHName(e.SSHName())
		require.True(t, ok)

		delete(m.leases, from) // closed
		m.orders[m.order] = []solana.PublicKey{next}
		m.table = m.world.table()
		e = m.now(names)
		require.Equal(t, next, e.Lease(), "after a restart too")
		from = next
	}

	// A fresh grant takes the place of the former, under the same names.
	s := m.grant(m.key, from, func(g *records.Grant) { g.IssuedAt++ })
	again, err := m.table.Open(t.Context(), s, m.moves(s, m.key, m.order))
	require.NoError(t, err)
	require.Equal(t, names, again.Names())
	require.Same(t, again, m.now(names))
	require.Error(t, e.Lasts.Err())
	require.NoFileExists(t, m.table.file(m.first))

	require.NoError(t, m.table.Close(m.key.PublicKey(), from))
	require.Empty(t, m.table.All())
	require.NoFileExists(t, m.table.file(from))
}

func TestNamesEndWithAFailedLeaseThatNobodyTakes(t *testing.T) {
	m := newMover(t)
	e := m.open()
	m.fails(m.first)
	require.True(t, m.now(e.Names()).Moving)
	m.leases[m.first].Lease.Status, m.leases[m.first].Lease.EndReason = uint8(market.LeaseEnded), uint8(market.EndedFailed)
	waits := m.now(e.Names())
	require.False(t, waits.lost.IsZero(), "the next lease may show a moment later")
	m.table.mu.Lock()
	waits.lost = time.Now().Add(-lostTime)
	m.table.mu.Unlock()
	require.NoError(t, m.table.refresh(t.Context()))
	require.Empty(t, m.table.All())
	require.NoFileExists(t, m.table.file(m.first))
}

func TestNamesEndWithALeaseThatDoesNotMove(t *testing.T) {
	for name, change := range map[string]func(m *mover){
		"stopped": func(m *mover) {
			m.leases[m.first].Lease.Status, m.leases[m.first].Lease.EndReason = uint8(market.LeaseEnded), uint8(market.EndedByCustomer)
		},
		"may not":         func(m *mover) { m.fails(m.first); m.leases[m.first].Lease.MayMigrate = 0 },
		"key without use": func(m *mover) { m.leases[m.first].ActsFor = false },
		"key without use later": func(m *mover) {
			m.fails(m.first)
			next := m.goesOn(m.first, 2)
			m.runs(next)
			m.leases[next].ActsFor = false
			m.table.mu.Lock()
			defer m.table.mu.Unlock()
			for _, e := range m.table.tails {
				e.lost = time.Now().Add(-lostTime)
			}
		},
	} {
		m := newMover(t)
		e := m.open()
		change(m)
		require.NoError(t, m.table.refresh(t.Context()), name)
		require.Empty(t, m.table.All(), name)
		require.Error(t, e.Lasts.Err(), name)
	}
	// Without the signature for leases that go on, names are those of one lease.
	m := newMover(t)
	_, err := m.table.Open(t.Context(), m.grant(m.key, m.first, nil), nil)
	require.NoError(t, err)
	m.fails(m.first)
	require.NoError(t, m.table.refresh(t.Context()))
	require.Empty(t, m.table.All())
}

func TestNobodyTakesANameThatMoves(t *testing.T) {
	m := newMover(t)
	e := m.open()
	thief := m.customer()
	s := m.grant(m.key, m.first, nil)
	for _, moves := range [][]byte{m.moves(s, thief, m.order), m.moves(s, m.key, solana.PublicKey{9}), make([]byte, 64), make([]byte, 3)} {
		_, err := m.table.Open(t.Context(), s, moves)
		refusedWith(t, err, "not valid")
	}
	// Another lease of the thief's, and a signature over the name of the first one's order.
	own := m.rents(thief, 5)
	of := m.grant(thief, own, nil)
	_, err := m.table.Open(t.Context(), of, m.moves(of, thief, m.order))
	refusedWith(t, err, "not valid")
	m.fails(m.first)
	require.True(t, m.now(e.Names()).Moving)
	_, err = m.table.Open(t.Context(), of, m.moves(of, thief, m.leases[own].Lease.Order))
	require.NoError(t, err)
	got, _, ok := m.table.ByName(e.Names()[0])
	require.True(t, ok)
	require.True(t, got.Moving)
	require.Equal(t, m.key.PublicKey(), got.Customer)
	refusedWith(t, m.table.Close(thief.PublicKey(), m.first), "another customer")
}

// A grant that was taken back while the chain was asked does not come back.
func TestWhatIsTakenBackWhileItMovesStaysSo(t *testing.T) {
	m := newMover(t)
	e := m.open()
	m.fails(m.first)
	ask := m.table.o.Leases
	m.table.o.Leases = func(ctx context.Context, order solana.PublicKey) ([]market.Lease, error) {
		require.NoError(t, m.table.Close(m.key.PublicKey(), m.first))
		return ask(ctx, order)
	}
	require.NoError(t, m.table.refresh(t.Context()))
	require.Empty(t, m.table.All())
	require.NoFileExists(t, m.table.file(m.first))
	require.Error(t, e.Lasts.Err())
}

func TestSilenceOfTheChainEndsNoMove(t *testing.T) {
	m := newMover(t)
	e := m.open()
	m.fails(m.first)
	require.True(t, m.now(e.Names()).Moving)
	m.err = errors.New("away")
	require.ErrorIs(t, m.table.refresh(t.Context()), m.err)
	_, _, ok := m.table.ByName(e.Names()[0])
	require.True(t, ok)
}

// Whoever has a grant and not the signature for leases that go on does not take that from it.
func TestAGrantWithoutItsMovesTakesNoneAway(t *testing.T) {
	m := newMover(t)
	e := m.open()
	again, err := m.table.Open(t.Context(), e.came.SignedGrant, nil)
	require.NoError(t, err)
	require.Same(t, e, again)
	require.NotEmpty(t, again.came.Moves)
	require.NoError(t, e.Lasts.Err())
}
