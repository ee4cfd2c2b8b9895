package grants

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/records"
)

var errAway = errors.New("the machine is away")

// tried is a table that tries grants with a machine that may be away.
func (w *world) tried(away *bool) *Table {
	w.t.Helper()
	o := w.options()
	o.Try = func(context.Context, *Entry) error {
		if *away {
			return errAway
		}
		return nil
	}
	t, err := New(o)
	require.NoError(w.t, err)
	return t
}

// A grant that opens nothing, because the machine is away, replaces none that did: names work again when it is back.
func TestAGrantThatOpensNothingReplacesNone(t *testing.T) {
	w, away := newWorld(t), false
	key := w.customer()
	lease := w.rents(key, 1)
	table := w.tried(&away)
	e, err := table.Open(t.Context(), w.grant(key, lease, nil), nil)
	require.NoError(t, err)
	away = true
	_, err = table.Open(t.Context(), w.grant(key, lease, func(g *records.Grant) { g.IssuedAt++ }), nil)
	require.ErrorIs(t, err, errAway)
	require.NoError(t, e.Lasts.Err(), "connections go on")
	for _, table := range []*Table{table, w.table()} { // a table that begins again reads the folder
		got, _, ok := table.ByName(e.Names()[0])
		require.True(t, ok)
		require.Equal(t, e.Signed, got.Signed)
	}
	away = false
	again, err := table.Open(t.Context(), w.grant(key, lease, func(g *records.Grant) { g.IssuedAt++ }), nil)
	require.NoError(t, err)
	require.Error(t, e.Lasts.Err())
	require.NoError(t, again.Lasts.Err())
	require.Same(t, e.Places, again.Places)
}

// A first grant that opens nothing is not kept, nor is anything of it.
func TestAFirstGrantThatOpensNothingIsNotKept(t *testing.T) {
	w, away := newWorld(t), true
	key := w.customer()
	lease := w.rents(key, 1)
	table := w.tried(&away)
	var made *Entry
	try := table.o.Try
	table.o.Try = func(ctx context.Context, e *Entry) error { made = e; return try(ctx, e) }
	_, err := table.Open(t.Context(), w.grant(key, lease, nil), nil)
	require.ErrorIs(t, err, errAway)
	require.Error(t, made.Lasts.Err(), "its session ends")
	require.Empty(t, table.All())
	require.Empty(t, w.table().All())
}

// A grant that is here already changes nothing, whoever brings it: with the machine at hand, away, or without the
// signature for leases that go on.
func TestAnEqualGrantChangesNothing(t *testing.T) {
	w, away := newWorld(t), false
	key := w.customer()
	lease := w.rents(key, 1)
	table := w.tried(&away)
	s := w.grant(key, lease, nil)
	e, err := table.Open(t.Context(), s, nil)
	require.NoError(t, err)
	again, err := table.Open(t.Context(), s, nil)
	require.NoError(t, err)
	require.Same(t, e, again)
	away = true
	_, err = table.Open(t.Context(), s, nil)
	require.ErrorIs(t, err, errAway, "whoever asks is told")
	require.NoError(t, e.Lasts.Err())
	got, _, ok := table.ByName(e.Names()[0])
	require.True(t, ok)
	require.Same(t, e, got)
}
