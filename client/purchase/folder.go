package purchase

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gagliardetto/solana-go"
)

var (
	// ErrHeld: another process works on the purchase.
	ErrHeld = errors.New("another gantry command works on this order")
	// ErrNotFound: this folder has no such purchase.
	ErrNotFound = errors.New("this machine has no record of that order")
	// ErrRecord: a record cannot be read.
	ErrRecord = errors.New("the record of an order cannot be read")
)

const (
	orders       = "orders"
	transactions = "transactions"
	fileRecord   = "purchase.json"
	fileLock     = "lock"
	fileGrowth   = "growth"
	fileStore    = "transactions.db"
	fileRevoked  = "revoked"
)

// DefaultRoot is where state lives unless a flag says otherwise: $XDG_STATE_HOME/gantry, or ~/.local/state/gantry.
func DefaultRoot() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "gantry"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no folder for the state of your orders: %w; name one with --state-dir", err)
	}
	return filepath.Join(home, ".local", "state", "gantry"), nil
}

// Folder is the state of one wallet on one cluster.
type Folder struct{ dir string }

// Open makes the folder if it is missing.
func Open(root string, genesis solana.Hash, wallet solana.PublicKey) (*Folder, error) {
	f := &Folder{filepath.Join(root, genesis.String(), wallet.String())}
	for _, dir := range []string{orders, transactions} {
		if err := os.MkdirAll(filepath.Join(f.dir, dir), 0o700); err != nil {
			return nil, fmt.Errorf("folder for the state of your orders: %w; name another with --state-dir", err)
		}
	}
	return f, nil
}

// At is a folder that exists already. It makes nothing.
func At(dir string) *Folder { return &Folder{dir} }

// Dir is the folder's path.
func (f *Folder) Dir() string { return f.dir }

// Transactions is the folder for transactions that belong to no purchase.
func (f *Folder) Transactions() string { return filepath.Join(f.dir, transactions) }

// All reads every purchase, the latest first. Records that cannot be read are errors beside the others.
func (f *Folder) All() ([]Purchase, error) {
	entries, err := os.ReadDir(filepath.Join(f.dir, orders))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	var out []Purchase
	var bad []error
	for _, e := range entries {
		p, err := read(filepath.Join(f.dir, orders, e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // a command died before it had written anything
		case err != nil:
			bad = append(bad, err)
		default:
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b Purchase) int { return b.Created.Compare(a.Created) })
	return out, errors.Join(bad...)
}

// Has reports whether an order was bought from this folder.
func (f *Folder) Has(order solana.PublicKey) (bool, error) {
	_, err := os.Stat(filepath.Join(f.dir, orders, order.String(), fileRecord))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Hold takes the purchase of an order for this process until Release. Error: ErrHeld.
func (f *Folder) Hold(order solana.PublicKey) (*Held, error) {
	dir := filepath.Join(f.dir, orders, order.String())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of order %s: %w", order, err)
	}
	lock, err := lockFile(filepath.Join(dir, fileLock))
	if err != nil {
		return nil, fmt.Errorf("order %s: %w", order, err)
	}
	return &Held{dir: dir, lock: lock}, nil
}

// HoldGrowth lets only this process add machines to the cluster of an order, until the lock is closed. A command that has the order of
// Hold goes on meanwhile. Error: ErrHeld.
func (f *Folder) HoldGrowth(order solana.PublicKey) (io.Closer, error) {
	return lockFile(filepath.Join(f.dir, orders, order.String(), fileGrowth))
}

// Held is a purchase that only this process works on.
type Held struct {
	dir  string
	lock *os.File
}

// Release lets others work on the purchase.
func (h *Held) Release() error { return h.lock.Close() }

// Transactions is the file for the transactions that place the order.
func (h *Held) Transactions() string { return filepath.Join(h.dir, fileStore) }

// Read is the purchase as stored. Errors: ErrNotFound, ErrRecord.
func (h *Held) Read() (Purchase, error) {
	p, err := read(h.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return p, ErrNotFound
	}
	return p, err
}

// Write stores the purchase; when it returns nil, a power cut does not undo it.
func (h *Held) Write(p Purchase) error { return write(h.dir, p) }

// Revoke stores until when what was granted to gateways for an order's leases is void, unix milliseconds. It needs no
// hold of the order: a command that attends its lease goes on meanwhile.
func (f *Folder) Revoke(order solana.PublicKey, until int64) error {
	dir := filepath.Join(f.dir, orders, order.String())
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = writeFile(dir, fileRevoked, strconv.AppendInt(nil, until, 10))
	}
	if err != nil {
		return fmt.Errorf("grants of order %s: %w", order, err)
	}
	return nil
}

// Revoked is what Revoke has stored; 0 for nothing.
func (f *Folder) Revoked(order solana.PublicKey) (int64, error) {
	raw, err := os.ReadFile(filepath.Join(f.dir, orders, order.String(), fileRevoked))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("grants of order %s: %w", order, err)
	}
	until, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("grants of order %s: %w", order, err)
	}
	return until, nil
}
