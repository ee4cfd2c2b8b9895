// Package archive keeps the bundles of evidence that a keeper has judged, for years, so that an auditor can repeat each verdict.
//
// A node's bundles are in a folder of its own, NODE/TIME-HASH.zip, named by when the keeper took them and by the hash that is
// on chain. A zip has the bundle's head, which the hash is of, and the collateral that came from the node. Collateral that the
// keeper itself has, such as its makers' manifests, is the same for many nodes: it is kept once, collateral/SHA256.
//
// What a node can fill is bounded: [NodeBytes] for it, beyond which its own oldest bundles go, and nobody else's.
package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
)

const (
	// NodeBytes is the most that is kept of one node. A machine of eight GPUs takes about 0.1 MB a bundle.
	NodeBytes = 512 << 20
	// Least is how many bundles of a node are kept however large they are.
	Least = 4

	folderCollateral = "collateral"
	suffix           = ".zip"
	// timeFormat sorts by time.
	timeFormat = "20060102T150405Z"
	// touchEvery is how old the time of a collateral file may be when a bundle refers to it.
	touchEvery = 24 * time.Hour
)

// ErrNotFound: there is no such bundle.
var ErrNotFound = errors.New("no such bundle is kept")

// Archive is a folder with bundles. It is for one user at a time.
type Archive struct {
	dir       string
	keep      time.Duration
	nodeBytes int64
	swept     time.Time
}

// Kept is a bundle in the archive.
type Kept struct {
	// Hash is the bundle's, in hex: the one on chain.
	Hash string `json:"hash"`
	// At is when the keeper took it, by its own clock.
	At time.Time `json:"at"`
	// Bytes on disk, without the collateral that is kept once for all.
	Bytes int64 `json:"bytes"`
}

func (k Kept) file() string { return k.At.UTC().Format(timeFormat) + "-" + k.Hash + suffix }

// Open opens or makes a folder whose bundles are kept for a time.
func Open(dir string, keep time.Duration) (*Archive, error) {
	if keep <= 0 {
		return nil, fmt.Errorf("evidence archive: bundles are to be kept for %v", keep)
	}
	if err := os.MkdirAll(filepath.Join(dir, folderCollateral), 0o700); err != nil {
		return nil, fmt.Errorf("evidence archive: %w", err)
	}
	return &Archive{dir: dir, keep: keep, nodeBytes: NodeBytes}, nil
}

// Folder is where everything of a node is.
func (a *Archive) Folder(node solana.PublicKey) string { return filepath.Join(a.dir, node.String()) }

// Nodes are those of which there is something.
func (a *Archive) Nodes() ([]solana.PublicKey, error) {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return nil, fmt.Errorf("evidence archive: %w", err)
	}
	var nodes []solana.PublicKey
	for _, e := range entries {
		if node, err := solana.PublicKeyFromBase58(e.Name()); err == nil && e.IsDir() {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

// Bundles are those of a node, the newest first.
func (a *Archive) Bundles(node solana.PublicKey) ([]Kept, error) {
	entries, err := os.ReadDir(a.Folder(node))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("evidence archive: %w", err)
	}
	var kept []Kept
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		when, hash, found := strings.Cut(name, "-")
		at, err := time.Parse(timeFormat, when)
		if !ok || !found || err != nil {
			continue
		}
		if info, err := e.Info(); err == nil {
			kept = append(kept, Kept{Hash: hash, At: at, Bytes: info.Size()})
		}
	}
	slices.SortFunc(kept, func(x, y Kept) int { return strings.Compare(y.file(), x.file()) })
	return kept, nil
}
