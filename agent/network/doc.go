// Package network gives each stranger's container a network of its own. It consists of a network namespace, a pair of
// virtual interfaces and nftables rules. A container can reach the internet and nothing else.
//
// The namespace belongs to the job's processes and has no name. The kernel removes the namespace and its interfaces
// when the last of these processes ends, whatever the reason. The rules are one nftables table for each agent. They
// apply to every interface whose name begins with the agent's prefix, and contain nothing about a single lease. So a
// lease whose supervisor was killed leaves no rule behind. The table exists as long as a lease has a network. So does
// the forwarding that the agent switched on for the interfaces of the default routes.
//
// The kernel keeps the state that leases of one machine share: addresses in use are routes, and the interfaces whose
// forwarding was changed are a set in the table. A lock on the network namespace itself puts the changes of several
// processes in order.
package network
