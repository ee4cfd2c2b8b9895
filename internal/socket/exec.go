package socket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/coder/websocket"
)

const (
	// maxRequest is how large the first message may be, bytes, and maxInput each one behind it.
	maxRequest, maxInput = 1 << 20, 64 << 10
	// maxShown is how much output is in a message, bytes.
	maxShown = 16 << 10
)

// Outputs of a command: the first byte of a message.
const (
	Stdout = 1
	Stderr = 2
)

// ErrNoCommand: the first message of a client names no command.
var ErrNoCommand = errors.New("the first message names no command")

// Command runs in a container.
type Command struct {
	Args []string
	// In is nil for an empty input.
	In       io.Reader
	Out, Err io.Writer
}

// Request is the first message of a client.
type Request struct {
	Command []string `json:"command"`
	Stdin   bool     `json:"stdin"`
}

// Exec lets a client run a command: its first message is a Request, binary ones are the input, and {"eof": true} ends that. The client
// gets the outputs, each message behind the number of its output. The context of run ends when the client is gone, or ctx does.
// Otherwise end is called in the end, with how run has ended or with ErrNoCommand, and may send a last message.
func Exec(ctx context.Context, s *Socket, run func(context.Context, Command) (exitCode int, err error), end func(exitCode int, err error)) {
	ctx, gone := context.WithCancel(ctx)
	defer gone()
	req, err := s.request(ctx)
	if err != nil {
		end(0, err)
		return
	}
	in, given := io.Pipe()
	c := Command{Args: req.Command, Out: output{s, Stdout}, Err: output{s, Stderr}}
	if req.Stdin {
		c.In = in
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.feed(ctx, given, req.Stdin); gone() })
	wg.Go(func() { s.Attend(ctx); gone() })
	code, err := run(ctx, c)
	there := ctx.Err() == nil
	_ = in.CloseWithError(io.ErrClosedPipe) // what else comes is left
	if there {
		end(code, err)
	}
	gone()
	_ = s.CloseNow()
	wg.Wait()
}

// request waits for the first message.
func (s *Socket) request(ctx context.Context) (req Request, err error) {
	ctx, cancel := context.WithTimeout(ctx, Silence)
	defer cancel()
	s.SetReadLimit(maxRequest)
	defer s.SetReadLimit(maxInput)
	kind, raw, err := s.Read(ctx)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err != nil || kind != websocket.MessageText || d.Decode(&req) != nil || len(req.Command) == 0 {
		return req, ErrNoCommand
	}
	return req, nil
}

// feed passes the input on until the client is gone.
func (s *Socket) feed(ctx context.Context, in *io.PipeWriter, stdin bool) {
	left := false // nobody reads it any more
	for {
		kind, raw, err := s.Read(ctx)
		if err != nil {
			return
		}
		s.hear()
		var said struct {
			EOF bool `json:"eof"`
		}
		switch {
		case kind == websocket.MessageBinary && !stdin:
			_ = s.Close(websocket.StatusPolicyViolation, `the command has no input: begin with "stdin": true`)
			return
		case kind == websocket.MessageBinary && left:
		case kind == websocket.MessageBinary:
			s.busy.Store(true)
			_, err := in.Write(raw)
			s.hear()
			s.busy.Store(false)
			left = errors.Is(err, io.ErrClosedPipe)
		case json.Unmarshal(raw, &said) == nil && said.EOF:
			_ = in.Close()
			left = true
		}
	}
}

// output is one of a command's.
type output struct {
	s      *Socket
	number byte
}

// Write sends it in pieces.
func (o output) Write(b []byte) (n int, err error) {
	for n < len(b) {
		part := b[n:min(n+maxShown, len(b))]
		if err := o.s.Send(websocket.MessageBinary, append([]byte{o.number}, part...)); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}
