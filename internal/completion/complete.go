package completion

import (
	"context"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/internal/arguments"
)

// Within is how long a shell waits at most.
const Within = 1500 * time.Millisecond

// Source knows values.
type Source func(context.Context, *arguments.Place) []Candidate

// Sources know the values of flags, by their first names, and of arguments, by the capitals of a command's usage.
type Sources struct{ Flags, Arguments map[string]Source }

// Find is how a command line may go on, and the word that is typed: args are without the program's name and Flag.
func Find(ctx context.Context, app *cli.App, args []string, shell string, known Sources) (word string, found []Candidate) {
	before := args
	if n := len(args); n > 0 && (shell != "" || strings.HasPrefix(args[n-1], "-")) {
		before, word = args[:n-1], args[n-1]
	}
	p := arguments.Locate(app, before, word)
	if p.Over {
		return p.Word, nil
	}
	f := &finder{place: p, app: app, known: known}
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	// A key may take long to open, and cannot be interrupted.
	done := make(chan []Candidate, 1)
	go func() { done <- f.find(ctx) }()
	select {
	case found = <-done:
	case <-ctx.Done():
	}
	if joined, _, is := strings.Cut(word, "="); is && p.Flag != "" && shell != "bash" { // other shells replace the whole word
		for i := range found {
			found[i].Value = joined + "=" + found[i].Value
		}
		return word, found
	}
	return p.Word, found
}

type finder struct {
	place arguments.Place
	app   *cli.App
	known Sources
}

func (f *finder) find(ctx context.Context) []Candidate {
	c := f.place.Command()
	switch {
	case f.place.Flag != "":
		return ask(ctx, f.known.Flags[f.place.Flag], &f.place)
	case strings.HasPrefix(f.place.Word, "-"):
		flags := f.app.VisibleFlags()
		if c != nil {
			flags = append(c.VisibleFlags(), flags...)
		}
		return flagNames(flags, strings.HasPrefix(f.place.Word, "--"))
	case c == nil:
		return commands(f.app.Commands)
	}
	var out []Candidate
	if f.place.Args == 0 {
		out = commands(c.Subcommands)
	}
	return append(out, f.argument(ctx, c)...)
}

func commands(all []*cli.Command) (out []Candidate) {
	for _, c := range all {
		if c.Hidden {
			continue
		}
		for _, name := range c.Names() {
			out = append(out, Candidate{name, c.Usage})
		}
	}
	return out
}

func flagNames(all []cli.Flag, long bool) (out []Candidate) {
	for _, f := range all {
		about := ""
		if d, ok := f.(cli.DocGenerationFlag); ok {
			about = strings.ReplaceAll(d.GetUsage(), "`", "")
		}
		for _, name := range f.Names() {
			switch {
			case len(name) > 1:
				out = append(out, Candidate{"--" + name, about})
			case !long:
				out = append(out, Candidate{"-" + name, about})
			}
		}
	}
	return out
}

func ask(ctx context.Context, s Source, p *arguments.Place) []Candidate {
	if s == nil {
		return nil
	}
	return s(ctx, p)
}

// argument are values of an argument, as the command's usage names it: capitals for what is meant, other words as they are.
func (f *finder) argument(ctx context.Context, c *cli.Command) (out []Candidate) {
	usage, _, _ := strings.Cut(c.ArgsUsage, "--")
	fields := strings.Fields(strings.Trim(strings.TrimSpace(usage), "[]"))
	if f.place.Args >= len(fields) {
		return nil
	}
	one := strings.Split(fields[f.place.Args], "|")
	for _, kind := range one {
		if len(one) > 1 && kind == strings.ToLower(kind) {
			out = append(out, Candidate{Value: kind})
			continue
		}
		out = append(out, ask(ctx, f.known.Arguments[kind], &f.place)...)
	}
	return out
}
