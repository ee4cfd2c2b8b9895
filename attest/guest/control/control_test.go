package control_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/guest/control"
)

// What a firmware writes on the port before the guest does is passed over, and nothing is sent to it.
func TestNoiseBeforeTheGreeting(t *testing.T) {
	here, there := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		if _, err := there.Write([]byte("\x1b[2J\x00gantry-guest\x00gantry-gu")); err != nil {
			ended <- err
			return
		}
		ended <- control.Serve(t.Context(), there, func(context.Context, control.Question) (control.Answer, error) {
			return control.Answer{}, errors.New("not today")
		})
	}()
	host, err := control.NewClient(t.Context(), here)
	require.NoError(t, err)
	_, err = host.Keys(t.Context())
	require.ErrorIs(t, err, control.ErrRefused)
	require.ErrorContains(t, err, "not today")
	require.NoError(t, host.Off(t.Context()))
	require.ErrorIs(t, <-ended, control.ErrOff)
}

// A host that waits for a guest that does not come stops with its context.
func TestNoGuest(t *testing.T) {
	here, there := net.Pipe()
	t.Cleanup(func() { _ = there.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := control.NewClient(ctx, here)
		done <- err
	}()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	_, err := there.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe, "the port is closed")
}

// A question to a guest that does not answer ends with its context.
func TestNoAnswer(t *testing.T) {
	here, there := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- control.Serve(t.Context(), there, func(ctx context.Context, _ control.Question) (control.Answer, error) {
			<-ctx.Done()
			return control.Answer{}, ctx.Err()
		})
	}()
	host, err := control.NewClient(t.Context(), here)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := host.Keys(ctx)
		done <- err
	}()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.NoError(t, host.Close())
	require.Error(t, <-ended)
}
