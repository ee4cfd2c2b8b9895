package network

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/google/nftables"
)

// Apply brings rules and forwarding into the state that the plan and the machine's routes ask for.
func (p *Plan) Apply() error {
	up, err := p.uplinks()
	if err != nil {
		return err
	}
	_, raised, _, err := p.current()
	if err != nil {
		return err
	}
	raise, err := p.toRaise(up, slices.Concat(raised, p.raised))
	if err != nil {
		return err
	}
	// First the rules that say which packets a machine that forwards may not forward, then the forwarding.
	if err := p.install(up, raise); err != nil {
		return err
	}
	p.raised = raise
	for _, name := range raise {
		if err := writeSetting(setting("ipv4", name, "forwarding"), "1"); err != nil {
			return err
		}
	}
	return nil
}

// Keep applies the plan again where the rules are gone, as after another program has flushed all rules, or where the
// default routes have moved. It reports whether it had to.
func (p *Plan) Keep() (bool, error) {
	stale := func() (bool, error) {
		up, err := p.uplinks()
		if err != nil {
			return false, err
		}
		have, _, found, err := p.current()
		return !found || !slices.Equal(have, up), err
	}
	if s, err := stale(); err != nil || !s {
		return false, err
	}
	return true, exclusively(func() error {
		if s, err := stale(); err != nil || !s {
			return err
		}
		return p.Apply()
	})
}

// toRaise are the interfaces whose forwarding is off, or was until an agent of this machine switched it on. A machine that
// forwards everything anyway needs nothing of it.
func (p Plan) toRaise(up, before []string) ([]string, error) {
	all, err := readSetting(setting("ipv4", "all", "forwarding"))
	if err != nil || all == "1" {
		return nil, err
	}
	others, err := p.raisedByOthers()
	if err != nil {
		return nil, err
	}
	out := slices.Clone(before)
	for _, name := range up {
		now, err := readSetting(setting("ipv4", name, "forwarding"))
		if err != nil {
			return nil, err
		}
		if now == "0" || slices.Contains(others, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// lower switches forwarding off again, save where another agent needs it or the machine has become a router meanwhile.
func (p Plan) lower(raised []string) error {
	all, err := readSetting(setting("ipv4", "all", "forwarding"))
	if err != nil || all == "1" {
		return err
	}
	others, err := p.raisedByOthers()
	if err != nil {
		return err
	}
	for _, name := range raised {
		if slices.Contains(others, name) {
			continue
		}
		err := writeSetting(setting("ipv4", name, "forwarding"), "0")
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the interface may be gone
			return err
		}
	}
	return nil
}

// raisedByOthers are the interfaces that other agents of this machine have switched on.
func (p Plan) raisedByOthers() ([]string, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("network: nftables: %w", err)
	}
	all, err := tables(c)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, t := range all {
		if t.Name == tableName(p.Owner) {
			continue
		}
		list, err := names(c, t, setRaised)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// Warnings says what of the machine's own firewall stops leases, for people.
func Warnings() ([]string, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("network: nftables: %w", err)
	}
	chains, err := c.ListChains()
	if err != nil {
		return nil, fmt.Errorf("network: chains of nftables: %w", err)
	}
	var out []string
	for _, chain := range chains {
		if chain.Hooknum == nil || *chain.Hooknum != *nftables.ChainHookForward || chain.Policy == nil || *chain.Policy != nftables.ChainPolicyDrop {
			continue
		}
		out = append(out, fmt.Sprintf("the machine's firewall forwards nothing that it does not know (chain %s of table %s): let it accept interfaces %s*, or containers reach nothing",
			chain.Name, chain.Table.Name, linkMark))
	}
	return out, nil
}
