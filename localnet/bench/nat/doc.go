// Package nat shows that the network works where machines have no inbound ports. It builds an internet of Linux network
// namespaces and runs the project's own network nodes in them, one process each. The nodes have the settings of real
// keepers, agents and customers.
//
//	node 192.168.1.2 ── router A ──┐                    ┌── router B ── customer 192.168.2.2
//	                               ├── the backbone ────┤
//	                 keeper 1, 2, 3, public addresses ──┘
//
// Routers are the kernel's own NAT (nftables). The backbone is this process. It carries packets between TUN interfaces,
// with a delay for each of them, and counts the packets. So the path of the traffic is measured. The backbone uses real
// internet addresses, because machines with private addresses do not punch holes; no packet leaves the namespaces.
//
// It needs Linux, root, iproute2 and nftables. Without them Run returns ErrUnavailable with what is missing.
package nat
