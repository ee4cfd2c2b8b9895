package socket

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/coder/websocket"
)

// maxColumns and maxRows bound a screen.
const maxColumns, maxRows = 500, 300

// ErrNoSize: the first message of a terminal is not the size of its screen.
var ErrNoSize = errors.New("a terminal begins with the size of its screen")

// Screen is the other end of a shell in a terminal.
type Screen struct {
	In  io.Reader
	Out io.Writer
	// Size is the screen's at the beginning, and Resized has every size after that.
	Size    Size
	Resized <-chan Size
}

// Size is that of a screen, in characters.
type Size struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
}

func (s Size) valid() bool {
	return s.Columns > 0 && s.Rows > 0 && s.Columns <= maxColumns && s.Rows <= maxRows
}

// Terminal lets a client use a shell: binary messages are what is typed and shown, text messages are the size of the screen, first of
// all. The context of run and the call of end are as in Exec.
func Terminal(ctx context.Context, s *Socket, run func(context.Context, Screen) error, end func(error)) {
	ctx, gone := context.WithCancel(ctx)
	defer gone()
	in, typed := io.Pipe()
	resized := make(chan Size, 1)
	screen := Screen{In: in, Out: shown{s}, Resized: resized}
	var err error
	if screen.Size, err = s.size(ctx); err != nil {
		end(err)
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.typed(ctx, typed, resized); gone() })
	wg.Go(func() { s.Attend(ctx); gone() })
	err = run(ctx, screen)
	if ctx.Err() == nil {
		end(err)
	}
	gone()
	_ = in.CloseWithError(io.ErrClosedPipe)
	_ = s.CloseNow()
	wg.Wait()
}

// shown is what a terminal shows.
type shown struct{ s *Socket }

func (o shown) Write(b []byte) (int, error) {
	if err := o.s.Send(websocket.MessageBinary, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// size waits for the size of the screen.
func (s *Socket) size(ctx context.Context) (size Size, err error) {
	ctx, cancel := context.WithTimeout(ctx, Silence)
	defer cancel()
	s.SetReadLimit(maxInput)
	kind, raw, err := s.Read(ctx)
	if err != nil || kind != websocket.MessageText || json.Unmarshal(raw, &size) != nil || !size.valid() {
		return size, ErrNoSize
	}
	return size, nil
}

// typed passes on what comes, until the client is gone.
func (s *Socket) typed(ctx context.Context, typed *io.PipeWriter, resized chan Size) {
	defer func() { _ = typed.Close() }()
	for {
		kind, raw, err := s.Read(ctx)
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
		if json.Unmarshal(raw, &size) != nil || !size.valid() {
			continue
		}
		select { // the newest counts
		case <-resized:
		default:
		}
		resized <- size
	}
}
