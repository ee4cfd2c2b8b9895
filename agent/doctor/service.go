package doctor

import (
	"context"
	"os"
)

const unit = "gantry-agent.service"

// checkService reads systemd's folders; nothing is asked of systemd.
func checkService(_ context.Context, m *Machine) Finding {
	if _, err := os.Stat(m.path("/run/systemd/system")); err != nil {
		return none("systemd does not run this machine")
	}
	installed := false
	for _, folder := range []string{"/etc/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"} {
		if _, err := os.Stat(m.path(folder + unit)); err == nil {
			installed = true
		}
	}
	if !installed {
		return poor("sudo apt-get install -y ./gantry-agent_*.deb", "the service %s is not installed; nothing starts the agent again", unit)
	}
	if _, err := os.Lstat(m.path("/etc/systemd/system/multi-user.target.wants/" + unit)); err != nil {
		return poor("sudo systemctl enable --now gantry-agent", "the service does not start with the machine")
	}
	if !m.running() {
		return poor("sudo systemctl start gantry-agent", "the service is enabled and does not run")
	}
	return good("enabled and running")
}
