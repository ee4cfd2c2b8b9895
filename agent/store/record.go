package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// recordVersion is the first byte of every record.
const recordVersion = 1

const recordHead = 1 + sha256.Size

// seal encodes v as version ‖ sha256(version ‖ bucket ‖ 0 ‖ key ‖ 0 ‖ json) ‖ json. The
// checksum covers bucket and key, so a record that lands elsewhere is noticed too.
func seal(bucket, key []byte, v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("store: encode %s record: %w", bucket, err)
	}
	sum := checksum(bucket, key, body)
	out := make([]byte, 0, recordHead+len(body))
	out = append(out, recordVersion)
	out = append(out, sum[:]...)
	return append(out, body...), nil
}

// unseal decodes raw into v, refusing anything that seal did not write.
func unseal(bucket, key, raw []byte, v any) error {
	if len(raw) < recordHead {
		return fmt.Errorf("%w: %s record %x is %d bytes long", ErrCorrupt, bucket, key, len(raw))
	}
	if raw[0] != recordVersion {
		return fmt.Errorf("%w: %s record %x has version %d, this agent knows %d", ErrSchema, bucket, key, raw[0], recordVersion)
	}
	body := raw[recordHead:]
	if sum := checksum(bucket, key, body); !bytes.Equal(sum[:], raw[1:recordHead]) {
		return fmt.Errorf("%w: checksum of %s record %x does not match", ErrCorrupt, bucket, key)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%w: %s record %x: %w", ErrCorrupt, bucket, key, err)
	}
	return nil
}

func checksum(bucket, key, body []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte{recordVersion})
	h.Write(bucket)
	h.Write([]byte{0})
	h.Write(key)
	h.Write([]byte{0})
	h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}
