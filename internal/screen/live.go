package screen

import (
	"context"
	"strings"
	"sync"
	"time"
)

// drawEvery is how often what is live is drawn again.
const drawEvery = 120 * time.Millisecond

// Live is a block that is drawn again and again during a task, with lines of the rest of the program above it. Its methods
// may be called from several goroutines.
type Live struct {
	ctx    context.Context
	render func(t Terminal, frame int) []string

	mu    sync.Mutex
	t     Terminal
	block *Block // nil before it stands, and after
	halt  func() // ends what draws it
	frame int
	over  bool // it never stands again
}

// Next is what becomes of a block after a change.
type Next uint8

// What becomes of it.
const (
	AsItIs Next = iota
	Stands      // it stands from now on, and is drawn
	Last        // it is drawn for the last time, and its lines stay
)

// NewLive is a block that does not stand yet. Its lines are those of render, which is called while nothing else changes them.
func NewLive(ctx context.Context, t Terminal, render func(t Terminal, frame int) []string) *Live {
	return &Live{ctx: ctx, t: t, render: render}
}

// Change runs what changes the block's lines, which says what becomes of it. It reports false, and runs nothing, once the block is over.
func (l *Live) Change(f func(stands bool) Next) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	switch f(l.block != nil) {
	case AsItIs:
	case Stands:
		if l.block == nil {
			l.open()
		}
		l.draw()
	case Last:
		l.over = true
		l.draw()
		l.close()
	}
	return true
}

// Write prints lines above the block, and text as it is where no block stands. It is for the rest of the program.
func (l *Live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.block == nil {
		return l.t.Out.Write(p)
	}
	l.block.Print(strings.Split(strings.TrimSuffix(string(p), "\n"), "\n")...)
	return len(p), nil
}

// Aside takes the block off the terminal, until a change has it stand again: for questions.
func (l *Live) Aside() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.block != nil {
		l.block.Clear()
		l.close()
	}
}

// open begins the block, and what draws it again until close.
func (l *Live) open() {
	l.block = NewBlock(l.t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	// A second interrupt ends the program at once: the cursor comes back with the first one.
	interrupted := context.AfterFunc(l.ctx, l.block.ShowCursor)
	l.halt = func() {
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
				if l.mu.TryLock() { // who holds it draws, or waits for this to end
					l.frame++
					l.draw()
					l.mu.Unlock()
				}
			}
		}
	}()
}

// close ends the block; its lines stay.
func (l *Live) close() {
	if l.block != nil {
		l.halt()
		l.block.Close()
		l.block = nil
	}
}

func (l *Live) draw() {
	if l.block != nil {
		l.block.Draw(l.render(l.t.Resized(), l.frame)...)
	}
}
