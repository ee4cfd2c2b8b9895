package config

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gantry-market/gantry/client/market"
)

// Isolation is the best that an agent with these settings offers on this machine.
func (c Config) Isolation() market.Isolation {
	if c.FindRunsc() != "" && os.Geteuid() == 0 {
		return market.Sandbox
	}
	return market.Process
}

// FindRunsc returns the path of gVisor's runtime, or nothing where there is none.
func (c Config) FindRunsc() string {
	if c.Runsc != "" {
		return c.Runsc
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "runsc")
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return beside
		}
	}
	path, err := exec.LookPath("runsc")
	if err != nil {
		return ""
	}
	return path
}
