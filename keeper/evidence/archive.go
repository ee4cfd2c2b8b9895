package evidence

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/internal/atomicfile"
)

// keepBundles is how many bundles of a node are kept.
const keepBundles = 4

// maxEntry is the largest latest.json, bytes.
const maxEntry = 64 << 10

// Entry is what is remembered of a node's latest bundle.
type Entry struct {
	Account    solana.PublicKey `json:"account"`
	Hash       string           `json:"hash"`
	PolicyHash string           `json:"policyHash"`
	Created    int64            `json:"created"`
	Expiry     int64            `json:"expiry"`
	Tier       uint8            `json:"tier"`
	Passed     bool             `json:"passed"`
	// Signed: the node has signed the bundle, and its inventory can be read.
	Signed bool `json:"signed"`
	// GPUs are the hashes of the inventory's GPUs, each with the hash of its key if it proved one.
	GPUs map[string]string `json:"gpus"`
	// Guest is the key of the guest that vouched for the bundle; empty without one.
	Guest string `json:"guest,omitempty"`
	// Proven are the hashes of TPMs that proved themselves with a key of their own.
	Proven []string `json:"proven"`
}

// Archive is a folder with the latest bundles of each node: NODE/HASH.bundle, and NODE/latest.json.
type Archive struct {
	dir     string
	entries map[solana.PublicKey]Entry
}

const latest = "latest.json"

// OpenArchive opens or makes a folder. Entries that cannot be read are left out: they only help to find changes.
func OpenArchive(dir string) (*Archive, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("evidence archive: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("evidence archive: %w", err)
	}
	a := &Archive{dir: dir, entries: map[solana.PublicKey]Entry{}}
	for _, e := range entries {
		account, err := solana.PublicKeyFromBase58(e.Name())
		if err != nil || !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name(), latest)
		info, err := os.Stat(path)
		if err != nil || info.Size() > maxEntry {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var r Entry
		if json.Unmarshal(raw, &r) == nil && r.Account == account {
			a.entries[account] = r
		}
	}
	return a, nil
}

func (a *Archive) last(account solana.PublicKey) (Entry, bool) {
	r, ok := a.entries[account]
	return r, ok
}

func (a *Archive) all() map[solana.PublicKey]Entry { return a.entries }

// put keeps a bundle and its entry.
func (a *Archive) put(r Entry, b *bundle.Bundle) error {
	a.entries[r.Account] = r
	raw, err := b.Encode()
	if err != nil {
		return fmt.Errorf("keep bundle: %w", err)
	}
	dir := filepath.Join(a.dir, r.Account.String())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep bundle: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(dir, r.Hash+".bundle"), raw); err != nil {
		return fmt.Errorf("keep bundle: %w", err)
	}
	entry, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("keep bundle: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(dir, latest), append(entry, '\n')); err != nil {
		return fmt.Errorf("keep bundle: %w", err)
	}
	return prune(dir)
}

// prune removes all but the newest bundles of a node.
func prune(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("keep bundle: %w", err)
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".bundle") {
			continue
		}
		if info, err := e.Info(); err == nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(x, y fs.FileInfo) int { return y.ModTime().Compare(x.ModTime()) })
	for i := keepBundles; i < len(files); i++ {
		if err := os.Remove(filepath.Join(dir, files[i].Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep bundle: %w", err)
		}
	}
	return nil
}
