//go:build e2e

package scenario

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// jobs lists the shells whose home is in a machine's job directory: those that its leases run. What a shell itself
// starts may come and go.
func jobs(dir, machine string) (map[int]bool, error) {
	inside := filepath.Join(dir, "agents", machine) + string(filepath.Separator)
	return processes(func(environ, cmdline []byte) bool {
		if !bytes.HasPrefix(cmdline, []byte("sh\x00-c\x00")) {
			return false
		}
		for entry := range bytes.SplitSeq(environ, []byte{0}) {
			if home, ok := strings.CutPrefix(string(entry), "HOME="); ok && strings.HasPrefix(home, inside) {
				return true
			}
		}
		return false
	})
}

// ofNetwork lists every process that has anything to do with a state directory, except this one.
func ofNetwork(dir string) (map[int]bool, error) {
	return processes(func(environ, cmdline []byte) bool {
		return bytes.Contains(environ, []byte(dir+"/")) || bytes.Contains(cmdline, []byte(dir))
	})
}

func processes(match func(environ, cmdline []byte) bool) (map[int]bool, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	found := map[int]bool{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// Unreadable: another user's, or gone.
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || len(cmdline) == 0 { // a zombie has none
			continue
		}
		if match(environ, cmdline) {
			found[pid] = true
		}
	}
	return found, nil
}
