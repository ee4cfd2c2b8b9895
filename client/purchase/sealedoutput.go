package purchase

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/gagliardetto/solana-go"
)

// maxOutputKeys is how many keys of a lease are kept, the latest: each attempt to bring the job makes one.
const maxOutputKeys = 256

// AddOutputKey stores a key that may open what the measured guest of a lease puts out, before the job is brought. When it returns nil, a
// power cut does not undo it.
func (f *Folder) AddOutputKey(order, lease solana.PublicKey, key []byte) error {
	keys, err := f.OutputKeys(order, lease)
	if err != nil {
		return err
	}
	keys = append(keys, key)
	var text []byte
	for _, k := range keys[max(0, len(keys)-maxOutputKeys):] {
		text = append(hex.AppendEncode(text, k), '\n')
	}
	if err := writeFile(filepath.Join(f.dir, orders, order.String()), fileOutputKeys(lease), text); err != nil {
		return fmt.Errorf("keys of the output of lease %s: %w", lease, err)
	}
	return nil
}

// OutputKeys are those that AddOutputKey has stored; none for a lease without a measured guest. The zero order is one that is not known:
// all are looked through.
func (f *Folder) OutputKeys(order, lease solana.PublicKey) (keys [][]byte, err error) {
	raw, err := f.ofLease(order, fileOutputKeys(lease))
	if err != nil {
		return nil, fmt.Errorf("keys of the output of lease %s: %w", lease, err)
	}
	for _, line := range bytes.Fields(raw) {
		key, err := hex.AppendDecode(nil, line)
		if err != nil {
			return nil, fmt.Errorf("%w: keys of the output of lease %s: %w", ErrRecord, lease, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func fileOutputKeys(lease solana.PublicKey) string { return "output-" + lease.String() + ".keys" }
