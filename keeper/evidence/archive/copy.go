package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/internal/atomicfile"
)

// Copied counts the bundles that Copy has seen.
type Copied struct {
	// Bundles were written, Same were in the other archive already and are whole.
	Bundles int `json:"bundles"`
	Same    int `json:"same"`
	// Damaged could not be read as they were judged, and were not written.
	Damaged int `json:"damaged"`
}

// Copy writes the bundles of a that are not in to, or are damaged there, with the collateral that they refer to. Each is
// compared with its hash first; one that does not match is not written, and the error names it after all others were
// copied. Nothing in to is removed. The keeper of a may go on meanwhile: its files have their names only when they are
// whole, and a bundle that it removes is left out.
func (a *Archive) Copy(ctx context.Context, to *Archive, now time.Time) (Copied, error) {
	var done Copied
	nodes, err := a.Nodes()
	if err != nil {
		return done, err
	}
	var damaged error
	for _, node := range nodes {
		kept, err := a.Bundles(node)
		if err != nil {
			return done, err
		}
		for _, k := range kept {
			if err := ctx.Err(); err != nil {
				return done, err
			}
			raw, collateral, err := a.whole(node, k)
			if err != nil {
				if _, gone := os.Stat(filepath.Join(a.Folder(node), k.file())); errors.Is(gone, fs.ErrNotExist) {
					continue
				}
				done.Damaged++
				damaged = errors.Join(damaged, fmt.Errorf("bundle %s of node %s is not copied: %w", k.Hash, node, err))
				continue
			}
			if _, _, err := to.whole(node, k); err == nil {
				done.Same++
				continue
			}
			if err := to.place(node, k, raw, collateral, now); err != nil {
				return done, fmt.Errorf("copy bundle %s of node %s: %w", k.Hash, node, err)
			}
			done.Bundles++
		}
	}
	return done, damaged
}

// whole reads a bundle's zip, and the collateral that is outside of it, and compares both with their hashes.
func (a *Archive) whole(node solana.PublicKey, k Kept) (raw []byte, collateral map[string][]byte, err error) {
	path := filepath.Join(a.Folder(node), k.file())
	if raw, err = os.ReadFile(path); err != nil {
		return nil, nil, err
	}
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", attest.ErrMalformed, err)
	}
	collateral = map[string][]byte{}
	head, err := join(z, func(name string) ([]byte, error) {
		data, err := os.ReadFile(a.shared(name))
		collateral[name] = data
		return data, err
	})
	if err != nil {
		return nil, nil, err
	}
	if sum := sha256.Sum256(head); hex.EncodeToString(sum[:]) != k.Hash {
		return nil, nil, fmt.Errorf("%w: its hash is %x", attest.ErrMalformed, sum)
	}
	return raw, collateral, nil
}

// place writes the collateral before the bundle that refers to it.
func (a *Archive) place(node solana.PublicKey, k Kept, raw []byte, collateral map[string][]byte, now time.Time) error {
	for name, data := range collateral {
		if err := atomicfile.Write(a.shared(name), data); err != nil {
			return err
		}
		// Its time says since when no bundle refers to it.
		if err := os.Chtimes(a.shared(name), now, now); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(a.Folder(node), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(a.Folder(node), k.file()), raw)
}
