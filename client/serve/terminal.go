package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/internal/upgrade"
)

const (
	// terminalProtocol is the WebSocket's, and bearerProtocol begins the second one that a page names, which carries its token: a browser
	// sends no header of the page's with a WebSocket.
	terminalProtocol = "gantry.terminal"
	bearerProtocol   = "gantry.bearer."
	// maxTyped is how much may come at once, bytes.
	maxTyped = 64 << 10
	// maxColumns and maxRows bound a screen.
	maxColumns, maxRows = 500, 300
	// silence is how long a page may not answer before its terminal is closed.
	silence = 60 * time.Second
)

// Terminal is a screen with a keyboard.
type Terminal = container.Screen

// Size is that of a screen, in characters.
type Size = container.Size

func valid(s Size) bool {
	return s.Columns > 0 && s.Rows > 0 && s.Columns <= maxColumns && s.Rows <= maxRows
}

// isTerminal reports whether a request opens a terminal.
func isTerminal(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, leasesPath) && strings.HasSuffix(r.URL.Path, "/terminal") && upgrade.Wanted(r)
}

// tokenOf is the token of a request.
func tokenOf(r *http.Request) (token string, ok bool) {
	if isTerminal(r) {
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

// ending is the last message of a terminal.
type ending struct {
	Ended   bool     `json:"ended"`
	Problem *Problem `json:"problem,omitempty"`
}

// terminalOf is the lease of a request for a terminal, and who enters it.
func (s *Server) terminalOf(r *http.Request) (solana.PublicKey, Actor, error) {
	id, err := address(r.PathValue("id"))
	if err != nil {
		return id, Actor{}, err
	}
	c, _ := callerOf(r.Context())
	if p := permitted(c, opTerminal); p != nil {
		return id, Actor{}, p
	}
	a, err := s.actorOf(r.Context(), id, false)
	return id, a, err
}

// terminal answers a page that opens a shell: binary messages are what is typed and shown, text messages are the size of
// the screen, and the last one to the page says how it has ended.
func (s *Server) terminal(w http.ResponseWriter, r *http.Request) {
	id, a, err := s.terminalOf(r)
	if err != nil {
		var p *Problem
		if errors.As(err, &p) {
			p.write(w)
		}
		return
	}
	// The guard has compared the origin.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{terminalProtocol}, InsecureSkipVerify: true})
	if err != nil {
		return // it has answered
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxTyped)
	c := &screen{conn: conn}
	ctx, done, err := s.streams.open(r.Context())
	if err != nil {
		c.end(err)
		return
	}
	defer done()
	in, typed := io.Pipe()
	resized := make(chan Size, 1)
	t := Terminal{In: in, Out: c, Resized: resized}
	if t.Size, err = c.first(ctx); err != nil {
		c.end(err)
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { c.read(ctx, typed, resized); done() })
	wg.Go(func() { c.ping(ctx); done() })
	err = a.Machines.Terminal(ctx, id, t)
	if ctx.Err() == nil {
		c.end(failed(err))
	}
	done()
	_ = in.CloseWithError(io.ErrClosedPipe)
	_ = conn.CloseNow()
	wg.Wait()
}

// screen is the page's end of a terminal.
type screen struct{ conn *websocket.Conn }

// send may take a while after the terminal has ended: its last message is still to come.
func (c *screen) send(kind websocket.MessageType, raw []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeWithin)
	defer cancel()
	return c.conn.Write(ctx, kind, raw)
}

// Write shows bytes.
func (c *screen) Write(b []byte) (int, error) {
	if err := c.send(websocket.MessageBinary, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// first waits for the size of the screen.
func (c *screen) first(ctx context.Context) (Size, error) {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	kind, raw, err := c.conn.Read(ctx)
	var size Size
	if err != nil || kind != websocket.MessageText || json.Unmarshal(raw, &size) != nil || !valid(size) {
		return size, problem(http.StatusBadRequest, "a terminal begins with the size of its screen", "load the page anew")
	}
	return size, nil
}

// read passes on what comes, until the page is gone.
func (c *screen) read(ctx context.Context, typed *io.PipeWriter, resized chan Size) {
	defer func() { _ = typed.Close() }()
	for {
		kind, raw, err := c.conn.Read(ctx)
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			if _, err := typed.Write(raw); err != nil {
				return
			}
			continue
		}
		var size Size
		if json.Unmarshal(raw, &size) != nil || !valid(size) {
			continue
		}
		select { // the newest counts
		case <-resized:
		default:
		}
		resized <- size
	}
}

// ping asks the page again and again whether it is there, until it does not answer or ctx ends.
func (c *screen) ping(ctx context.Context) {
	t := time.NewTicker(beat)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		wait, cancel := context.WithTimeout(ctx, silence)
		err := c.conn.Ping(wait)
		cancel()
		if err != nil {
			return
		}
	}
}

// end says how it has ended.
func (c *screen) end(err error) {
	e := ending{Ended: true}
	errors.As(err, &e.Problem)
	if raw, err := json.Marshal(e); err == nil {
		_ = c.send(websocket.MessageText, raw) // a page that is gone does not read it
	}
	_ = c.conn.Close(websocket.StatusNormalClosure, "")
}
