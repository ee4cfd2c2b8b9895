package starts

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/sdk/records"
)

// Digest is the sha256 that the reference of an image ends with. Error: ErrImage.
func Digest(image string) (records.Hash, error) {
	_, text, _ := strings.Cut(image, "@sha256:")
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(records.Hash{}) {
		return records.Hash{}, fmt.Errorf("%q: %w", image, ErrImage)
	}
	return records.Hash(raw), nil
}
