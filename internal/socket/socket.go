// Package socket has the server's end of WebSockets that lead into containers: it knows whether the client is still there
// (socket.go), and passes on what a shell in a terminal (terminal.go) or a command (exec.go) reads and writes.
package socket

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Silence is how long a client may not answer, or not read, before it counts as gone.
const Silence = 60 * time.Second

// beat is how often it is asked whether it is there.
const beat = 15 * time.Second

// Socket is a WebSocket of a client.
type Socket struct {
	*websocket.Conn
	// slow is how long the client may take to read a message.
	slow time.Duration
	// heard is when the client was there last, unix nanoseconds; busy while what it has sent waits for the container, so that no
	// answer of it is read.
	heard atomic.Int64
	busy  atomic.Bool
}

// New is a WebSocket that was accepted. A client that takes longer than slow to read a message is cut off.
func New(conn *websocket.Conn, slow time.Duration) *Socket {
	s := &Socket{Conn: conn, slow: slow}
	s.hear()
	return s
}

func (s *Socket) hear() { s.heard.Store(time.Now().UnixNano()) }

// Send may take a while after what ran has ended: its last message is still to come.
func (s *Socket) Send(kind websocket.MessageType, raw []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.slow)
	defer cancel()
	return s.Write(ctx, kind, raw)
}

// Attend returns when the client is gone, or ctx has ended. Messages must be read meanwhile.
func (s *Socket) Attend(ctx context.Context) { s.attend(ctx, beat, Silence) }

// attend asks the client every so often whether it is there, until nothing was heard of it for a time.
func (s *Socket) attend(ctx context.Context, every, silence time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		wait, cancel := context.WithTimeout(ctx, every)
		err := s.Ping(wait)
		cancel()
		switch {
		case err == nil:
			s.hear()
		case !errors.Is(err, context.DeadlineExceeded): // it is gone, or ctx has ended
			return
		case !s.busy.Load() && time.Since(time.Unix(0, s.heard.Load())) >= silence:
			return
		}
	}
}
