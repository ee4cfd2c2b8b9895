package signing

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/keeper/store"
)

// watermark is the furthest position of the signer's store that this keeper has seen, also before a restart.
type watermark struct {
	path string

	mu sync.Mutex
	at store.Position
}

type seenFile struct {
	File     string `json:"file"`
	Sequence uint64 `json:"sequence"`
}

func (w *watermark) load() error {
	raw, err := os.ReadFile(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var s seenFile
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	var id []byte
	if err == nil {
		id, err = hex.DecodeString(s.File)
	}
	if err == nil && len(id) != len(w.at.File) {
		err = fmt.Errorf("a file id of %d bytes", len(id))
	}
	if err != nil {
		return fmt.Errorf("what this keeper has seen of the signer's store, %s: %w", w.path, err)
	}
	w.at = store.Position{File: [16]byte(id), Sequence: s.Sequence}
	return nil
}

// note takes a position of the store, and reports whether it is an older one of the same file.
func (w *watermark) note(at store.Position) (old bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case at == w.at:
		return false, nil
	case at.File == w.at.File && at.Sequence < w.at.Sequence:
		return true, nil
	}
	raw, err := json.Marshal(seenFile{hex.EncodeToString(at.File[:]), at.Sequence})
	if err != nil {
		return false, err
	}
	if err := atomicfile.Write(w.path, raw); err != nil {
		return false, fmt.Errorf("note what was seen of the signer's store: %w", err)
	}
	w.at = at
	return false, nil
}
