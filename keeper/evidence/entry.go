package evidence

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/keeper/evidence/archive"
)

// maxEntry is the largest latest.json, bytes.
const maxEntry = 64 << 10

// latest is the file with a node's Entry, in its folder of the archive.
const latest = "latest.json"

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

// readEntries reads what is remembered of all nodes. Entries that cannot be read are left out: they only help to find changes.
func readEntries(a *archive.Archive) (map[solana.PublicKey]Entry, error) {
	nodes, err := a.Nodes()
	if err != nil {
		return nil, err
	}
	entries := map[solana.PublicKey]Entry{}
	for _, node := range nodes {
		path := filepath.Join(a.Folder(node), latest)
		info, err := os.Stat(path)
		if err != nil || info.Size() > maxEntry {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var r Entry
		if json.Unmarshal(raw, &r) == nil && r.Account == node {
			entries[node] = r
		}
	}
	return entries, nil
}

// writeEntry replaces what is remembered of a node, whose folder is there.
func writeEntry(a *archive.Archive, r Entry) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("keep bundle: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(a.Folder(r.Account), latest), append(raw, '\n')); err != nil {
		return fmt.Errorf("keep bundle: %w", err)
	}
	return nil
}
