package terminal

import (
	"context"
	"time"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/internal/screen"
)

// Steps shows a purchase as one block of steps, from its order until its leases run. What is no step is printed as a line above the
// block, and after it. Its methods may be called from several goroutines.
type Steps struct {
	lines Lines
	plain func(buy.Wait) (stop func()) // of what is waited for when no block stands
	live  *screen.Live
	state state // changes within live alone
}

// NewSteps is a block that stands from the first step on. Lines and plain are for what is no step.
func NewSteps(ctx context.Context, t screen.Terminal, lines Lines, plain func(buy.Wait) (stop func())) *Steps {
	s := &Steps{lines: lines, plain: plain}
	s.live = screen.NewLive(ctx, t, func(t screen.Terminal, frame int) []string { return s.state.render(t, frame, time.Now()) })
	return s
}

// Plan says what the order will run.
func (s *Steps) Plan(r *buy.Request) {
	s.live.Change(func(bool) screen.Next { s.state.plan(r); return screen.AsItIs })
}

// Event shows a step of a purchase. The block ends when all leases run.
func (s *Steps) Event(e buy.Event) {
	shown := false
	s.live.Change(func(stands bool) screen.Next {
		if !stands && !begins(e) {
			return screen.AsItIs
		}
		s.state.begin(time.Now())
		shown = s.state.take(e, time.Now())
		if s.state.final() {
			s.state.hint = ""
			return screen.Last
		}
		return screen.Stands
	})
	if !shown {
		s.lines.Event(e)
	}
}

// begins reports whether the block begins with an event.
func begins(e buy.Event) bool {
	switch e.(type) {
	case buy.Placed, buy.Resumed, buy.Awarded, buy.AuctionOpened:
		return true
	}
	return false
}

// Waiting shows what is waited for, until the next step or wait takes its place.
func (s *Steps) Waiting(w buy.Wait) (stop func()) {
	if s.live.Change(func(bool) screen.Next {
		s.state.begin(time.Now())
		s.state.wait(w, time.Now())
		return screen.Stands
	}) {
		return func() {}
	}
	return s.plain(w)
}

// Write prints lines above the block.
func (s *Steps) Write(p []byte) (int, error) { return s.live.Write(p) }

// Aside takes the block off the terminal, until the next step: for questions.
func (s *Steps) Aside() { s.live.Aside() }

// End leaves the block as it stands. With an error, what goes on has failed, or was left.
func (s *Steps) End(err error) {
	s.live.Change(func(bool) screen.Next {
		if err != nil {
			s.state.stop(err, time.Now())
		}
		s.state.hint = ""
		return screen.Last
	})
}
