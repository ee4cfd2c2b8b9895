package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

// recorded is the cast and the picture of a shell command on a real pseudo-terminal.
func recorded(t *testing.T, script string) (events []event, picture string, err error) {
	t.Helper()
	folder := t.TempDir()
	cast, svg := filepath.Join(folder, "a.cast"), filepath.Join(folder, "a.svg")
	if err := run(t.Context(), []string{"-cast", cast, "-picture", svg, "-title", "a <title>", "-columns", "40", "-rows", "6", "--", "sh", "-c", script}); err != nil {
		return nil, "", err
	}
	f, err := os.Open(cast)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	lines := bufio.NewScanner(f)
	require.True(t, lines.Scan())
	var header map[string]any
	require.NoError(t, json.Unmarshal(lines.Bytes(), &header))
	require.Equal(t, map[string]any{"version": 2., "width": 40., "height": 6., "title": "a <title>", "env": map[string]any{"TERM": "xterm-256color"}}, header)
	for lines.Scan() {
		var e []any
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
		require.Len(t, e, 3)
		require.Equal(t, "o", e[1])
		events = append(events, event{e[0].(float64), e[2].(string)})
	}
	raw, err := os.ReadFile(svg)
	require.NoError(t, err)
	return events, string(raw), nil
}

type event struct {
	at   float64
	text string
}

func TestWhatIsSeenIsRecorded(t *testing.T) {
	events, picture, err := recorded(t, `stty -onlcr; printf 'one\r\n\033[32mtwo\033[m & three\r\n'; sleep 0.6; printf '\033[1A\r\033[Jgone, \033[1;31mfour\033[0m'`)
	require.NoError(t, err)
	require.Len(t, events, 2)
	require.Equal(t, "\x1b[1;1Hone\x1b[K\x1b[2;1H\x1b[32mtwo\x1b[0m & three\x1b[K\x1b[3;1H\x1b[K\x1b[4;1H\x1b[K\x1b[5;1H\x1b[K\x1b[6;1H\x1b[K", events[0].text)
	require.Equal(t, "\x1b[2;1Hgone, \x1b[1;31mfour\x1b[0m\x1b[K", events[1].text)
	require.Greater(t, events[1].at, 0.5)
	require.Contains(t, picture, "<title>a &lt;title&gt;</title>")
	require.Contains(t, picture, ">gone,</text>")
	require.Contains(t, picture, `font-weight="bold">four</text>`)
	require.NotContains(t, picture, "three")
}

func TestLongPausesAreCut(t *testing.T) {
	c := newCast(newTerminal(20, 3), "/home/ada")
	c.frames = []frame{{0, "a"}, {time.Second, "b"}, {9 * time.Second, "c"}, {10 * time.Second, "d"}, {time.Minute, "e"}}
	var out strings.Builder
	require.NoError(t, c.write(&out, ""))
	_, events, _ := strings.Cut(out.String(), "\n")
	require.Equal(t, `[0.000,"o","a"]`+"\n"+`[1.000,"o","b"]`+"\n"+`[3.000,"o","c"]`+"\n"+`[4.000,"o","d"]`+"\n"+`[6.000,"o","e"]`+"\n", events)
}

func TestNothingOfThisComputerIsRecorded(t *testing.T) {
	events, _, err := recorded(t, `echo "text $HOME/demo.txt"`)
	require.NoError(t, err)
	require.Contains(t, events[len(events)-1].text, "text ~/demo.txt")
	c := newCast(newTerminal(20, 2), "/home/ada")
	require.NoError(t, c.follow(iotest.OneByteReader(strings.NewReader("/home/ada/x /home/adb /home/")), time.Now))
	require.Equal(t, "~/x /home/adb /home/", c.printed.String())
	_, _, err = recorded(t, `pwd`)
	require.ErrorIs(t, err, errTells)
	_, _, err = recorded(t, `echo $USER$GANTRY_SURFNET-`)
	require.NoError(t, err)
}

func TestACommandThatFailsIsNotRecorded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // its files stay there
	_, _, err := recorded(t, "echo why; exit 3")
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "why")
	_, _, err = recorded(t, `printf '\033[5;5H'`)
	require.ErrorIs(t, err, errCode)
	for _, args := range [][]string{{}, {"-columns", "3", "--", "true"}, {"-what"}} {
		require.ErrorIs(t, run(t.Context(), args), errUsage)
	}
}

// What comes in pieces is shown as what comes at once.
func TestPieces(t *testing.T) {
	const all = "\x1b[?25l─ a\r\n\x1b[1;90mb\x1b[m c\n\n\n\n\rd\x1b[2A\r\x1b[Je\x1b[?25h"
	once, pieces := newTerminal(10, 3), newTerminal(10, 3)
	_, err := io.WriteString(once, all)
	require.NoError(t, err)
	for i := range len(all) {
		_, err := io.WriteString(pieces, all[i:i+1])
		require.NoError(t, err)
	}
	require.Equal(t, once.screen(), pieces.screen())
	require.Equal(t, []string{"e", "", ""}, once.plain())
	wide := newTerminal(3, 2)
	_, err = io.WriteString(wide, "abcdefgh")
	require.NoError(t, err)
	require.Equal(t, []string{"def", "gh"}, wide.plain())
}
