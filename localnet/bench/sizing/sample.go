package sizing

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/gantry-market/gantry/localnet/network"
)

// sampleEvery is the time between two looks at a process.
const sampleEvery = 500 * time.Millisecond

// watched is one process.
type watched struct {
	kind    string
	share   int // of how many machines the process is
	process *process.Process
	dir     string // its data; empty for none

	first, last point
	resident    uint64 // the most
}

// point is what a process has used so far.
type point struct {
	at            time.Time
	cpu           float64 // seconds
	read, written uint64  // bytes by system calls: sockets and files
}

// sampler looks at all daemons of a market.
type sampler []*watched

// newSampler lists the processes; those of shared machines are one.
func newSampler(n *network.Network, shared bool) (s sampler, err error) {
	add := func(kind, name, dir string, share int) error {
		pid, err := n.Pid(name)
		if err != nil {
			return err
		}
		p, err := process.NewProcess(int32(pid))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s = append(s, &watched{kind: kind, share: share, process: p, dir: dir})
		return nil
	}
	for _, k := range n.Keys.Keepers {
		if err := add("keeper", k.Name, n.DataDir(k.Name), 1); err != nil {
			return nil, err
		}
	}
	if shared {
		if err := add("agent", network.FleetName, filepath.Dir(n.DataDir(n.Nodes[0].Name)), len(n.Nodes)); err != nil {
			return nil, err
		}
	} else {
		for _, m := range n.Nodes {
			if err := add("agent", m.Name, n.DataDir(m.Name), 1); err != nil {
				return nil, err
			}
		}
	}
	if err := add("gateway", network.GatewayName, n.DataDir(network.GatewayName), 1); err != nil {
		return nil, err
	}
	err = add("`gantry serve`", "serve", "", 1)
	return s, err
}

// run samples until ctx ends.
func (s sampler) run(ctx context.Context) error {
	every := time.NewTicker(sampleEvery)
	defer every.Stop()
	for {
		for _, w := range s {
			if err := w.look(); err != nil {
				return err
			}
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *watched) look() error {
	times, err := w.process.Times()
	if err != nil {
		return fmt.Errorf("a %s: %w", w.kind, err)
	}
	memory, err := w.process.MemoryInfo()
	if err != nil {
		return fmt.Errorf("a %s: %w", w.kind, err)
	}
	io, err := w.process.IOCounters()
	if err != nil {
		return fmt.Errorf("a %s: %w", w.kind, err)
	}
	w.resident = max(w.resident, memory.RSS)
	w.last = point{at: time.Now(), cpu: times.User + times.System, read: io.ReadBytes, written: io.WriteBytes}
	if w.first.at.IsZero() {
		w.first = w.last
	}
	return nil
}

// uses sums up by kind, after run. Folders are looked at once, here: that takes disk and processor, which are being measured before.
func (s sampler) uses() []Use {
	var out []Use
	for _, w := range s {
		if n := len(out); n == 0 || out[n-1].Kind != w.kind {
			out = append(out, Use{Kind: w.kind, Shared: w.share > 1})
		}
		u := &out[len(out)-1]
		u.Processes++
		share, secs := float64(w.share), w.last.at.Sub(w.first.at).Seconds()
		u.CPU.add((w.last.cpu - w.first.cpu) / secs / share)
		u.Resident.add(float64(w.resident) / share)
		u.Disk.add(float64(size(w.dir)) / share)
		u.Read.add(float64(w.last.read-w.first.read) / secs / share)
		u.Written.add(float64(w.last.written-w.first.written) / secs / share)
	}
	return out
}

// size is what a folder's files hold; what is removed meanwhile does not count.
func size(dir string) (sum int64) {
	if dir == "" {
		return 0
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/programs/") { // copies of runsc
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
