package guestvm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/internal/atomicfile"
)

// Files in the folder of the guests.
const (
	makerFolder = "maker" // of TPMs
	leaseFolder = "leases"
	stateFile   = "state.json"
	outputFile  = "output" // the sealed records
)

// Reasons for which a guest's job is over, beside those of package runtime.
const (
	// ReasonSealed: the job has ended, and how is sealed for its customer.
	ReasonSealed runtime.Reason = "sealed"
	// ReasonGuestEnded: the guest has ended before its job has. It or QEMU crashed, or the job has brought the guest down.
	ReasonGuestEnded runtime.Reason = "guest-ended"
	// reasonAgent: the agent ends, and with it its guests. Their jobs are lost.
	reasonAgent runtime.Reason = "agent"
)

// state is what is kept of a job that was brought to a guest.
type state struct {
	Phase     runtime.Phase `json:"phase"`
	StartedAt time.Time     `json:"started_at"`
	Exit      *runtime.Exit `json:"exit,omitempty"`
	LostAt    time.Time     `json:"lost_at,omitzero"`
	Spec      runtime.Spec  `json:"spec"`
}

// write stores the state of a lease.
func (s state) write(dir string) error {
	raw, err := json.Marshal(s)
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, stateFile), raw)
	}
	if err != nil {
		return fmt.Errorf("state of a guest: %w", err)
	}
	return nil
}

// readState reads what an earlier agent has stored, whose guest has ended with it: a job that ran is lost.
func readState(dir string) (s state, err error) {
	path := filepath.Join(dir, stateFile)
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return s, fmt.Errorf("state of a guest: %w", err)
	}
	if s.Phase.Over() {
		return s, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return s, fmt.Errorf("state of a guest: %w", err)
	}
	s.Phase, s.LostAt = runtime.Lost, info.ModTime() // the agent touches it while the guest runs
	return s, s.write(dir)
}

// outputBytes is how much has been kept.
func outputBytes(dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, outputFile))
	if err != nil {
		return 0
	}
	return info.Size()
}

// leases are those of which something is stored.
func leases(folder string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(folder, leaseFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("folder of guests: %w", err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, nil
}
