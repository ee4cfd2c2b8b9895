package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/query"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
)

var useProtocol = toNode(messages.LeaseUse)

const (
	// topEvery is how often a lease is looked at; machines measure once a second at most.
	topEvery = 2 * time.Second
	// topApart is the least time between two measurements of which rates are made.
	topApart = 1200 * time.Millisecond
)

func topCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "top", Usage: "what a lease uses and costs, until interrupted", ArgsUsage: "LEASE",
		Description: "Processors, memory, disk, volume, network and GPUs are what the machine says of the lease's job; seconds and USDC are\n" +
			"what the chain says. The most that can be owed now is what the seconds so far cost if none was down.",
		Flags: asSession(
			&cli.BoolFlag{Name: "once", Usage: "print it once and end; --json prints it once too"},
			&cli.DurationFlag{Name: "every", Value: topEvery, Usage: "look so often, at least every `SECOND`"},
		),
		Action: action(s, (*session).top),
	}
}

// topJSON is what a lease uses and costs, as printed.
type topJSON struct {
	Lease string `json:"lease"`
	// CPUs is how many processors were busy between two measurements, CPUSecs their time since the job began.
	CPUs        float64   `json:"cpus"`
	CPULimit    float64   `json:"cpuLimit,omitempty"`
	CPUSecs     float64   `json:"cpuSeconds"`
	Memory      uint64    `json:"memoryBytes"`
	MemoryLimit uint64    `json:"memoryLimitBytes,omitempty"`
	Disk        uint64    `json:"diskBytes"`
	DiskLimit   uint64    `json:"diskLimitBytes,omitempty"`
	Volume      uint64    `json:"volumeBytes,omitempty"`
	VolumeSize  uint64    `json:"volumeSizeBytes,omitempty"`
	Network     *topNet   `json:"network,omitempty"`
	GPUs        []topGPU  `json:"gpus"`
	Cost        topCost   `json:"cost"`
	Measured    time.Time `json:"measuredAt"`
}

// topNet is a container's network: bytes since it began, and bytes a second.
type topNet struct {
	Sent         uint64  `json:"sentBytes"`
	Received     uint64  `json:"receivedBytes"`
	SentRate     float64 `json:"sentBytesPerSecond"`
	ReceivedRate float64 `json:"receivedBytesPerSecond"`
}

type topGPU struct {
	Name          string  `json:"name"`
	UUID          string  `json:"uuid"`
	Percent       *uint32 `json:"percent,omitempty"`
	MemoryUsedMiB *uint64 `json:"memoryUsedMib,omitempty"`
	MemoryMiB     uint64  `json:"memoryMib"`
	TempC         *uint32 `json:"temperatureC,omitempty"`
	PowerMW       *uint32 `json:"powerMilliwatts,omitempty"`
	Missing       bool    `json:"missing,omitempty"`
	Simulated     bool    `json:"simulated,omitempty"`
}

// topCost is what the chain says of a lease.
type topCost struct {
	PerHour     string `json:"usdcPerHour"`
	PaidSecs    uint32 `json:"paidSeconds"`
	Paid        string `json:"paidUsdc"`
	Used        uint32 `json:"usedSeconds"` // that can be owed at most, now
	Owed        string `json:"owedUsdc"`    // for them, what is paid included
	FundedUntil int64  `json:"fundedUntil"`
}

// top shows what a lease uses and costs.
func (s *session) top() error {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	every := s.cli.Duration("every")
	if every < time.Second {
		return usage(fmt.Sprintf("--every %s is too often", every), "machines measure once a second at most")
	}
	scope, err := s.aboutLease(args[0], query.Kind(market.KindKeeper))
	if err != nil {
		return err
	}
	v, err := s.live(scope)
	if err != nil {
		return err
	}
	l, err := s.owned(v, args[0])
	if err != nil {
		return err
	}
	r, err := s.dial(v)
	if err != nil {
		return err
	}
	once := s.json || s.cli.Bool("once")
	var last messages.Use
	for {
		use, err := s.use(r, l)
		if err != nil {
			return err
		}
		if known, ok := v.Lease(l.Address); ok {
			l = known
		}
		if last.AtMs != 0 && use.AtMs > last.AtMs {
			now, err := s.now()
			if err != nil {
				return err
			}
			t := describeUse(l, last, use, now)
			if once {
				return s.done(t, t.print)
			}
			if s.terminal {
				fmt.Fprint(s.out, "\033[H\033[2J")
			}
			t.print(s.out)
		}
		pause := every
		if last.AtMs == 0 {
			pause = topApart
		}
		last = use
		select {
		case <-s.ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// use asks the machine.
func (s *session) use(r *remote, l market.Lease) (messages.Use, error) {
	ctx, cancel := context.WithTimeout(s.ctx, enterTime)
	defer cancel()
	answer, err := call[messages.LeaseRequest, messages.UseAnswer](ctx, r, l.NodeKey, useProtocol, messages.LeaseRequest{Version: messages.Version, Lease: l.Address})
	switch {
	case errors.Is(err, p2p.ErrProtocol):
		return answer.Use, refused("the machine's agent does not say what leases use", "its provider has to update it")
	case err != nil:
		return answer.Use, network(err.Error(), "try again; if it stays so, see: gantry leases", err)
	case answer.Refused != "":
		return answer.Use, refused((&service.RefusedByNode{Why: answer.Refused}).Error(), "see: gantry leases, gantry logs "+l.Address.String())
	}
	return answer.Use, nil
}

// describeUse makes rates of two measurements, and adds what the chain says at now.
func describeUse(l market.Lease, before, use messages.Use, now int64) topJSON {
	secs := float64(use.AtMs-before.AtMs) / 1000
	rate := func(before, after uint64) float64 { return float64(after-min(before, after)) / secs }
	t := topJSON{
		Lease: l.Address.String(), Measured: time.UnixMilli(int64(use.AtMs)).UTC(),
		CPUs: rate(before.CPUMs, use.CPUMs) / 1000, CPULimit: float64(use.MilliCPUs) / 1000, CPUSecs: float64(use.CPUMs) / 1000,
		Memory: use.Memory, MemoryLimit: use.MemoryLimit, Disk: use.Disk, DiskLimit: use.DiskLimit, Volume: use.Volume, VolumeSize: use.VolumeSize, GPUs: []topGPU{},
	}
	if use.Connected {
		t.Network = &topNet{use.Sent, use.Received, rate(before.Sent, use.Sent), rate(before.Received, use.Received)}
	}
	for _, g := range use.GPUs {
		t.GPUs = append(t.GPUs, topGPU(g))
	}
	used := l.BillableSecs(now)
	t.Cost = topCost{
		PerHour: market.PricePerHour(l.Price * uint64(l.Gpus)).String(), PaidSecs: l.PaidSecs, Paid: market.USDC(l.Paid).Exact(), Used: used,
		FundedUntil: l.FundedUntil,
	}
	if owed, err := l.Owed(max(used, l.PaidSecs)); err == nil {
		t.Cost.Owed = owed.Exact()
	}
	return t
}

// print writes it for people.
func (t topJSON) print(w io.Writer) {
	of := func(limit string, known bool) string {
		if !known {
			return ""
		}
		return " of " + limit
	}
	fmt.Fprintf(w, "lease    %s   %s UTC\n", t.Lease, t.Measured.Format("15:04:05"))
	fmt.Fprintf(w, "cpu      %.2f%s busy   %.1f s so far\n", t.CPUs, of(fmt.Sprintf("%g", t.CPULimit), t.CPULimit > 0), t.CPUSecs)
	fmt.Fprintf(w, "memory   %s%s\n", mebibytes(t.Memory), of(mebibytes(t.MemoryLimit), t.MemoryLimit > 0))
	fmt.Fprintf(w, "disk     %s%s\n", mebibytes(t.Disk), of(mebibytes(t.DiskLimit), t.DiskLimit > 0))
	if t.VolumeSize > 0 {
		fmt.Fprintf(w, "volume   %s%s\n", mebibytes(t.Volume), of(mebibytes(t.VolumeSize), true))
	}
	if n := t.Network; n != nil {
		fmt.Fprintf(w, "network  sent %s, %s/s   received %s, %s/s\n", mebibytes(n.Sent), mebibytes(uint64(n.SentRate)), mebibytes(n.Received), mebibytes(uint64(n.ReceivedRate)))
	}
	for i, g := range t.GPUs {
		fmt.Fprintf(w, "gpu %-4d %s\n", i, g)
	}
	fmt.Fprintf(w, "cost     %s USDC an hour   %d s paid = %s USDC   at most %d s owed = %s USDC   funded until %s UTC\n",
		t.Cost.PerHour, t.Cost.PaidSecs, t.Cost.Paid, t.Cost.Used, t.Cost.Owed, when(t.Cost.FundedUntil))
}

// String is one line. What the machine says is made fit for a terminal.
func (g topGPU) String() string {
	parts := []string{printable.Text(g.Name)}
	if g.Simulated {
		parts = append(parts, "SIMULATED: the readings mean nothing")
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
		parts = append(parts, fmt.Sprintf("%.0f W", float64(*g.PowerMW)/1000))
	}
	return strings.Join(parts, "   ")
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
