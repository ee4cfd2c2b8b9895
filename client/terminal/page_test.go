package terminal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/screen"
)

// on is what is written on a page of a terminal, or in a pipe where the width is 0.
func on(t *testing.T, width int, wide, unicode bool, write func(*Page)) string {
	t.Helper()
	var out bytes.Buffer
	p := NewPage(&out)
	if width > 0 {
		p = NewScreen(screen.Terminal{Out: &out, Live: true, Unicode: unicode, Width: width})
	}
	p.Wide = wide
	write(p)
	require.NoError(t, p.Close())
	return out.String()
}

var whole = strings.Repeat("7", 44)

// A terminal shows what it has room for, and says that there is more; a pipe and -o wide get all.
func TestTablesFitTheWindow(t *testing.T) {
	table := func(p *Page) {
		p.Table("@LEASE|STATE~1|>USED|+TIER", [][]string{{whole, "running", "9", "2"}, {whole, "ended\x1b[2J", "10", "3"}})
	}
	require.Equal(t, "LEASE                                          STATE            USED\n"+whole+"   running             9\n"+whole+"   ended\\u001b[2J     10\n", on(t, 0, false, true, table))
	require.Equal(t, "LEASE   STATE           USED\n777777  running            9\n777777  ended\\u001b[2J    10\n", on(t, 40, false, true, table))
	require.Equal(t, "LEASE   USED\n777777     9\n777777    10\nmore columns: -o\nwide\n", on(t, 16, false, true, table))
	require.Contains(t, on(t, 16, true, true, table), whole+"   running             9   2\n")
}

// Lines break between words. A command and an address stay whole, so that they can be copied; so does all that is for a file.
func TestLinesBreakBetweenWords(t *testing.T) {
	text := "what is not used comes back × 2; rate it with: gantry rate " + whole + " 5   tx 5ig"
	write := func(p *Page) {
		p.Write([]byte(text + "\n  a name\x1b[2J " + whole)) //nolint:errcheck // Close says it
		p.Pairs([2]string{"verdict", "no quorum yet, and more words"}, [2]string{"node", whole})
	}
	require.Contains(t, on(t, 0, false, true, write), text+"\n")
	got := on(t, 30, false, true, write)
	require.Contains(t, got, "what is not used comes back ×\n2; rate it with:\ngantry rate "+whole+" 5\ntx 5ig\n")
	require.Contains(t, got, "verdict   no quorum yet, and\n          more words\nnode      "+whole+"\n")
	require.NotContains(t, got, "\x1b")
	require.Contains(t, on(t, 30, false, false, write), "back x\n", "an ASCII terminal")
	require.Equal(t, text+"\n", on(t, 30, false, true, func(p *Page) {
		_, err := p.Raw().Write([]byte(text + "\n"))
		require.NoError(t, err)
	}))
}
