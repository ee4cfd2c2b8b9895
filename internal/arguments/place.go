package arguments

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Place is where a command line is to be completed.
type Place struct {
	Path  []*cli.Command      // the command and those above it, none before the first
	Word  string              // what is typed of the word
	Flag  string              // the flag whose value the word is; empty for none
	Args  int                 // arguments of the command before the word
	Given map[string][]string // values of flags that stand before, by the flag's first name
	Over  bool                // the word is behind "--": it is the job's
}

// Command is the command that takes the word; nil for none yet.
func (p *Place) Command() *cli.Command {
	if len(p.Path) == 0 {
		return nil
	}
	return p.Path[len(p.Path)-1]
}

// Locate finds the place of a word behind others.
func Locate(app *cli.App, before []string, word string) Place {
	p := Place{Word: word, Given: map[string][]string{}}
	before = slices.DeleteFunc(slices.Clone(before), func(s string) bool { return s == "=" }) // bash splits --flag=value
	if word == "=" {
		p.Word = ""
	}
	for i := 0; i < len(before); i++ {
		arg := before[i]
		if arg == "--" {
			p.Over = true
			return p
		}
		if !isFlag(arg) {
			if next := Command(p.next(app), arg); next != nil && p.Args == 0 {
				p.Path = append(p.Path, next)
			} else {
				p.Args++
			}
			continue
		}
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		known := p.flag(app, name)
		if known == nil {
			continue
		}
		name = known.Names()[0]
		switch {
		case takesValue(known) && !joined && i+1 == len(before):
			p.Flag = name
			return p
		case takesValue(known) && !joined:
			i++
			value = before[i]
		}
		p.Given[name] = append(p.Given[name], value)
	}
	if name, value, joined := strings.Cut(strings.TrimLeft(p.Word, "-"), "="); joined && isFlag(p.Word) {
		if known := p.flag(app, name); known != nil {
			p.Flag, p.Word = known.Names()[0], value
		}
	}
	return p
}

// next are the commands that may follow.
func (p *Place) next(app *cli.App) []*cli.Command {
	if c := p.Command(); c != nil {
		return c.Subcommands
	}
	return app.Commands
}

// flag is a flag of the command, or of all.
func (p *Place) flag(app *cli.App, name string) cli.Flag {
	if c := p.Command(); c != nil {
		if f := findFlag(c.Flags, name); f != nil {
			return f
		}
	}
	return findFlag(app.Flags, name)
}
