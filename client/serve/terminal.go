package serve

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/internal/socket"
)

const (
	// terminalProtocol is that of a terminal's WebSocket.
	terminalProtocol = "gantry.terminal"
	// maxColumns and maxRows bound a screen.
	maxColumns, maxRows = 500, 300
)

// Terminal is a screen with a keyboard.
type Terminal = container.Screen

// Size is that of a screen, in characters.
type Size = container.Size

func valid(s Size) bool {
	return s.Columns > 0 && s.Rows > 0 && s.Columns <= maxColumns && s.Rows <= maxRows
}

// terminal answers a page that opens a shell: binary messages are what is typed and shown, text messages are the size of
// the screen, and the last one to the page says how it has ended.
func (s *Server) terminal(w http.ResponseWriter, r *http.Request) {
	id, a, ws := s.accept(w, r, opTerminal, terminalProtocol, writeWithin)
	if ws == nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	c := &screen{ws}
	ctx, done, err := s.streams.open(r.Context())
	if err != nil {
		end(ws, ending{}, err)
		return
	}
	defer done()
	in, typed := io.Pipe()
	resized := make(chan Size, 1)
	t := Terminal{In: in, Out: c, Resized: resized}
	if t.Size, err = c.first(ctx); err != nil {
		end(ws, ending{}, err)
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { c.read(ctx, typed, resized); done() })
	wg.Go(func() { ws.Attend(ctx); done() })
	err = a.Machines.Terminal(ctx, id, t)
	if ctx.Err() == nil {
		end(ws, ending{}, failed(err))
	}
	done()
	_ = in.CloseWithError(io.ErrClosedPipe)
	_ = c.CloseNow()
	wg.Wait()
}

// screen is the page's end of a terminal.
type screen struct{ *socket.Socket }

// Write shows bytes.
func (c *screen) Write(b []byte) (int, error) {
	if err := c.Send(websocket.MessageBinary, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// first waits for the size of the screen.
func (c *screen) first(ctx context.Context) (Size, error) {
	ctx, cancel := context.WithTimeout(ctx, socket.Silence)
	defer cancel()
	kind, raw, err := c.Read(ctx)
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
		kind, raw, err := c.Read(ctx)
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
