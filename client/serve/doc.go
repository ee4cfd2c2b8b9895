// Package serve is Gantry's HTTP API: client/service over net/http, for programs on the same machine. It is described by
// an OpenAPI 3.1 document that is made of the Go types here and in client/service.
//
//   - guard.go lets no request through that names another host (DNS rebinding), comes from another page, has no token, is
//     too large or takes too long.
//   - token.go keeps the hash of the token in an embedded database.
//   - signin.go lets a browser in by a code that is good once; the page that it shows is in web.
//   - walletsignin.go lets one in by the signature of the customer's wallet; wallet.go passes on what the wallet signs
//     (client/wallet).
//   - machine.go and terminal.go speak with the machines of leases for the page: what they use, a shell.
//   - caller.go says who calls and which role an operation needs; actor.go who acts for a budget; changes.go has each change
//     in the log of the team (client/team) before it is made; team.go has the operations of the team.
//   - problem.go answers every error as application/problem+json with its cause and the next step (RFC 9457).
//   - operations.go has the operations; order.go, extend.go and forward.go those that change something.
//   - funding.go brings money in: payments that wallets fetch (client/solanapay) and webhooks of on-ramps
//     (client/onramp), which need no token.
//   - events.go writes the changes of the customer's accounts to eventlog.go's file, and streams them.
package serve
