package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// maxStreams is how many leases' outputs are read at once.
	maxStreams = 16
	// beat is how often a stream says that it lives.
	beat = 15 * time.Second
	// writeWithin is how long a client may take to read an event before its stream is cut.
	writeWithin = 10 * time.Second
)

// streams bounds what is open at once, and ends it with the server.
type streams struct {
	mu      sync.Mutex
	ended   bool
	next    int
	cancels map[int]context.CancelFunc
}

// open begins a stream; done ends it.
func (s *streams) open(ctx context.Context) (_ context.Context, done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, nil, problem(http.StatusServiceUnavailable, "the server ends", "ask again when it runs again")
	}
	if len(s.cancels) >= maxStreams {
		return nil, nil, problem(http.StatusServiceUnavailable, fmt.Sprintf("%d streams are open already", len(s.cancels)), "close one, or ask again later")
	}
	ctx, cancel := context.WithCancel(ctx)
	if s.cancels == nil {
		s.cancels = map[int]context.CancelFunc{}
	}
	id := s.next
	s.next++
	s.cancels[id] = cancel
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.cancels, id)
	}, nil
}

// end ends all streams; no other begins.
func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, cancel := range s.cancels {
		cancel()
	}
}

// stream writes server-sent events. It holds none: a write waits until the client has taken what was before, and one that
// takes too long is cut.
type stream struct {
	w http.ResponseWriter
	c *http.ResponseController
	// cut ends what the stream is fed by, when the client does not read.
	cut func()

	mu     sync.Mutex
	failed error
}

func newStream(w http.ResponseWriter, cut func()) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	return &stream{w: w, cut: cut, c: http.NewResponseController(w)}
}

// send writes an event. Its document has no line breaks, as JSON.
func (s *stream) send(event, id string, document any) error {
	raw, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("event: %w", err)
	}
	text := "event: " + event + "\n"
	if id != "" {
		text += "id: " + id + "\n"
	}
	return s.write(text + "data: " + string(raw) + "\n\n")
}

func (s *stream) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	s.failed = s.c.SetWriteDeadline(time.Now().Add(writeWithin))
	if s.failed == nil {
		_, s.failed = s.w.Write([]byte(text))
	}
	if s.failed == nil {
		s.failed = s.c.Flush()
	}
	if s.failed != nil {
		s.cut()
	}
	return s.failed
}

func (s *stream) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// beats writes a comment at once and again and again, which clients do not show, until ctx ends or the returned function
// is called, which waits.
func (s *stream) beats(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(beat)
		defer t.Stop()
		for s.write(": beat\n\n") == nil {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
