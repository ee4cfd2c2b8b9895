// Command platforms checks the types of programs for other systems, from their sources and without a compiler: a call that only Linux
// has is an error in seconds. The bodies of functions are checked for this module alone.
//
// usage: platforms GOOS/GOARCH... -- PACKAGE...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	at := slices.Index(os.Args, "--")
	if at < 2 || at == len(os.Args)-1 {
		fmt.Fprintln(os.Stderr, "usage: platforms GOOS/GOARCH... -- PACKAGE...")
		os.Exit(2)
	}
	failed := false
	for _, platform := range os.Args[1:at] {
		if err := check(context.Background(), platform, os.Args[at+1:]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check has an error for each fault of the packages and of all that they need, on a platform.
func check(ctx context.Context, platform string, patterns []string) error {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return errors.New("write GOOS/GOARCH, such as windows/amd64")
	}
	env := append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	own, err := ownPackages(ctx, env, patterns)
	if err != nil {
		return err
	}
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Env: env,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes,
	}, own...)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	var all []error
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			all = append(all, fmt.Errorf("%s: %w", p.PkgPath, e))
		}
	})
	return errors.Join(all...)
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
