package purchase

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	gateways    = "gateways"
	filePayment = "payment.json"
)

// Payment is one to a gateway that is not finished: stored before it is sent, forgotten when the gateway has counted it.
type Payment struct {
	Version  int              `json:"version"`
	Gateway  solana.PublicKey `json:"gateway"`
	Customer solana.PublicKey `json:"customer"`
	// Mint is the token, and Wallet who gets it.
	Mint   solana.PublicKey `json:"mint"`
	Wallet solana.PublicKey `json:"wallet"`
	Number uint64           `json:"number"`
	Amount market.USDC      `json:"amount"`
	// Price of a GiB when the customer agreed.
	Price   market.USDC `json:"price"`
	Created time.Time   `json:"created"`
}

// HeldPayment is the payment to one gateway that only this process works on.
type HeldPayment struct {
	dir  string
	lock *os.File
}

// HoldPayment takes the payment to a gateway for this process until Release. Error: ErrHeld.
func (f *Folder) HoldPayment(gateway solana.PublicKey) (*HeldPayment, error) {
	dir := filepath.Join(f.dir, gateways, gateway.String())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of gateway %s: %w", gateway, err)
	}
	if err := atomicfile.SyncFolder(f.dir); err != nil {
		return nil, fmt.Errorf("folder of gateway %s: %w", gateway, err)
	}
	lock, err := lockFile(filepath.Join(dir, fileLock))
	if err != nil {
		return nil, fmt.Errorf("payment to gateway %s: %w", gateway, err)
	}
	return &HeldPayment{dir: dir, lock: lock}, nil
}

// Release lets others work on it.
func (h *HeldPayment) Release() error { return h.lock.Close() }

// Path of the record.
func (h *HeldPayment) Path() string { return filepath.Join(h.dir, filePayment) }

// Transactions is the file for the transaction that pays.
func (h *HeldPayment) Transactions() string { return filepath.Join(h.dir, fileStore) }

// Read is the payment that is not finished. Errors: ErrNotFound, ErrRecord.
func (h *HeldPayment) Read() (p Payment, err error) {
	raw, err := os.ReadFile(h.Path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, ErrNotFound
	case err != nil:
		return p, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("%w: %s: %w", ErrRecord, h.Path(), err)
	}
	if p.Version != version {
		return p, fmt.Errorf("%w: %s is of version %d, this gantry writes %d; use the gantry that wrote it", ErrRecord, h.Path(), p.Version, version)
	}
	return p, nil
}

// Write stores the payment; when it returns nil, a power cut does not undo it.
func (h *HeldPayment) Write(p Payment) error {
	p.Version = version
	raw, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = writeFile(h.dir, filePayment, raw)
	}
	if err != nil {
		return fmt.Errorf("payment to gateway %s: %w", p.Gateway, err)
	}
	return nil
}

// Forget removes a payment that is finished, and then its transaction: a payment without one would be sent again.
func (h *HeldPayment) Forget() error {
	err := os.Remove(h.Path())
	if err == nil {
		err = atomicfile.SyncFolder(h.dir)
	}
	if err == nil {
		err = os.Remove(h.Transactions())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget payment: %w", err)
	}
	return nil
}
