package arguments

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

// Suggest advises on a command that does not exist: the name that is most like it, or the help. path is of the group in which it
// was looked for.
func Suggest(typed, path string, commands []*cli.Command) (advice string) {
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Names()...)
		}
	}
	if name := nearest(typed, names); name != "" {
		return fmt.Sprintf("did you mean %s %s? See %s --help", path, name, path)
	}
	return "see " + path + " --help"
}

// undefined begins the library's error of a flag that does not exist.
const undefined = "flag provided but not defined: -"

// SuggestFlag advises on flags that cannot be read, with the library's error: the flag that is most like one that does not
// exist, or the help.
func SuggestFlag(err error, command string, flags []cli.Flag) (advice string) {
	typed, ok := strings.CutPrefix(err.Error(), undefined)
	if ok {
		typed, _, _ = strings.Cut(strings.TrimPrefix(typed, "-"), "=")
		var names []string
		for _, f := range flags {
			names = append(names, f.Names()...)
		}
		if name := nearest(typed, names); name != "" {
			return fmt.Sprintf("did you mean --%s? See %s --help", name, command)
		}
	}
	return fmt.Sprintf("see %s --help", command)
}
