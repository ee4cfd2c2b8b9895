package inference

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// maxEvent is how large one event of a stream may be, bytes.
	maxEvent = 1 << 20
	// maxPrime is how much may come before the first token.
	maxPrime = 256 << 10
)

// choice is one of a chunk, or of an answer.
type choice struct {
	Text  string `json:"text"`
	Delta struct {
		Content   string          `json:"content"`
		Reasoning string          `json:"reasoning_content"`
		Refusal   string          `json:"refusal"`
		Tools     json.RawMessage `json:"tool_calls"`
	} `json:"delta"`
	Message struct {
		Content string `json:"content"`
	} `json:"message"`
	Finish *string `json:"finish_reason"`
}

// says reports whether a chunk has something of the answer in it.
func (c *choice) says() bool {
	return c.Text != "" || c.Delta.Content != "" || c.Delta.Reasoning != "" || c.Delta.Refusal != "" || there(c.Delta.Tools)
}

// stream is an answer as server-sent events, which pass one by one. It counts tokens, and leaves out the report of usage that
// the client has not asked for.
type stream struct {
	from    *bufio.Reader
	body    io.Closer
	request *request
	finish  func(t tokens, whole bool)

	buf      []byte // read; what is before off was taken
	off      int
	err      error // behind what was read
	reported *tokens
	pieces   uint64
	started  bool // there was a token, or the end
	ended    bool // the end was there
	open     bool // the answer is whole, and [DONE] has not come
	told     bool // the client was told that there is none
}

func newStream(body io.ReadCloser, r *request, finish func(t tokens, whole bool)) *stream {
	return &stream{from: bufio.NewReaderSize(body, 4<<10), body: body, request: r, finish: finish}
}

// prime reads until the first token. An error means that nothing of the answer has come.
func (s *stream) prime() error {
	for !s.started && len(s.buf) < maxPrime && s.err == nil {
		s.next()
	}
	switch {
	case s.started || s.err == nil:
		return nil
	case errors.Is(s.err, io.EOF):
		return fmt.Errorf("its stream ended before the first token: %w", io.ErrUnexpectedEOF)
	}
	return s.err
}

// Read implements io.Reader. A stream that breaks ends with an error event, by which clients know that the answer is not whole. One that
// breaks behind the whole answer ends as the replica would have ended it.
func (s *stream) Read(p []byte) (int, error) {
	for s.off == len(s.buf) && s.err == nil {
		s.buf, s.off = s.buf[:0], 0
		s.next()
	}
	if s.off == len(s.buf) && !s.ended && !s.told {
		s.told = true
		e := &apiError{Message: "the replica broke off in the middle of its answer", Type: "server_error", Code: "replica_lost"}
		s.buf, s.off = s.request.dialect.lost(s.buf[:0], e), 0
	}
	if s.off == len(s.buf) && s.open {
		s.open = false
		s.buf, s.off = append(s.buf[:0], "data: [DONE]\n\n"...), 0
	}
	if s.off == len(s.buf) {
		return 0, io.EOF
	}
	n := copy(p, s.buf[s.off:])
	s.off += n
	return n, nil
}

// next reads one event behind what was read. One that the client has not asked for is left out, and so is a piece of one.
func (s *stream) next() {
	at, begin := len(s.buf), len(s.buf) // of the event, and of its line
	for {
		piece, err := s.from.ReadSlice('\n')
		s.buf = append(s.buf, piece...)
		if len(s.buf)-at > maxEvent {
			err = fmt.Errorf("an event of its stream has more than %d bytes", maxEvent)
		} else if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			s.err = err
			if errors.Is(err, io.EOF) && len(s.buf) > at {
				break // a last event without an empty line behind it
			}
			s.buf = s.buf[:at]
			return
		}
		if len(bytes.TrimRight(s.buf[begin:], "\r\n")) == 0 {
			break
		}
		begin = len(s.buf)
	}
	drop := false
	for line := range bytes.Lines(s.buf[at:]) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			drop = s.data(bytes.TrimSpace(data)) || drop
		}
	}
	if drop {
		s.buf = s.buf[:at]
	}
}

// data looks at what an event says. drop: the client has not asked for it.
func (s *stream) data(raw []byte) (drop bool) {
	if string(raw) == "[DONE]" {
		s.started, s.ended, s.open = true, true, false
		return false
	}
	e := s.request.dialect.read(raw)
	s.pieces += uint64(e.said)
	s.started, s.ended = s.started || e.said > 0 || e.ended, s.ended || e.ended
	s.open = e.whole || s.open && !e.ended // an error behind it is an end
	if e.usage != nil {
		s.reported = e.usage.over(s.reported)
	}
	return e.report && !s.request.asked
}

// Close ends the stream and says what it has used.
func (s *stream) Close() error {
	err := s.body.Close()
	if s.finish == nil {
		return err
	}
	t := tokens{counted: true, Prompt: about(s.request.promptBytes), Completion: s.pieces}
	if s.reported != nil {
		t = *s.reported
	}
	s.finish(t, s.ended)
	s.finish = nil
	return err
}
