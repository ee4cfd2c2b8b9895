package cli_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
)

// The page for users of other services names commands and flags that there are.
func TestComingFromNamesWhatThereIs(t *testing.T) {
	raw, err := os.ReadFile("../../docs/operate/coming-from.md")
	require.NoError(t, err)
	help := func(args ...string) string {
		var out, errs bytes.Buffer
		require.Equal(t, cli.ExitDone, cli.Run(t.Context(), cli.Streams{Out: &out, Err: &errs}, append(args, "--help")), "%v: %s", args, &errs)
		return out.String()
	}
	code, flag := regexp.MustCompile("`([^`]*)`"), regexp.MustCompile(`(^|\s)(--[a-z-]+|-[a-z])\b`)
	commands, flags := 0, 0
	for _, line := range strings.Split(string(raw), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if !strings.HasPrefix(line, "| ") || len(cells) < 3 {
			continue
		}
		for _, m := range code.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			words, of := strings.Fields(m[1]), []string{"deploy"}
			if words[0] == "gantry" {
				of = words[1:2]
				if of[0] == "gateway" {
					of = words[1:3]
				}
				commands++
			}
			text := help(of...)
			for _, f := range flag.FindAllStringSubmatch(strings.Split(m[1], " -- ")[0], -1) {
				require.Regexp(t, regexp.QuoteMeta(f[2])+`[ ,]`, text, "%s", m[1])
				flags++
			}
		}
	}
	require.Greater(t, commands, 9)
	require.Greater(t, flags, 14)
}
