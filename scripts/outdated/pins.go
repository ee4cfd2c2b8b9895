package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// tools are the variables of scripts/versions.sh, and where their versions come from.
var tools = map[string]pin{
	"RUST_HOST":   {registry: "rust", name: "stable"},
	"RUST_SBF":    {registry: "rust", name: "nightly"},
	"SBPF_LINKER": {registry: "crates", name: "sbpf-linker"},
	"GOFUMPT":     {registry: "go", name: "mvdan.cc/gofumpt"},
	"STATICCHECK": {registry: "go", name: "honnef.co/go/tools"},
	"VALE":        {registry: "go", name: "github.com/vale-cli/vale/v3"},
	"GOVULNCHECK": {registry: "go", name: "golang.org/x/vuln"},
	"CARGO_DENY":  {registry: "crates", name: "cargo-deny"},
	"REGISTRY":    {registry: "go", name: "github.com/distribution/distribution/v3"},
	"NFPM":        {registry: "go", name: "github.com/goreleaser/nfpm/v2"},
	"MINISIGN":    {registry: "go", name: "aead.dev/minisign"},
	"GVISOR":      {registry: "go", name: "gvisor.dev/gvisor"},
	"AGAVE":       {registry: "crates", name: "agave-validator"},
	"MERMAID":     {registry: "npm", name: "mermaid"},
}

// notVersions are the variables of scripts/versions.sh that pin nothing.
var notVersions = map[string]bool{"GO_MIN": true, "MERMAID_INTEGRITY": true, "GOVERNANCE_SHA256": true}

// readPins reads what the repository pins directly, from the files that git knows.
func readPins(ctx context.Context, root string) ([]pin, error) {
	cmd := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", root, err)
	}
	var all []pin
	for file := range strings.Lines(string(out)) {
		file = strings.TrimSpace(file)
		found, err := pinsOf(ctx, root, file)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // deleted, and not yet committed
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, p := range found {
			p.where = file
			all = append(all, p)
		}
	}
	return merged(all), nil
}

// merged has each pin once, with all files that name it.
func merged(all []pin) []pin {
	var out []pin
	at := map[string]int{}
	for _, p := range all {
		if i, ok := at[p.String()]; ok {
			out[i].where += ", " + p.where
			continue
		}
		at[p.String()] = len(out)
		out = append(out, p)
	}
	return out
}

func pinsOf(ctx context.Context, root, file string) ([]pin, error) {
	var read func(text []byte) ([]pin, error)
	switch base := filepath.Base(file); {
	case base == "go.mod":
		return goPins(ctx, filepath.Join(root, filepath.Dir(file)))
	case base == "Cargo.toml":
		lock, err := cargoLock(filepath.Join(root, filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		read = func(text []byte) ([]pin, error) { return cratePins(text, lock) }
	case base == "package.json":
		read = npmPins
	case base == "requirements.txt" || filepath.Dir(file) == "scripts/python" && filepath.Ext(file) == ".txt":
		read = func(text []byte) ([]pin, error) { return pythonPins(file, text) }
	case file == "scripts/versions.sh":
		read = toolPins
	default:
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, err
	}
	return read(text)
}

// cargoLock reads the lock file of a crate: its own, or that of the crate above, which it is a part of.
func cargoLock(dir string) ([]byte, error) {
	lock, err := os.ReadFile(filepath.Join(dir, "Cargo.lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return os.ReadFile(filepath.Join(filepath.Dir(dir), "Cargo.lock"))
	}
	return lock, err
}

func goPins(ctx context.Context, dir string) ([]pin, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go mod edit: %w", err)
	}
	var mod struct {
		Require []struct {
			Path, Version string
			Indirect      bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return nil, err
	}
	var pins []pin
	for _, r := range mod.Require {
		if !r.Indirect {
			pins = append(pins, pin{registry: "go", name: r.Path, version: r.Version})
		}
	}
	return pins, nil
}

var (
	section      = regexp.MustCompile(`^\[(.*)\]`)
	simple       = regexp.MustCompile(`^([A-Za-z0-9_-]+)\s*=\s*"([^"]+)"`)
	detailed     = regexp.MustCompile(`^([A-Za-z0-9_-]+)\s*=\s*\{.*\bversion\s*=\s*"([^"]+)"`)
	renamedCrate = regexp.MustCompile(`\bpackage\s*=\s*"([^"]+)"`)
	lockedOne    = regexp.MustCompile(`(?m)^name = "([^"]+)"\nversion = "([^"]+)"\nsource = `)
)

// cratePins reads a manifest, one dependency a line, and the versions that its lock file has chosen.
func cratePins(manifest, lock []byte) ([]pin, error) {
	locked := map[string][]string{}
	for _, m := range lockedOne.FindAllStringSubmatch(string(lock), -1) {
		locked[m[1]] = append(locked[m[1]], m[2])
	}
	var pins []pin
	in := ""
	for line := range strings.Lines(string(manifest)) {
		if m := section.FindStringSubmatch(line); m != nil {
			in = m[1]
			continue
		}
		if !strings.HasSuffix(in, "dependencies") {
			continue
		}
		m := simple.FindStringSubmatch(line)
		if m == nil {
			m = detailed.FindStringSubmatch(line)
		}
		if m == nil {
			continue // a path
		}
		name := m[1]
		if renamed := renamedCrate.FindStringSubmatch(line); renamed != nil {
			name = renamed[1]
		}
		chosen := ""
		for _, v := range locked[name] {
			if satisfies(v, m[2]) {
				chosen = v
			}
		}
		if chosen == "" {
			return nil, fmt.Errorf("the lock file has no %s that satisfies %q", name, m[2])
		}
		pins = append(pins, pin{registry: "crates", name: name, version: chosen})
	}
	return pins, nil
}

// satisfies reports whether a version may be what Cargo chose for a requirement: the same in the first number that is
// not 0, and not less.
func satisfies(text, requirement string) bool {
	v, ok := parseVersion(text)
	w, ok2 := parseVersion(strings.TrimLeft(requirement, "=^~ "))
	if !ok || !ok2 || v.compare(w) < 0 {
		return false
	}
	for i, n := range w.numbers {
		if at(v.numbers, i) != n {
			return false
		}
		if n != 0 {
			return true
		}
	}
	return true
}

func npmPins(text []byte) ([]pin, error) {
	var file struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	var pins []pin
	for _, group := range []map[string]string{file.Dependencies, file.DevDependencies} {
		for name, v := range group {
			pins = append(pins, pin{registry: "npm", name: name, version: v})
		}
	}
	return pins, nil
}

// directPackages are, in the lists of Python packages, those that are wanted for themselves. The others are what these
// need, in versions that fit.
var directPackages = map[string][]string{
	"clients/python/requirements.txt": {"attrs", "build", "hatchling", "httpx", "mcp", "mypy", "openapi-python-client", "pytest", "ruff", "schemathesis", "unasync"},
	"scripts/python/ansible.txt":      {"ansible-core"},
	"scripts/python/docs.txt":         {"mkdocs", "mkdocs-material"},
	"scripts/python/dstack.txt":       {"dstack"},
	"scripts/python/jupyter.txt":      {"jupyterlab"},
	"scripts/python/model.txt":        {"gguf", "xllamacpp"},
	"scripts/python/openai.txt":       {"anthropic", "litellm", "openai"},
	"scripts/python/ray.txt":          {"ray"},
	"scripts/python/skypilot.txt":     {"skypilot", "uv"},
}

func pythonPins(file string, text []byte) ([]pin, error) {
	wanted := directPackages[file]
	if wanted == nil {
		return nil, errors.New("scripts/outdated does not know which of these packages are wanted for themselves: add the file to directPackages")
	}
	pinned := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		line, _, _ = strings.Cut(line, ";")
		if name, v, ok := strings.Cut(strings.TrimSpace(line), "=="); ok {
			pinned[name] = v
		}
	}
	var pins []pin
	for _, name := range wanted {
		if pinned[name] == "" {
			return nil, fmt.Errorf("%s is not pinned: mend directPackages in scripts/outdated", name)
		}
		pins = append(pins, pin{registry: "pypi", name: name, version: pinned[name]})
	}
	return pins, nil
}

var assignment = regexp.MustCompile(`(?m)^([A-Z_]+)=(\S+)$`)

func toolPins(text []byte) ([]pin, error) {
	var pins []pin
	for _, m := range assignment.FindAllStringSubmatch(string(text), -1) {
		p, known := tools[m[1]]
		if known {
			p.version = m[2]
			pins = append(pins, p)
		} else if !notVersions[m[1]] {
			return nil, fmt.Errorf("scripts/outdated does not know where the versions of %s come from: add it to tools", m[1])
		}
	}
	return pins, nil
}
