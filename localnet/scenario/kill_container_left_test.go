//go:build e2e

package scenario

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	agentnet "github.com/gantry-market/gantry/agent/network"
)

// leftTime is how long what belongs to no lease may stay: the last lease's agent may have been killed, and starts again.
const leftTime = 90 * time.Second

// nothingLeft: no lease runs any more, so that no machine has anything of one.
func (k *containerRun) nothingLeft(ctx context.Context) {
	var left []string
	for deadline := time.Now().Add(leftTime); time.Now().Before(deadline); {
		if left = k.left(); len(left) == 0 {
			return
		}
		if pause(ctx, time.Second) != nil {
			return
		}
	}
	k.t.Errorf("left on the machines when no lease was:\n%s", strings.Join(left, "\n"))
}

// left is what belongs to leases.
func (k *containerRun) left() (found []string) {
	root := k.n.Dir()
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || len(line) == 0 {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		ofLease := bytes.Contains(line, []byte("/jobs/")) && bytes.Contains(line, []byte(root)) || k.marked(environ)
		if ofLease {
			found = append(found, fmt.Sprintf("process %s: %s", e.Name(), bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, file := range files {
		if raw, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(raw), root) {
			found = append(found, "loop device: "+file+" "+strings.TrimSpace(string(raw)))
		}
	}
	k.reading.Lock()
	leases := make([]string, 0, len(k.diaries.leases))
	for lease, d := range k.diaries.leases {
		if d.node != k.lost { // its files and groups are another computer's, which is switched off
			leases = append(leases, lease)
		}
	}
	k.reading.Unlock()
	for _, lease := range leases {
		groups, _ := filepath.Glob("/sys/fs/cgroup/*/gantry-" + lease)
		more, _ := filepath.Glob("/sys/fs/cgroup/gantry/" + lease)
		for _, g := range slices.Concat(groups, more) {
			found = append(found, "control group: "+g)
		}
	}
	images, _ := filepath.Glob(filepath.Join(root, "agents", "*", "jobs", "*", "volume.img"))
	for _, image := range images {
		if !strings.HasPrefix(image, k.n.DataDir(k.lost)+"/") {
			found = append(found, "file of a volume: "+image)
		}
	}
	for _, m := range k.n.Nodes {
		found = append(found, k.leftOn(m.Name)...)
	}
	return found
}

// marked reports whether a process's environment names a lease of this market.
func (k *containerRun) marked(environ []byte) bool {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if lease, ok := bytes.CutPrefix(entry, []byte("GANTRY_LEASE=")); ok {
			if _, known := k.of(string(lease)); known {
				return true
			}
		}
	}
	return false
}

// leftOn is what a machine's own namespaces have of leases: mounts, interfaces, tables.
func (k *containerRun) leftOn(node string) (found []string) {
	for pid := range k.agentPids(node) {
		mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
		if err != nil {
			continue
		}
		for line := range strings.SplitSeq(string(mounts), "\n") {
			if strings.Contains(line, k.n.Dir()) && strings.Contains(line, "/jobs/") {
				found = append(found, node+" mount: "+line)
			}
		}
		done := make(chan []string)
		go func() {
			goruntime.LockOSThread() // the thread ends with the goroutine
			done <- ofNamespace(pid)
		}()
		for _, what := range <-done {
			found = append(found, node+" "+what)
		}
	}
	return found
}

// ofNamespace is what leases have in the network namespace of a process. The calling thread stays in it.
func ofNamespace(pid int) (found []string) {
	ns, err := netns.GetFromPid(pid)
	if err != nil {
		return nil // it has ended
	}
	defer ns.Close()
	if err := netns.Set(ns); err != nil {
		return []string{err.Error()}
	}
	tables, err := agentnet.Tables()
	if err != nil {
		return []string{err.Error()}
	}
	for _, t := range tables {
		found = append(found, "table of nftables: "+t)
	}
	links, err := netlink.LinkList()
	if err != nil {
		return append(found, err.Error())
	}
	for _, l := range links {
		if strings.HasPrefix(l.Attrs().Alias, "gantry lease ") {
			found = append(found, "interface: "+l.Attrs().Name+" "+l.Attrs().Alias)
		}
	}
	return found
}
