package demo

import (
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/screen"
)

// redraw is how often the screen is drawn while the demo runs.
const redraw = 100 * time.Millisecond

// show draws the demo as one screen until it is closed. Its methods may be called from several goroutines.
type show struct {
	terminal screen.Terminal
	block    *screen.Block
	look     func() scene
	quit     chan struct{} // closed to stop drawing
	drawn    chan struct{} // closed when nothing is drawn any more
	once     sync.Once
}

// startShow begins to draw what look returns.
func startShow(t screen.Terminal, look func() scene) *show {
	s := &show{terminal: t, block: screen.NewBlock(t), look: look, quit: make(chan struct{}), drawn: make(chan struct{})}
	go s.draw()
	return s
}

func (s *show) draw() {
	defer close(s.drawn)
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	for spin := 0; ; spin++ {
		s.block.Draw(painter{Terminal: s.terminal.Resized(), spin: spin}.live(s.look())...)
		select {
		case <-ticker.C:
		case <-s.quit:
			return
		}
	}
}

// Write prints lines above the screen, such as those of a log.
func (s *show) Write(lines []byte) (int, error) {
	s.block.Print(strings.Split(strings.TrimRight(string(lines), "\n"), "\n")...)
	return len(lines), nil
}

// close leaves the last scene on the terminal, all of it, and gives the cursor back. It may be called more than once.
func (s *show) close() {
	s.once.Do(func() {
		close(s.quit)
		<-s.drawn
		s.block.Draw()
		s.block.Print(append(painter{Terminal: s.terminal.Resized()}.final(s.look()), "")...)
		s.block.Close()
	})
}

// above is a log like another one whose lines stand above the screen.
func (s *show) above(log zerolog.Logger) zerolog.Logger {
	return log.Output(zerolog.ConsoleWriter{Out: printable.Output(s), TimeFormat: "15:04:05.000", NoColor: !s.terminal.Colour})
}
