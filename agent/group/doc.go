// Package group connects the leases of this machine to the private networks of their orders.
//
// The customer lists, with the job, which leases are members of a group, and on which machines. The machines do the
// rest. Each one makes a WireGuard key for its lease, sends it to the machines of the other members, and receives their
// keys ([messages.GroupHello]). libp2p proves which machine asks. A machine that is not a member gets no key, and its
// own key is not accepted.
//
// Keys are only in memory. An agent that starts again makes new keys and sends them to the others, and the network
// works again. The containers keep their interface during that time. If another machine takes over a lease, it gets the
// changed group from the customer. The members then forget the machine that had the lease before.
package group
