package hostile

import (
	"context"
)

// unfinished says how long a request is, writes its first bytes, and leaves it at that.
func unfinished(ctx context.Context, a *attacker, to target, t *tally) {
	a.hold(ctx, to, t, append([]byte{0, 4, 0, 0}, junk(100)...))
}
