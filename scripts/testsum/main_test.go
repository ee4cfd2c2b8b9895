package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/long"
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
	ok, err := summarise(strings.NewReader(input), &out)
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
	ok, err := summarise(strings.NewReader(input), &out)
	require.NoError(t, err)
	require.False(t, ok)
	require.Contains(t, out.String(), "wrong number")
	require.Contains(t, out.String(), "panic: oh")
	require.Contains(t, out.String(), "2 failed")                   // the test and its part, not the package
	require.Contains(t, out.String(), "FAILED p TestA/x\nFAILED p") // a reader of the last lines sees the names
}

func TestBuildErrorsAreShown(t *testing.T) {
	const input = `{"ImportPath":"p","Action":"build-output","Output":"p.go:1: syntax error\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"fail","Package":"p","FailedBuild":"p"}
`
	var out strings.Builder
	ok, err := summarise(strings.NewReader(input), &out)
	require.NoError(t, err)
	require.False(t, ok)
	require.Contains(t, out.String(), "syntax error")
}

func TestNothingIsNoSuccess(t *testing.T) {
	var out strings.Builder
	ok, err := summarise(strings.NewReader(""), &out)
	require.NoError(t, err)
	require.False(t, ok)
}

// Long tests are counted, and not listed among those that could not run.
func TestLongTestsAreCounted(t *testing.T) {
	input := `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: ` + long.Prefix + `an hour; make test-all\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}
`
	var out strings.Builder
	ok, err := summarise(strings.NewReader(input), &out)
	require.NoError(t, err)
	require.True(t, ok)
	require.NotContains(t, out.String(), "SKIPPED")
	require.Contains(t, out.String(), "1 tests passed in 1 packages, 0 failed, 0 skipped\n1 long tests are left to make test-all\n")
}

// A tally counts each test over all runs; a test that failed once fails it, and so does a run that ended without a result.
func TestTally(t *testing.T) {
	run := func(lines string) string {
		file := filepath.Join(t.TempDir(), "run.json")
		require.NoError(t, os.WriteFile(file, []byte(lines), 0o600))
		return file
	}
	const good = `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":2}
{"Action":"pass","Package":"p","Test":"TestB","Elapsed":1}
{"Action":"pass","Package":"p"}
`
	const bad = `{"Action":"fail","Package":"p","Test":"TestA","Elapsed":4}
{"Action":"pass","Package":"p","Test":"TestB","Elapsed":1}
{"Action":"fail","Package":"p"}
`
	var out strings.Builder
	ok, err := tally([]string{run(good), run(good)}, &out)
	require.NoError(t, err)
	require.True(t, ok)
	require.Contains(t, out.String(), "| TestA | 2 | 0 | 2.0 to 2.0 s |")

	out.Reset()
	ok, err = tally([]string{run(good), run(bad)}, &out)
	require.NoError(t, err)
	require.False(t, ok)
	require.Contains(t, out.String(), "| TestA | 2 | 1 | 2.0 to 4.0 s |")
	require.Contains(t, out.String(), "| TestB | 2 | 0 | 1.0 to 1.0 s |")

	ok, err = tally([]string{run(`{"Action":"run","Package":"p","Test":"TestA"}`)}, &out)
	require.NoError(t, err)
	require.False(t, ok, "the run was cut off")
	_, err = tally(nil, &out)
	require.Error(t, err)
}
