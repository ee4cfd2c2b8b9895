package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/internal/socket"
)

const (
	apiLeasesPath = "/v1/leases/"
	execSuffix    = "/exec"
	// execProtocol is that of a command's WebSocket.
	execProtocol = "gantry.exec"
	// maxLine is how long a command may be as a line of the container's shell, bytes. Linux takes 128 KiB.
	maxLine = 96 << 10
)

// exec answers a client that runs a command in the container of a lease.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	id, a, ws := s.accept(w, r, opExec, execProtocol, socket.Silence)
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
	socket.Exec(ctx, ws, func(ctx context.Context, c socket.Command) (int, error) {
		if p := runnable(c.Args); p != nil {
			return 0, p
		}
		return a.Machines.Exec(ctx, id, c)
	}, func(exitCode int, err error) {
		switch {
		case errors.Is(err, socket.ErrNoCommand):
			endSocket(ws, ending{}, problem(http.StatusBadRequest, err.Error(), `begin with a text such as {"command": ["nvidia-smi"], "stdin": false}`))
		case err != nil:
			endSocket(ws, ending{}, failed(err))
		default:
			endSocket(ws, ending{ExitCode: &exitCode}, nil)
		}
	})
}

// runnable says why a command cannot be brought to a container; nil when it can.
func runnable(command []string) *Problem {
	if strings.ContainsRune(strings.Join(command, ""), 0) {
		return problem(http.StatusBadRequest, "the command has a byte 0, which ends an argument", "put such data into a file or the input")
	}
	if n := len(container.Quote(command)); n > maxLine {
		return problem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the command has %d bytes as a line of a shell, and at most %d are taken", n, maxLine),
			"put it into a file of the container, or into the input of sh -s")
	}
	return nil
}
