// Package arguments prepares a command line for urfave/cli, and advises on one that was mistyped.
package arguments

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// Arrange brings arguments into the order that the flag parser needs: flags of every command first, then the command's
// path, its own flags, its arguments, and everything after "--" as it is. So flags may stand anywhere, as in `gantry
// stop LEASE --json`. An unknown flag stays in its place, so that the parser reports it.
func Arrange(app *cli.App, args []string) []string {
	var globals, path, locals, rest, tail []string
	commands := app.Commands
	var leaf *cli.Command
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			tail = args[i:]
			break
		}
		if !isFlag(arg) {
			if next := Command(commands, arg); next != nil && len(rest) == 0 {
				path, leaf, commands = append(path, arg), next, next.Subcommands
			} else {
				rest = append(rest, arg)
			}
			continue
		}
		name, _, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		target := &locals
		var known cli.Flag
		if leaf != nil {
			known = findFlag(leaf.Flags, name)
		}
		if known == nil {
			if known = findFlag(app.Flags, name); known != nil {
				target = &globals
			}
		}
		*target = append(*target, arg)
		if known != nil && takesValue(known) && !joined && i+1 < len(args) {
			i++
			*target = append(*target, args[i])
		}
	}
	out := make([]string, 0, len(args))
	for _, part := range [][]string{globals, path, locals, rest, tail} {
		out = append(out, part...)
	}
	return out
}

// isFlag is true for -x and --long, not for "-" and negative numbers.
func isFlag(s string) bool {
	return len(s) > 1 && s[0] == '-' && (s[1] < '0' || s[1] > '9') && s[1] != '.'
}

// Command finds a command by one of its names; nil where there is none.
func Command(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == name {
				return f
			}
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

// AsHelp reads "help COMMAND" as "COMMAND --help".
func AsHelp(args []string) []string {
	if len(args) == 0 || args[0] != "help" {
		return args
	}
	return append(append([]string{}, args[1:]...), "--help")
}
