package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"
)

// near is how alike two names are, from 0 to 1, for one to be offered in place of the other.
const near = 0.85

// nearest is the name that is most like what was typed; empty when none is.
func nearest(typed string, names []string) (found string) {
	best := near
	for _, name := range names {
		if alike := smetrics.JaroWinkler(strings.ToLower(typed), name, 0.7, 4); alike > best {
			best, found = alike, name
		}
	}
	return found
}

// unknownCommand is the error of a command that does not exist; path is of the group in which it was looked for.
func unknownCommand(typed, path string, commands []*cli.Command) error {
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Names()...)
		}
	}
	what, advice := fmt.Sprintf("%q is not a command", typed), "see "+path+" --help"
	if path != "gantry" {
		what += " of " + path
	}
	if name := nearest(typed, names); name != "" {
		advice = fmt.Sprintf("did you mean %s %s? See %s --help", path, name, path)
	}
	return usage(what, advice)
}

// undefined begins the library's error of a flag that does not exist.
const undefined = "flag provided but not defined: -"

// wrongFlags is the error of flags that cannot be read.
func wrongFlags(err error, command string, flags []cli.Flag) error {
	advice := fmt.Sprintf("see %s --help", command)
	typed, ok := strings.CutPrefix(err.Error(), undefined)
	if !ok {
		return usage(err.Error(), advice)
	}
	typed, _, _ = strings.Cut(strings.TrimPrefix(typed, "-"), "=")
	var names []string
	for _, f := range append(flags, globalFlags()...) {
		names = append(names, f.Names()...)
	}
	if name := nearest(typed, names); name != "" {
		advice = fmt.Sprintf("did you mean --%s? See %s --help", name, command)
	}
	return usage(err.Error(), advice)
}

// asHelp reads "help COMMAND" as "COMMAND --help".
func asHelp(args []string) []string {
	if len(args) == 0 || args[0] != "help" {
		return args
	}
	return append(append([]string{}, args[1:]...), "--help")
}
