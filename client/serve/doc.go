// Package serve is Gantry's HTTP API: client/service over net/http, for programs on the same machine. An OpenAPI 3.1
// document describes it, which is generated from the Go types here and in client/service.
//
//   - guard.go refuses a request that names another host (DNS rebinding), comes from another page, has no token, is too
//     large or takes too long.
//   - token.go keeps the hash of the token in an embedded database.
//   - signin.go signs a browser in with a code that works once; the page that it shows is in web.
//   - walletsignin.go signs a browser in with the signature of the customer's wallet; wallet.go passes on what the
//     wallet signs (client/wallet).
//   - machine.go and terminal.go connect the page to the machines of leases: their usage, and a shell. exec.go runs commands
//     there; socket.go is the WebSocket of both.
//   - caller.go finds the caller and the role that an operation needs; actor.go acts with the key of a budget.
//   - changes.go writes each change into the log of the team (client/team) before it is made; team.go has the
//     operations of the team.
//   - problem.go answers every error as application/problem+json with its cause and the next step (RFC 9457).
//   - operations.go has the operations; order.go, extend.go and forward.go have those that change something.
//   - funding.go receives money: payments that wallets fetch (client/solanapay) and webhooks of on-ramps
//     (client/onramp), which need no token.
//   - actions.go hands deposits to any wallet that asks a public server (Solana Actions); actionsaudit.go says what an
//     audit has found.
//   - events.go writes the changes of the customer's accounts to eventlog.go's file, and streams them.
package serve
