package service

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/systemd"
)

// manager is a socket as systemd has one, and what came in.
func manager(t *testing.T) (said chan string) {
	said = make(chan string, 1000)
	t.Setenv("NOTIFY_SOCKET", systemd.Socket(t, func(message string) { said <- message }))
	return said
}

// hears waits for a message, and skips others.
func hears(t *testing.T, said chan string, want string) {
	t.Helper()
	late := time.After(5 * time.Second)
	for {
		select {
		case got := <-said:
			if got == want {
				return
			}
		case <-late:
			t.Fatalf("%s did not come", want)
		}
	}
}

// silent waits until no watchdog message has come for a time.
func silent(said chan string, watchdog time.Duration) bool {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		select {
		case <-said:
		case <-time.After(watchdog):
			return true
		}
	}
	return false
}

func TestSystemdHearsHowADaemonDoes(t *testing.T) {
	said := manager(t)
	t.Setenv("WATCHDOG_USEC", "400000")
	m, err := FromEnv()
	require.NoError(t, err)
	require.Equal(t, 400*time.Millisecond, m.Watchdog)
	var wrong atomic.Pointer[[]string]
	wrong.Store(&[]string{"no keeper asks", "the chain\nis away"})
	s := New(m, func() []string { return *wrong.Load() }, zerolog.Nop())
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	hears(t, said, "STATUS=starts")
	s.Ready()
	s.Ready()
	hears(t, said, "READY=1")
	hears(t, said, `STATUS=no keeper asks; the chain\u000ais away`)
	wrong.Store(&[]string{})
	hears(t, said, "STATUS=serves")
	hears(t, said, "WATCHDOG=1")
	s.Stopping()
	hears(t, said, "STOPPING=1")
	end()
	require.ErrorIs(t, <-done, context.Canceled)
	for len(said) > 0 {
		require.NotEqual(t, "READY=1", <-said, "it is said once")
	}
}

func TestALoopThatHangsMissesTheWatchdog(t *testing.T) {
	said := manager(t)
	t.Setenv("WATCHDOG_USEC", "200000")
	m, err := FromEnv()
	require.NoError(t, err)
	s := New(m, nil, zerolog.Nop())
	turns, hangs := s.Loop("turns", time.Minute), s.Loop("hangs", 300*time.Millisecond)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() { end(); <-done })
	for range 10 { // longer than a turn may take
		hangs.Turn()
		hears(t, said, "WATCHDOG=1")
	}
	turns.Turn()
	require.True(t, silent(said, m.Watchdog), "one loop of two hangs")
	hangs.Turn()
	hears(t, said, "WATCHDOG=1")
	require.True(t, silent(said, m.Watchdog))
	hangs.End()
	hears(t, said, "WATCHDOG=1")
}

// A daemon's lock that is held for ever stops the state, and with it the watchdog.
func TestAStateThatHangsMissesTheWatchdog(t *testing.T) {
	said := manager(t)
	t.Setenv("WATCHDOG_USEC", "200000")
	m, err := FromEnv()
	require.NoError(t, err)
	stuck := make(chan struct{})
	s := New(m, func() []string { <-stuck; return nil }, zerolog.Nop())
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() { end(); <-done })
	hears(t, said, "WATCHDOG=1")
	s.Ready()
	require.True(t, silent(said, m.Watchdog))
	close(stuck)
	hears(t, said, "WATCHDOG=1")
}

func TestWithoutAManagerNothingIsSaid(t *testing.T) {
	s := New(Manager{}, nil, zerolog.Nop())
	s.Ready()
	s.Stopping()
	ctx, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, s.Run(ctx), context.Canceled)
	t.Setenv("WATCHDOG_USEC", "many")
	_, err := FromEnv()
	require.ErrorContains(t, err, "WATCHDOG_USEC")
}
