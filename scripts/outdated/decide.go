package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// limit is how long there may be a newer version than the pinned one.
const limit = 90 * 24 * time.Hour

// pin is a version that this repository names.
type pin struct {
	registry      string // go, crates, npm, pypi or rust
	name, version string
	where         string // the files that name it
}

func (p pin) String() string { return p.registry + " " + p.name + " " + p.version }

// release is a version that a registry has.
type release struct {
	version string
	at      time.Time
}

// finding is what a registry says about a pin.
type finding struct {
	pin
	newer []release // all that could replace it, the oldest first
	err   error     // why the registry could not be asked
}

// replacements are the releases that could replace a pin, the oldest first. Releases before a release are not for who
// has a stable one.
func replacements(p pin, all []release) ([]release, error) {
	own, ok := parseVersion(p.version)
	if !ok {
		return nil, fmt.Errorf("%s is not a version", p.version)
	}
	var out []release
	for _, r := range all {
		v, ok := parseVersion(r.version)
		if ok && v.compare(own) > 0 && (v.stable() || !own.stable()) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b release) int { return a.at.Compare(b.at) })
	return out, nil
}

// late reports whether something newer has been there for longer than the limit.
func (f finding) late(now time.Time) bool {
	return len(f.newer) > 0 && now.Sub(f.newer[0].at) > limit
}

// newest is the highest version that could replace the pin.
func (f finding) newest() release {
	return slices.MaxFunc(f.newer, func(a, b release) int {
		v, _ := parseVersion(a.version)
		w, _ := parseVersion(b.version)
		return v.compare(w)
	})
}

// reasons are why pins stay behind, by the pin as it is written.
type reasons map[string]string

// readReasons reads lines of a registry, a name, a version and the reason.
func readReasons(r io.Reader) (reasons, error) {
	out := reasons{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		part := strings.Fields(line)
		if len(part) < 6 {
			return nil, fmt.Errorf("line %d: want a registry, a name, the pinned version, and a reason of three words at least: %q", n, line)
		}
		key := strings.Join(part[:3], " ")
		if out[key] != "" {
			return nil, fmt.Errorf("line %d: there are two reasons for %s", n, key)
		}
		out[key] = strings.Join(part[3:], " ")
	}
	return out, lines.Err()
}

// report is the outcome.
type report struct {
	late    []finding
	excused []finding
	stale   []string // reasons that excuse nothing
	unasked []finding
	asked   int
}

func (r report) ok() bool { return len(r.late) == 0 && len(r.stale) == 0 }

// decide holds the findings against the reasons. A reason is for one version: it ends when the pin changes, or is not
// late any more.
func decide(found []finding, why reasons, now time.Time) report {
	var r report
	used := map[string]bool{}
	for _, f := range found {
		switch {
		case f.err != nil:
			r.unasked = append(r.unasked, f)
			used[f.String()] = true // nobody knows
			continue
		case !f.late(now):
		case why[f.String()] == "":
			r.late = append(r.late, f)
		default:
			r.excused = append(r.excused, f)
			used[f.String()] = true
		}
		r.asked++
	}
	for key := range why {
		if !used[key] {
			r.stale = append(r.stale, key)
		}
	}
	byName := func(a, b finding) int { return cmp.Compare(a.String(), b.String()) }
	slices.SortFunc(r.late, byName)
	slices.SortFunc(r.excused, byName)
	slices.SortFunc(r.unasked, byName)
	slices.Sort(r.stale)
	return r
}

// print says what is to be done.
func (r report) print(w io.Writer, file string, now time.Time) {
	for _, f := range r.late {
		n := f.newest()
		fmt.Fprintf(w, "OUTDATED %s: a newer version has been there for %d days (%s), and the newest is %s; update it in %s, or say why not in %s\n",
			f, int(now.Sub(f.newer[0].at).Hours()/24), f.newer[0].version, n.version, f.where, file)
	}
	for _, key := range r.stale {
		fmt.Fprintf(w, "NOT NEEDED %s: nothing pinned is of this version and late; remove the line from %s\n", key, file)
	}
	for _, f := range r.unasked {
		fmt.Fprintf(w, "SKIPPED %s: its registry could not be asked: %v\n", f, f.err)
	}
	fmt.Fprintf(w, "%d pins were looked up: %d are late without a reason, %d with one; %d could not be looked up\n",
		r.asked, len(r.late), len(r.excused), len(r.unasked))
}
