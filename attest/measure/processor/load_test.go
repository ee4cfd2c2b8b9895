package processor

import (
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/gantry-market/gantry/attest/measure"
)

// A simulated GPU has the same figures beside busy loops, which take most of its time on the wall: programs that share a core's
// two threads and its cache slow it a little. One that is made to be slow has less.
func TestLoadDoesNotSlowASimulatedGPU(t *testing.T) {
	if raced {
		t.Skip("SKIPPED: it measures time, which the race detector changes: make test runs it without")
	}
	p := measure.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 250, Resident: 2, WalkMs: 100, Lanes: 4}
	figures := func(d measure.Device) (f measure.Figures, wall time.Duration) {
		begun := time.Now()
		task := measure.NewTask(measure.Place{Domain: [8]byte{1}}, 0, p)
		run, err := d.Run(t.Context(), task, func(uint32, measure.Hash) {})
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close() //nolint:errcheck // memory alone
		wall = time.Since(begun)
		return measure.Stated(p, run.Result().Entry(0, p)), wall
	}
	alone, _ := figures(Simulated())
	stop := busy(t, 4*runtime.NumCPU())
	loaded, wall := figures(Simulated())
	slow, _ := figures(Slow{Device: Simulated(), Factor: 4})
	stop()
	t.Logf("alone %.3g int8/s, %.3g B/s; beside busy loops, in %s: %.3g int8/s, %.3g B/s; slow: %.3g int8/s, %.3g B/s",
		alone.Operations, alone.Bandwidth, wall, loaded.Operations, loaded.Bandwidth, slow.Operations, slow.Bandwidth)
	if asked := time.Duration(p.ChainMs+p.WalkMs) * time.Millisecond; wall < 3*asked/2 {
		t.Skipf("the busy loops took nothing from a run of %s: this computer has more processors than it says", wall)
	}
	if loaded.Operations < alone.Operations/2 || loaded.Bandwidth < alone.Bandwidth/2 {
		t.Error("the load has made an honest GPU slow")
	}
	if slow.Operations >= alone.Operations/2 || slow.Bandwidth >= alone.Bandwidth/2 {
		t.Error("a slow GPU is not found")
	}
}

// busy has so many processes do nothing, as fast as they can.
func busy(t *testing.T, n int) (stop func()) {
	t.Helper()
	var all []*exec.Cmd
	for range n {
		c := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	time.Sleep(200 * time.Millisecond)
	return func() {
		for _, c := range all {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
}
