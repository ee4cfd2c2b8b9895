// Package nat shows that the network works where machines have no inbound ports: it builds an internet of Linux network
// namespaces and runs the project's own network nodes in them, one process each, with the settings that keepers, agents
// and customers run with.
//
//	node 192.168.1.2 ── router A ──┐                    ┌── router B ── customer 192.168.2.2
//	                               ├── the backbone ────┤
//	                 keeper 1, 2, 3, public addresses ──┘
//
// Routers are the kernel's own NAT (nftables). The backbone is this process: it carries packets between TUN interfaces,
// with a delay for each, and counts them, so that the way of the traffic is measured. Addresses of the backbone are
// real ones of the internet's, because machines with private addresses punch no holes; nothing leaves the namespaces.
//
// It needs Linux, root, iproute2 and nftables. Without them Run returns ErrUnavailable with what is missing.
package nat
