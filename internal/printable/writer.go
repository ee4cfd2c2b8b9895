package printable

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// Writer returns a writer to a terminal or a file of logs to which text of any origin may be written: see Lines. The last
// bytes are held back while they may be the beginning of a character.
func Writer(w io.Writer) io.Writer { return &writer{w: w} }

// Output returns a writer to a terminal for what a job has written. Beside what Writer lets pass, programs may colour
// their output and write a line of progress again: carriage returns, backspaces, and the escape codes for colours (SGR)
// and for erasing in the cursor's own line pass.
func Output(w io.Writer) io.Writer { return &writer{w: w, output: true} }

type writer struct {
	w      io.Writer
	output bool

	mu   sync.Mutex
	rest []byte // the beginning of a character or an escape code
}

// Write implements io.Writer. Of a failed write it is not known how much was written.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in := p
	if len(w.rest) > 0 {
		in = append(w.rest, p...)
	}
	out := make([]byte, 0, len(in)+len(in)/8)
	for len(in) > 0 {
		n, whole := w.code(in)
		if !whole || !utf8.FullRune(in) {
			break
		}
		if n > 0 {
			out = append(out, in[:n]...)
			in = in[n:]
			continue
		}
		r, size := utf8.DecodeRune(in)
		out = append(out, inLines(r, string(in[:size]))...)
		in = in[size:]
	}
	w.rest = bytes.Clone(in)
	if _, err := w.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// maxCode is the longest escape code that passes.
const maxCode = 32

// code reports how long the escape code or control character is that begins a text and may pass, 0 for any other text;
// whole is false when more has to be read to know.
func (w *writer) code(b []byte) (n int, whole bool) {
	switch {
	case !w.output:
		return 0, true
	case b[0] == '\r' || b[0] == '\b':
		return 1, true
	case b[0] != 0x1b:
		return 0, true
	case len(b) == 1:
		return 0, false
	case b[1] != '[':
		return 0, true
	}
	for i := 2; i < min(len(b), maxCode); i++ {
		switch c := b[i]; {
		case c == 'm' || c == 'K':
			return i + 1, true
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0, true
		}
	}
	return 0, len(b) >= maxCode
}
