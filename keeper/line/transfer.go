package line

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	format "github.com/gantry-market/gantry/sdk/line"
	"github.com/gantry-market/gantry/sdk/messages"
)

// transfer is one direction of a check.
type transfer struct {
	c net.Conn
	d messages.LineDirection
	// seeds are of the items that were sent and not answered; as many as there is room for.
	seeds chan format.Seed

	mu    sync.Mutex
	meter format.Meter
}

func newTransfer(c net.Conn, d messages.LineDirection) *transfer {
	return &transfer{c: c, d: d, seeds: make(chan format.Seed, format.InFlight)}
}

// run sends and reads until all is answered, the limit is over or the connection ends, and closes the connection. Errors:
// ErrWrong, those of the connection; none when the limit ended it.
func (t *transfer) run(ctx context.Context, limit time.Duration) error {
	until := time.Now().Add(limit)
	if err := t.c.SetDeadline(until); err != nil {
		return errors.Join(err, t.c.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = t.c.SetDeadline(time.Unix(1, 0)) })
	var sending sync.WaitGroup
	var sent error
	sending.Go(func() { sent = t.send(ctx) })
	err := t.read()
	if err != nil {
		cancel() // the sender waits for room, or for the connection
	}
	sending.Wait()
	cancel()
	stop()
	if err == nil {
		err = sent
	}
	var timeout net.Error
	if !time.Now().Before(until) && errors.As(err, &timeout) && timeout.Timeout() {
		err = nil // a slow line is no error
	}
	_ = t.c.Close() // nothing more is wanted of it
	return err
}

// send sends the items, no more at a time than may wait for their answers.
func (t *transfer) send(ctx context.Context) error {
	block := make([]byte, format.Block)
	for range format.Blocks {
		var seed format.Seed
		if _, err := rand.Read(seed[:]); err != nil {
			return err
		}
		item := seed[:]
		if t.d == messages.LineDown {
			format.Expand(seed, block)
			item = block
		}
		select {
		case t.seeds <- seed:
		case <-ctx.Done():
			return nil // the reader has the error
		}
		t.mu.Lock()
		t.meter.Sent(time.Now())
		t.mu.Unlock()
		if _, err := t.c.Write(item); err != nil {
			return err
		}
	}
	return nil
}

// read compares the answers with what was sent.
func (t *transfer) read() error {
	block, answer := make([]byte, format.Block), make([]byte, format.Block)
	if t.d == messages.LineDown {
		answer = answer[:format.HashBytes]
	}
	for n := range format.Blocks {
		if _, err := io.ReadFull(t.c, answer); err != nil {
			return fmt.Errorf("answer %d: %w", n, err)
		}
		now := time.Now()
		var seed format.Seed
		select {
		case seed = <-t.seeds:
		default:
			return fmt.Errorf("%w: answer %d came before its question", ErrWrong, n)
		}
		format.Expand(seed, block)
		want := block
		if t.d == messages.LineDown {
			hash := format.Hash(block)
			want = hash[:]
		}
		if !bytes.Equal(want, answer) {
			return fmt.Errorf("%w: answer %d", ErrWrong, n)
		}
		t.mu.Lock()
		t.meter.Answered(now)
		t.mu.Unlock()
	}
	return nil
}
