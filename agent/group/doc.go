// Package group connects the leases of this machine to the private networks of their orders.
//
// The customer says with the job which leases are members of a group, and on which machines. The machines do the rest: each
// makes a WireGuard key for its lease, tells the other members' machines, and learns theirs ([messages.GroupHello]). libp2p
// shows which machine asks: one that is not a member gets no key, and its own key is not taken.
//
// Keys are in memory alone. An agent that starts again makes new ones, tells the others, and the network goes on: the
// containers keep their interface meanwhile. A machine that takes over a lease gets the changed group from the customer, and
// the members forget the one that was there before.
package group
