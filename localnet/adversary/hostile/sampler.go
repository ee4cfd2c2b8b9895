package hostile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gantry-market/gantry/localnet/network"
)

// Phase is a part of a run.
type Phase int

// The phases.
const (
	Starting Phase = iota
	Quiet
	Attacked
	After
	phases
)

// Use is what one process used in one phase: the most of it, and how much its log and its files grew.
type Use struct {
	Resident   uint64        `json:"resident"` // bytes
	Files      int           `json:"files"`    // descriptors
	Goroutines int           `json:"goroutines"`
	Log        int64         `json:"log"`  // bytes written
	Disk       int64         `json:"disk"` // bytes held at the end
	Took       time.Duration `json:"took"`
	CPU        time.Duration `json:"cpu"`

	logAt int64
	cpuAt time.Duration
	began time.Time
}

// sampler watches the honest daemons.
type sampler struct {
	net *network.Network

	mu  sync.Mutex
	at  Phase
	all map[string]*[phases]Use
}

func newSampler(n *network.Network) *sampler {
	s := &sampler{net: n, all: map[string]*[phases]Use{}}
	for _, name := range s.names() {
		s.all[name] = &[phases]Use{}
	}
	return s
}

func (s *sampler) names() []string {
	var out []string
	for _, k := range s.net.Keys.Keepers[:keepers] {
		out = append(out, k.Name)
	}
	for _, m := range s.net.Nodes[:machines] {
		out = append(out, m.Name)
	}
	return append(out, network.GatewayName)
}

func (s *sampler) phase(p Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = p
}

func (s *sampler) use() map[string][phases]Use {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string][phases]Use{}
	for name, u := range s.all {
		out[name] = *u
	}
	return out
}

func (s *sampler) run(ctx context.Context) error {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		for _, name := range s.names() {
			if err := s.look(ctx, name, n%8 == 0); err != nil && ctx.Err() == nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look measures one process; slowly tells whether what costs time is measured too.
func (s *sampler) look(ctx context.Context, name string, slowly bool) error {
	pid, err := s.net.Pid(name)
	if err != nil {
		return err
	}
	resident, err := residentOf(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it ended; its restarts are counted
	}
	if err != nil {
		return err
	}
	cpu, err := cpuOf(pid)
	if err != nil {
		return err
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return err
	}
	log, err := os.Stat(s.net.LogPath(name))
	if err != nil {
		return err
	}
	goroutines, disk := 0, int64(-1)
	if slowly {
		goroutines = s.goroutines(ctx, name)
		disk = size(s.net.DataDir(name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &s.all[name][s.at]
	if u.began.IsZero() {
		u.began, u.logAt, u.cpuAt = time.Now(), log.Size(), cpu
	}
	u.Took, u.Log, u.CPU = time.Since(u.began), log.Size()-u.logAt, cpu-u.cpuAt
	u.Resident, u.Files, u.Goroutines = max(u.Resident, resident), max(u.Files, len(fds)), max(u.Goroutines, goroutines)
	u.Disk = max(u.Disk, disk)
	return nil
}

// goroutines asks a daemon's metrics; agents have none, and one that is busy is asked again later.
func (s *sampler) goroutines(ctx context.Context, name string) int {
	url, err := s.net.Metrics(name)
	if err != nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
			n, _ := strconv.ParseFloat(text, 64) // 0 is "not known"
			return int(n)
		}
	}
	return 0
}

func residentOf(pid int) (uint64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return 0, fs.ErrNotExist
	}
	pages, err := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

// tick is the unit of processor time in /proc.
const tick = 10 * time.Millisecond

func cpuOf(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fs.ErrNotExist
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * tick, err
}

// size is what a folder's files take on disk; what is removed meanwhile does not count.
func size(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
