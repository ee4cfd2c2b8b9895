package p2p

// The settings of each kind of machine, in one place, so that what is tested behind routers is what runs. local is a
// cluster on this machine: nothing is between its members, and nothing listens beyond loopback.

// keeperConnections is how many connections a keeper holds: nodes of the largest markets today are some 40,000, spread
// over the keepers' relays, but each keeper checks its committees only. See docs/protocol/network.md.
const keeperConnections = 16_384

// ForKeeper are the settings of a keeper, which must be reachable at the address that it announces. It relays for nodes
// that are not.
func (c Options) ForKeeper(local bool) Options {
	if c.MaxConnections == 0 {
		c.MaxConnections = keeperConnections
	}
	if local {
		return c
	}
	var listen []string
	for _, a := range c.Listen {
		listen = append(listen, TCPAndQUIC(a)...)
	}
	c.Listen = listen
	c.Public, c.RelayService = true, true
	return c
}

// ForNode are the settings of an agent, which may be anywhere.
func (c Options) ForNode(local bool) Options {
	if local {
		if len(c.Listen) == 0 {
			c.Listen = []string{LoopbackListen}
		}
		return c
	}
	c.PortMapping, c.HolePunching, c.UseRelays = true, true, true
	return c
}

// ForCustomer are the settings of a customer, who reaches out and is reached by nobody. It listens all the same: a hole
// is punched from both sides, and from the port that is listened on.
func (c Options) ForCustomer(local bool) Options {
	if local {
		c.Client = true
		return c
	}
	c.HolePunching = true
	if c.MaxConnections == 0 {
		c.MaxConnections = 64
	}
	return c
}

// ForGateway are the settings of a gateway, which must be reachable at the address that it announces: customers bring it
// their grants there, and machines behind routers connect back to it.
func (c Options) ForGateway(local bool) Options {
	if c.MaxConnections == 0 {
		c.MaxConnections = 4096
	}
	if local {
		return c
	}
	var listen []string
	for _, a := range c.Listen {
		listen = append(listen, TCPAndQUIC(a)...)
	}
	c.Listen = listen
	c.Public, c.HolePunching = true, true
	return c
}
