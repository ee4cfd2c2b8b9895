// Package version says which build of Gantry a program is.
package version

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// release is the version of the packages. scripts/release.sh sets it when programs are linked.
var release string

// Build is the version of this program: that of the packages, or the one that Go has recorded of the module, or "dev" where Go knows
// none. Long adds the commit and its date, where Go has recorded them.
var Build, Long = describe(release, recorded())

func recorded() *debug.BuildInfo {
	info, _ := debug.ReadBuildInfo() // nil: the program was not built as part of a module
	return info
}

const shownCommit = 12 // digits of a commit, as many as Go shows

func describe(release string, info *debug.BuildInfo) (build, long string) {
	build = release
	commit, date, changed := "", "", false
	if info != nil {
		if module := strings.TrimPrefix(info.Main.Version, "v"); build == "" && module != "(devel)" {
			build = module
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				commit = s.Value[:min(len(s.Value), shownCommit)]
			case "vcs.time":
				date, _, _ = strings.Cut(s.Value, "T")
			case "vcs.modified":
				changed = s.Value == "true"
			}
		}
	}
	if build == "" {
		build = "dev"
	}
	if commit == "" {
		return build, build
	}
	if changed {
		commit += " with changes"
	}
	return build, fmt.Sprintf("%s, commit %s of %s", build, commit, date)
}
