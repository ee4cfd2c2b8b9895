package challenge

import (
	"context"
	"errors"
	"sync"

	"github.com/gagliardetto/solana-go"
)

// maxQueued bounds what can wait: there are at most 256 keepers.
const maxQueued = 256

var errQueued = errors.New("an answer for this keeper is being computed already")

// queue computes one thing at a time, in the order of the questions.
type queue struct {
	jobs chan *job

	mu      sync.Mutex
	waiting map[solana.PublicKey]bool
}

type job struct {
	ctx  context.Context
	f    func(context.Context) error
	done chan error
}

func newQueue() *queue {
	return &queue{jobs: make(chan *job, maxQueued), waiting: map[solana.PublicKey]bool{}}
}

// do has f run by the worker and waits for it. Errors: errQueued, f's, the context's.
func (q *queue) do(ctx context.Context, from solana.PublicKey, f func(context.Context) error) error {
	q.mu.Lock()
	if q.waiting[from] || len(q.waiting) >= maxQueued {
		q.mu.Unlock()
		return errQueued
	}
	q.waiting[from] = true
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		delete(q.waiting, from)
		q.mu.Unlock()
	}()
	j := &job{ctx: ctx, f: f, done: make(chan error, 1)}
	select {
	case q.jobs <- j:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return ctx.Err() // the worker sees the same context and stops
	}
}

// run is the worker.
func (q *queue) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case j := <-q.jobs:
			if j.ctx.Err() != nil {
				j.done <- j.ctx.Err()
				continue
			}
			jctx, cancel := context.WithCancel(j.ctx)
			stop := context.AfterFunc(ctx, cancel)
			j.done <- j.f(jctx)
			stop()
			cancel()
		}
	}
}
