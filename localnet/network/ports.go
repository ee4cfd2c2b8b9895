package network

import (
	"fmt"
	"net"
)

// reservePorts finds a free port for each name. It is free now and could be taken before its process binds it, which
// then fails loudly.
func reservePorts(names []string) (map[string]uint16, error) {
	ports := make(map[string]uint16, len(names))
	for _, name := range names {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("a port for %s: %w", name, err)
		}
		defer l.Close() // all are held until the last is found, so that they differ
		addr, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("a port for %s: unexpected address %s", name, l.Addr())
		}
		ports[name] = uint16(addr.Port)
	}
	return ports, nil
}

// loopback is the address, host:port, at which the named process listens on a port that was found for it.
func (n *Network) loopback(name string) string { return fmt.Sprintf("127.0.0.1:%d", n.ports[name]) }

// listen is the multiaddress at which the named keeper or machine listens.
func (n *Network) listen(name string) string {
	if at, ok := n.cfg.Listen[name]; ok {
		return at
	}
	return fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", n.ports[name])
}
