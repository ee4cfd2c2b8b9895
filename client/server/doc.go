// Package server is what gantry serve and gantry mcp run: it acts for one customer with session keys, buys with
// client/buy, enters containers with client/container, and gives client/serve, client/mcp and inference what
// they ask for.
//
// An [Account] acts with one key. The server's own is that of [Open]; a team's budgets have others.
package server
