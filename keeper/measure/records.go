package measure

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/atomicfile"
	asking "github.com/gantry-market/gantry/sdk/measure"
)

const (
	// recordsOfNode bounds the records that are kept of a node: the newest stay.
	recordsOfNode = 64
	recordSuffix  = ".measurement"
	// recordTime begins names of files, and sorts by time.
	recordTime = "20060102T150405Z"
)

// Records is a folder with the records of measurements that this keeper has stated to be wrong: NODE/TIME-HASH.measurement,
// where HASH is the detail of the statement. Anyone who has a file can check it: gantry evidence measurement.
type Records struct{ Folder string }

// Keep stores a record of a node, and returns its hash.
func (r Records) Keep(node solana.PublicKey, record *asking.Record, now time.Time) (hash [32]byte, err error) {
	raw, hash, err := record.Encode()
	if err != nil {
		return hash, err
	}
	folder := filepath.Join(r.Folder, node.String())
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return hash, fmt.Errorf("keep the record of a measurement: %w", err)
	}
	name := now.UTC().Format(recordTime) + "-" + hex.EncodeToString(hash[:]) + recordSuffix
	if err := atomicfile.Write(filepath.Join(folder, name), raw); err != nil {
		return hash, fmt.Errorf("keep the record of a measurement: %w", err)
	}
	return hash, prune(folder)
}

// prune removes the oldest records of a folder beyond recordsOfNode.
func prune(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("keep the record of a measurement: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), recordSuffix) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	for _, name := range names[:max(0, len(names)-recordsOfNode)] {
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("keep the record of a measurement: %w", err)
		}
	}
	return nil
}
