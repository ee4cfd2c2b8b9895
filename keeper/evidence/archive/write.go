package archive

import (
	"archive/zip"
	"bytes"
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
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/internal/atomicfile"
)

// entryHead is the name of a bundle's head in its zip. Collateral has its sha256 in hex as its name.
const entryHead = "head"

// Put keeps a bundle of a node. shared are where the keeper has collateral of its own from. What is older than its time, or too
// much of this node, goes.
func (a *Archive) Put(node solana.PublicKey, b *bundle.Bundle, now time.Time, shared ...attest.Collateral) error {
	raw, hash, err := a.pack(b, now, shared)
	if err != nil {
		return fmt.Errorf("keep bundle: %w", err)
	}
	if err := os.MkdirAll(a.Folder(node), 0o700); err != nil {
		return fmt.Errorf("keep bundle: %w", err)
	}
	k := Kept{Hash: hash, At: now}
	if err := atomicfile.Write(filepath.Join(a.Folder(node), k.file()), raw); err != nil {
		return fmt.Errorf("keep bundle: %w", err)
	}
	if now.Sub(a.swept) >= touchEvery {
		a.swept = now
		return a.sweep(now)
	}
	return a.prune(node, now)
}

// pack makes the zip of a bundle, and keeps the collateral that is not in it.
func (a *Archive) pack(b *bundle.Bundle, now time.Time, shared []attest.Collateral) (raw []byte, hash string, err error) {
	head, err := b.Head()
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(head)
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	add := func(name string, data []byte) error {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
	if err := add(entryHead, head); err != nil {
		return nil, "", err
	}
	packed := map[string]bool{}
	for _, c := range b.Collateral {
		sum := sha256.Sum256(c.Data)
		name := hex.EncodeToString(sum[:])
		switch {
		case packed[name]:
		case has(shared, c):
			err = a.keepShared(name, c.Data, now)
		default:
			packed[name] = true
			err = add(name, c.Data)
		}
		if err != nil {
			return nil, "", err
		}
	}
	err = z.Close()
	return out.Bytes(), hex.EncodeToString(sum[:]), err
}

// has reports whether one of the sources has an item with the same content.
func has(shared []attest.Collateral, c bundle.Collateral) bool {
	for _, source := range shared {
		if data, err := source.Get(c.Key); err == nil && bytes.Equal(data, c.Data) {
			return true
		}
	}
	return false
}

// keepShared writes an item that bundles of many nodes refer to, or notes that one does again.
func (a *Archive) keepShared(name string, data []byte, now time.Time) error {
	path := a.shared(name)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Size() == int64(len(data)) && now.Sub(info.ModTime()) < touchEvery:
		return nil
	case err == nil && info.Size() == int64(len(data)):
		return os.Chtimes(path, now, now)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := atomicfile.Write(path, data); err != nil {
		return err
	}
	return os.Chtimes(path, now, now)
}

func (a *Archive) shared(name string) string { return filepath.Join(a.dir, folderCollateral, name) }

// sweep removes what is too old: bundles of all nodes, and the collateral to which none that is kept refers.
func (a *Archive) sweep(now time.Time) error {
	nodes, err := a.Nodes()
	if err != nil {
		return err
	}
	var failed error
	for _, n := range nodes {
		failed = errors.Join(failed, a.prune(n, now))
	}
	entries, err := os.ReadDir(filepath.Join(a.dir, folderCollateral))
	if err != nil {
		return errors.Join(failed, fmt.Errorf("evidence archive: %w", err))
	}
	oldest := now.Add(-a.keep - 2*touchEvery)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().Before(oldest) {
			failed = errors.Join(failed, os.Remove(a.shared(e.Name())))
		}
	}
	return failed
}

// prune removes bundles of a node that are too old, and those before its last few that are beyond what one node may fill.
func (a *Archive) prune(node solana.PublicKey, now time.Time) error {
	kept, err := a.Bundles(node)
	if err != nil {
		return err
	}
	var sum int64
	for i, k := range kept {
		sum += k.Bytes
		if now.Sub(k.At) <= a.keep && (i < Least || sum <= a.nodeBytes) {
			continue
		}
		if err := os.Remove(filepath.Join(a.Folder(node), k.file())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("evidence archive: %w", err)
		}
	}
	return nil
}
