// Command licences writes the licences and notices of all modules that Go programs are linked with, the Go library among them: what the
// linker has recorded. It fails where a module has none, and where its licence is one of GNU's, which the programs cannot have.
//
// usage: licences PROGRAM... [-- FILE...] >FILE
//
// Each FILE is a licence of something else that the programs have.
package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// own begins the paths of modules whose licence is that of the packages.
const own = "github.com/gantry-market/gantry"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: licences PROGRAM... [-- FILE...] >FILE")
		os.Exit(2)
	}
	programs, others := os.Args[1:], []string(nil)
	if at := slices.Index(programs, "--"); at >= 0 {
		programs, others = programs[:at], programs[at+1:]
	}
	if err := run(context.Background(), os.Stdout, programs, others); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

// module is a module at a version.
type module struct{ path, version string }

func (m module) String() string { return m.path + " " + m.version }

func run(ctx context.Context, w io.Writer, programs, others []string) error {
	modules := map[module]bool{}
	for _, p := range programs {
		if err := linked(modules, p); err != nil {
			return err
		}
	}
	all := slices.SortedFunc(maps.Keys(modules), func(a, b module) int { return cmp.Compare(a.String(), b.String()) })
	folders, err := folders(ctx, all)
	if err != nil {
		return err
	}
	users := map[string][]string{} // of a text
	var errs []error
	for _, m := range all {
		texts, err := texts(m, folders[m])
		if err != nil {
			errs = append(errs, err)
		}
		for _, t := range texts {
			if of := users[t]; !slices.Contains(of, m.String()) {
				users[t] = append(of, m.String())
			}
		}
	}
	for _, path := range others {
		text, err := read(path)
		errs = append(errs, err)
		users[text] = append(users[text], path)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return write(w, users)
}

// linked adds what a program is linked with.
func linked(to map[module]bool, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("%s was not built by Go: %w", program, err)
	}
	to[module{"std", info.GoVersion}] = true
	for _, d := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if d.Replace != nil {
			d = d.Replace
		}
		if d.Path != own && !strings.HasPrefix(d.Path, own+"/") {
			to[module{d.Path, d.Version}] = true
		}
	}
	return nil
}

// write writes each text once, after the modules that have it.
func write(w io.Writer, users map[string][]string) error {
	order := slices.SortedFunc(maps.Keys(users), func(a, b string) int {
		return cmp.Or(cmp.Compare(users[a][0], users[b][0]), cmp.Compare(a, b))
	})
	var out strings.Builder
	out.WriteString("Licences and notices of the modules that these programs are linked with. Gantry's own is in LICENSE.\n")
	for _, text := range order {
		out.WriteString("\n" + strings.Repeat("=", 80) + "\n" + strings.Join(users[text], "\n") + "\n" + strings.Repeat("-", 80) + "\n" + text + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
