package main

import (
	"os"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// The demo is one screen where a person looks at a terminal, and text everywhere else.
func TestWhereTheDemoIsAScreen(t *testing.T) {
	ptmx, tty, err := pty.Open()
	require.NoError(t, err)
	defer ptmx.Close()
	defer tty.Close()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	for _, c := range []struct {
		name     string
		out      *os.File
		env      map[string]string
		text     bool
		isScreen bool
	}{
		{"a terminal", tty, nil, false, true},
		{"a terminal without colours", tty, map[string]string{"NO_COLOR": "1"}, false, true},
		{"a terminal, --verbose", tty, nil, true, false},
		{"a dumb terminal", tty, map[string]string{"TERM": "dumb"}, false, false},
		{"continuous integration", tty, map[string]string{"CI": "true"}, false, false},
		{"a pipe", w, nil, false, false},
	} {
		out, screen := demoOutput(c.out, func(name string) string { return c.env[name] }, c.text)
		require.Same(t, c.out, out, c.name)
		require.Equal(t, c.isScreen, screen != nil, c.name)
		require.True(t, screen == nil || screen.Colour == (c.env["NO_COLOR"] == ""), c.name)
	}
}
