package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/internal/testkit/screentest"
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
		for name, of := range screenOf {
			if of.test == t.Name() && r.printed[name] <= of.after && !t.Failed() && !t.Skipped() {
				t.Errorf("the screen of gantry %s is to be drawn here, and was not: it printed %d results", name, r.printed[name])
			}
		}
	})
	return r
}

// of draws what the command of a command line prints, if this test is the owner of its screen. Every document is the same in YAML.
func (r *results) of(args []string) func(any, func(*terminal.Page)) {
	s := cli.Streams{}
	var path []string
	for _, c := range arguments.Locate(command.NewApp(s, cli.Commands(s)), args, "").Path {
		path = append(path, c.Name)
	}
	name := strings.Join(path, " ")
	return func(value any, people func(*terminal.Page)) {
		var asJSON, asYAML bytes.Buffer
		assert.NoError(r.t, terminal.FormatJSON.Write(&asJSON, value))
		assert.NoError(r.t, terminal.FormatYAML.Write(&asYAML, value))
		assert.Equal(r.t, decoded(r.t, asJSON.Bytes()), decoded(r.t, asYAML.Bytes()), name)
		if people == nil {
			return
		}
		r.mu.Lock()
		n := r.printed[name]
		r.printed[name]++
		r.mu.Unlock()
		r.t.Logf("result %d of gantry %s", n, name)
		if of := screenOf[name]; of.test != r.t.Name() || of.after != n {
			return
		}
		m := masks{}
		screentest.Screens(r.t, strings.ReplaceAll(name, " ", "-"), func(at screen.Terminal) {
			p := terminal.NewScreen(at)
			p.Mask = m.mask
			people(p)
			assert.NoError(r.t, p.Close(), name)
		})
	}
}

// decoded is a document as a YAML decoder sees it: JSON is YAML.
func decoded(t *testing.T, raw []byte) (out any) {
	assert.NoError(t, yaml.Unmarshal(raw, &out), string(raw))
	return out
}

// masks have what differs between two runs written in the same way, in as many columns.
type masks map[string]string

var masked = []struct {
	is   *regexp.Regexp
	name string // the beginning of what stands there instead; a text without a number where it is fixed
	long int
}{
	{regexp.MustCompile(`/tmp/[^ "]*/`), "/folder/", 0},
	{regexp.MustCompile(`\bgantry_team_[\w-]{43}`), "gantry_team_token", 0},
	{regexp.MustCompile(`%3A%2F%2F127.0.0.1%3A\d+`), "%3A%2F%2F127.0.0.1%3A4001", 0},
	{regexp.MustCompile(`\b[0-9.]+ USDC of the reservation`), "0.0042 USDC of the reservation", 0},
	{regexp.MustCompile(`\b[89]\d{8}\b`), "898035556", 0}, // a period
	{regexp.MustCompile(`\bburned [0-9.]+ GNT`), "burned 0.000126 GNT", 0},
	{regexp.MustCompile(`\bslot \d+\b`), "slot 31", 0},
	{regexp.MustCompile(`\b[1-9A-HJ-NP-Za-km-z]{86,88}\b`), "signature", 88},
	{regexp.MustCompile(`\b12D3KooW[1-9A-HJ-NP-Za-km-z]{44}\b`), "12D3KooW", 52},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "hash", 64},
	{regexp.MustCompile(`\b[1-9A-HJ-NP-Za-km-z]{43,44}\b`), "", 44},
	{regexp.MustCompile(`\b[1-9A-HJ-NP-Za-km-z]{6}…`), "Begins…", 0},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?`), "2026-01-02 15:04:05", 0},
	{regexp.MustCompile(`\b(\d+ [A-Z][a-z][a-z] )?\d\d:\d\d\b`), "15:04", 0},
	{regexp.MustCompile(`\b127\.0\.0\.1(:|/tcp/)\d+`), "127.0.0.1${1}4001", 0},
	{regexp.MustCompile(`\b\d+s\b`), "5s", 0},
	{regexp.MustCompile(`\b\d+ s paid = [0-9.]+`), "5 s paid = 0.005000", 0},
}

func (m masks) mask(text string) string {
	for _, k := range masked {
		if k.long == 0 {
			text = k.is.ReplaceAllString(text, k.name)
			continue
		}
		text = k.is.ReplaceAllStringFunc(text, func(found string) string {
			if _, ok := m[found]; !ok {
				m[found] = fmt.Sprintf("%s%d", k.name, len(m)+1)
				if k.name == "" {
					m[found] = "A" + m[found]
				}
				m[found] += strings.Repeat("x", k.long-len(m[found]))
			}
			return m[found]
		})
	}
	return text
}

// drawn is where the screen of a command is drawn: by a test, after some results of the command in it.
type drawn struct {
	test  string
	after int
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

// Every command has a golden screen, or a reason to have none. A command that is new fails here until it has one.
func TestEveryCommandHasAScreen(t *testing.T) {
	all := leaves("", cli.Commands(cli.Streams{}))
	for _, name := range all {
		_, has := screenOf[name]
		_, lacks := noScreen[name]
		if has == lacks {
			t.Errorf("gantry %s has to be in screenOf or in noScreen, and in one of them", name)
		}
		if has {
			require.FileExists(t, "testdata/screens/"+strings.ReplaceAll(name, " ", "-")+".txt")
		}
	}
	files, err := filepath.Glob("*engine_test.go")
	require.NoError(t, err)
	var tests strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		tests.Write(raw)
	}
	for name, of := range screenOf {
		require.Contains(t, all, name)
		require.Contains(t, tests.String(), "func "+of.test+"(t *testing.T)", name)
	}
	for name, why := range noScreen {
		require.True(t, slices.Contains(all, name) && why != "", name)
	}
}
