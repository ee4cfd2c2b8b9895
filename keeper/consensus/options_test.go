package consensus

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/records"
)

// An engine without something that it needs is not made, and the error says what is missing.
func TestNewRefusesIncompleteOptions(t *testing.T) {
	whole := newCluster(t, 1).participants[0].engine.o
	for name, remove := range map[string]func(*Options){
		"View":         func(o *Options) { o.View = nil },
		"Store":        func(o *Options) { o.Store = nil },
		"Signer":       func(o *Options) { o.Signer = nil },
		"Domain":       func(o *Options) { o.Domain = records.Domain{} },
		"Timing.Round": func(o *Options) { o.Timing = Timing{Delay: time.Second} },
		"Peers":        func(o *Options) { o.Peers = nil },
		"Submit":       func(o *Options) { o.Submit = nil },
		"Damaged":      func(o *Options) { o.Damaged = nil },
		"Observe":      func(o *Options) { o.Observe = nil },
	} {
		o := whole
		remove(&o)
		_, err := New(o)
		require.ErrorIs(t, err, ErrOptions)
		require.ErrorContains(t, err, name+" is missing")
	}
	whole.Now, whole.Tasks, whole.Pool, whole.Seeds = nil, nil, nil, nil
	_, err := New(whole)
	require.NoError(t, err, "the rest may be left out")
}

// A watchdog sees that the engine's loop turns, and that it does not while something hangs in it.
func TestTheLoopTurns(t *testing.T) {
	c := newCluster(t, 1)
	e := c.participants[0].engine
	turned := make(chan struct{}, 1000)
	e.o.Turn = func() { turned <- struct{}{} }
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	<-turned
	<-turned
	hangs := make(chan struct{})
	e.events <- func(context.Context) { <-hangs }
	require.Eventually(t, func() bool {
		select {
		case <-turned:
			return false
		case <-time.After(300 * time.Millisecond): // many ticks
			return true
		}
	}, time.Minute, time.Millisecond)
	close(hangs)
	<-turned
	end()
	require.ErrorIs(t, <-done, context.Canceled)
}
