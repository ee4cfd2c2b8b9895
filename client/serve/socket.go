package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/upgrade"
)

const (
	// bearerProtocol begins the second protocol that a client of a WebSocket names, which carries its token: a browser sends no
	// header of the page's with a WebSocket.
	bearerProtocol = "gantry.bearer."
	// maxTyped is how much may come at once, bytes.
	maxTyped = 64 << 10
	// silence is how long a client may not answer before its terminal or its command is ended.
	silence = 60 * time.Second
)

// isSocket reports whether a request opens a WebSocket: a terminal, or a command.
func isSocket(r *http.Request) bool {
	path := r.URL.Path
	return (strings.HasPrefix(path, leasesPath) && strings.HasSuffix(path, "/terminal") || strings.HasPrefix(path, apiLeasesPath) && strings.HasSuffix(path, execSuffix)) &&
		upgrade.Wanted(r)
}

// tokenOf is the token of a request.
func tokenOf(r *http.Request) (token string, ok bool) {
	if isSocket(r) {
		for _, p := range upgrade.Protocols(r) {
			if token, ok = strings.CutPrefix(p, bearerProtocol); ok {
				return token, true
			}
		}
	}
	if key := r.Header.Get(apiKey); key != "" && r.URL.Path == SponsorPath {
		return key, true
	}
	token, ok = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return strings.TrimSpace(token), ok
}

// socket is a WebSocket into the container of a lease.
type socket struct {
	conn *websocket.Conn
	// slow is how long the client may take to read a message.
	slow time.Duration
	// heard is when the client was there last, unix nanoseconds; busy while what it has sent waits for the container, so that no
	// answer of it is read.
	heard atomic.Int64
	busy  atomic.Bool
}

// entered is the lease of a request that enters its container, and who does.
func (s *Server) entered(r *http.Request, operation string) (solana.PublicKey, Actor, error) {
	id, err := address(r.PathValue("id"))
	if err != nil {
		return id, Actor{}, err
	}
	c, _ := callerOf(r.Context())
	if p := permitted(c, operation); p != nil {
		return id, Actor{}, p
	}
	a, err := s.actorOf(r.Context(), id, false)
	if err == nil && a.Machines == nil {
		err = problem(http.StatusServiceUnavailable, "this server does not reach machines", "use gantry ssh or gantry exec")
	}
	return id, a, err
}

// accept opens the WebSocket of a request that enters the container of a lease. Nil: it has answered why not.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, operation, protocol string, slow time.Duration) (solana.PublicKey, Actor, *socket) {
	id, a, err := s.entered(r, operation)
	if err != nil {
		var p *Problem
		if errors.As(err, &p) {
			p.write(w)
		}
		return id, a, nil
	}
	if !upgrade.Wanted(r) {
		w.Header().Set("Upgrade", "websocket")
		problem(http.StatusUpgradeRequired, "this is asked with a WebSocket", "open one with the protocol "+protocol).write(w)
		return id, a, nil
	}
	// The guard has compared the origin.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{protocol}, InsecureSkipVerify: true})
	if err != nil {
		return id, a, nil // it has answered
	}
	conn.SetReadLimit(maxTyped)
	c := &socket{conn: conn, slow: slow}
	c.hear()
	return id, a, c
}

func (c *socket) hear() { c.heard.Store(time.Now().UnixNano()) }

// send may take a while after what ran has ended: its last message is still to come.
func (c *socket) send(kind websocket.MessageType, raw []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.slow)
	defer cancel()
	return c.conn.Write(ctx, kind, raw)
}

// ping asks the client every so often whether it is there, until nothing was heard of it for a time or ctx ends.
func (c *socket) ping(ctx context.Context, every, silence time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		wait, cancel := context.WithTimeout(ctx, every)
		err := c.conn.Ping(wait)
		cancel()
		switch {
		case err == nil:
			c.hear()
		case !errors.Is(err, context.DeadlineExceeded): // it is gone, or ctx has ended
			return
		case !c.busy.Load() && time.Since(time.Unix(0, c.heard.Load())) >= silence:
			return
		}
	}
}

// ending is the last message of a WebSocket.
type ending struct {
	Ended    bool     `json:"ended"`
	ExitCode *int     `json:"exitCode,omitempty"`
	Problem  *Problem `json:"problem,omitempty"`
}

// end says how it has ended.
func (c *socket) end(e ending, err error) {
	e.Ended = true
	errors.As(err, &e.Problem)
	if raw, err := json.Marshal(e); err == nil {
		_ = c.send(websocket.MessageText, raw) // a client that is gone does not read it
	}
	_ = c.conn.Close(websocket.StatusNormalClosure, "")
}
