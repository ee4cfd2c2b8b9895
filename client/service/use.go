package service

import (
	"time"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Use is what a lease uses and costs, now.
type Use struct {
	Lease string `json:"lease"`
	// CPUs is how many processors were busy between two measurements, CPUSecs their time since the job began.
	CPUs        float64     `json:"cpus"`
	CPULimit    float64     `json:"cpuLimit,omitempty"`
	CPUSecs     float64     `json:"cpuSeconds"`
	Memory      uint64      `json:"memoryBytes"`
	MemoryLimit uint64      `json:"memoryLimitBytes,omitempty"`
	Disk        uint64      `json:"diskBytes"`
	DiskLimit   uint64      `json:"diskLimitBytes,omitempty"`
	Volume      uint64      `json:"volumeBytes,omitempty"`
	VolumeSize  uint64      `json:"volumeSizeBytes,omitempty"`
	Network     *NetworkUse `json:"network,omitempty"`
	GPUs        []GPUUse    `json:"gpus"`
	Cost        CostUse     `json:"cost"`
	Measured    time.Time   `json:"measuredAt"`
}

// NetworkUse is a container's network: bytes since it began, and bytes a second.
type NetworkUse struct {
	Sent         uint64  `json:"sentBytes"`
	Received     uint64  `json:"receivedBytes"`
	SentRate     float64 `json:"sentBytesPerSecond"`
	ReceivedRate float64 `json:"receivedBytesPerSecond"`
}

// GPUUse is what the machine's driver says of a GPU.
type GPUUse struct {
	Name          string  `json:"name"`
	UUID          string  `json:"uuid"`
	Percent       *uint32 `json:"percent,omitempty"`
	MemoryUsedMiB *uint64 `json:"memoryUsedMib,omitempty"`
	MemoryMiB     uint64  `json:"memoryMib"`
	TempC         *uint32 `json:"temperatureC,omitempty"`
	PowerMW       *uint32 `json:"powerMilliwatts,omitempty"`
	Missing       bool    `json:"missing,omitempty"`
	Simulated     bool    `json:"simulated,omitempty"`
	PowerLimitMW  *uint32 `json:"powerLimitMilliwatts,omitempty"` // in force
}

// CostUse is what the chain says of a lease.
type CostUse struct {
	PerHour     string `json:"usdcPerHour"`
	PaidSecs    uint32 `json:"paidSeconds"`
	Paid        string `json:"paidUsdc"`
	Used        uint32 `json:"usedSeconds"` // that can be owed at most, now
	Owed        string `json:"owedUsdc"`    // for them, what is paid included
	FundedUntil int64  `json:"fundedUntil"`
}

// DescribeUse makes rates of two measurements, and adds what the chain says at now.
func DescribeUse(l market.Lease, before, use messages.Use, now int64) Use {
	secs := float64(use.AtMs-before.AtMs) / 1000
	rate := func(before, after uint64) float64 { return float64(after-min(before, after)) / secs }
	t := Use{
		Lease: l.Address.String(), Measured: time.UnixMilli(int64(use.AtMs)).UTC(),
		CPUs: rate(before.CPUMs, use.CPUMs) / 1000, CPULimit: float64(use.MilliCPUs) / 1000, CPUSecs: float64(use.CPUMs) / 1000,
		Memory: use.Memory, MemoryLimit: use.MemoryLimit, Disk: use.Disk, DiskLimit: use.DiskLimit, Volume: use.Volume, VolumeSize: use.VolumeSize, GPUs: []GPUUse{},
	}
	if use.Connected {
		t.Network = &NetworkUse{use.Sent, use.Received, rate(before.Sent, use.Sent), rate(before.Received, use.Received)}
	}
	for _, g := range use.GPUs {
		t.GPUs = append(t.GPUs, GPUUse(g))
	}
	used := l.BillableSecs(now)
	t.Cost = CostUse{
		PerHour: market.PricePerHour(l.Price * uint64(l.Gpus)).String(), PaidSecs: l.PaidSecs, Paid: market.USDC(l.Paid).Exact(), Used: used,
		FundedUntil: l.FundedUntil,
	}
	if owed, err := l.Owed(max(used, l.PaidSecs)); err == nil {
		t.Cost.Owed = owed.Exact()
	}
	return t
}
