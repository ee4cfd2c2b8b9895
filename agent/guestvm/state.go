package guestvm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gantry-market/gantry/agent/runtime"
)

// Files in the folder of the guests.
const (
	makerFolder = "maker" // of TPMs
	leaseFolder = "leases"
	lockFile    = "lock"         // held as long as the guest's supervisor lives
	planFile    = "plan.json"    // what the supervisor does
	runFile     = "run.json"     // the processes
	socketFile  = "guest.sock"   // the supervisor's
	failureFile = "failure.json" // why the guest has ended before it had a job
	stateFile   = "state.json"   // of the job
	outputFile  = "output"       // the sealed records

	supervisorLog = "supervisor.log"
)

// Reasons for which a guest's job is over, beside those of package runtime.
const (
	// ReasonSealed: the job has ended, and how is sealed for its customer.
	ReasonSealed runtime.Reason = "sealed"
	// ReasonGuestEnded: the guest has ended before its job has. It or QEMU crashed, or the job has brought the guest down.
	ReasonGuestEnded runtime.Reason = "guest-ended"
	// reasonSupervisor: somebody ends the guest's supervisor, as when the machine is switched off. The job is lost.
	reasonSupervisor runtime.Reason = "supervisor"
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
func (s *state) write(dir string) error {
	return writeFile(dir, stateFile, s)
}

// lost notes that a job was lost with its supervisor.
func (s *state) lost(dir string) error {
	info, err := os.Stat(filepath.Join(dir, stateFile))
	if err != nil {
		return fmt.Errorf("state of a guest: %w", err)
	}
	s.Phase, s.LostAt = runtime.Lost, info.ModTime().UTC() // the supervisor touches it while the guest runs
	return s.write(dir)
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
