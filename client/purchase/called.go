package purchase

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gagliardetto/solana-go"
)

// fileCalled says what people call an order's leases.
const fileCalled = "called.json"

// Called is what an order's leases are called, by a server that acts for the customer of the folder.
type Called struct {
	// Names are those that people have chosen, by lease.
	Names map[string]string `json:"names,omitempty"`
	// Runs is what runs on the leases: a template or an image.
	Runs string `json:"runs,omitempty"`
}

// Called is what Call has stored.
func (f *Folder) Called(order solana.PublicKey) (c Called, err error) {
	raw, err := os.ReadFile(filepath.Join(f.dir, orders, order.String(), fileCalled))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		return c, fmt.Errorf("what the leases of order %s are called: %w", order, err)
	}
	return c, nil
}

// Call stores what an order's leases are called. It needs no hold of the order. Of several at once, one counts.
func (f *Folder) Call(order solana.PublicKey, c Called) error {
	dir := filepath.Join(f.dir, orders, order.String())
	raw, err := json.Marshal(c)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = writeFile(dir, fileCalled, raw)
	}
	if err != nil {
		return fmt.Errorf("what the leases of order %s are called: %w", order, err)
	}
	return nil
}

// NameOfLease is the name that people have given a lease: the one that they have chosen for it on a page, else that of its purchase;
// empty where there is none. Names with a slash are keys of interfaces, and nobody's choice. runs is what runs on the leases of the order.
func (f *Folder) NameOfLease(order, lease solana.PublicKey) (name, runs string, err error) {
	c, err := f.Called(order)
	if name = c.Names[lease.String()]; err != nil || name != "" {
		return name, c.Runs, err
	}
	p, err := read(filepath.Join(f.dir, orders, order.String()))
	of := []Purchase{p}
	if err == nil && !p.Joins.IsZero() {
		var first Purchase
		first, err = read(filepath.Join(f.dir, orders, p.Joins.String()))
		of = append(of, first)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", c.Runs, nil
	case err != nil:
		return "", c.Runs, err
	}
	if name = NameOf(of, &p); strings.Contains(name, "/") {
		name = ""
	}
	return name, c.Runs, nil
}
