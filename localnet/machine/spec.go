package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// ErrSpec is the error of a machine that cannot be run.
var ErrSpec = errors.New("machine cannot be run")

// Spec is a machine as its file describes it.
type Spec struct {
	// Reach are loopback addresses of the computer, host:port, that the machine reaches at the same addresses.
	Reach []string `json:"reach"`
	// Serve is the loopback address at which the agent listens on the machine, and the computer for it.
	Serve string `json:"serve,omitempty"`
	// LinkMbits ties the machine to the network namespace that it is started in, by a link of so many Mbit/s each way, at which
	// it has the address LinkHost; 0 for none. Interfaces of both ends are made: the namespace must not be the computer's own.
	LinkMbits int `json:"link_mbits,omitempty"`
	// Asked is the path of the socket at which [Ask] is answered.
	Asked string `json:"asked"`
	// Service starts the agent again when it crashes. Without it the machine ends with its agent.
	Service bool `json:"service,omitempty"`
	// Agent is the command line of the machine's agent.
	Agent []string `json:"agent"`
}

// Write writes the file, readable by its owner only.
func (s Spec) Write(path string) error {
	raw, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("machine: %w", err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return fmt.Errorf("machine: %w", err)
	}
	return nil
}

// Read reads a file. Error: ErrSpec.
func Read(path string) (Spec, error) {
	var s Spec
	raw, err := os.ReadFile(path)
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("%w: %s: %w", ErrSpec, path, err)
	}
	if len(s.Agent) == 0 {
		return s, fmt.Errorf("%w: %s names no agent", ErrSpec, path)
	}
	return s, nil
}
