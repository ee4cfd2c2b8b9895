package front

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	// LeastRate is how many bytes a second of a request's body have to come, and of its answer have to be taken.
	LeastRate = 1 << 10
	// Patience is how long the client may be waited for beside: it thinks, or its line breaks for a moment.
	Patience = 30 * time.Second
)

var errSlow = errors.New("the body comes too slowly")

// patiently makes a request wait for its client no longer than the patience and the least rate allow. Only what is spent in
// waiting for the client counts: a container may be slow. A client that does not take its answer has the idle time.
// Connections that become others (WebSocket) wait as they like.
func (s *Server) patiently(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	control := http.NewResponseController(w)
	if r.Body != nil && r.Body != http.NoBody {
		b := &slowBody{ReadCloser: r.Body, time: allowance{left: s.o.Patience, most: s.o.Patience}, deadline: control.SetReadDeadline}
		// What the server itself reads of a body of HTTP/1, when it is answered early, has the same deadline.
		b.keep = r.ProtoMajor == 1 && b.deadline(time.Now().Add(s.o.Patience)) == nil
		r.Body = b
	}
	return &slowWriter{ResponseWriter: w, control: control, time: allowance{left: s.o.Idle, most: s.o.Idle}}
}

// allowance is the time that may still be spent in waiting. Bytes earn it back.
type allowance struct{ left, most time.Duration }

func (a *allowance) spend(since time.Time, n int) {
	a.left = min(a.most, a.left-time.Since(since)+time.Duration(n)*time.Second/LeastRate)
}

// slowBody sets a deadline for each read.
type slowBody struct {
	io.ReadCloser
	time     allowance
	deadline func(time.Time) error
	keep     bool // the deadline, between two reads
}

// Read implements io.Reader. Error: errSlow.
func (b *slowBody) Read(p []byte) (int, error) {
	began := time.Now()
	if err := b.deadline(began.Add(b.time.left)); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	b.time.spend(began, n)
	if errors.Is(err, os.ErrDeadlineExceeded) || (err == nil && b.time.left <= 0) {
		return n, errSlow // the deadline stays: nothing more is read
	}
	if b.keep && err == nil {
		return n, nil
	}
	if derr := b.deadline(time.Time{}); err == nil {
		err = derr
	}
	return n, err
}

// slowWriter does the same for the answer.
type slowWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	time    allowance
}

// Unwrap is for http.ResponseController.
func (w *slowWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *slowWriter) timed(n int, f func() error) error {
	began := time.Now()
	if err := w.control.SetWriteDeadline(began.Add(w.time.left)); err != nil {
		return err
	}
	err := f()
	w.time.spend(began, n)
	if err != nil {
		return err
	}
	return w.control.SetWriteDeadline(time.Time{})
}

// Write implements http.ResponseWriter.
func (w *slowWriter) Write(p []byte) (n int, err error) {
	err = w.timed(len(p), func() (err error) {
		n, err = w.ResponseWriter.Write(p)
		return err
	})
	return n, err
}

// FlushError is for http.ResponseController.
func (w *slowWriter) FlushError() error { return w.timed(0, w.control.Flush) }
