package archive

import (
	"archive/zip"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/bundle"
)

// Read returns a node's bundle with a hash, as it was judged. Errors: ErrNotFound, attest.ErrMalformed for files that were
// changed.
func (a *Archive) Read(node solana.PublicKey, hash string) ([]byte, error) {
	kept, err := a.Bundles(node)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(kept, func(k Kept) bool { return k.Hash == hash })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s of node %s", ErrNotFound, hash, node)
	}
	raw, err := a.unpack(filepath.Join(a.Folder(node), kept[i].file()))
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", hash, err)
	}
	return raw, nil
}

func (a *Archive) unpack(path string) ([]byte, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return unpacked(&z.Reader, func(name string) ([]byte, error) { return os.ReadFile(a.shared(name)) })
}

// join reads the head of a zip and everything that it refers to.
func join(z *zip.Reader, shared func(name string) ([]byte, error)) (head []byte, err error) {
	if head, err = entry(z, entryHead); err != nil {
		return nil, err
	}
	_, err = unpacked(z, shared)
	return head, err
}

// unpacked is the bundle of a zip; shared returns collateral that is not in it.
func unpacked(z *zip.Reader, shared func(name string) ([]byte, error)) ([]byte, error) {
	head, err := entry(z, entryHead)
	if err != nil {
		return nil, err
	}
	return bundle.Join(head, func(sum [32]byte) ([]byte, error) {
		name := hex.EncodeToString(sum[:])
		data, err := entry(z, name)
		if errors.Is(err, fs.ErrNotExist) {
			return shared(name)
		}
		return data, err
	})
}

// entry reads a file of a zip, which is no larger than a bundle.
func entry(z *zip.Reader, name string) ([]byte, error) {
	f, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, bundle.MaxSize))
}
