// Package daemon assembles a gateway: the table of grants, the way to containers, and the two public sides, TLS by host
// name and the SSH jump host. Customers bring it their grants over the market's network. It has no part in a lease: what
// it cannot do any more, the customer's own client still does.
package daemon
