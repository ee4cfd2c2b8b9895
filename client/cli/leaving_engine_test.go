package cli_test

import (
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
)

// leaves closes a retired node when its stake is free, and then takes all stake of the provider out and closes it.
func (s shell) leaves(w *testmarket.Testbed, node string) {
	s.t.Helper()
	provider := func() (p struct{ UnstakeAt int64 }) {
		s.ok(&p, "provider", "show")
		return p
	}
	s.fails(cli.ExitRefused, "the cooldown runs until", "provider", "withdraw")
	w.Until(provider().UnstakeAt + 1)
	s.ok(nil, "node", "close", node)
	s.fails(cli.ExitRefused, "does not exist (any more)", "node", "show", node)
	s.ok(nil, "provider", "withdraw")
	s.fails(cli.ExitRefused, "nothing is on its way out", "provider", "withdraw")
	s.ok(nil, "provider", "unstake", "100")
	w.Until(provider().UnstakeAt + 1)
	s.ok(nil, "provider", "withdraw")
	s.ok(nil, "provider", "close")
	s.fails(cli.ExitRefused, "is not a provider", "provider", "close")
}

// handsOver makes somebody else the market's authority.
func (s shell) handsOver(to shell, wallet string) {
	s.t.Helper()
	to.fails(cli.ExitRefused, "has named no successor", "market", "authority", "accept")
	s.ok(nil, "market", "authority", "set", wallet)
	require.Contains(s.t, s.run(s.t.Context(), "market", "show").out, wallet+" may take over with")
	s.fails(cli.ExitRefused, "has named "+wallet, "market", "authority", "accept")
	to.ok(nil, "market", "authority", "accept")
	s.fails(cli.ExitRefused, "the signer may not do this", "market", "authority", "set", "none")
}
