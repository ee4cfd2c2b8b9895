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
func (s shell) handsOver(w *testmarket.Testbed, to shell, wallet string) {
	s.t.Helper()
	to.fails(cli.ExitRefused, "nothing is proposed", "market", "roles", "apply")
	s.ok(nil, "market", "roles", "propose", "--authority", wallet)
	require.Contains(s.t, s.run(s.t.Context(), "market", "show").out, "authority "+wallet+", guardian")
	to.fails(cli.ExitRefused, "the timelock", "market", "roles", "apply")
	w.Until(w.Now() + 5)
	s.fails(cli.ExitRefused, wallet+" is the next authority", "market", "roles", "apply")
	to.ok(nil, "market", "roles", "apply")
	s.fails(cli.ExitRefused, "the signer may not do this", "market", "roles", "propose", "--guardian", wallet)
}
