package screen

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	plain = Terminal{Unicode: true, Width: 80, Height: 24}
	ascii = Terminal{Width: 80, Height: 24}
)

func TestBarsHaveTheirWidth(t *testing.T) {
	for _, c := range []struct {
		share, tick float64
		want        string
	}{
		{0, None, "──────────"},
		{0.5, None, "━━━━━─────"},
		{0.001, None, "━─────────"},
		{1.7, None, "━━━━━━━━━━"},
		{None, None, "··········"},
		{0.5, 0.8, "━━━━━───┃─"},
		{0.9, 0.2, "━━┃━━━━━━─"},
		{1, 1, "━━━━━━━━━┃"},
	} {
		require.Equal(t, c.want, plain.Bar(c.share, c.tick, 10, Good))
		coloured := plain
		coloured.Colour = true
		require.Equal(t, 10, Width(coloured.Bar(c.share, c.tick, 10, Good)))
	}
	require.Equal(t, "#####---|-", ascii.Bar(0.5, 0.8, 10, Good))
	require.Empty(t, plain.Bar(0.5, None, 0, Good))
}

func TestStripsShowWhatIsMissing(t *testing.T) {
	require.Equal(t, "··▁·█▅", plain.Strip([]float64{0, None, 1, 0.5}, 6, Reading))
	require.Equal(t, "▁█", plain.Strip([]float64{1, 1, 0, 1}, 2, Reading))
	require.Equal(t, ".._.#+", strings.ReplaceAll(ascii.Strip([]float64{0, None, 1, 0.5}, 6, Reading), "=", "+"))
}

func TestNoColourKeepsTheLayout(t *testing.T) {
	coloured := plain
	coloured.Colour = true
	require.NotEqual(t, "ok", coloured.Say(Good, "ok"))
	require.Equal(t, 2, Width(coloured.Say(Good, "ok")))
	require.Equal(t, "ok", plain.Say(Good, "ok"))
}

func TestLocales(t *testing.T) {
	env := func(of map[string]string) func(string) string { return func(name string) string { return of[name] } }
	require.True(t, utf8Locale(env(map[string]string{"LANG": "de_DE.UTF-8"})))
	require.True(t, utf8Locale(env(map[string]string{"LC_ALL": "C.utf8", "LANG": "C"})))
	require.False(t, utf8Locale(env(map[string]string{"LC_ALL": "C", "LANG": "de_DE.UTF-8"})))
	require.False(t, utf8Locale(env(nil)))
}

func TestAFileIsNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer f.Close()
	got := Of(f, func(string) string { return "" })
	require.False(t, got.Live)
	require.False(t, got.Colour)
	require.Equal(t, defaultWidth, got.Width)
}

// A block that is drawn again begins where it began before, and what is printed stays above it.
func TestABlockIsDrawnInPlace(t *testing.T) {
	var out bytes.Buffer
	at := plain
	at.Out, at.Width, at.Height = &out, 10, 3
	b := NewBlock(at)
	b.Draw("one", "two")
	b.Print("stays")
	b.Draw("a line that is too long", "2", "3")
	b.Close()
	b.Close()
	b.Draw("never")
	b.Print("after")
	require.Equal(t, "\x1b[?25l\x1b[Jone\ntwo\n\x1b[2A\r\x1b[Jstays\none\ntwo\n\x1b[2A\r\x1b[J2\n3\n\x1b[?25hafter\n", out.String())
}
