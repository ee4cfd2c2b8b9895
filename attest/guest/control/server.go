package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-yamux/v5"
)

// Handler answers a question. Its error is the reason of a refusal.
type Handler func(ctx context.Context, q Question) (Answer, error)

// ErrOff: the host has asked the guest to switch itself off.
var ErrOff = errors.New("the host asks the guest to switch off")

// lastAnswer is how long the host has to read the answer before the session ends.
const lastAnswer = time.Second

// Serve answers the host's questions on the guest's end of the port, until the port closes. It returns ErrOff where the host has
// asked for that, and answers it before.
func Serve(ctx context.Context, port net.Conn, handle Handler) error {
	if _, err := port.Write([]byte(Greeting)); err != nil {
		return fmt.Errorf("greet the host: %w", err)
	}
	mux, err := yamux.Server(port, config(), nil)
	if err != nil {
		return fmt.Errorf("session with the host: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := server{handle: handle, cancel: cancel}
	defer s.streams.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = mux.Close() })
	defer stop()
	for {
		stream, err := mux.AcceptStream()
		if err != nil {
			if s.off.Load() {
				return ErrOff
			}
			return fmt.Errorf("the session with the host is over: %w", err)
		}
		s.streams.Go(func() { s.serve(ctx, stream) })
	}
}

// server is one session.
type server struct {
	handle  Handler
	cancel  func()
	off     atomic.Bool
	streams sync.WaitGroup
}

// serve answers one question.
func (s *server) serve(ctx context.Context, stream *yamux.Stream) {
	defer stream.Close()
	var q Question
	var a Answer
	err := read(stream, &q)
	switch {
	case err != nil:
	case q.Version != Version:
		err = fmt.Errorf("this guest speaks version %d, and the question has %d", Version, q.Version)
	case q.Off != nil:
		s.off.Store(true)
		defer s.cancel()
	default:
		a, err = s.handle(ctx, q)
	}
	a.Version = Version
	if err != nil {
		a.Refused = err.Error()
	}
	_ = write(stream, a) // a host that does not read it has gone
	_ = stream.CloseWrite()
	if s.off.Load() {
		select {
		case <-ctx.Done():
		case <-time.After(lastAnswer):
		}
	}
}
