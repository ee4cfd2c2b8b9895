package records

import (
	"fmt"
	"strings"
)

// Flags are the findings of a report leaf.
type Flags uint16

// The flags of a leaf. Bits are part of the on-chain format and never move.
const (
	FlagOffline        Flags = 1
	FlagSpecMismatch   Flags = 2
	FlagWorkFailed     Flags = 4
	FlagEvidenceFailed Flags = 8
	FlagDeviceChanged  Flags = 16
	FlagUnhealthy      Flags = 32
	FlagBadOutput      Flags = 64
	// FlagSlow is of faults alone, no leaf has it: none of the last measured periods shows the class.
	FlagSlow Flags = 128

	// KnownFlags has every flag that a leaf may have.
	KnownFlags Flags = 127
)

var flagNames = [...]string{
	"offline", "spec-mismatch", "work-failed", "evidence-failed",
	"device-changed", "unhealthy", "bad-output", "slow",
}

// Has reports whether all bits of x are set.
func (f Flags) Has(x Flags) bool { return f&x == x }

// Names returns the names of the set flags, lowest bit first. Unknown bits are named by their value so that nothing set
// is ever hidden.
func (f Flags) Names() []string {
	var out []string
	for bit := range 16 {
		if f&(1<<bit) == 0 {
			continue
		}
		if bit < len(flagNames) {
			out = append(out, flagNames[bit])
		} else {
			out = append(out, fmt.Sprintf("unknown-%d", 1<<bit))
		}
	}
	return out
}

// String joins the names with commas; no flag gives "none".
func (f Flags) String() string {
	if f == 0 {
		return "none"
	}
	return strings.Join(f.Names(), ",")
}

// ParseFlags reads what String writes. Error: ErrValue for an unknown name.
func ParseFlags(s string) (Flags, error) {
	s = strings.TrimSpace(s)
	if s == "" || s == "none" {
		return 0, nil
	}
	var f Flags
next:
	for _, name := range strings.Split(s, ",") {
		name = strings.TrimSpace(name)
		for bit, known := range flagNames {
			if name == known {
				f |= 1 << bit
				continue next
			}
		}
		return 0, fmt.Errorf("flag %q: %w", name, ErrValue)
	}
	return f, nil
}
