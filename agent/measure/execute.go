package measure

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Why a run ends before its time.
var (
	errLease = errors.New("a lease has begun")
	errBlock = errors.New("the block is not the period's instant")
	errBlind = errors.New("the block could not be looked up in time")
	// errOutvoted is not believed of the block: it is looked up when its keepers join again.
	errOutvoted = errors.New("more keepers name another block")
)

// execute makes a run and keeps it until the time of openings is over.
func (s *Server) execute(ctx context.Context, r *run) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watchers sync.WaitGroup
	for _, watch := range r.watch {
		watchers.Go(func() { watch(ctx, cancel) })
	}
	err := r.turn(ctx, func(ctx context.Context) error { return s.compute(ctx, r, cancel) })
	cause := context.Cause(ctx)
	cancel(nil)
	watchers.Wait()
	why := messages.MeasureOver
	switch {
	case errors.Is(cause, errLease):
		why = messages.MeasureLease
	case errors.Is(cause, errBlock), errors.Is(cause, errBlind), errors.Is(cause, errOutvoted):
		why = messages.MeasureBlock
	case err != nil && cause == nil:
		why = messages.MeasureFailed
	}
	// What is said of the run is there before a lease that waited for its memory goes on.
	s.count.ended(why)
	log := r.log.Info()
	if err != nil && cause == nil {
		log = r.log.Error()
	}
	log.Err(err).Stringer("why", why).Msg("the measurement ends")
	r.update(func() {
		r.done = true
		if r.refused == 0 {
			r.refused = why
		}
	})
	if r.ended != nil {
		r.ended()
	}
}

// compute runs all GPUs at once, signs what they made, and has it opened. When it returns, their memory is free.
func (s *Server) compute(ctx context.Context, r *run, cancel context.CancelCauseFunc) error {
	if err := r.bars(); err != nil { // nothing of what bars it may have been seen as a change
		cancel(err)
		return err
	}
	runs := make([]format.Run, len(r.gpus))
	given := false
	defer func() {
		for i := range runs {
			if given { // an opening ends with ctx
				runs[i] = <-r.open[i]
			}
			if runs[i] == nil {
				continue
			}
			if err := runs[i].Close(); err != nil {
				r.log.Error().Err(err).Uint8("gpu", r.gpus[i].Index).Msg("the memory of a measurement was not given back")
			}
		}
	}()
	began := time.Now()
	g, gctx := errgroup.WithContext(ctx)
	for i, gpu := range r.gpus {
		g.Go(func() (err error) {
			runs[i], err = gpu.Device.Run(gctx, format.NewTask(r.place, gpu.Index, gpu.Profile), func(_ uint32, root format.Hash) {
				now := time.Now()
				r.update(func() { r.roots[i], r.came[i] = append(r.roots[i], root), append(r.came[i], now) })
			})
			if err != nil {
				return fmt.Errorf("measure GPU %d: %w", gpu.Index, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := s.commit(ctx, r, runs, began, cancel); err != nil {
		return err
	}
	given = true
	for i := range runs {
		r.open[i] <- runs[i]
	}
	over := time.NewTimer(r.openFor)
	defer over.Stop()
	select {
	case <-ctx.Done():
	case <-r.stopped:
	case <-over.C:
	}
	r.update(func() {
		if r.refused == 0 && ctx.Err() == nil {
			r.refused = messages.MeasureOver
		}
	})
	return nil
}

// commit signs what the GPUs have made, once the node has seen the instant's block itself: what it has signed it must open.
// Members are told at once that it is ready, so that a slow endpoint does not make the machine slow.
func (s *Server) commit(ctx context.Context, r *run, runs []format.Run, began time.Time, cancel context.CancelCauseFunc) error {
	entries := make([]format.Entry, len(runs))
	var encoded []byte
	for i, gpu := range r.gpus {
		entries[i] = runs[i].Result().Entry(gpu.Index, gpu.Profile)
		b := entries[i].Bytes()
		encoded = append(encoded, b[:]...)
	}
	c, ended := format.Commit(r.place, entries), time.Now()
	ready := sha256.Sum256(c.Bytes())
	r.update(func() { r.ready = &ready })
	if err := r.seen(ctx, cancel); err != nil {
		return err
	}
	signature, err := s.o.Signer.Sign(c.Bytes())
	if err != nil {
		return fmt.Errorf("sign the measurement: %w", err)
	}
	m := &messages.MeasureCommitment{Commitment: c.Bytes(), Signature: signature, Entries: encoded}
	if s.o.Guest != nil {
		m.Guest = &messages.GuestSignature{Key: s.o.Guest.Public(), Signature: s.o.Guest.SignAnswer(r.place.Instant, sha256.Sum256(c.Bytes()))}
	}
	s.count.committed(Last{Took: ended.Sub(began), Figures: least(r.gpus, entries, began, ended, r.came)})
	r.update(func() {
		r.commitment, r.life, r.signed, r.yields = c, ctx, m, time.Now().Add(openLeast)
	})
	return nil
}

// seen waits until the node has looked the run's block up, for as long as a run can be opened. Error: ctx's.
func (r *run) seen(ctx context.Context, cancel context.CancelCauseFunc) error {
	over := time.NewTimer(r.openFor)
	defer over.Stop()
	for {
		now := r.status()
		if now.verdict == right {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over.C:
			cancel(errBlind)
			return errBlind
		case <-now.changed:
		}
	}
}

// verify looks the block up while the GPUs compute. If it is not the instant the run ends, and nobody who named it is
// listened to for the rest of the period. While it cannot be looked up the run goes on.
func (s *Server) verify(ctx context.Context, r *run, cancel context.CancelCauseFunc) {
	for {
		ok, err := s.o.Instants.Is(ctx, r.at)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && ok:
			r.update(func() { r.verdict = right })
			return
		case err == nil:
			s.mu.Lock() // nobody joins meanwhile
			defer s.mu.Unlock()
			r.update(func() {
				r.verdict, r.refused = wrong, messages.MeasureBlock
				for key := range r.members {
					s.mute(key, r.at.Period)
				}
			})
			cancel(errBlock)
			return
		}
		s.o.Log.Debug().Err(err).Uint64("slot", r.at.Slot).Msg("the block of a measurement cannot be looked up yet")
		if wait.For(ctx, blockRetry) != nil {
			return
		}
	}
}

// leased is errLease when a lease is live.
func (s *Server) leased() error {
	if s.o.Busy() {
		return errLease
	}
	return nil
}

// watchChain ends a run when, after a change on the chain, it is barred.
func (s *Server) watchChain(ctx context.Context, bars func() error, cancel context.CancelCauseFunc) {
	for {
		changed := s.o.Changed()
		if err := bars(); err != nil {
			cancel(err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}
