package doctor

import (
	"context"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// asContainer is what gives a container the rights of its machine.
const asContainer = "docker run --privileged --network host --pid host …; of a pod: securityContext.privileged: true, hostNetwork: true, hostPID: true (docs/operate/kubernetes-agents.md)"

// privilege is a right of the kernel that the agent needs, and what for.
type privilege struct {
	number  uint
	name    string
	purpose string
}

// privileges are those without which no container of a lease runs, or none has a network. docs/operate/kubernetes-agents.md lists them.
var privileges = []privilege{
	{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "mounts, namespaces and loop devices"},
	{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN", "the network of containers"},
	{unix.CAP_CHOWN, "CAP_CHOWN", "files of images belong to their users"},
	{unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", "files of images and of jobs are read and removed"},
	{unix.CAP_FOWNER, "CAP_FOWNER", "files of images get their modes"},
	{unix.CAP_SETUID, "CAP_SETUID", "jobs run as other users"},
	{unix.CAP_SETGID, "CAP_SETGID", "jobs run in other groups"},
	{unix.CAP_SETFCAP, "CAP_SETFCAP", "gVisor's user namespace gets its users"},
}

// checkPrivileges looks whether root has the rights of root: in a container it has few.
func checkPrivileges(_ context.Context, m *Machine) Finding {
	if m.UID != 0 {
		return none("the agent does not run as root (network, volumes)")
	}
	has, err := capabilities(m.path("/proc/self/status"))
	if err != nil {
		return bad("mount | grep proc", "the agent's rights are unknown: %v", err)
	}
	var missing []string
	for _, p := range privileges {
		if p.number == unix.CAP_NET_ADMIN && m.Config.Network.Off {
			continue
		}
		if has&(1<<p.number) == 0 {
			missing = append(missing, p.name+" ("+p.purpose+")")
		}
	}
	if len(missing) > 0 {
		return bad(asContainer, "the agent's container or service lacks %s", strings.Join(missing, ", "))
	}
	return good("root has all rights that jobs need")
}

// capabilities are those that a process uses, as proc_pid_status(5) writes them.
func capabilities(path string) (uint64, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if text, ok := strings.CutPrefix(line, "CapEff:"); ok {
			return strconv.ParseUint(strings.TrimSpace(text), 16, 64)
		}
	}
	return 0, &os.PathError{Op: "read CapEff in", Path: path, Err: os.ErrNotExist}
}
