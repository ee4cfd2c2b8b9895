package demo

import (
	"errors"
	"sync"
	"time"
)

// usualTime is what the demo takes on two cores.
const usualTime = time.Minute

// facts are what the screen shows beside the chapters. Its methods may be called from several goroutines.
type facts struct {
	mu   sync.Mutex
	seen scene
}

// note changes the facts.
func (f *facts) note(change func(*scene)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.seen)
}

// ends notes how the demo ended, and whether somebody stopped it.
func (d *demo) ends(err error, stopped bool) {
	d.story.finish()
	d.facts.note(func(s *scene) {
		s.ended, s.stopped, s.broken = true, stopped, err != nil && !errors.Is(err, ErrExpectations)
	})
}

// scene is what the screen shows now. Stopping says that somebody stops the demo.
func (d *demo) scene(stopping bool) (now scene) {
	d.facts.note(func(s *scene) { now = *s })
	now.elapsed, now.lines, now.over = d.story.now()
	now.held, now.failed = d.expect.result()
	now.snapshots = d.checker.Checks()
	now.stopping = !now.ended && (now.stopping || stopping)
	return now
}
