// Package expose gives a lease public addresses through gateways. It signs what a customer grants, brings it to a gateway,
// has the lease's machine refuse it again, and pays gateways that ask a price.
//
// An [Exposer] works for one customer. [Exposer.Connect] finds a gateway, and [Gateway.Open] grants it ports of a lease:
//
//	g, err := exposer.Connect(ctx, "/dns/gw.example.org/tcp/4102/p2p/12D3…")
//	opened, err := g.Open(ctx, lease, expose.Request{Ports: []records.GrantedPort{{Port: 8888, Name: "notebook"}}})
//
// The package reads no flags and prints nothing. Its errors are a [service.Failure] where somebody can do something
// about them; their advice names commands and flags of gantry, as that of client/buy does.
package expose
