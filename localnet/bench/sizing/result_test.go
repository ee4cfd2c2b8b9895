package sizing

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"
	"github.com/stretchr/testify/require"
)

// A process's own figures rise with what it does.
func TestLook(t *testing.T) {
	p, err := process.NewProcess(int32(os.Getpid()))
	require.NoError(t, err)
	dir := t.TempDir()
	w := &watched{kind: "test", share: 1, process: p, dir: dir}
	require.NoError(t, w.look())
	require.NoError(t, os.WriteFile(dir+"/file", bytes.Repeat([]byte("x"), 1<<20), 0o600))
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
	}
	require.NoError(t, w.look())
	require.EqualValues(t, 1<<20, size(w.dir))
	require.GreaterOrEqual(t, w.last.written-w.first.written, uint64(1<<20))
	require.Greater(t, w.last.cpu, w.first.cpu)
	require.Greater(t, w.resident, uint64(1<<20))
}

func TestMarkdown(t *testing.T) {
	var u Use
	u.Kind, u.Processes = "keeper", 2
	for _, v := range []float64{0.02, 0.01} {
		u.CPU.add(v)
		u.Resident.add(v * (1 << 30))
		u.Disk.add(1 << 20)
	}
	var out bytes.Buffer
	require.NoError(t, Result{Markets: []Market{{Machines: 7, Jobs: 3, Took: time.Minute, Uses: []Use{u, {Kind: "agent", Processes: 1, Shared: true}}}}}.Markdown(&out))
	require.Contains(t, out.String(), "| 7 machines, 3 jobs in 1m0s | keeper | 2 | 1.0–2.0 | 10–20 | 1.0 | 0.0 | 0.0 |\n")
	require.Contains(t, out.String(), "| agent | 1 for 7 |")
}
