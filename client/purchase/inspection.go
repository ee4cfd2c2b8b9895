package purchase

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gagliardetto/solana-go"
)

// SetInspection stores what is known of the inspection of an order's lease, JSON; when it returns nil, a power cut does not
// undo it. It needs no hold of the order: a command may go on with the purchase meanwhile.
func (f *Folder) SetInspection(order, lease solana.PublicKey, known []byte) error {
	if err := writeFile(filepath.Join(f.dir, orders, order.String()), fileInspection(lease), known); err != nil {
		return fmt.Errorf("inspection of lease %s: %w", lease, err)
	}
	return nil
}

// Inspection is what SetInspection has stored; nil for nothing.
func (f *Folder) Inspection(order, lease solana.PublicKey) ([]byte, error) {
	raw, err := f.ofLease(order, fileInspection(lease))
	if err != nil {
		return nil, fmt.Errorf("inspection of lease %s: %w", lease, err)
	}
	return raw, nil
}

// ofLease reads a file that an order's folder may have for one of its leases; nil where there is none. The zero order is one that is not
// known: all are looked through.
func (f *Folder) ofLease(order solana.PublicKey, name string) ([]byte, error) {
	path := filepath.Join(f.dir, orders, order.String(), name)
	if order.IsZero() {
		found, err := filepath.Glob(filepath.Join(f.dir, orders, "*", name))
		if err != nil || len(found) == 0 {
			return nil, err
		}
		path = found[0]
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

func fileInspection(lease solana.PublicKey) string { return "inspection-" + lease.String() + ".json" }
