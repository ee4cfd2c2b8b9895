package daemon

import (
	"encoding/json"
	"fmt"
	"os"
)

// What a running agent shows to commands is in files of its data folder, because its store has one user at a time.

// show writes a file in one piece, so that nobody reads half of it.
func show(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// shown reads what a running agent shows.
func shown[T any](path string) (v T, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}
