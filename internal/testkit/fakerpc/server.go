// Package fakerpc is a scripted Solana JSON-RPC and WebSocket server for tests.
package fakerpc

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/gantry-market/gantry/internal/upgrade"
)

// Error is a JSON-RPC error.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Genesis is the hash of the cluster to which a server belongs unless the test says otherwise.
const Genesis = "GantryTestC1usterxxxxxxxxxxxxxxxxxxxxxxxxxx1"

// Handler answers a method.
type Handler func(params []json.RawMessage) (any, *Error)

// Server is the fake node. HTTP and WebSocket share one address.
type Server struct {
	http *httptest.Server

	mu       sync.Mutex
	handlers map[string]Handler
	verbatim map[string]string
	streams  map[string]func(w io.Writer, id string) error
	calls    map[string]int
	down     bool
	busy     string
	next     uint64
	conns    map[*wsConn]bool
}

type wsConn struct {
	conn *websocket.Conn
	subs map[uint64]string
}

type request struct {
	ID     any               `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s := &Server{handlers: map[string]Handler{}, verbatim: map[string]string{}, streams: map[string]func(io.Writer, string) error{}, calls: map[string]int{}, conns: map[*wsConn]bool{}}
	s.Answer("getGenesisHash", Genesis)
	s.http = httptest.NewServer(s)
	t.Cleanup(func() { s.DropWS(); s.http.Close() })
	return s
}

// URL returns the HTTP address.
func (s *Server) URL() string { return s.http.URL }

// WS returns the WebSocket address.
func (s *Server) WS() string { return strings.Replace(s.http.URL, "http", "ws", 1) }

// Handle sets the answer to a method.
func (s *Server) Handle(method string, h Handler) {
	s.mu.Lock()
	s.handlers[method] = h
	s.mu.Unlock()
}

// Answer sets a constant answer to a method.
func (s *Server) Answer(method string, v any) {
	s.Handle(method, func([]json.RawMessage) (any, *Error) { return v, nil })
}

// Verbatim answers a method with this body, as no node does; $id stands for the question's id. An empty one ends that.
func (s *Server) Verbatim(method, body string) {
	s.mu.Lock()
	s.verbatim[method] = body
	s.mu.Unlock()
}

// Stream answers a method with what a function writes, so that nobody holds all of a long answer. It gets the question's id, and an
// error of the writer when the client reads no more.
func (s *Server) Stream(method string, write func(w io.Writer, id string) error) {
	s.mu.Lock()
	s.streams[method] = write
	s.mu.Unlock()
}

// Calls returns how often a method was called.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Down makes the server answer nothing, and end its WebSockets, or come back.
func (s *Server) Down(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
	if down {
		s.DropWS()
	}
}

// Busy answers each question with HTTP status 429 and this Retry-After. An empty one ends that.
func (s *Server) Busy(after string) {
	s.mu.Lock()
	s.busy = after
	s.mu.Unlock()
}

// DropWS breaks all WebSocket connections.
func (s *Server) DropWS() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.conn.CloseNow()
		delete(s.conns, c)
	}
}

// Subscribers returns how many subscriptions of a method are open.
func (s *Server) Subscribers(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for c := range s.conns {
		for _, m := range c.subs {
			if m == method {
				n++
			}
		}
	}
	return n
}

// Notify sends a notification to every subscription of a method.
func (s *Server) Notify(method string, result any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		for id, m := range c.subs {
			if m == method {
				c.write(map[string]any{"jsonrpc": "2.0", "method": "notification", "params": map[string]any{"subscription": id, "result": result}})
			}
		}
	}
}

func (c *wsConn) write(v any) {
	_ = wsjson.Write(context.Background(), c.conn, v) // until the connection is closed
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	if upgrade.Wanted(r) {
		s.serveWS(w, r)
		return
	}
	var req request
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	body, busy, stream := s.verbatim[req.Method], s.busy, s.streams[req.Method]
	if body != "" || busy != "" || stream != nil {
		s.calls[req.Method]++
	}
	s.mu.Unlock()
	if busy != "" {
		w.Header().Set("Retry-After", busy)
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","error":{"code":429,"message":"Too many requests"},"id":null}`))
		return
	}
	id, _ := json.Marshal(req.ID)
	if stream != nil {
		_ = stream(w, string(id)) // until the client reads no more
		return
	}
	if body != "" {
		_, _ = w.Write([]byte(strings.ReplaceAll(body, "$id", string(id))))
		return
	}
	_ = json.NewEncoder(w).Encode(s.answer(req))
}

func (s *Server) answer(req request) map[string]any {
	s.mu.Lock()
	s.calls[req.Method]++
	h := s.handlers[req.Method]
	s.mu.Unlock()
	out := map[string]any{"jsonrpc": "2.0", "id": req.ID}
	if h == nil {
		out["error"] = &Error{Code: -32601, Message: "Method not found"}
		return out
	}
	v, e := h(req.Params)
	if e != nil {
		out["error"] = e
	} else {
		out["result"] = v
	}
	return out
}

func (s *Server) serveWS(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	ctx := context.WithoutCancel(r.Context()) // the request's ends with the upgrade
	c := &wsConn{conn: conn, subs: map[uint64]string{}}
	s.mu.Lock()
	s.conns[c] = true
	s.mu.Unlock()
	for {
		var req request
		if err := wsjson.Read(ctx, conn, &req); err != nil {
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
			_ = conn.CloseNow()
			return
		}
		s.mu.Lock()
		_, refused := s.handlers["refuse:"+req.Method]
		if refused {
			s.mu.Unlock()
			c.write(map[string]any{"jsonrpc": "2.0", "id": req.ID, "error": &Error{Code: -32601, Message: "Method not found"}})
			continue
		}
		s.calls[req.Method]++
		if strings.HasSuffix(req.Method, "Unsubscribe") {
			var id uint64
			if len(req.Params) > 0 && json.Unmarshal(req.Params[0], &id) == nil {
				delete(c.subs, id)
			}
			s.mu.Unlock()
			c.write(map[string]any{"jsonrpc": "2.0", "id": req.ID, "result": true})
			continue
		}
		s.next++
		id := s.next
		// The answer goes out before the subscription can be notified.
		c.write(map[string]any{"jsonrpc": "2.0", "id": req.ID, "result": id})
		c.subs[id] = req.Method
		s.mu.Unlock()
	}
}

// HandlerOf returns the handler of a method.
func (s *Server) HandlerOf(method string) Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handlers[method]
}
