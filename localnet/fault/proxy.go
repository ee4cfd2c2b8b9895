package fault

import (
	"bytes"
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
)

// maxBody bounds a request, bytes; transactions are far smaller.
const maxBody = 4 << 20

// Proxy passes JSON-RPC requests on to one node. Its methods may be called from several goroutines.
type Proxy struct {
	target string
	addr   string
	server *http.Server
	client *http.Client
	wg     sync.WaitGroup

	mu     sync.Mutex
	faults Faults
	counts Counts
	oldest json.RawMessage // result of the first request for a blockhash
}

// StartProxy listens on a free port of the loopback interface and passes requests on to target, a URL.
func StartProxy(ctx context.Context, target string) (*Proxy, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	p := &Proxy{target: target, addr: l.Addr().String(), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: 10 * time.Second}
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		_ = p.server.Serve(l) // ends with Close
	}()
	return p, nil
}

// Addr is host:port; it stays the same.
func (p *Proxy) Addr() string { return p.addr }

// Set replaces the faults from now on.
func (p *Proxy) Set(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
}

// Counts is what happened so far.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Close ends the proxy and every request that hangs in it.
func (p *Proxy) Close() {
	_ = p.server.Close()
	p.wg.Wait()
	p.client.CloseIdleConnections()
}

// request is the part of a JSON-RPC request that matters here.
type request struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return
	}
	var req request
	_ = json.Unmarshal(body, &req) // a batch or junk is passed on as it is
	f, draw := p.begin()
	if !wait(r.Context(), time.Duration(rand.Float64()*float64(f.Delay))) {
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
	default:
		p.pass(w, r, req, body, f, draw)
	}
}

// begin counts a request and returns the faults of the moment and how to draw one.
func (p *Proxy) begin() (Faults, func(float64, func(*Counts)) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Requests++
	return p.faults, func(share float64, count func(*Counts)) bool {
		if share <= 0 || rand.Float64() >= share {
			return false
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		count(&p.counts)
		return true
	}
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

func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, req request, body []byte, f Faults, draw func(float64, func(*Counts)) bool) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, p.target, bytes.NewReader(body))
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	out.Header.Set("Content-Type", "application/json")
	res, err := p.client.Do(out)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			w.WriteHeader(http.StatusBadGateway)
		}
		return
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if req.Method == "getLatestBlockhash" {
		if old := p.blockhash(text); len(old) > 0 && draw(f.Old, func(c *Counts) { c.Old++ }) {
			answer(w, req, old)
			return
		}
	}
	if req.Method == "getProgramAccounts" && draw(f.Empty, func(c *Counts) { c.Empty++ }) {
		answer(w, req, empty(text))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if draw(f.Cut, func(c *Counts) { c.Cut++ }) {
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		text = text[:len(text)/2]
	}
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(text)
}

// blockhash keeps the first answer for a blockhash and returns it.
func (p *Proxy) blockhash(text []byte) json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.oldest) == 0 {
		var a struct {
			Result json.RawMessage `json:"result"`
		}
		if json.Unmarshal(text, &a) == nil && strings.Contains(string(a.Result), "blockhash") {
			p.oldest = a.Result
		}
	}
	return p.oldest
}

// empty is the result of a list without its accounts: with the slot of the real one, or null where that has none. One
// in sixteen is null all the same.
func empty(text []byte) any {
	var a struct {
		Result struct {
			Context json.RawMessage `json:"context"`
		} `json:"result"`
	}
	if json.Unmarshal(text, &a) != nil || len(a.Result.Context) == 0 || rand.IntN(16) == 0 {
		return nil
	}
	return map[string]any{"context": a.Result.Context, "value": []any{}}
}

func answer(w http.ResponseWriter, req request, result any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": req.ID, "result": result})
}

func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
