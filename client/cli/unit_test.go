package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	ucli "github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/internal/arguments"
)

// newApp is the whole command line, which prints nothing.
func newApp() *ucli.App {
	s := Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}
	return command.NewApp(s, Commands(s))
}

func TestFlagsMayStandAnywhere(t *testing.T) {
	app := newApp()
	for in, want := range map[string]string{
		"stop L7f --json":                                       "--json stop L7f",
		"credits add 5 -k key.json --url l":                     "-k key.json --url l credits add 5",
		"--json deploy --gpu A100 -- sh -c x --json":            "--json deploy --gpu A100 -- sh -c x --json",
		"logs L7f -f":                                           "logs -f L7f",
		"logs -f L7f --offset 7":                                "logs -f --offset 7 L7f",
		"deploy --env A=1 --detach --url=l -- run":              "--url=l deploy --env A=1 --detach -- run",
		"node update N --price 1.3 --dry-run":                   "--dry-run node update --price 1.3 N",
		"rate L 5 --bogus":                                      "rate --bogus L 5",
		"market roles propose --guardian G --treasury T --json": "--json market roles propose --guardian G --treasury T",
		"audit slash N --json":                                  "--json audit slash N",
		"audit L":                                               "audit L",
	} {
		require.Equal(t, want, strings.Join(arguments.Arrange(app, strings.Fields(in)), " "), in)
	}
}

// Values of the environment may have commas.
func TestRepeatedFlagsAreNotSplit(t *testing.T) {
	app := newApp()
	var got []string
	app.Command("deploy").Action = func(c *ucli.Context) error {
		got = c.StringSlice("env")
		return nil
	}
	require.NoError(t, app.Run([]string{"gantry", "deploy", "--env", "GPUS=0,1", "--env", "B=3", "--", "true"}))
	require.Equal(t, []string{"GPUS=0,1", "B=3"}, got)
}

func TestEveryCommandHasUsageAndAction(t *testing.T) {
	app := newApp()
	var walk func([]*ucli.Command)
	walk = func(all []*ucli.Command) {
		for _, c := range all {
			require.NotEmpty(t, c.Usage, c.Name)
			require.NotNil(t, c.Action, c.Name)
			walk(c.Subcommands)
		}
	}
	walk(app.Commands)
}

func TestBadFilesAndEndpoints(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	broken := filepath.Join(dir, "broken.json")
	require.NoError(t, os.WriteFile(broken, []byte("[1,2]"), 0o600))
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"credits", "show", "-k", dir + "/none.json"}, ExitUsage, "error: keypair file does not exist"},
		{[]string{"credits", "show", "-k", broken}, ExitUsage, "error: " + broken + ": not a Solana keypair file"},
		{[]string{"search", "--url", "http://127.0.0.1:1"}, ExitNetwork, "error: no Solana RPC endpoint answers: http://127.0.0.1:1 (connection refused)"},
		{[]string{"search", "--url", "nonsense"}, ExitUsage, "error: invalid RPC endpoint"},
		{[]string{"search", "--commitment", "soon"}, ExitUsage, `error: "soon": commitment level must be`},
		{[]string{"search", "--config", dir + "/none.yml"}, ExitUsage, "error: config file " + dir + "/none.yml does not exist"},
		{[]string{"nonsense"}, ExitUsage, `error: "nonsense" is not a command`},
		{[]string{"leasess"}, ExitUsage, "error: \"leasess\" is not a command\n       did you mean gantry leases? See gantry --help\n"},
		{[]string{"credits", "shwo"}, ExitUsage, "error: \"shwo\" is not a command of gantry credits\n       did you mean gantry credits show?"},
		{[]string{"deploy", "--imgae", "x"}, ExitUsage, "error: flag provided but not defined: -imgae\n       did you mean --image?"},
		{[]string{"credits", "nonsense"}, ExitUsage, `error: "nonsense" is not a command of gantry credits`},
		{[]string{"rate", "x"}, ExitUsage, "error: STARS is missing"},
		{[]string{"credits", "add", "1", "2"}, ExitUsage, `error: "2" is one argument too many`},
		{[]string{"deploy", "--nonsense"}, ExitUsage, "error: flag provided but not defined: -nonsense"},
		{[]string{"completion", "csh"}, ExitUsage, `error: "csh" is not a shell`},
	} {
		var out, errs bytes.Buffer
		code := Run(context.Background(), Streams{Out: &out, Err: &errs}, c.args)
		require.Equal(t, c.code, code, "%v: %s", c.args, errs.String())
		require.True(t, strings.HasPrefix(errs.String(), c.text), "%v: %s", c.args, errs.String())
		require.LessOrEqual(t, strings.Count(errs.String(), "\n"), 2, "%v: %s", c.args, errs.String())
	}
}

// A format that there is not is an error before anything is done; errors are documents too.
func TestFormatsOfResults(t *testing.T) {
	for args, want := range map[string]string{
		"-o xml key new":               `"xml" is not an output format`,
		"key new --output=":            `"" is not an output format`,
		"--json -o yaml key new":       "two formats",
		"key new a b -o yaml":          `reason: "\"b\" is one argument too many"`,
		"-o json key new a b":          `"reason": "\"b\" is one argument too many"`,
		"key new a b --output=json":    `"reason": "\"b\" is one argument too many"`,
		"key new a b -o table -o wide": "error: \"b\" is one argument too many",
	} {
		var out bytes.Buffer
		code := Run(context.Background(), Streams{Out: &out, Err: &out}, append(strings.Fields(args), "--keypair", filepath.Join(t.TempDir(), "id.json")))
		require.Equal(t, ExitUsage, code, args)
		require.Contains(t, out.String(), want, args)
	}
}

func TestHelpVersionAndCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"": "Buy and use compute:\n     credits", "--help": "--keypair", "deploy --help": "--max-price", "help deploy": "--max-price", "help credits show": "gantry credits show", "ls --help": "gantry leases", "credits": "withdraw", "--version": "gantry version",
		"completion bash": "complete -o bashdefault", "completion zsh": "compdef", "completion fish": "complete -c gantry",
	} {
		var out, errs bytes.Buffer
		code := Run(context.Background(), Streams{Out: &out, Err: &errs}, strings.Fields(args))
		require.Equal(t, ExitDone, code, "%s: %s", args, errs.String())
		require.Contains(t, out.String(), want, args)
	}
}
