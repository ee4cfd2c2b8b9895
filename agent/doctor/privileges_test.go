package doctor

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Each right that a container lacks is named with what it is for, and no other.
func TestMissingPrivilegesAreNamed(t *testing.T) {
	m, _ := healthy(t)
	m.UID = 0
	write(t, m, "/proc/self/status", "CapEff:\t00000000a80425fb\n")
	f := checkPrivileges(t.Context(), m)
	require.Contains(t, f.Cause, "CAP_SYS_ADMIN (mounts, namespaces and loop devices)")
	require.Contains(t, f.Cause, "CAP_NET_ADMIN (")
	require.NotContains(t, f.Cause, "CAP_CHOWN")
	for _, right := range privileges {
		full := uint64(1)<<41 - 1
		write(t, m, "/proc/self/status", fmt.Sprintf("CapEff:\t%016x\n", full&^(1<<right.number)))
		f := checkPrivileges(t.Context(), m)
		require.Equal(t, Error, f.Result, right.name)
		require.Equal(t, "the agent's container or service lacks "+right.name+" ("+right.purpose+")", f.Cause)
	}
	// Containers without a network need none for it.
	write(t, m, "/proc/self/status", fmt.Sprintf("CapEff:\t%016x\n", (uint64(1)<<41-1)&^(1<<unix.CAP_NET_ADMIN)))
	require.Equal(t, Error, checkPrivileges(t.Context(), m).Result)
	m.Config.Network.Off = true
	require.Equal(t, OK, checkPrivileges(t.Context(), m).Result)
}

// The kernel's own record of a process without a right is read as it is. Linux, root, setpriv.
func TestPrivilegesOfARealProcess(t *testing.T) {
	m, _ := healthy(t)
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || m.UID != 0 {
		t.Skip("SKIPPED: root and setpriv (util-linux) take rights away")
	}
	status := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), setpriv, append(args, "cat", "/proc/self/status")...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	write(t, m, "/proc/self/status", status())
	before := checkPrivileges(t.Context(), m).Cause
	require.NotContains(t, before, "CAP_NET_ADMIN")
	write(t, m, "/proc/self/status", status("--bounding-set=-net_admin"))
	after := checkPrivileges(t.Context(), m)
	require.Equal(t, Error, after.Result)
	require.Contains(t, after.Cause, "CAP_NET_ADMIN")
	require.Equal(t, 1, strings.Count(after.Cause, "CAP_"), after.Cause)
}
