package p2p

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/gagliardetto/solana-go"
)

// errPanic is what a handler that panicked has returned. Its caller is told of an internal error.
var errPanic = errors.New("the handler panicked")

// panicked counts and logs a panic of a handler of ours, with its stack: it is a fault of this program that somebody
// has to mend, and it is never hidden.
func (n *Node) panicked(where string, from solana.PublicKey, what any) error {
	count := n.counts.add(ReasonPanic)
	n.log.Error().Str("handler", where).Stringer("from", from).Uint64("panics", count).Str("panic", fmt.Sprint(what)).Str("stack", string(debug.Stack())).
		Msg("a handler panicked; the request is over and the process continues. Please report this")
	return errPanic
}
