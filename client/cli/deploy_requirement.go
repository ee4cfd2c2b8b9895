package cli

import (
	"fmt"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

// requirement reads what an order asks of its nodes, but for the model.
func (s *session) requirement() (market.Requirement, error) {
	var r market.Requirement
	region := s.cli.String("region")
	if len(region) > len(r.Region) {
		return r, usage(fmt.Sprintf("--region %q has more than 16 characters", region), "")
	}
	r.Region = market.Text16(region)
	vram, tier := s.cli.Uint("min-vram"), s.cli.Uint("min-tier")
	if vram > 1<<20 || tier > 3 {
		return r, usage(fmt.Sprintf("--min-vram %d or --min-tier %d is out of range", vram, tier), "memory in GiB; tiers are 0 to 3")
	}
	r.MinVramMib, r.MinTier = service.MemoryMiB(uint64(vram)), uint8(tier)
	var err error
	percentFlag := func(name string) (bps uint16) {
		if text := s.cli.String(name); text != "" && err == nil {
			if bps, err = service.ParsePercent(text, 0); err != nil {
				err = usage("--"+name+": "+err.Error(), "")
			}
		}
		return bps
	}
	for name, figure := range map[string]*uint32{"min-tops": &r.MinOperations, "min-bandwidth": &r.MinBandwidth} {
		if text := s.cli.String(name); text != "" {
			if *figure, err = service.ParseThousandths(text); err != nil {
				return r, usage("--"+name+": "+err.Error(), "a number with at most three decimals, such as 1.5")
			}
		}
	}
	for name, figure := range map[string]*uint32{"min-down": &r.MinDownMbps, "min-up": &r.MinUpMbps} {
		if text := s.cli.String(name); text != "" {
			if *figure, err = service.ParseMbps(text); err != nil {
				return r, usage("--"+name+": "+err.Error(), "")
			}
		}
	}
	r.MinUptimeBps, r.MinReputationBps = percentFlag("min-uptime"), percentFlag("min-reputation")
	if err != nil {
		return r, err
	}
	if text := s.cli.String("link"); text != "" {
		link, err := market.ParseInterconnect(text)
		if err != nil {
			return r, usage("--link: "+err.Error(), "")
		}
		r.MinInterconnect = uint8(link)
	}
	if s.cli.String("image") != "" {
		r.MinIsolation = uint8(market.Sandbox)
	}
	if s.cli.IsSet(flagVolume) {
		r.MinIsolation = uint8(market.Volumes)
	}
	if s.cli.Bool("guaranteed") {
		r.Guaranteed = 1
	}
	if s.cli.Bool("same-site") {
		r.SameSite = 1
	}
	if s.cli.Bool("allow-simulated") {
		r.AllowSimulated = 1
	}
	return r, nil
}
