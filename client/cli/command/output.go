package command

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
)

// formatOf is the format that the flags ask for.
func formatOf(c *cli.Context) (terminal.Format, error) {
	f, err := terminal.ParseFormat(c.String(FlagOutput))
	switch {
	case err != nil:
		return f, service.Usage("--output: "+err.Error(), "such as: gantry leases -o wide")
	case c.Bool(FlagJSON) && c.IsSet(FlagOutput) && f != terminal.FormatJSON:
		return f, service.Usage("--json and --output "+string(f)+" are two formats", "give one of them")
	case c.Bool(FlagJSON):
		return terminal.FormatJSON, nil
	}
	return f, nil
}

// wanted looks at the raw arguments, because errors can come before flags are parsed.
func wanted(args []string) terminal.Format {
	for i, a := range args {
		name, value, joined := strings.Cut(strings.TrimLeft(a, "-"), "=")
		switch {
		case a == "--":
			return terminal.FormatTable
		case !strings.HasPrefix(a, "-"):
		case name == FlagJSON && (!joined || value == "true"):
			return terminal.FormatJSON
		case name == FlagOutput || name == "o":
			if !joined && i+1 < len(args) {
				value = args[i+1]
			}
			f, _ := terminal.ParseFormat(value)
			return f
		}
	}
	return terminal.FormatTable
}

// Done prints a command's result: value as a document, or for people.
func (s *Session) Done(value any, people func(*terminal.Page)) error {
	return s.Streams.print(s.Format, value, people)
}

// Print is Done for commands without a session.
func (s Streams) Print(c *cli.Context, value any, people func(*terminal.Page)) error {
	f, err := formatOf(c)
	if err != nil {
		return err
	}
	return s.print(f, value, people)
}

func (s Streams) print(f terminal.Format, value any, people func(*terminal.Page)) error {
	if s.Results != nil {
		s.Results(value, people)
	}
	if f.Document() {
		return f.Write(s.Out, value)
	}
	p := terminal.NewPage(s.Out)
	if s.OnOut.Live {
		p = terminal.NewScreen(s.OnOut)
	}
	p.Wide = f == terminal.FormatWide
	people(p)
	return p.Close()
}
