package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSummary(t *testing.T) {
	const input = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:7: no validator here\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p","Elapsed":0.2}
`
	var out strings.Builder
	ok, _, err := summarise(strings.NewReader(input), &out)
	require.NoError(t, err)
	require.True(t, ok)
	require.NotContains(t, out.String(), "quiet")
	require.Contains(t, out.String(), "SKIPPED p TestB: b_test.go:7: no validator here\n")
	require.Contains(t, out.String(), "1 tests passed in 1 packages, 0 failed, 1 skipped\n")
}

func TestFailuresAreShown(t *testing.T) {
	const input = `{"Action":"output","Package":"p","Test":"TestA/x","Output":"wrong number\n"}
{"Action":"fail","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"panic: oh\n"}
{"Action":"fail","Package":"p"}
`
	var out strings.Builder
	ok, _, err := summarise(strings.NewReader(input), &out)
	require.NoError(t, err)
	require.False(t, ok)
	require.Contains(t, out.String(), "wrong number")
	require.Contains(t, out.String(), "panic: oh")
}

func TestBuildErrorsAreShown(t *testing.T) {
	const input = `{"ImportPath":"p","Action":"build-output","Output":"p.go:1: syntax error\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"fail","Package":"p","FailedBuild":"p"}
`
	var out strings.Builder
	ok, _, err := summarise(strings.NewReader(input), &out)
	require.NoError(t, err)
	require.False(t, ok)
	require.Contains(t, out.String(), "syntax error")
}

func TestNothingIsNoSuccess(t *testing.T) {
	var out strings.Builder
	ok, _, err := summarise(strings.NewReader(""), &out)
	require.NoError(t, err)
	require.False(t, ok)
}

// A test that says itself that it failed may be run once more; a race, a panic, a package without a failed test, and many
// failures may not.
func TestWhatMayBeRepeated(t *testing.T) {
	const failed = `{"Action":"fail","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`
	for name, c := range map[string]struct{ input, want string }{
		"all passed":  {`{"Action":"pass","Package":"p"}`, ""},
		"one test":    {failed, "p TestA\n"},
		"two":         {failed + `{"Action":"fail","Package":"p/q","Test":"TestB"}`, "p TestA\np/q TestB\n"},
		"a race":      {`{"Action":"output","Package":"p","Test":"TestA","Output":"WARNING: DATA RACE\n"}` + "\n" + failed + `{"Action":"fail","Package":"p","Test":"TestA"}`, ""},
		"a panic":     {`{"Action":"output","Package":"p","Output":"panic: oh\n"}` + "\n" + failed, ""},
		"not built":   {`{"Action":"fail","Package":"p","FailedBuild":"p"}`, ""},
		"beside that": {failed + `{"Action":"fail","Package":"q"}`, ""},
		"four": {failed + `{"Action":"fail","Package":"q","Test":"TestA"}
{"Action":"fail","Package":"q","Test":"TestB"}
{"Action":"fail","Package":"q","Test":"TestC"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, failures, err := summarise(strings.NewReader(c.input), &strings.Builder{})
			require.NoError(t, err)
			require.Equal(t, c.want, failures.repeatable())
		})
	}
}
