package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

// Repaired is when the operator said that what the driver had reported before is repaired: a reset of a device leaves no
// message that could be relied on.
type Repaired struct {
	// Boot is the kernel's name for this run of the machine.
	Boot string `json:"boot"`
	// Micros is the kernel's clock, in microseconds since the start.
	Micros int64 `json:"micros"`
}

// RepairedNow is said now.
func RepairedNow() (Repaired, error) {
	boot, err := bootID()
	if err != nil {
		return Repaired{}, err
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return Repaired{}, fmt.Errorf("faults: the kernel's clock: %w", err)
	}
	return Repaired{Boot: boot, Micros: t.Nano() / 1000}, nil
}

// Write puts it into a file.
func (r Repaired) Write(path string) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("faults: %w", err)
	}
	return atomicfile.Write(path, raw)
}

// ReadRepaired reads what was written during this run of the machine; the zero value if nothing was.
func ReadRepaired(path string) (Repaired, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Repaired{}, nil
	}
	if err != nil {
		return Repaired{}, fmt.Errorf("faults: %w", err)
	}
	var r Repaired
	if err := json.Unmarshal(raw, &r); err != nil {
		return Repaired{}, fmt.Errorf("faults: %s: %w", path, err)
	}
	boot, err := bootID()
	if err != nil || r.Boot != boot {
		return Repaired{}, err
	}
	return r, nil
}

func bootID() (string, error) {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("faults: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}
