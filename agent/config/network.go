package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/agent/network"
)

// LeaseNetwork is the network that containers get, as people write it. Empty values take the defaults of package network.
type LeaseNetwork struct {
	// Off: containers get none.
	Off bool `yaml:"off,omitempty"`
	// Pool is the range of their addresses, such as 198.19.224.0/20.
	Pool string `yaml:"pool,omitempty"`
	// DNS are the resolvers that they ask.
	DNS []string `yaml:"dns,omitempty"`
	// Deny are ranges that they must not reach beside private ones.
	Deny []string `yaml:"deny,omitempty"`
	// ClosedPorts are ports of TCP that they cannot connect to, with commas between, or "none".
	ClosedPorts string `yaml:"closed_ports,omitempty"`
	// Mbit is the most that one container sends, and receives, Mbit/s.
	Mbit uint32 `yaml:"mbit,omitempty"`
}

// Options reads the settings. Error: ErrConfig.
func (l LeaseNetwork) Options() (network.Options, error) {
	o := network.Options{Off: l.Off, Mbit: l.Mbit}
	fail := func(err error) (network.Options, error) {
		return o, fmt.Errorf("%w: network of containers: %w", ErrConfig, err)
	}
	var err error
	if l.Pool != "" {
		if o.Pool, err = netip.ParsePrefix(l.Pool); err != nil {
			return fail(err)
		}
	}
	for _, s := range l.DNS {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return fail(err)
		}
		o.DNS = append(o.DNS, a)
	}
	for _, s := range l.Deny {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return fail(err)
		}
		o.Deny = append(o.Deny, p.Masked())
	}
	switch l.ClosedPorts {
	case "":
		return o, nil
	case "none":
		o.ClosedPorts = []uint16{}
		return o, nil
	}
	for _, s := range strings.Split(l.ClosedPorts, ",") {
		port, err := strconv.ParseUint(strings.TrimSpace(s), 10, 16)
		if err != nil {
			return fail(fmt.Errorf("port %q: %w", s, err))
		}
		o.ClosedPorts = append(o.ClosedPorts, uint16(port))
	}
	return o, nil
}
