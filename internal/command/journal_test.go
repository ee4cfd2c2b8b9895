package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const envLogs = "GANTRY_TEST_LOGS"

// logsOf runs this test again as a program whose standard error is a file, which is the journal or not.
func logsOf(t *testing.T, format string, journal bool) []string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer f.Close()
	var at syscall.Stat_t
	require.NoError(t, syscall.Fstat(int(f.Fd()), &at))
	stream := fmt.Sprintf("%d:%d", at.Dev, at.Ino)
	if !journal {
		stream = "1:1" // of a parent's standard error
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLogs$")
	cmd.Env, cmd.Stderr = append(os.Environ(), envLogs+"="+format, "JOURNAL_STREAM="+stream), f
	require.NoError(t, cmd.Run())
	raw, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

// TestLogs is the program of logsOf.
func TestLogs(t *testing.T) {
	format := os.Getenv(envLogs)
	if format == "" {
		t.Skip("a program of other tests")
	}
	log, err := Log("trace", format == "json")
	require.NoError(t, err)
	log.Trace().Msg("trace")
	log.Debug().Msg("debug")
	log.Info().Str("name", "\u202e").Msg("info")
	log.Warn().Msg("warn")
	log.Error().Err(errors.New("one\ntwo")).Msg("three\nfour")
	log.Log().Msg("none")
	Fail("it ends\nfor a reason")
}

func TestTheJournalKnowsTheLevels(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		plain, lines := logsOf(t, format, false), logsOf(t, format, true)
		want := []string{"<7>", "<7>", "<6>", "<4>", "<3>", "<6>", "<3>", "<3>"}
		if format == "text" { // the message has two lines
			want = []string{"<7>", "<7>", "<6>", "<4>", "<3>", "<3>", "<6>", "<3>", "<3>"}
		}
		require.Len(t, lines, len(want), lines)
		require.Len(t, plain, len(want), plain)
		for i, line := range lines {
			require.True(t, strings.HasPrefix(line, want[i]), "%s: %q", want[i], line)
			require.False(t, strings.HasPrefix(plain[i], "<"), plain[i])
			if format == "json" && plain[i][0] == '{' {
				require.Equal(t, withoutTime(plain[i]), withoutTime(line[3:]))
			}
		}
		require.Contains(t, strings.Join(lines, ""), `\u202e`, "what others wrote stays harmless")
	}
}

func withoutTime(line string) string {
	before, rest, _ := strings.Cut(line, `"time":"`)
	_, after, _ := strings.Cut(rest, `"`)
	return before + after
}
