package buy

import (
	"fmt"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	// maxMemoryGiB and maxTier bound what may be asked of a node.
	maxMemoryGiB = 1 << 20
	maxTier      = 3
	maxMbps      = 1 << 30
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
	out.MinVramMib, out.MinTier = service.MemoryMiB(uint64(r.MinMemory)), r.MinTier
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
