//go:build e2e

package scenario

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// entry of a diary, and when the job said that it was on the disk.
type entry struct {
	n  int
	at time.Time
}

// diary is what a machine's files have said of one lease's job.
type diary struct {
	lease, node string
	purchase    string
	began       int // entries that it found; -1 before it began
	begin       time.Time
	wrote       []entry
	over        bool
	failed      string
	exit        string               // of the supervisor's, as JSON
	snapshots   map[string]time.Time // by hash: when each was begun
	trouble     map[string]bool      // snapshots that could not be made

	read int64 // bytes of its output
}

// last is when the job was last alive, and how many entries there were.
func (d *diary) last() (time.Time, int) {
	if len(d.wrote) == 0 {
		return d.begin, max(d.began, 0)
	}
	e := d.wrote[len(d.wrote)-1]
	return e.at, e.n
}

// until is how many entries were on the disk at a time.
func (d *diary) until(at time.Time) int {
	n := max(d.began, 0)
	for _, e := range d.wrote {
		if e.at.After(at) {
			break
		}
		n = e.n
	}
	return n
}

// diaries follows the diaries of all leases, by their output on the machines.
type diaries struct {
	reading sync.Mutex
	leases  map[string]*diary
}

func newDiaries() *diaries { return &diaries{leases: map[string]*diary{}} }

// follow reads what the supervisors have written until ctx ends.
func (ds *diaries) follow(ctx context.Context, root string) error {
	for {
		folders, err := filepath.Glob(filepath.Join(root, "agents", "*", "jobs", "*"))
		if err != nil {
			return err
		}
		for _, folder := range folders {
			ds.readFolder(folder)
		}
		if err := pause(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
}

func (ds *diaries) readFolder(folder string) {
	ds.reading.Lock()
	defer ds.reading.Unlock()
	lease := filepath.Base(folder)
	d := ds.leases[lease]
	if d == nil {
		d = &diary{lease: lease, node: filepath.Base(filepath.Dir(filepath.Dir(folder))), began: -1, snapshots: map[string]time.Time{}, trouble: map[string]bool{}}
		ds.leases[lease] = d
	}
	if d.purchase == "" {
		var spec struct{ Env map[string]string }
		if raw, err := os.ReadFile(filepath.Join(folder, "spec.json")); err == nil && json.Unmarshal(raw, &spec) == nil {
			d.purchase = spec.Env["DIARY"]
		}
	}
	var made struct {
		Hash, Error string
		At          time.Time
	}
	if raw, err := os.ReadFile(filepath.Join(folder, "snapshot.json")); err == nil && json.Unmarshal(raw, &made) == nil {
		if made.Error != "" {
			d.trouble[made.Error] = true
		} else if _, known := d.snapshots[made.Hash]; !known {
			d.snapshots[made.Hash] = made.At
		}
	}
	if raw, err := os.ReadFile(filepath.Join(folder, "exit.json")); err == nil {
		d.exit = string(raw)
	}
	f, err := os.Open(filepath.Join(folder, "stdout.log"))
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.Seek(d.read, io.SeekStart); err != nil {
		return
	}
	raw, err := io.ReadAll(f)
	if err != nil {
		return
	}
	raw = raw[:bytes.LastIndexByte(raw, '\n')+1]
	d.read += int64(len(raw))
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		d.line(lines.Text())
	}
}

func (d *diary) line(text string) {
	words := strings.Fields(text)
	number := func(i int) int64 {
		if i >= len(words) {
			return 0
		}
		n, _ := strconv.ParseInt(words[i], 10, 64)
		return n
	}
	switch {
	case strings.HasPrefix(text, "began "):
		d.began, d.begin = int(number(1)), time.Unix(0, number(2))
	case strings.HasPrefix(text, "wrote "):
		d.wrote = append(d.wrote, entry{int(number(1)), time.Unix(0, number(2))})
	case strings.HasPrefix(text, "over "):
		d.over = true
	case strings.HasPrefix(text, "failed: "):
		d.failed = text
	}
}

// of is a copy of what is known of a lease.
func (ds *diaries) of(lease string) (diary, bool) {
	ds.reading.Lock()
	defer ds.reading.Unlock()
	d, ok := ds.leases[lease]
	if !ok {
		return diary{began: -1}, false
	}
	out := *d
	return out, true
}
