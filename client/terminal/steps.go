package terminal

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/internal/screen"
)

// drawEvery is how often the steps are drawn again.
const drawEvery = 120 * time.Millisecond

// Steps shows a purchase as one block of steps, from its order until its leases run. What is no step is printed as a line above the
// block, and after it. Its methods may be called from several goroutines.
type Steps struct {
	ctx   context.Context
	lines Lines
	plain func(buy.Wait) (stop func()) // of what is waited for when no block stands
	now   func() time.Time

	mu    sync.Mutex
	t     screen.Terminal
	block *screen.Block // nil before the first step, and after the last
	halt  func()        // ends what draws the block
	over  bool          // no block begins any more
	state state
}

// NewSteps is a block that stands from the first step on. Lines and plain are for what is no step.
func NewSteps(ctx context.Context, t screen.Terminal, lines Lines, plain func(buy.Wait) (stop func())) *Steps {
	return &Steps{ctx: ctx, t: t, lines: lines, plain: plain, now: time.Now}
}

// Plan says what the order will run.
func (s *Steps) Plan(r *buy.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.plan(r)
}

// Event shows a step of a purchase.
func (s *Steps) Event(e buy.Event) {
	if !s.take(e) {
		s.lines.Event(e)
	}
}

// take shows an event in the block; shown is false for what is to be a line. The block ends when all leases run.
func (s *Steps) take(e buy.Event) (shown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !s.begun(e) {
		return false
	}
	shown = s.state.take(e, s.now())
	if s.state.final() {
		s.over, s.state.hint = true, ""
		s.close()
		return shown
	}
	s.draw()
	return shown
}

// begun begins the block with the first event that is of an order.
func (s *Steps) begun(e buy.Event) bool {
	if s.block != nil {
		return true
	}
	switch e.(type) {
	case buy.Placed, buy.Resumed, buy.Awarded, buy.AuctionOpened:
		s.open()
		return true
	}
	return false
}

// Waiting shows what is waited for. Nothing has to be stopped: what is waited for next, or a step, takes its place.
func (s *Steps) Waiting(w buy.Wait) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return s.plain(w)
	}
	if s.block == nil {
		s.open()
	}
	s.state.wait(w, s.now())
	s.draw()
	return func() {}
}

// Write prints lines above the block, and as they are where no block stands. It is for the rest of the program.
func (s *Steps) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.block == nil {
		return s.t.Out.Write(p)
	}
	s.block.Print(strings.Split(strings.TrimSuffix(string(p), "\n"), "\n")...)
	return len(p), nil
}

// Aside takes the block off the terminal, until the next step: for questions.
func (s *Steps) Aside() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.block != nil {
		s.block.Clear()
		s.close()
	}
}

// End leaves the block as it stands. With an error, what goes on has failed.
func (s *Steps) End(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.block == nil {
		return
	}
	if err != nil {
		s.state.fail(s.now())
	}
	s.state.hint = ""
	s.close()
}

// open begins the block, and what draws it again until close.
func (s *Steps) open() {
	s.block = screen.NewBlock(s.t)
	s.state.begin(s.now())
	stop, stopped := make(chan struct{}), make(chan struct{})
	// A second interrupt ends the program at once: the cursor comes back with the first one.
	interrupted := context.AfterFunc(s.ctx, s.block.ShowCursor)
	s.halt = func() {
		interrupted()
		close(stop)
		<-stopped
	}
	go func() {
		defer close(stopped)
		t := time.NewTicker(drawEvery)
		defer t.Stop()
		for {
			select {
			case <-stop:
				return
			case <-t.C:
				if s.mu.TryLock() { // who holds it draws, or waits for this to end
					s.state.frame++
					s.draw()
					s.mu.Unlock()
				}
			}
		}
	}()
}

// close ends the block; its lines stay.
func (s *Steps) close() {
	b, halt := s.block, s.halt
	if s.over {
		b.Draw(s.state.render(s.t.Resized(), s.now())...)
	}
	s.block = nil
	halt()
	b.Close()
}

func (s *Steps) draw() {
	if s.block != nil {
		s.block.Draw(s.state.render(s.t.Resized(), s.now())...)
	}
}
