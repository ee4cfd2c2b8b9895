package console

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const page = "Text.\n```sh\n$ not this\n```\n```console\n$ echo a; \\\n  echo b\na\nb\n$ true\n```\nText.\n"

func TestParseFindsCommandsAndTheirOutput(t *testing.T) {
	steps, err := Parse(page)
	require.NoError(t, err)
	require.Equal(t, []Step{
		{Line: 6, Command: "echo a; \\\n  echo b", Want: []string{"a", "b"}},
		{Line: 10, Command: "true"},
	}, steps)
	_, err = Parse("```console\n$ a\n```\n```console\noutput\n```\n")
	require.ErrorContains(t, err, "line 5: output without a command")
	_, err = Parse("```console\n$ a\n")
	require.ErrorContains(t, err, "no end")
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		name, want, got string
		fails           bool
	}{
		{"equal", "a\nb", "a\nb\n", false},
		{"blanks", "a  b", "a      b", false},
		{"part of a line", "lease …  ended at … s", "lease F1xH ended at 12 s", false},
		{"lines", "a\n…\nz", "a\nb\nc\nz", false},
		{"no line at all", "a\n…\nz", "a\nz", false},
		{"the first of two candidates is wrong", "…\nb\nc", "b\nx\nb\nc", false},
		{"nothing", "", "", false},
		{"another text", "a", "b", true},
		{"a line is missing", "a\nb", "a", true},
		{"a line too many", "a", "a\nb", true},
		{"output where none is shown", "", "a", true},
		{"a pattern is text", "a.c", "abc", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Match(strings.Split(c.want, "\n"), c.got)
			require.Equal(t, c.fails, err != nil, "%v", err)
		})
	}
}

func TestAShellKeepsWhatACommandSets(t *testing.T) {
	s, err := Start(t.Context(), t.TempDir(), os.Environ(), nil)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Run("x=5; f() { echo \"f $1\"; }")
	require.NoError(t, err)
	out, err := s.Run("f $x; echo problem >&2; printf end")
	require.NoError(t, err)
	require.Equal(t, "f 5\nproblem\nend", out)
	out, err = s.Run("cat; false")
	require.ErrorIs(t, err, ErrFailed)
	require.Empty(t, out, "a command has no input")
}

func TestCloseEndsWhatRunsInTheBackground(t *testing.T) {
	s, err := Start(t.Context(), t.TempDir(), os.Environ(), nil)
	require.NoError(t, err)
	out, err := s.Run("sleep 600 >/dev/null 2>&1 & echo $!")
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	require.NoError(t, err)
	s.Close()
	require.Eventually(t, func() bool { return gone(pid) }, time.Minute, 10*time.Millisecond)
}

// gone reports whether a process has ended; one that nobody has waited for yet is a zombie.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}
