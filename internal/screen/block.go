package screen

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Block is some lines at the end of a terminal that are drawn again in place. Its methods may be called from several goroutines.
type Block struct {
	mu    sync.Mutex
	t     Terminal
	lines []string // as they stand on the terminal
	ended bool
}

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	eraseBelow = "\x1b[J"
)

// NewBlock begins a block without lines, and hides the cursor until Close.
func NewBlock(t Terminal) *Block {
	fmt.Fprint(t.Out, hideCursor)
	return &Block{t: t}
}

// Draw shows other lines in place of those that stand there. Lines that are longer than the window are cut; of more lines than
// it has, the last ones show.
func (b *Block) Draw(lines ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.t = b.t.Resized()
	b.replace("", lines)
}

// Print writes lines above the block, where they stay.
func (b *Block) Print(lines ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := strings.Join(lines, "\n") + "\n"
	if b.ended {
		fmt.Fprint(b.t.Out, text)
		return
	}
	b.replace(text, b.lines)
}

// replace takes the block away, writes what stays, and draws the block again.
func (b *Block) replace(above string, lines []string) {
	var out strings.Builder
	if n := len(b.lines); n > 0 {
		fmt.Fprintf(&out, "\x1b[%dA\r", n)
	}
	out.WriteString(eraseBelow + above)
	shown := slices.Clone(lines[max(0, len(lines)-b.t.Height+1):])
	for i, line := range shown {
		shown[i] = b.t.Cut(line, b.t.Width)
		out.WriteString(shown[i] + "\n")
	}
	b.lines = shown
	fmt.Fprint(b.t.Out, out.String())
}

// Clear takes the lines away and keeps the block.
func (b *Block) Clear() { b.Draw() }

// ShowCursor shows the cursor for the rest of the block: for a program that may be ended at any moment.
func (b *Block) ShowCursor() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		fmt.Fprint(b.t.Out, showCursor)
	}
}

// Close leaves the lines as they are and shows the cursor. It may be called more than once.
func (b *Block) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.ended = true
		fmt.Fprint(b.t.Out, showCursor)
	}
}
