package arguments

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

// app has flags with and without a value, of every command and of one, and a command with subcommands.
func app() *cli.App {
	return &cli.App{
		Flags: []cli.Flag{&cli.StringFlag{Name: "url", Aliases: []string{"u"}}, &cli.BoolFlag{Name: "json"}},
		Commands: []*cli.Command{
			{Name: "stop", Flags: []cli.Flag{&cli.BoolFlag{Name: "force", Aliases: []string{"f"}}, &cli.StringFlag{Name: "user", Aliases: []string{"u"}}}},
			{Name: "market", Aliases: []string{"mk"}, Subcommands: []*cli.Command{
				{Name: "set", Flags: []cli.Flag{&cli.StringSliceFlag{Name: "param"}}},
				{Name: "show"},
			}},
			{Name: "secret", Hidden: true},
		},
	}
}

func TestFlagsStandWhereTheParserTakesThem(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"stop L --json":                     "--json stop L",
		"stop L --url x --force":            "--url x stop --force L",
		"stop --url=x L -f":                 "--url=x stop -f L",
		"--json stop -u me L":               "--json stop -u me L", // the command's flag comes before one of all commands
		"market -u x set --param a L":       "-u x market set --param a L",
		"mk set --param a --param b --json": "--json mk set --param a --param b",
		"stop L stop":                       "stop L stop", // an argument with the name of a command
		"market show market":                "market show market",
		"stop -5 L":                         "stop -5 L", // a number
		"stop - L":                          "stop - L",
		"stop L --bogus x":                  "stop --bogus L x", // an unknown flag is left to the parser
		"stop L -- --json -f":               "stop L -- --json -f",
		"stop --user":                       "stop --user", // the value is missing, which the parser says
	} {
		require.Equal(t, want, strings.Join(Arrange(app(), strings.Fields(in)), " "), "%q", in)
	}
}

func TestACommandHasSeveralNames(t *testing.T) {
	all := app().Commands
	require.Same(t, all[1], Command(all, "mk"))
	require.Same(t, all[1], Command(all, "market"))
	require.Nil(t, Command(all, "mark"))
	require.Nil(t, Command(nil, "stop"))
}

func TestHelpIsACommandAndAFlag(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "help": "--help", "help market set": "market set --help", "stop help": "stop help", "--help": "--help",
	} {
		require.Equal(t, want, strings.Join(AsHelp(strings.Fields(in)), " "), "%q", in)
	}
	typed := []string{"help", "stop"}
	AsHelp(typed)
	require.Equal(t, []string{"help", "stop"}, typed, "what was typed stays")
}

func TestAMistypedCommandIsAdvisedOn(t *testing.T) {
	all := app().Commands
	require.Equal(t, "did you mean gantry stop? See gantry --help", Suggest("stpo", "gantry", all))
	require.Equal(t, "did you mean gantry market? See gantry --help", Suggest("MARKTE", "gantry", all))
	require.Equal(t, "see gantry --help", Suggest("banana", "gantry", all))
	require.Equal(t, "see gantry --help", Suggest("secrte", "gantry", all), "what is hidden is not offered")
	require.Equal(t, "did you mean gantry market show? See gantry market --help", Suggest("shwo", "gantry market", all[1].Subcommands))
}

func TestAMistypedFlagIsAdvisedOn(t *testing.T) {
	flags := app().Commands[0].Flags
	for text, want := range map[string]string{
		"flag provided but not defined: -forec":     "did you mean --force? See gantry stop --help",
		"flag provided but not defined: --usre=me":  "did you mean --user? See gantry stop --help",
		"flag provided but not defined: -banana":    "see gantry stop --help",
		`invalid value "x" for flag -force: a bool`: "see gantry stop --help",
	} {
		require.Equal(t, want, SuggestFlag(errors.New(text), "gantry stop", flags), text)
	}
}

func TestTheLastWordHasAPlace(t *testing.T) {
	for in, want := range map[string]Place{
		"|":                           {Given: map[string][]string{}},
		"|st":                         {Word: "st"},
		"--url x stop|":               {Path: []*cli.Command{{Name: "stop"}}, Given: map[string][]string{"url": {"x"}}},
		"stop -u me|L":                {Path: []*cli.Command{{Name: "stop"}}, Word: "L", Given: map[string][]string{"user": {"me"}}},
		"stop L --json|":              {Path: []*cli.Command{{Name: "stop"}}, Args: 1, Given: map[string][]string{"json": {""}}},
		"stop --user|m":               {Path: []*cli.Command{{Name: "stop"}}, Flag: "user", Word: "m"},
		"stop --user =|m":             {Path: []*cli.Command{{Name: "stop"}}, Flag: "user", Word: "m"},
		"stop --user|=":               {Path: []*cli.Command{{Name: "stop"}}, Flag: "user"},
		"stop|--user=m":               {Path: []*cli.Command{{Name: "stop"}}, Flag: "user", Word: "m"},
		"stop|--bogus=m":              {Path: []*cli.Command{{Name: "stop"}}, Word: "--bogus=m"},
		"stop --bogus|--f":            {Path: []*cli.Command{{Name: "stop"}}, Word: "--f"},
		"mk set --param a --param b|": {Path: []*cli.Command{{Name: "market"}, {Name: "set"}}, Given: map[string][]string{"param": {"a", "b"}}},
		"market x show|":              {Path: []*cli.Command{{Name: "market"}}, Args: 2},
		"stop -- x|":                  {Path: []*cli.Command{{Name: "stop"}}, Over: true},
	} {
		before, word, _ := strings.Cut(in, "|")
		got := Locate(app(), strings.Fields(before), word)
		if want.Given == nil {
			want.Given = map[string][]string{}
		}
		require.Len(t, got.Path, len(want.Path), in)
		for i := range got.Path {
			require.Equal(t, want.Path[i].Name, got.Path[i].Name, in)
		}
		want.Path = got.Path
		require.Equal(t, want, got, in)
	}
}

// Command lines of several applications run at the same time; help and the version are asked for wherever flags stand.
func TestHelpIsEachApplicationsOwn(t *testing.T) {
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for line, want := range map[string]string{"stop --help": "--force", "market show -h": "--help", "--version": "app version 1.2", "-v stop": "app version 1.2"} {
				var out strings.Builder
				a := app()
				a.Name, a.Version, a.Writer = "app", "1.2", &out
				OwnHelp(a)
				err := a.Run(append([]string{"app"}, Arrange(a, strings.Fields(line))...))
				require.True(t, err == nil || errors.Is(err, ErrVersion), "%q: %v", line, err)
				require.Contains(t, out.String(), want, line)
			}
		})
	}
}
