// Package clitest draws golden screens of the client's commands. Tests of other programs run the commands against them.
package clitest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/internal/testkit/screentest"
)

// Page compares what is shown to a person with the golden screen of a command, such as "gateway list".
func Page(t *testing.T, command string, people func(*terminal.Page)) {
	t.Helper()
	m := screentest.Masks{}
	screentest.Screens(t, strings.ReplaceAll(command, " ", "-"), func(at screen.Terminal) {
		p := terminal.NewScreen(at)
		p.Mask = m.Mask
		people(p)
		assert.NoError(t, p.Close(), command)
	})
}

// Draws runs a command, which has to succeed, and compares its result with its golden screen. flags are those before its name.
func Draws(t *testing.T, flags []string, command string, args ...string) {
	t.Helper()
	all := append(append(append([]string{}, flags...), strings.Fields(command)...), args...)
	drawn := 0
	var errs bytes.Buffer
	code := cli.Run(t.Context(), cli.Streams{Out: io.Discard, Err: &errs, Results: func(_ any, people func(*terminal.Page)) {
		drawn++
		Page(t, command, people)
	}}, all)
	require.Equal(t, cli.ExitDone, code, "%v: %s", all, errs.String())
	require.Equal(t, 1, drawn, command)
}
