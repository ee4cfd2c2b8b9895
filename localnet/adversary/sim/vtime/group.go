package vtime

import (
	"context"
	"iter"
	"time"

	"github.com/gantry-market/gantry/keeper/schedule"
)

// Group is the running work of one machine. It implements schedule.Runner.
type Group struct {
	loop   *Loop
	ctx    context.Context
	cancel context.CancelFunc
	parked []*routine // in the order in which they began to wait
	after  func()     // called when a task has ended
}

var _ schedule.Runner = (*Group)(nil)

// routine is a task that can wait.
type routine struct {
	group  *Group
	resume func()
	yield  func(struct{}) bool
}

// NewGroup returns a group whose tasks call after, when it is not nil, at their ends.
func NewGroup(l *Loop, after func()) *Group {
	ctx, cancel := context.WithCancel(context.Background())
	return &Group{loop: l, ctx: ctx, cancel: cancel, after: after}
}

// Context ends with Stop.
func (g *Group) Context() context.Context { return g.ctx }

// Stopped reports whether Stop was called.
func (g *Group) Stopped() bool { return g.ctx.Err() != nil }

// Stop ends the machine: whatever waits gets the context's error and returns, whatever has not begun never does.
func (g *Group) Stop() {
	g.cancel()
	for len(g.parked) > 0 {
		r := g.parked[0]
		g.unpark(r)
		r.resume()
	}
}

// Go implements schedule.Runner.
func (g *Group) Go(f func()) {
	g.loop.After(0, func() {
		if !g.Stopped() {
			g.begin(f)
		}
	})
}

func (g *Group) begin(f func()) {
	r := &routine{group: g}
	next, _ := iter.Pull(func(yield func(struct{}) bool) {
		r.yield = yield
		f()
		if g.after != nil && !g.Stopped() {
			g.after()
		}
	})
	r.resume = func() {
		before := g.loop.current
		g.loop.current = r
		next()
		g.loop.current = before
	}
	r.resume()
}

func (g *Group) unpark(r *routine) {
	for i, p := range g.parked {
		if p == r {
			g.parked = append(g.parked[:i], g.parked[i+1:]...)
			return
		}
	}
}

// Wait stops the running task until wake is called, its context's time is over, or the group is stopped; the error says
// which of the last two. begin may call wake at once or keep it.
func (g *Group) Wait(ctx context.Context, begin func(wake func())) error {
	r := g.loop.current
	if r == nil || r.group != g {
		panic("vtime: waiting outside of a task of the group")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	woken, over := false, false
	proceed := func() {
		if !over && !g.Stopped() {
			over = true
			g.unpark(r)
			r.resume()
		}
	}
	g.parked = append(g.parked, r)
	begin(func() {
		if !woken && !over {
			woken = true
			g.loop.After(0, proceed)
		}
	})
	if end, ok := ctx.Deadline(); ok {
		g.loop.At(end, proceed)
	}
	r.yield(struct{}{})
	over = true
	if woken && !g.Stopped() {
		return nil
	}
	return ctx.Err()
}

// All implements schedule.Runner.
func (g *Group) All(fs ...func()) {
	left := len(fs)
	if left == 0 {
		return
	}
	// Stopped tasks return as well, so that nothing is left behind; the error adds nothing.
	_ = g.Wait(g.ctx, func(wake func()) {
		for _, f := range fs {
			g.Go(func() {
				f()
				if left--; left == 0 {
					wake()
				}
			})
		}
	})
}

// Sleep implements schedule.Runner.
func (g *Group) Sleep(ctx context.Context, d time.Duration) error {
	return g.Wait(ctx, func(wake func()) { g.loop.After(d, wake) })
}

// deadline is a context with an end in virtual time. Done closes with the parent or the cancellation only: tasks of a
// group wait in Wait, which knows the deadline.
type deadline struct {
	context.Context
	loop *Loop
	at   time.Time
}

// Timeout implements schedule.Runner.
func (g *Group) Timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancel(ctx)
	at := g.loop.Now().Add(d)
	if parent, ok := ctx.Deadline(); ok && parent.Before(at) {
		at = parent
	}
	return deadline{inner, g.loop, at}, cancel
}

// Deadline implements context.Context.
func (c deadline) Deadline() (time.Time, bool) { return c.at, true }

// Err implements context.Context.
func (c deadline) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if !c.loop.Now().Before(c.at) {
		return context.DeadlineExceeded
	}
	return nil
}
