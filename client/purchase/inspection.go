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
	raw, err := os.ReadFile(filepath.Join(f.dir, orders, order.String(), fileInspection(lease)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("inspection of lease %s: %w", lease, err)
	}
	return raw, nil
}

func fileInspection(lease solana.PublicKey) string { return "inspection-" + lease.String() + ".json" }
