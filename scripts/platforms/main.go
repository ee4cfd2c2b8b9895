// Command platforms checks the types of programs for other systems, from their sources and without a compiler: a call that only Linux
// has is an error in seconds. The bodies of functions are checked for this module alone. With -vet it also runs the analysers of go vet, in
// minutes. Tests are left out, as they need Linux.
//
// usage: platforms [-vet] GOOS/GOARCH... -- PACKAGE...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	args := os.Args[1:]
	vetted := len(args) > 0 && args[0] == "-vet"
	if vetted {
		args = args[1:]
	}
	at := slices.Index(args, "--")
	if at < 1 || at == len(args)-1 {
		fmt.Fprintln(os.Stderr, "usage: platforms [-vet] GOOS/GOARCH... -- PACKAGE...")
		os.Exit(2)
	}
	failed := false
	for _, platform := range args[:at] {
		if err := check(context.Background(), platform, args[at+1:], vetted); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check has an error for each fault of the packages and of all that they need, on a platform.
func check(ctx context.Context, platform string, patterns []string, vetted bool) error {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return errors.New("write GOOS/GOARCH, such as windows/amd64")
	}
	env := append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	own, err := ownPackages(ctx, env, patterns)
	if err != nil {
		return err
	}
	mode := packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes
	if vetted {
		mode |= packages.NeedTypesInfo | packages.NeedModule
	}
	loaded, err := packages.Load(&packages.Config{Context: ctx, Env: env, Mode: mode}, own...)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	var all []error
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			all = append(all, fmt.Errorf("%s: %w", p.PkgPath, e))
		}
	})
	if vetted && len(all) == 0 {
		all, err = vetting(loaded)
	}
	return errors.Join(append(all, err)...)
}

// vetting has what the analysers of go vet find in packages.
func vetting(loaded []*packages.Package) (all []error, err error) {
	graph, err := checker.Analyze(vet.Suite, loaded, nil)
	if err != nil {
		return nil, fmt.Errorf("go vet: %w", err)
	}
	for _, done := range graph.Roots {
		if done.Err != nil {
			all = append(all, fmt.Errorf("%s: %w", done, done.Err))
		}
		for _, d := range done.Diagnostics {
			all = append(all, fmt.Errorf("%s: %s", done.Package.Fset.Position(d.Pos), d.Message))
		}
	}
	return all, nil
}

// ownPackages are the packages of this module that others need on a platform, and themselves.
func ownPackages(ctx context.Context, env, patterns []string) ([]string, error) {
	const own = "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}"
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-f", own}, patterns...)...)
	list.Env, list.Stderr = env, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	names := strings.Fields(string(out))
	if len(names) == 0 {
		return nil, fmt.Errorf("no package of this module is in %s", strings.Join(patterns, " "))
	}
	return names, nil
}
