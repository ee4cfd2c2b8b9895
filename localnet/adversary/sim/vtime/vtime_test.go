package vtime

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var start = time.Unix(1000, 0)

func never() bool { return false }

func TestOrder(t *testing.T) {
	l := NewLoop(start)
	var got []string
	say := func(s string) func() {
		return func() { got = append(got, fmt.Sprintf("%s@%d", s, l.Now().Sub(start).Milliseconds())) }
	}
	l.After(2*time.Second, say("c"))
	l.After(time.Second, say("a"))
	l.After(time.Second, say("b"))
	n := 0
	l.Every(start, 900*time.Millisecond, func() bool { say("tick")(); n++; return n < 3 })
	l.Run(start.Add(time.Hour), never)
	require.Equal(t, []string{"tick@0", "tick@900", "a@1000", "b@1000", "tick@1800", "c@2000"}, got)
	require.Equal(t, start.Add(time.Hour).UTC(), l.Now())
}

func TestTasksWait(t *testing.T) {
	l := NewLoop(start)
	ended := 0
	g := NewGroup(l, func() { ended++ })
	var got []string
	say := func(s string) { got = append(got, fmt.Sprintf("%s@%s", s, l.Now().Sub(start))) }
	g.Go(func() {
		g.All(
			func() { require.NoError(t, g.Sleep(g.Context(), 3*time.Second)); say("slow") },
			func() { require.NoError(t, g.Sleep(g.Context(), time.Second)); say("fast") },
		)
		say("both")
		ctx, cancel := g.Timeout(g.Context(), time.Second)
		defer cancel()
		inner, stop := g.Timeout(ctx, time.Hour)
		defer stop()
		require.ErrorIs(t, g.Sleep(inner, time.Minute), context.DeadlineExceeded, "the parent's end counts")
		require.ErrorIs(t, g.Sleep(inner, time.Minute), context.DeadlineExceeded, "and goes on counting")
		say("late")
	})
	l.Run(start.Add(time.Hour), never)
	require.Equal(t, []string{"fast@1s", "slow@3s", "both@3s", "late@4s"}, got)
	require.Equal(t, 3, ended)
}

func TestStopEndsWhatWaits(t *testing.T) {
	l := NewLoop(start)
	g := NewGroup(l, nil)
	var errs []error
	for range 3 {
		g.Go(func() { errs = append(errs, g.Sleep(g.Context(), time.Hour)) })
	}
	g.Go(func() { g.All(func() { errs = append(errs, g.Sleep(g.Context(), time.Hour)) }) })
	l.After(time.Second, func() {
		g.Stop()
		g.Go(func() { t.Error("began after the end") })
	})
	l.Run(start.Add(2*time.Hour), never)
	require.Len(t, errs, 4)
	for _, err := range errs {
		require.ErrorIs(t, err, context.Canceled)
	}
}
