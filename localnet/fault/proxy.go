package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/upgrade"
	"github.com/gantry-market/gantry/internal/wait"
)

// maxBody bounds a request, bytes; transactions are far smaller.
const maxBody = 4 << 20

// Node is what a Proxy stands before. Only RPC is required.
type Node struct {
	// RPC and WS are its URLs. Without WS no WebSocket is accepted.
	RPC, WS string
	// Past is what it showed before; Faults.Lag needs it. The caller closes it after the proxy.
	Past *History
}

// Proxy passes JSON-RPC requests on to one node, and WebSockets where it is told of that port, both at its one address.
// Its methods may be called from several goroutines.
type Proxy struct {
	node   Node
	up     *upstream
	addr   string
	server *http.Server
	ended  chan struct{} // closed by Close
	wg     sync.WaitGroup
	seed   uint64 // of the slots at which it disagrees

	mu     sync.Mutex
	faults Faults
	counts Counts
	oldest json.RawMessage // result of the first request for a blockhash
	shown  *moment         // the newest that was shown while the node seemed to be behind
	closed bool
}

// StartProxy listens on a free port of the loopback interface and passes requests on to target, a URL.
func StartProxy(ctx context.Context, target string) (*Proxy, error) {
	return StartProxyOf(ctx, Node{RPC: target})
}

// StartProxyOf does so for a node with its WebSockets, or with its past.
func StartProxyOf(ctx context.Context, n Node) (*Proxy, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	p := &Proxy{node: n, up: newUpstream(n.RPC), addr: l.Addr().String(), ended: make(chan struct{}), seed: rand.Uint64()}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: 10 * time.Second}
	p.wg.Go(func() { _ = p.server.Serve(l) }) // ends with Close
	return p, nil
}

// Addr is host:port; it stays the same.
func (p *Proxy) Addr() string { return p.addr }

// Set replaces the faults from now on.
func (p *Proxy) Set(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.Lag > 0 && p.faults.Lag <= 0 && p.node.Past != nil {
		p.shown = p.node.Past.at(time.Now()) // it falls behind from here on
	}
	p.faults = f
}

// Faults are those of the moment.
func (p *Proxy) Faults() Faults {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults
}

// Counts is what happened so far.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Close ends the proxy, every request that hangs in it, and every WebSocket.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	close(p.ended)
	_ = p.server.Close()
	p.wg.Wait()
	p.up.close()
}

// enter has Close wait for a WebSocket, for which the server does not; false when the proxy has been closed.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.wg.Add(1)
	}
	return !p.closed
}

// request is the part of a JSON-RPC request that matters here.
type request struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

// lot draws whether a fault of a share happens, and counts it.
type lot func(share float64, count func(*Counts)) bool

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if upgrade.Wanted(r) {
		p.serveWS(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return
	}
	var req request
	_ = json.Unmarshal(body, &req) // a batch or junk is passed on as it is
	f, draw := p.begin()
	if wait.For(r.Context(), time.Duration(rand.Float64()*float64(f.Delay))) != nil {
		return
	}
	switch {
	case draw(f.Hang, func(c *Counts) { c.Hung++ }):
		<-r.Context().Done()
	case draw(f.Refuse, func(c *Counts) { c.Refused++ }):
		w.WriteHeader([]int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[rand.IntN(2)])
	case req.Method == "sendTransaction" && draw(f.Lose, func(c *Counts) { c.Lost++ }):
		p.lose(w, req)
	case req.Method == "getRecentPrioritizationFees" && f.Fee > 0:
		draw(1, func(c *Counts) { c.Fees++ })
		answer(w, req, []map[string]uint64{{"slot": 1, "prioritizationFee": f.Fee}})
	case draw(f.Bomb, func(c *Counts) { c.Bombs++ }):
		bomb(w, req)
	case nullable[req.Method] && draw(f.Null, func(c *Counts) { c.Nulled++ }):
		answer(w, req, nil)
	default:
		p.pass(w, r, req, body, f, draw)
	}
}

// nullable are the reads that Faults.Null is about.
var nullable = map[string]bool{
	"getProgramAccounts": true, "getMultipleAccounts": true, "getAccountInfo": true, "getBalance": true,
	"getSlot": true, "getBlockHeight": true, "getLatestBlockhash": true,
}

// begin counts a request and returns the faults of the moment and how to draw one.
func (p *Proxy) begin() (Faults, lot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Requests++
	return p.faults, func(share float64, count func(*Counts)) bool {
		if share <= 0 || rand.Float64() >= share {
			return false
		}
		p.count(count)
		return true
	}
}

func (p *Proxy) count(f func(*Counts)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.counts)
}

// lose answers a transaction as a node does that has taken it.
func (p *Proxy) lose(w http.ResponseWriter, req request) {
	var raw string
	if len(req.Params) == 0 || json.Unmarshal(req.Params[0], &raw) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	tx, err := solana.TransactionFromBase64(raw)
	if err != nil || len(tx.Signatures) == 0 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer(w, req, tx.Signatures[0])
}

// pass answers as the node does, or as it did a time ago, and spoils the answer.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, req request, body []byte, f Faults, draw lot) {
	status, text, err := p.ask(r, req, body, f)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			w.WriteHeader(http.StatusBadGateway)
		}
		return
	}
	switch req.Method {
	case "getLatestBlockhash":
		if old := p.blockhash(text); len(old) > 0 && draw(f.Old, func(c *Counts) { c.Old++ }) {
			answer(w, req, old)
			return
		}
	case "getProgramAccounts":
		if empty, ok := emptied(text); ok && draw(f.Empty, func(c *Counts) { c.Emptied++ }) {
			answer(w, req, empty)
			return
		}
	case "getBlock", "getBlockTime":
		if f.Disagree > 0 {
			text = p.disagree(req, text, f.Disagree)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if draw(f.Cut, func(c *Counts) { c.Cut++ }) {
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		text = text[:len(text)/2]
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// ask gets the node's answer.
func (p *Proxy) ask(r *http.Request, req request, body []byte, f Faults) (status int, text []byte, err error) {
	if f.Lag > 0 && !timeless[req.Method] {
		text, err = p.past(r.Context(), req, f.Lag)
		return http.StatusOK, text, err
	}
	res, err := p.up.post(r.Context(), r.Method, body)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	return res.StatusCode, text, err
}

// blockhash keeps the first answer for a blockhash and returns it.
func (p *Proxy) blockhash(text []byte) json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.oldest) == 0 {
		if result := resultOf(text); strings.Contains(string(result), "blockhash") {
			p.oldest = result
		}
	}
	return p.oldest
}

// emptied is the result of getProgramAccounts without the accounts; ok is false for a refusal.
func emptied(text []byte) (result any, ok bool) {
	raw := resultOf(text)
	var with struct {
		Context json.RawMessage `json:"context"`
	}
	switch {
	case len(raw) == 0:
		return nil, false
	case json.Unmarshal(raw, &with) == nil && len(with.Context) > 0:
		return map[string]any{"context": with.Context, "value": []any{}}, true
	default:
		return []any{}, true
	}
}

// resultOf is the result in an answer, empty for a refusal.
func resultOf(text []byte) json.RawMessage {
	var a struct {
		Result json.RawMessage `json:"result"`
	}
	_ = json.Unmarshal(text, &a) // a broken answer has none
	return a.Result
}

func answer(w http.ResponseWriter, req request, result any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": req.ID, "result": result})
}
