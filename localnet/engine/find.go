package engine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Environment variables that name the engines' executables.
const (
	SurfnetVariable = "GANTRY_SURFNET"
	AgaveVariable   = "GANTRY_SOLANA_TEST_VALIDATOR"
)

// Find returns the executable of an engine: the given one, or the one named by the environment variable, or the first
// found. Surfnet is looked for beside the running executable, in build/bin of the working directory and the directories
// above it (so that tests find it), and in PATH; agave in PATH, and in bin of the cache directory (GANTRY_CACHE, or
// ~/.cache/gantry). It fails with ErrNotInstalled or ErrUnknownKind.
func Find(kind Kind, given string) (string, error) {
	switch kind {
	case Surfnet:
		return find(given, SurfnetVariable, "gantry-surfnet", surfnetPlaces(), "run `make build`")
	case Agave:
		return find(given, AgaveVariable, "solana-test-validator", agavePlaces(),
			"install the Agave tools, or run `cargo install agave-validator --version 4.2.2 --bin solana-test-validator --locked`")
	default:
		return "", fmt.Errorf("%w %q: want one of %v", ErrUnknownKind, kind, Kinds())
	}
}

func find(given, variable, name string, places []string, advice string) (string, error) {
	for _, choice := range []struct{ path, from string }{{given, "given"}, {os.Getenv(variable), "named by " + variable}} {
		if choice.path == "" {
			continue
		}
		path, err := exec.LookPath(choice.path)
		if err != nil {
			return "", fmt.Errorf("%s, %s: %w: %w", name, choice.from, ErrNotInstalled, err)
		}
		return filepath.Abs(path)
	}
	for _, place := range places {
		if path, err := exec.LookPath(filepath.Join(place, name)); err == nil {
			return filepath.Abs(path)
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	return "", fmt.Errorf("%s is %w: %s, or name it in %s", name, ErrNotInstalled, advice, variable)
}

func surfnetPlaces() []string {
	var places []string
	if self, err := os.Executable(); err == nil {
		places = append(places, filepath.Dir(self))
	}
	dir, err := os.Getwd()
	if err != nil {
		return places
	}
	for {
		places = append(places, filepath.Join(dir, "build", "bin"))
		up := filepath.Dir(dir)
		if up == dir {
			return places
		}
		dir = up
	}
}

func agavePlaces() []string {
	if cache := os.Getenv("GANTRY_CACHE"); cache != "" {
		return []string{filepath.Join(cache, "bin")}
	}
	if home, err := os.UserHomeDir(); err == nil {
		return []string{filepath.Join(home, ".cache", "gantry", "bin")}
	}
	return nil
}
