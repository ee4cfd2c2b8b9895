package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gantry-market/gantry/client/team"
)

const (
	// maxStreams is how many are open at once: outputs, changes, terminals.
	maxStreams = 16
	// streamsOfToken is how many of them one token of a team has, and streamsOfViewers all who may only read.
	streamsOfToken, streamsOfViewers = 4, maxStreams / 2
	// beat is how often a stream says that it lives.
	beat = 15 * time.Second
	// writeWithin is how long a client may take to read an event before its stream is cut.
	writeWithin = 10 * time.Second
)

// streams bounds what is open at once, and ends it with the server.
type streams struct {
	mu    sync.Mutex
	ended bool
	next  int
	all   map[int]opened
}

// opened is a stream and who has it.
type opened struct {
	cancel context.CancelFunc
	by     team.Caller
}

// open begins a stream of the request's caller; done ends it.
func (s *streams) open(ctx context.Context) (_ context.Context, done func(), err error) {
	by, known := callerOf(ctx)
	if !known {
		by = owner(team.MemberServer, team.TokenServer)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, nil, problem(http.StatusServiceUnavailable, "the server ends", "ask again when it runs again")
	}
	if p := s.full(by); p != nil {
		return nil, nil, p
	}
	ctx, cancel := context.WithCancel(ctx)
	if s.all == nil {
		s.all = map[int]opened{}
	}
	id := s.next
	s.next++
	s.all[id] = opened{cancel, by}
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, id)
	}, nil
}

// full says why somebody gets no stream now; nil when there is one. Members of a team leave room for others, and those who
// may only read leave half for those who deploy. The server's own token and the customer's wallet have what there is.
func (s *streams) full(by team.Caller) error {
	own, viewers := 0, 0
	for _, o := range s.all {
		if o.by.Member == by.Member && o.by.Token == by.Token {
			own++
		}
		if !o.by.Role.Covers(team.Deployer) {
			viewers++
		}
	}
	switch {
	case len(s.all) >= maxStreams:
		return problem(http.StatusServiceUnavailable, fmt.Sprintf("%d streams are open already", len(s.all)), "close one, or ask again later")
	case by.Member == team.MemberServer || by.Member == team.MemberCustomer:
	case own >= streamsOfToken:
		return problem(http.StatusServiceUnavailable, fmt.Sprintf("%s has %d streams open with the token %s, and one token has no more", by.Member, own, by.Token), "close one, or ask again later")
	case !by.Role.Covers(team.Deployer) && viewers >= streamsOfViewers:
		return problem(http.StatusServiceUnavailable, fmt.Sprintf("viewers have %d streams open, and the others are for those who may deploy", viewers), "ask again later")
	}
	return nil
}

// end ends all streams; no other begins.
func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, o := range s.all {
		o.cancel()
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
