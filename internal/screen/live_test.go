package screen_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/internal/testkit/screentest"
)

// standing is a block with a spinner on a pseudo-terminal.
func standing(t *testing.T, ctx context.Context) (*screentest.Pty, *screen.Live) {
	t.Helper()
	p := screentest.OpenPty(t, 60, 20)
	l := screen.NewLive(ctx, p.Terminal, func(t screen.Terminal, frame int) []string { return []string{t.Spin(frame) + " goes on"} })
	require.True(t, l.Change(func(stands bool) screen.Next { require.False(t, stands); return screen.Stands }))
	return p, l
}

// The second interrupt ends the program at once: with the first one the cursor is back.
func TestTheCursorComesBackWithAnInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, l := standing(t, ctx)
	time.Sleep(200 * time.Millisecond)
	cancel()
	time.Sleep(300 * time.Millisecond)
	var e screentest.Emulator
	e.Show(t, p.Close(t)) // the block still stands, as if the program were gone
	require.False(t, e.Hidden)
	require.Contains(t, e.Text(), "goes on")
	require.True(t, l.Change(func(bool) screen.Next { return screen.Last }))
	require.False(t, l.Change(func(bool) screen.Next { return screen.Stands }), "it is over")
}

// A question takes the block's place, and the block comes back with the next change.
func TestAQuestionTakesThePlaceOfTheBlock(t *testing.T) {
	p, l := standing(t, t.Context())
	_, err := io.WriteString(l, "above\nthe block\n")
	require.NoError(t, err)
	l.Aside()
	_, err = io.WriteString(l, "continue? [y/N] ")
	require.NoError(t, err)
	_, err = p.TTY.WriteString("y\n") // as it is echoed
	require.NoError(t, err)
	l.Change(func(stands bool) screen.Next { require.False(t, stands); return screen.Stands })
	l.Change(func(stands bool) screen.Next { require.True(t, stands); return screen.Last })
	var e screentest.Emulator
	e.Show(t, p.Close(t))
	require.False(t, e.Hidden)
	lines := strings.Split(e.Text(), "\n")
	require.Equal(t, []string{"above", "the block", "continue? [y/N] y"}, lines[:3])
	require.Len(t, lines, 4, e.Text())
	require.Contains(t, lines[3], "goes on")
}
