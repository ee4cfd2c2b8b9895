// Package vpn lets a computer of the customer's join the private network of an order over several machines.
//
// The computer makes a WireGuard key and tells the machine of each lease, which lets in whoever acts for the lease's customer
// ([messages.GroupVisit]). libp2p shows who asks, so no machine and no other customer can do so. The computer has an address that
// no member has. It says again and again that it is there: an agent that starts again, and a machine that takes over a lease,
// learn of it so.
//
// Without root the computer's end is a network stack in this process, which [Proxy] and [Forward] lead into. Nothing listens
// there, so members reach nothing of the computer. With root it is an interface, behind a filter that lets in answers alone.
package vpn
