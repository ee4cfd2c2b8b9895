package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

// Remember writes the GPUs of the inventory into a file, for [Options].Known of the next start.
func (m *Machine) Remember(file string) error {
	raw, err := json.Marshal(m.Inventory.GPUs)
	if err != nil {
		return fmt.Errorf("host: %w", err)
	}
	return atomicfile.Write(file, raw)
}

// remembered reads what Remember has written; nothing where it has not.
func remembered(file string) ([]GPU, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	var out []GPU
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("host: %s: %w", file, err)
	}
	return out, nil
}

// recall completes an inventory in which devices do not answer by what they were: the machine is the one that it was, and the others
// serve. Where the devices that answer are not all known, or are not as many fewer as do not answer, it is another machine.
func (i *Inventory) recall(known []GPU) {
	if len(i.Silent) == 0 || len(i.GPUs)+len(i.Silent) != len(known) {
		return
	}
	full := slices.Clone(known)
	for _, g := range i.GPUs {
		at := slices.IndexFunc(full, func(k GPU) bool { return k.UUID == g.UUID })
		if at < 0 {
			return
		}
		full[at] = g
	}
	i.GPUs, i.GPUStatement = full, ""
}
