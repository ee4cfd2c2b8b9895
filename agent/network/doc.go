// Package network gives each container of a stranger a network of its own: a network namespace, a pair of virtual interfaces
// and rules of nftables, from which the internet can be reached and nothing else.
//
// The namespace belongs to the job's processes and has no name, so the kernel removes it, and the interfaces with it, when
// the last of them is gone, however that came about. The rules are one table of nftables for each agent. They apply to
// every interface whose name begins with the agent's prefix, and hold nothing of a single lease: a lease whose supervisor
// was killed leaves no rule that could be forgotten. The table, and the forwarding that was switched on for the interfaces
// of the default routes, are there as long as a lease has a network.
//
// What leases of one machine share is kept where the kernel keeps it: addresses that are taken are routes, and the
// interfaces whose forwarding was changed are a set in the table. A lock on the network namespace itself puts changes of
// several processes in order.
package network
