package daemon

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

// Commands read what a running agent writes to files of its data folder: its store has one user at a time.

// writeJSON replaces a file in one step, so that no command reads half of it.
func writeJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(raw, '\n'))
}

// readJSON reads what a running agent has written.
func readJSON[T any](path string) (v T, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}
