package complete

import (
	"context"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/config"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/internal/arguments"
)

// Within is how long a shell waits at most.
const Within = 1500 * time.Millisecond

// Open opens the market that the flags of a command line name.
type Open func(ctx context.Context, given map[string][]string) (*Market, error)

// Find is how a command line may go on, and the word that is typed: args are without the program's name and Flag.
func Find(ctx context.Context, app *cli.App, args []string, shell string, open Open) (word string, found []Candidate) {
	before := args
	if n := len(args); n > 0 && (shell != "" || strings.HasPrefix(args[n-1], "-")) {
		before, word = args[:n-1], args[n-1]
	}
	p := arguments.Locate(app, before, word)
	if p.Over {
		return p.Word, nil
	}
	f := &finder{place: p, app: app, open: open}
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
	open  Open
}

func (f *finder) find(ctx context.Context) []Candidate {
	c := f.place.Command()
	switch {
	case f.place.Flag != "":
		return f.value(ctx)
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

// value are values of a flag.
func (f *finder) value(ctx context.Context) []Candidate {
	switch f.place.Flag {
	case "gpu":
		return f.ofMarket(ctx, (*Market).models)
	case "template":
		return templates()
	case "context":
		return contexts()
	}
	return nil
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
		switch kind {
		case "LEASE":
			out = append(out, f.ofMarket(ctx, f.leases)...)
		case "ORDER", "CLUSTER":
			out = append(out, f.ofMarket(ctx, (*Market).orders)...)
		case "NODE":
			out = append(out, f.ofMarket(ctx, (*Market).nodes)...)
		case "CONTEXT":
			out = append(out, contexts()...)
		case "NAME":
			if f.place.Path[0].Name == "templates" {
				out = append(out, templates()...)
			}
		default:
			if len(one) > 1 && kind == strings.ToLower(kind) {
				out = append(out, Candidate{Value: kind})
			}
		}
	}
	return out
}

// ofOver are commands about leases that may be over.
var ofOver = map[string]bool{"rate": true, "close": true, "audit": true, "why": true, "dispute": true}

func (f *finder) leases(m *Market, ctx context.Context) []Candidate {
	return m.leases(ctx, ofOver[f.place.Path[0].Name])
}

func (f *finder) ofMarket(ctx context.Context, read func(*Market, context.Context) []Candidate) []Candidate {
	m, err := f.open(ctx, f.place.Given)
	if err != nil {
		return nil
	}
	defer m.Close()
	return read(m, ctx)
}

func templates() (out []Candidate) {
	all, err := template.Builtin()
	if err != nil {
		return nil
	}
	for _, t := range all {
		out = append(out, Candidate{t.Name, t.Title})
	}
	return out
}

func contexts() (out []Candidate) {
	f, err := config.Load()
	if err != nil {
		return nil
	}
	for _, c := range f.List() {
		out = append(out, Candidate{c.Name, strings.Join(c.RPC, " ")})
	}
	return out
}
