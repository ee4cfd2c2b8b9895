package terminal

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/internal/screen/top"
	"github.com/gantry-market/gantry/sdk/market"
)

// WriteUse writes what a lease uses: as it is drawn on a terminal, or in plain lines.
func WriteUse(w *Page, t *service.Use, seen top.Seen) {
	if w.at.Live {
		w.err = cmp.Or(w.err, top.Write(w.at, seen))
		return
	}
	of := func(limit string, known bool) string {
		if !known {
			return ""
		}
		return " of " + limit
	}
	fmt.Fprintf(w, "lease    %s   %s UTC\n", t.Lease, t.Measured.Format("15:04:05"))
	fmt.Fprintf(w, "cpu      %.2f%s busy   %.1f s so far\n", t.CPUs, of(fmt.Sprintf("%g", t.CPULimit), t.CPULimit > 0), t.CPUSecs)
	fmt.Fprintf(w, "memory   %s%s\n", Mebibytes(t.Memory), of(Mebibytes(t.MemoryLimit), t.MemoryLimit > 0))
	fmt.Fprintf(w, "disk     %s%s\n", Mebibytes(t.Disk), of(Mebibytes(t.DiskLimit), t.DiskLimit > 0))
	if t.VolumeSize > 0 {
		fmt.Fprintf(w, "volume   %s%s\n", Mebibytes(t.Volume), of(Mebibytes(t.VolumeSize), true))
	}
	if n := t.Network; n != nil {
		fmt.Fprintf(w, "network  sent %s, %s/s   received %s, %s/s\n", Mebibytes(n.Sent), Mebibytes(uint64(n.SentRate)), Mebibytes(n.Received), Mebibytes(uint64(n.ReceivedRate)))
	}
	for i, g := range t.GPUs {
		fmt.Fprintf(w, "gpu %-4d %s\n", i, gpuLine(g))
	}
	fmt.Fprintf(w, "cost     %s USDC an hour   %d s paid = %s USDC   at most %d s owed = %s USDC   funded until %s UTC\n",
		t.Cost.PerHour, t.Cost.PaidSecs, t.Cost.Paid, t.Cost.Used, t.Cost.Owed, service.When(t.Cost.FundedUntil))
}

// simulated is said of GPUs that are.
const simulated = "SIMULATED: the readings mean nothing"

// gpuLine is one line about a GPU. What the machine says is made fit for a terminal.
func gpuLine(g service.GPUUse) string {
	parts := []string{printable.Text(g.Name)}
	if g.Simulated {
		parts = append(parts, simulated)
	}
	if g.Missing {
		return strings.Join(append(parts, "does not answer"), "   ")
	}
	if g.Percent != nil {
		parts = append(parts, fmt.Sprintf("%d %% busy", *g.Percent))
	}
	if g.MemoryUsedMiB != nil {
		parts = append(parts, fmt.Sprintf("%d of %d MiB", *g.MemoryUsedMiB, g.MemoryMiB))
	}
	if g.TempC != nil {
		parts = append(parts, fmt.Sprintf("%d °C", *g.TempC))
	}
	if g.PowerMW != nil {
		limit := ""
		if g.PowerLimitMW != nil {
			limit = fmt.Sprintf(" of %.0f", float64(*g.PowerLimitMW)/1000)
		}
		parts = append(parts, fmt.Sprintf("%.0f%s W", float64(*g.PowerMW)/1000, limit))
	}
	return strings.Join(parts, "   ")
}

// SeenOf is what `gantry top` shows of a lease now.
func SeenOf(l *service.Lease, region string, u *service.Use, now int64) top.Seen {
	money := func(text string) uint64 {
		x, _ := market.ParseUSDC(text) // as this program writes it
		return uint64(x)
	}
	out := top.Seen{
		Lease: l.Address, Model: printable.Text(l.Model), Region: printable.Text(region), State: l.Status, Runs: l.Status == market.LeaseRunning.String(), Count: l.GPUs,
		Began: l.StartedAt, Ends: u.Cost.FundedUntil, Now: now, Paid: money(u.Cost.Paid), Owed: money(u.Cost.Owed), Reserved: money(l.Reserved), Hour: money(u.Cost.PerHour),
		At: u.Measured, CPUs: u.CPUs, CPULimit: u.CPULimit, Memory: top.Size{Used: u.Memory, Of: u.MemoryLimit}, Disk: top.Size{Used: u.Disk, Of: u.DiskLimit},
		Volume: top.Size{Used: u.Volume, Of: u.VolumeSize}, Sent: screen.None, Received: screen.None,
	}
	if n := u.Network; n != nil {
		out.Sent, out.Received = n.SentRate, n.ReceivedRate
	}
	told := func(x *uint32) float64 {
		if x == nil {
			return screen.None
		}
		return float64(*x)
	}
	for _, g := range u.GPUs {
		shown := top.GPU{Line: gpuLine(g), Missing: g.Missing, Simulated: g.Simulated, Percent: told(g.Percent), Watts: told(g.PowerMW) / 1000, WattsLimit: told(g.PowerLimitMW) / 1000, Temp: told(g.TempC)}
		if g.MemoryUsedMiB != nil {
			shown.Memory = top.Size{Used: *g.MemoryUsedMiB << 20, Of: g.MemoryMiB << 20}
		}
		out.GPUs = append(out.GPUs, shown)
	}
	return out
}

// UseLine is what a lease uses as one line of name=value, for programs that read a pipe. What is not known is left out.
func UseLine(t *service.Use) string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	add("at=%s lease=%s cpu=%.2f", t.Measured.UTC().Format(time.RFC3339), t.Lease, t.CPUs)
	if t.CPULimit > 0 {
		add("cpu_limit=%g", t.CPULimit)
	}
	add("memory_bytes=%d", t.Memory)
	if t.MemoryLimit > 0 {
		add("memory_limit_bytes=%d", t.MemoryLimit)
	}
	add("disk_bytes=%d", t.Disk)
	if t.DiskLimit > 0 {
		add("disk_limit_bytes=%d", t.DiskLimit)
	}
	if t.VolumeSize > 0 {
		add("volume_bytes=%d volume_size_bytes=%d", t.Volume, t.VolumeSize)
	}
	if n := t.Network; n != nil {
		add("sent_bytes_per_second=%.0f received_bytes_per_second=%.0f", n.SentRate, n.ReceivedRate)
	}
	for i, g := range t.GPUs {
		if g.Simulated {
			add("gpu%d_simulated=true", i)
		}
		if g.Missing {
			add("gpu%d_missing=true", i)
			continue
		}
		if g.Percent != nil {
			add("gpu%d_percent=%d", i, *g.Percent)
		}
		if g.MemoryUsedMiB != nil {
			add("gpu%d_memory_mib=%d gpu%d_memory_size_mib=%d", i, *g.MemoryUsedMiB, i, g.MemoryMiB)
		}
		if g.TempC != nil {
			add("gpu%d_temperature_c=%d", i, *g.TempC)
		}
		if g.PowerMW != nil {
			add("gpu%d_power_w=%.0f", i, float64(*g.PowerMW)/1000)
		}
		if g.PowerLimitMW != nil {
			add("gpu%d_power_limit_w=%.0f", i, float64(*g.PowerLimitMW)/1000)
		}
	}
	add("usdc_per_hour=%s paid_seconds=%d paid_usdc=%s used_seconds=%d owed_usdc=%s funded_until=%d",
		t.Cost.PerHour, t.Cost.PaidSecs, t.Cost.Paid, t.Cost.Used, t.Cost.Owed, t.Cost.FundedUntil)
	return strings.Join(out, " ")
}
