package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/gantry-market/gantry/client/container"
)

const (
	apiLeasesPath = "/v1/leases/"
	execSuffix    = "/exec"
	// execProtocol is that of a command's WebSocket.
	execProtocol = "gantry.exec"
	// maxLine is how long a command may be as a line of the container's shell, bytes. Linux takes 128 KiB.
	maxLine = 96 << 10
	// maxRequest is how large the message may be that names it, bytes, and maxShown each one of its output.
	maxRequest, maxShown = 1 << 20, 16 << 10
)

// Outputs of a command: the first byte of a message.
const (
	channelStdout = 1
	channelStderr = 2
)

// Command runs in a container.
type Command struct {
	Args []string
	// In is nil for an empty input.
	In       io.Reader
	Out, Err io.Writer
}

// execRequest is the first message of a client.
type execRequest struct {
	Command []string `json:"command"`
	Stdin   bool     `json:"stdin"`
}

// execInput is what a client says about the input later.
type execInput struct {
	EOF bool `json:"eof"`
}

// exec answers a client that runs a command: its first message names the command, binary ones are its input. Those of the server are
// output, each behind the number of its channel, and the last one says how the command has ended.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	id, a, ws := s.accept(w, r, opExec, execProtocol, silence)
	if ws == nil {
		return
	}
	defer func() { _ = ws.conn.CloseNow() }()
	ctx, done, err := s.streams.open(r.Context())
	if err != nil {
		ws.end(ending{}, err)
		return
	}
	defer done()
	req, err := ws.command(ctx)
	if err != nil {
		ws.end(ending{}, err)
		return
	}
	in, given := io.Pipe()
	cmd := Command{Args: req.Command, Out: output{ws, channelStdout}, Err: output{ws, channelStderr}}
	if req.Stdin {
		cmd.In = in
	}
	var wg sync.WaitGroup
	wg.Go(func() { ws.feed(ctx, given, req.Stdin); done() })
	wg.Go(func() { ws.ping(ctx, beat, silence); done() })
	code, err := a.Machines.Exec(ctx, id, cmd)
	there := ctx.Err() == nil
	_ = in.CloseWithError(io.ErrClosedPipe) // what else comes is left
	switch {
	case there && err == nil:
		ws.end(ending{ExitCode: &code}, nil)
	case there:
		ws.end(ending{}, failed(err))
	}
	done()
	_ = ws.conn.CloseNow()
	wg.Wait()
}

// command waits for the first message.
func (c *socket) command(ctx context.Context) (execRequest, error) {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	c.conn.SetReadLimit(maxRequest)
	defer c.conn.SetReadLimit(maxTyped)
	kind, raw, err := c.conn.Read(ctx)
	var req execRequest
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err != nil || kind != websocket.MessageText || d.Decode(&req) != nil || len(req.Command) == 0 {
		return req, problem(http.StatusBadRequest, "the first message names no command", `begin with a text such as {"command": ["nvidia-smi"], "stdin": false}`)
	}
	if strings.ContainsRune(strings.Join(req.Command, ""), 0) {
		return req, problem(http.StatusBadRequest, "the command has a byte 0, which ends an argument", "put such data into a file or the input")
	}
	if n := len(container.Quote(req.Command)); n > maxLine {
		return req, problem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the command has %d bytes as a line of a shell, and at most %d are taken", n, maxLine),
			"put it into a file of the container, or into the input of sh -s")
	}
	return req, nil
}

// feed passes the input on until the client is gone.
func (c *socket) feed(ctx context.Context, in *io.PipeWriter, stdin bool) {
	left := false // nobody reads it any more
	for {
		kind, raw, err := c.conn.Read(ctx)
		if err != nil {
			return
		}
		c.hear()
		var said execInput
		switch {
		case kind == websocket.MessageBinary && !stdin:
			_ = c.conn.Close(websocket.StatusPolicyViolation, `the command has no input: begin with "stdin": true`)
			return
		case kind == websocket.MessageBinary && left:
		case kind == websocket.MessageBinary:
			c.busy.Store(true)
			_, err := in.Write(raw)
			c.hear()
			c.busy.Store(false)
			left = errors.Is(err, io.ErrClosedPipe)
		case json.Unmarshal(raw, &said) == nil && said.EOF:
			_ = in.Close()
			left = true
		}
	}
}

// output is one of a command's.
type output struct {
	c       *socket
	channel byte
}

// Write shows bytes.
func (o output) Write(b []byte) (n int, err error) {
	for n < len(b) {
		part := b[n:min(n+maxShown, len(b))]
		if err := o.c.send(websocket.MessageBinary, append([]byte{o.channel}, part...)); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}
