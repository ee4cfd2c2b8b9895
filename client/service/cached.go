package service

import (
	"context"
	"sync"
	"time"
)

const (
	// freshFor is how old a kept answer may be at least, and staleAfter at most, before it is read again.
	freshFor   = time.Second
	staleAfter = time.Minute
	// freshTimes is how many times as old as it took to read an answer may be: what costs a cluster much is read less often.
	freshTimes = 4
	// readWithin is how long a read may take that more than one caller may wait for.
	readWithin = time.Minute
)

// cached keeps an answer of a cluster for a short time. Callers at once share a read, and one that finds an answer past
// half of its time begins the next read without waiting for it. A read that fails is the error of those who wait for it:
// an answer that is too old is never given.
type cached[T any] struct {
	read func(context.Context) (T, error)
	// run runs a read until it ends or its owner does; false when the owner has ended.
	run func(func(context.Context)) bool
	now func() time.Time

	mu     sync.Mutex
	value  T
	at     time.Time // when its read began; zero for none
	took   time.Duration
	flight *flight
}

// flight is a read that runs.
type flight struct {
	done chan struct{}
	err  error // set before done is closed
}

// get answers with a value that is fresh.
func (c *cached[T]) get(ctx context.Context) (T, error) {
	for {
		c.mu.Lock()
		age, most := c.now().Sub(c.at), min(max(freshFor, freshTimes*c.took), staleAfter)
		fresh := !c.at.IsZero() && age <= most
		var f *flight
		if !fresh || age > most/2 {
			f = c.begin()
		}
		value := c.value
		c.mu.Unlock()
		if fresh {
			return value, nil
		}
		if f == nil {
			return c.read(ctx) // the owner has ended
		}
		select {
		case <-f.done:
			if f.err != nil {
				var none T
				return none, f.err
			}
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
}

// peek is the value that was read last, and how long ago; ok is false where none was. It reads nothing.
func (c *cached[T]) peek() (value T, age time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.now().Sub(c.at), !c.at.IsZero()
}

// begin begins a read, or finds the one that runs; nil when the owner has ended. The caller holds the lock.
func (c *cached[T]) begin() *flight {
	if c.flight != nil {
		return c.flight
	}
	f := &flight{done: make(chan struct{})}
	began := c.now()
	if !c.run(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, readWithin)
		defer cancel()
		value, err := c.read(ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		if f.err = err; err == nil {
			c.value, c.at, c.took = value, began, c.now().Sub(began)
		}
		c.flight = nil
		close(f.done)
	}) {
		return nil
	}
	c.flight = f
	return f
}
