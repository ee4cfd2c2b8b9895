package mesh

import (
	"net/netip"
	"strconv"
)

// Range is the private network of a group, as the containers of its leases see it. Groups do not see each other, so that
// all of them have the same one.
var Range = netip.MustParsePrefix("10.77.0.0/24")

// Interface is the name of the network's interface in a container.
const Interface = "gantry0"

// Address is the address of the member with an index, from 0 on.
func Address(index int) netip.Addr {
	a := Range.Addr().As4()
	a[3] = byte(index + 1)
	return netip.AddrFrom4(a)
}

// Visitor is the address of the customer's computer, where a program there says again and again that it is in the network.
var Visitor = netip.MustParseAddr("10.77.0.254")

// KeptVisitor is the address of a computer of the customer's that has a printed configuration.
var KeptVisitor = netip.MustParseAddr("10.77.0.253")

// Name is the host name of the member with an index.
func Name(index int) string { return "node-" + strconv.Itoa(index) }
