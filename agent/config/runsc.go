package config

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/sdk/market"
)

// Isolation returns the strongest isolation that an agent with these settings offers on this machine.
func (c Config) Isolation() market.Isolation {
	switch {
	case c.FindRunsc() == "" || os.Geteuid() != 0:
		return market.Process
	case runtime.CheckVolumes() != nil:
		return market.Sandbox
	}
	return market.Volumes
}

// FindRunsc returns the path of gVisor's runtime: the configured one, the one in the agent's folder, or the one in PATH. It
// returns "" if there is none.
func (c Config) FindRunsc() string {
	if c.Runsc != "" {
		return c.Runsc
	}
	if found := sibling("", "runsc"); found != "" {
		return found
	}
	path, err := exec.LookPath("runsc")
	if err != nil {
		return ""
	}
	return path
}

// FindShell returns the path of gantry-shell in the folder of the agent's binary, or "" if it is not there. If agent is
// empty, it is the running program.
func FindShell(agent string) string { return sibling(agent, "gantry-shell") }

// sibling returns the path of an executable file in the folder of another program, or "" if there is none. If other is empty,
// it is the running program.
func sibling(other, name string) string {
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
