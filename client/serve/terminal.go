package serve

import (
	"context"
	"errors"
	"net/http"

	"github.com/gantry-market/gantry/internal/socket"
)

// terminalProtocol is that of a terminal's WebSocket.
const terminalProtocol = "gantry.terminal"

// terminal answers a page that opens a shell in the container of a lease.
func (s *Server) terminal(w http.ResponseWriter, r *http.Request) {
	id, a, ws := s.accept(w, r, opTerminal, terminalProtocol, writeWithin)
	if ws == nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	ctx, done, err := s.streams.open(r.Context())
	if err != nil {
		endSocket(ws, ending{}, err)
		return
	}
	defer done()
	socket.Terminal(ctx, ws, func(ctx context.Context, screen socket.Screen) error { return a.Machines.Terminal(ctx, id, screen) }, func(err error) {
		if errors.Is(err, socket.ErrNoSize) {
			err = problem(http.StatusBadRequest, err.Error(), "load the page anew")
		}
		endSocket(ws, ending{}, failed(err))
	})
}
