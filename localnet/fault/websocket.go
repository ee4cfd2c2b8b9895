package fault

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	// socketTick is how often a connection looks whether what waits may go out, and whether it breaks.
	socketTick = 50 * time.Millisecond
	// writeWait bounds one message to a peer.
	writeWait = 10 * time.Second
)

// socket is one WebSocket between a client and the node.
type socket struct {
	p            *Proxy
	client, node *websocket.Conn

	mu      sync.Mutex
	waiting []notification // in the order in which they came
}

// notification is one of the node's that the client has not heard yet.
type notification struct {
	came time.Time
	slot uint64 // that it is about, 0 if it names none
	kind websocket.MessageType
	text []byte
}

// serveWS connects a client to the node's WebSocket until one of them, or a fault, ends it.
func (p *Proxy) serveWS(w http.ResponseWriter, r *http.Request) {
	if p.node.WS == "" {
		http.Error(w, "this proxy has no WebSocket", http.StatusNotImplemented)
		return
	}
	if !p.enter() {
		return
	}
	defer p.wg.Done()
	node, _, err := websocket.Dial(r.Context(), p.node.WS, nil)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer func() { _ = node.CloseNow() }()
	client, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // it has been answered
	}
	defer func() { _ = client.CloseNow() }()
	node.SetReadLimit(-1) // the ends have limits of their own
	client.SetReadLimit(-1)
	s := &socket{p: p, client: client, node: node}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context())) // the request's ends with the upgrade
	defer cancel()
	var wg sync.WaitGroup
	for _, part := range []func(context.Context){s.up, s.down, s.release} {
		wg.Go(func() { defer cancel(); part(ctx) })
	}
	select {
	case <-ctx.Done():
	case <-p.ended:
		cancel()
	}
	_ = client.CloseNow() // which ends up and down
	_ = node.CloseNow()
	wg.Wait()
}

// up passes on what the client says.
func (s *socket) up(ctx context.Context) {
	for {
		kind, text, err := s.client.Read(ctx)
		if err != nil || write(ctx, s.node, kind, text) != nil {
			return
		}
	}
}

// down passes on what the node answers, and keeps what it announces while it seems to be behind.
func (s *socket) down(ctx context.Context) {
	for {
		kind, text, err := s.node.Read(ctx)
		if err != nil {
			return
		}
		slot, announced := announcement(text)
		if announced && s.keep(notification{time.Now(), slot, kind, text}) {
			continue
		}
		if write(ctx, s.client, kind, text) != nil {
			return
		}
	}
}

// keep has a notification wait, unless nothing holds it up.
func (s *socket) keep(n notification) bool {
	lags := s.p.Faults().Lag > 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if !lags && len(s.waiting) == 0 {
		return false
	}
	s.waiting = append(s.waiting, n)
	return true
}

// release sends what has waited for long enough, and breaks the connection by chance.
func (s *socket) release(ctx context.Context) {
	tick := time.NewTicker(socketTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		f := s.p.Faults()
		if f.Drop > 0 && rand.Float64() < float64(socketTick)/float64(f.Drop) {
			s.p.count(func(c *Counts) { c.Dropped++ })
			return
		}
		for _, n := range s.ripe(f.Lag) {
			if write(ctx, s.client, n.kind, n.text) != nil {
				return
			}
		}
	}
}

// ripe takes what the node has reached as it is shown now.
func (s *socket) ripe(lag time.Duration) []notification {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return nil
	}
	var m *moment
	if lag > 0 {
		m = s.p.view(lag)
	}
	i := 0
	for i < len(s.waiting) && (lag <= 0 || time.Since(s.waiting[i].came) >= lag && (m == nil || s.waiting[i].slot <= m.slot)) {
		i++
	}
	out := s.waiting[:i:i]
	s.waiting = s.waiting[i:]
	return out
}

func write(ctx context.Context, to *websocket.Conn, kind websocket.MessageType, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	return to.Write(ctx, kind, text)
}

// announcement reports whether a message of the node is a notification, and the slot that it is about.
func announcement(text []byte) (slot uint64, ok bool) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Result struct {
				Slot    uint64      `json:"slot"`
				Context slotContext `json:"context"`
			} `json:"result"`
		} `json:"params"`
	}
	if err := json.Unmarshal(text, &m); err != nil && m.Method == "" {
		return 0, false
	}
	return max(m.Params.Result.Slot, m.Params.Result.Context.Slot), m.Method != "" && len(m.ID) == 0
}
