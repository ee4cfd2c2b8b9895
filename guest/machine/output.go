package machine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/seal"
)

const (
	// backlog is how many bytes of records wait for the host. A container whose output nobody fetches waits then.
	backlog = 4 << 20
	// piece is the longest output of one record.
	piece = 64 << 10
	// answerBytes is about how much one answer has.
	answerBytes = 1 << 20
)

// errForgotten: the host has asked for records behind these.
var errForgotten = errors.New("these records were asked for before, and are gone")

// output seals what a job does for its customer, and keeps it until the host has fetched it.
type output struct {
	writer *seal.Writer

	mu      sync.Mutex
	first   uint64 // the number of the first record
	records [][]byte
	bytes   int
	over    bool
	changed chan struct{} // closed with the next change
}

func newOutput(w *seal.Writer) *output { return &output{writer: w, changed: make(chan struct{})} }

// change wakes who waits. The caller holds the lock.
func (o *output) change() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// add appends a record. It waits until there is room, but with the last one.
func (o *output) add(ctx context.Context, r control.Record) error {
	plain, err := r.Encode()
	if err != nil {
		return fmt.Errorf("record of the job: %w", err)
	}
	for {
		o.mu.Lock()
		if o.bytes < backlog || r.End != nil {
			sealed := o.writer.Seal(plain)
			o.records, o.bytes, o.over = append(o.records, sealed), o.bytes+len(sealed), r.End != nil
			o.change()
			o.mu.Unlock()
			return nil
		}
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read forgets the records before a number, and returns those from it on. It waits for one.
func (o *output) read(ctx context.Context, from uint64) (*control.OutputAnswer, error) {
	for {
		o.mu.Lock()
		if from < o.first {
			o.mu.Unlock()
			return nil, errForgotten
		}
		for len(o.records) > 0 && o.first < from {
			o.bytes -= len(o.records[0])
			o.records, o.first = o.records[1:], o.first+1
			o.change()
		}
		if len(o.records) > 0 || o.over {
			a := o.answer()
			o.mu.Unlock()
			return a, nil
		}
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// answer has the first records.
func (o *output) answer() *control.OutputAnswer {
	var a control.OutputAnswer
	for bytes := 0; len(a.Records) < len(o.records) && bytes < answerBytes; {
		next := o.records[len(a.Records)]
		a.Records, bytes = append(a.Records, next), bytes+len(next)
	}
	a.Over = o.over && len(a.Records) == len(o.records)
	return &a
}

// writer writes a container's output as records.
type writer struct {
	ctx context.Context
	o   *output
}

// Write implements io.Writer.
func (w writer) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		next := b[n:min(n+piece, len(b))]
		if err = w.o.add(w.ctx, control.Record{Output: next}); err == nil {
			n += len(next)
		}
	}
	return n, err
}
