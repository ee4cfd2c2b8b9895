package completion

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/internal/arguments"
)

// Names come from others: what a shell would run or read as something else is not offered.
func TestWhatAShellReadsOtherwiseIsLeftOut(t *testing.T) {
	all := []Candidate{
		{"A100", "a\nb:\tc"},
		{"$(reboot)", ""},
		{"`x`", ""},
		{"a b", ""},
		{"a;b", ""},
		{"A*", ""},
		{"\x1b[2J", ""},
		{"", ""},
		{"A100", "again"},
		{"A:4", "d"},
		{"B1", ""},
	}
	for shell, want := range map[string]string{"": "A100\nA:4\n", "bash": "A100\nA:4\n", "zsh": "A100:a b: c\nA\\:4:d\n", "fish": "A100\ta b: c\nA:4\td\n"} {
		var out bytes.Buffer
		Write(&out, shell, "A", all)
		require.Equal(t, want, out.String(), shell)
	}
}

func TestAShellWaitsForABoundedTime(t *testing.T) {
	slow := func(context.Context, *arguments.Place) []Candidate {
		time.Sleep(time.Minute)
		return []Candidate{{Value: "late"}}
	}
	app := &cli.App{Commands: []*cli.Command{{Name: "stop", ArgsUsage: "LEASE"}}}
	begun := time.Now()
	_, found := Find(t.Context(), app, []string{"stop", ""}, "bash", Sources{Arguments: map[string]Source{"LEASE": slow}})
	require.Empty(t, found)
	require.Less(t, time.Since(begun), 10*time.Second)
}

// A usage names what an argument is; words in small letters stand for themselves.
func TestArgumentsAreThoseOfTheUsage(t *testing.T) {
	is := func(name string) Source {
		return func(context.Context, *arguments.Place) []Candidate { return []Candidate{{Value: name}} }
	}
	known := Sources{Arguments: map[string]Source{"LEASE": is("l"), "ORDER": is("o")}}
	for usage, want := range map[string][2][]string{
		"LEASE":               {{"l"}, nil},
		"[LEASE]":             {{"l"}, nil},
		"ORDER|LEASE":         {{"o", "l"}, nil},
		"ORDER -- COMMAND…":   {{"o"}, nil},
		"LEASE [-- COMMAND…]": {{"l"}, nil},
		"FAULT LEASE":         {nil, {"l"}},
		"AMOUNT|all":          {{"all"}, nil},
		"bash|zsh":            {{"bash", "zsh"}, nil},
		"":                    {nil, nil},
	} {
		app := &cli.App{Commands: []*cli.Command{{Name: "do", ArgsUsage: usage}}}
		for i, typed := range [][]string{{"do", ""}, {"do", "x", ""}} {
			var got []string
			_, found := Find(t.Context(), app, typed, "bash", known)
			for _, c := range found {
				got = append(got, c.Value)
			}
			require.Equal(t, want[i], got, "%q %d", usage, i)
		}
	}
}
