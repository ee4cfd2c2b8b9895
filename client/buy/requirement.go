package buy

import (
	"fmt"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

const (
	// maxMemoryGiB and maxTier bound what may be asked of a node.
	maxMemoryGiB = 1 << 20
	maxTier      = 3
	maxMbps      = 1 << 30
	maxCPUs      = 1 << 16
	maxTFLOPS    = 1_000_000
)

// requirement is what the order asks of its nodes, but for the model.
func (r *Request) requirement() (market.Requirement, error) {
	out := market.Requirement{MinDownMbps: r.MinDown, MinUpMbps: r.MinUp}
	if len(r.Region) > len(out.Region) {
		return out, usage(fmt.Sprintf("--region %q has more than 16 characters", r.Region), "")
	}
	out.Region = market.Text16(r.Region)
	if r.MinMemory > maxMemoryGiB || r.MinTier > maxTier {
		return out, usage(fmt.Sprintf("--min-vram %d or --min-tier %d is out of range", r.MinMemory, r.MinTier), "memory in GiB; tiers are 0 to 3")
	}
	for _, f := range []struct {
		flag string
		mbps uint32
	}{{"min-down", r.MinDown}, {"min-up", r.MinUp}} {
		if f.mbps > maxMbps {
			return out, usage(fmt.Sprintf("--%s is %d Mbit/s", f.flag, f.mbps), fmt.Sprintf("give %d at most", maxMbps))
		}
	}
	if r.MinTFLOPS > maxTFLOPS {
		return out, usage(fmt.Sprintf("--min-tflops is %d", r.MinTFLOPS), fmt.Sprintf("give %d at most", maxTFLOPS))
	}
	out.MinTflopsX10 = 10 * r.MinTFLOPS
	out.MinVramMib, out.MinTier = service.MemoryMiB(uint64(r.MinMemory)), r.MinTier
	if err := r.share(&out); err != nil {
		return out, err
	}
	var err error
	for _, f := range []struct {
		flag, text string
		into       *uint32
	}{{"min-tops", r.MinTOPS, &out.MinOperations}, {"min-bandwidth", r.MinBandwidth, &out.MinBandwidth}} {
		if f.text == "" {
			continue
		}
		if *f.into, err = service.ParseThousandths(f.text); err != nil {
			return out, usage("--"+f.flag+": "+err.Error(), "a number with at most three decimals, such as 1.5")
		}
	}
	for _, f := range []struct {
		flag, text string
		into       *uint16
	}{{"min-uptime", r.MinUptime, &out.MinUptimeBps}, {"min-reputation", r.MinReputation, &out.MinReputationBps}} {
		if f.text == "" {
			continue
		}
		if *f.into, err = service.ParsePercent(f.text, 0); err != nil {
			return out, usage("--"+f.flag+": "+err.Error(), "")
		}
	}
	if r.Link != "" {
		link, err := market.ParseInterconnect(r.Link)
		if err != nil {
			return out, usage("--link: "+err.Error(), "")
		}
		out.MinInterconnect = uint8(link)
	}
	switch {
	case r.Volume != "":
		out.MinIsolation = uint8(market.Volumes)
	case r.Image != "":
		out.MinIsolation = uint8(market.Sandbox)
	}
	for _, f := range []struct {
		set  bool
		into *uint8
	}{{r.Guaranteed, &out.Guaranteed}, {r.SameSite, &out.SameSite}, {r.AllowSimulated, &out.AllowSimulated}} {
		if f.set {
			*f.into = 1
		}
	}
	return out, nil
}

// share asks for what the job names of the machine, so that no machine cuts it.
func (r *Request) share(out *market.Requirement) error {
	var v *messages.Volume
	if r.Restore == "" || r.Image != "" { // else the suspended container says what runs, and is not read yet
		var err error
		if v, err = r.volume(); err != nil {
			return err
		}
	}
	disk := jobspec.DiskMiB(messages.JobSpec{DiskMiB: r.Disk, Volume: v})
	if r.CPUs > maxCPUs || service.GiB(r.Memory) > maxMemoryGiB || service.GiB(disk) > maxMemoryGiB {
		return usage(fmt.Sprintf("--cpus %d, --memory of %d MiB or --disk of %d MiB is out of range", r.CPUs, r.Memory, disk), "no machine has so much")
	}
	out.MinCpuCores, out.MinRamMib, out.MinDiskGib = r.CPUs, uint32(r.Memory), uint32(service.GiB(disk))
	if r.CUDA == "" {
		return nil
	}
	cuda, err := market.ParseCUDA(r.CUDA)
	if err != nil {
		return usage("--cuda: "+err.Error(), "")
	}
	out.MinCuda = uint16(cuda)
	return nil
}
