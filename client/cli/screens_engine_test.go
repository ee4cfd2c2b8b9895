package cli_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	ucli "github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/arguments"
	"github.com/gantry-market/gantry/internal/testkit/clitest"
)

// results draws the screens of the commands that a test runs. A test is the owner of those that screenOf says.
type results struct {
	t       *testing.T
	mu      sync.Mutex
	printed map[string]int // how many results of a command there were
}

var (
	resultsLock sync.Mutex
	resultsIn   = map[*testing.T]*results{}
)

// resultsOf are the results of a test. When it ends, every screen that it owns was drawn.
func resultsOf(t *testing.T) *results {
	resultsLock.Lock()
	defer resultsLock.Unlock()
	if r, ok := resultsIn[t]; ok {
		return r
	}
	r := &results{t: t, printed: map[string]int{}}
	resultsIn[t] = r
	t.Cleanup(func() {
		resultsLock.Lock()
		delete(resultsIn, t)
		resultsLock.Unlock()
		for name, of := range ownScreens() {
			if of.test == t.Name() && r.printed[name] <= of.after && !t.Failed() && !t.Skipped() {
				t.Errorf("the screen of gantry %s is to be drawn here, and was not: it printed %d results", name, r.printed[name])
			}
		}
	})
	return r
}

// nameOf is the command of a command line.
func nameOf(args []string) string {
	s := cli.Streams{}
	var path []string
	for _, c := range arguments.Locate(command.NewApp(s, cli.Commands(s)), args, "").Path {
		path = append(path, c.Name)
	}
	return strings.Join(path, " ")
}

// of draws what the command of a command line prints, if this test is the owner of its screen. Every document is the same in YAML.
func (r *results) of(args []string) func(any, func(*terminal.Page)) {
	name := nameOf(args)
	return func(value any, people func(*terminal.Page)) {
		var asJSON, asYAML bytes.Buffer
		assert.NoError(r.t, terminal.FormatJSON.Write(&asJSON, value))
		assert.NoError(r.t, terminal.FormatYAML.Write(&asYAML, value))
		assert.Equal(r.t, decoded(r.t, asJSON.Bytes()), decoded(r.t, asYAML.Bytes()), name)
		if people != nil {
			r.draws(name, screenOf, people)
		}
	}
}

// failed draws the error of a command that failureOf names.
func (r *results) failed(args []string) func(func(*terminal.Page)) {
	name := nameOf(args)
	return func(people func(*terminal.Page)) {
		if _, has := failureOf[name]; has {
			r.draws(name, failureOf, people)
		}
	}
}

func (r *results) draws(name string, owners map[string]drawn, people func(*terminal.Page)) {
	r.mu.Lock()
	n := r.printed[name]
	r.printed[name]++
	r.mu.Unlock()
	r.t.Logf("screen %d of gantry %s", n, name)
	if of := owners[name]; of.test != r.t.Name() || of.after != n {
		return
	}
	clitest.Page(r.t, name, people)
}

// decoded is a document as a YAML decoder sees it: JSON is YAML.
func decoded(t *testing.T, raw []byte) (out any) {
	assert.NoError(t, yaml.Unmarshal(raw, &out), string(raw))
	return out
}

// drawn is where the screen of a command is drawn: by a test, after some results of the command in it.
type drawn struct {
	test  string
	after int
}

// ownScreens are all that tests of this package draw.
func ownScreens() map[string]drawn {
	all := maps.Clone(screenOf)
	maps.Copy(all, failureOf)
	return all
}

// leaves are the commands that do something, by their whole names.
func leaves(path string, all []*ucli.Command) (out []string) {
	for _, c := range all {
		name := strings.TrimSpace(path + " " + c.Name)
		if c.Action != nil && !c.Hidden {
			out = append(out, name)
		}
		out = append(out, leaves(name, c.Subcommands)...)
	}
	return out
}

// Every command has a golden screen. A command that is new fails here until it has one.
func TestEveryCommandHasAScreen(t *testing.T) {
	t.Parallel()
	all := leaves("", cli.Commands(cli.Streams{}))
	places := map[string]int{}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(screenOf)), slices.Collect(maps.Keys(failureOf)), slices.Collect(maps.Keys(screenIn)), slices.Collect(maps.Keys(elsewhere))) {
		require.Contains(t, all, name)
		places[name]++
	}
	for _, name := range all {
		if places[name] != 1 {
			t.Errorf("gantry %s has to be in one of screenOf, failureOf, screenIn and elsewhere", name)
		}
	}
	for name, of := range ownScreens() {
		drawnIn(t, ".", name, of.test)
	}
	for name, of := range screenIn {
		drawnIn(t, of.folder, name, of.test)
	}
	for name, of := range elsewhere {
		require.FileExists(t, filepath.Join(of.folder, "testdata", of.screen), name)
		hasTest(t, of.folder, name, of.test)
	}
}

// drawnIn requires that a folder has the screen of a command, and the test that draws it.
func drawnIn(t *testing.T, folder, name, test string) {
	t.Helper()
	require.FileExists(t, filepath.Join(folder, "testdata", "screens", strings.ReplaceAll(name, " ", "-")+".txt"))
	hasTest(t, folder, name, test)
}

// hasTest requires that a folder has the test that draws the screen of a command.
func hasTest(t *testing.T, folder, name, test string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	require.NoError(t, err)
	var tests strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		tests.Write(raw)
	}
	require.Contains(t, tests.String(), "func "+test+"(t *testing.T)", name)
}
