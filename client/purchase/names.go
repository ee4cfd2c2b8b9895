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
)

// fileNames holds what a gateway has answered.
const fileNames = "names.json"

// Names are the public addresses that a gateway has given to ports of an order's leases.
type Names struct {
	Gateway solana.PublicKey `json:"gateway"`
	// Issued is when the grant was signed and Until when it ends, unix milliseconds.
	Issued int64             `json:"issued"`
	Until  int64             `json:"until"`
	URLs   map[uint16]string `json:"urls"`
}

// Publish stores the names of an order, in place of those before. It needs no hold of the order.
func (f *Folder) Publish(order solana.PublicKey, n Names) error {
	dir := filepath.Join(f.dir, orders, order.String())
	raw, err := json.Marshal(n)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = writeFile(dir, fileNames, raw)
	}
	if err != nil {
		return fmt.Errorf("names of order %s: %w", order, err)
	}
	return nil
}

// Gateway is the one that gave names to the order last; zero where none did.
func (f *Folder) Gateway(order solana.PublicKey) (solana.PublicKey, error) {
	n, err := f.names(order)
	return n.Gateway, err
}

// LastGrant is when the last grant of an order was signed, or grants were taken back, if that is later; unix
// milliseconds, 0 for neither.
func (f *Folder) LastGrant(order solana.PublicKey) (int64, error) {
	n, err := f.names(order)
	if err != nil {
		return 0, err
	}
	revoked, err := f.Revoked(order)
	return max(n.Issued, revoked), err
}

// names are those that were published last; none where there are none.
func (f *Folder) names(order solana.PublicKey) (n Names, err error) {
	raw, err := os.ReadFile(filepath.Join(f.dir, orders, order.String(), fileNames))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &n)
	}
	if err != nil {
		return n, fmt.Errorf("names of order %s: %w", order, err)
	}
	return n, nil
}

// Published are the names of an order that are good at an instant: nothing where none were given, or where the grant
// has ended or was taken back.
func (f *Folder) Published(order solana.PublicKey, now time.Time) (map[uint16]string, error) {
	n, err := f.names(order)
	if err != nil {
		return nil, err
	}
	revoked, err := f.Revoked(order)
	if err != nil {
		return nil, err
	}
	if n.Issued <= revoked || n.Until <= now.UnixMilli() {
		return nil, nil
	}
	return n.URLs, nil
}
