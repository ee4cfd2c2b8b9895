package config

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/client/market"
)

// Isolation is the best that an agent with these settings offers on this machine.
func (c Config) Isolation() market.Isolation {
	switch {
	case c.FindRunsc() == "" || os.Geteuid() != 0:
		return market.Process
	case runtime.CheckVolumes() != nil:
		return market.Sandbox
	}
	return market.Volumes
}

// FindRunsc returns the path of gVisor's runtime, or nothing where there is none.
func (c Config) FindRunsc() string {
	if c.Runsc != "" {
		return c.Runsc
	}
	if found := beside("", "runsc"); found != "" {
		return found
	}
	path, err := exec.LookPath("runsc")
	if err != nil {
		return ""
	}
	return path
}

// FindShell returns the path of gantry-shell beside the agent's binary, or nothing where there is none. An empty agent is
// the running program.
func FindShell(agent string) string { return beside(agent, "gantry-shell") }

// beside returns the path of a program in the folder of another, of the running one if that is empty; nothing where there
// is none.
func beside(other, name string) string {
	if other == "" {
		self, err := os.Executable()
		if err != nil {
			return ""
		}
		other = self
	}
	path := filepath.Join(filepath.Dir(other), name)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
		return path
	}
	return ""
}
