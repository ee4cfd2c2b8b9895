package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
)

// Dir is collateral in a folder: one file for each key, whose name is the key with "/" written as %2F and the like
// ([FileName]). Who may write there decides what is checked against, so it belongs to the verifier alone.
type Dir string

// FileName is the name of the file that holds the collateral of a key.
func FileName(key string) string { return url.PathEscape(key) }

// Get implements [attest.Collateral].
func (d Dir) Get(key string) ([]byte, error) {
	name := FileName(key)
	if name == "" || name == "." || name == ".." {
		return nil, fmt.Errorf("%q: %w", key, attest.ErrNoCollateral)
	}
	f, err := os.Open(filepath.Join(string(d), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%q is not in %s: %w", key, d, attest.ErrNoCollateral)
	}
	if err != nil {
		return nil, fmt.Errorf("collateral: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, bundle.MaxItem+1))
	if err != nil {
		return nil, fmt.Errorf("collateral: %w", err)
	}
	if len(data) > bundle.MaxItem {
		return nil, fmt.Errorf("collateral %s is larger than %d bytes", f.Name(), bundle.MaxItem)
	}
	return data, nil
}
