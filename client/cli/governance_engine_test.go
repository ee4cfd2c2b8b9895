package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/client/governance"
	"github.com/gantry-market/gantry/internal/testkit/localnode"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/realm"
)

// parliament is a market with a realm of two holders, as their wallets see it.
type parliament struct {
	*testing.T
	w             *testmarket.Testbed
	realm         realm.Realm
	founder       shell
	large, small  shell
	voting, after int64
}

func newParliament(t *testing.T) *parliament {
	w := testmarket.New(t, testmarket.Options{Programs: []engine.Program{localnode.Governance(t)}, Limit: 5 * time.Minute})
	w.InitMarket(testmarket.FastParams())
	p := &parliament{T: t, w: w, founder: newShell(t, w, w.Authority), voting: 8, after: 1}
	p.realm = realm.Named(realm.Mainnet, "Gantry", market.ProgramID, w.StakeMint, solana.PublicKey{})
	rules := realm.Rules{YesPercent: 15, ToPropose: uint64(market.OneGNT), Voting: uint32(p.voting), CoolOff: uint32(p.after), HoldUp: uint32(p.after), ProposalsWithoutADeposit: 1}
	founder := w.Authority.PublicKey()
	for _, instruction := range p.realm.Found(founder, "Gantry", market.ProgramID, 1_000*uint64(market.OneGNT), rules) {
		w.Do("realm", []solana.PrivateKey{w.Authority}, instruction, nil)
	}
	w.Fund(p.realm.Treasury)
	for s, gnt := range map[*shell]uint64{&p.large: 400, &p.small: 50} {
		key := testmarket.Key(t)
		w.Fund(key.PublicKey())
		w.Give(key.PublicKey(), w.StakeMint, gnt*uint64(market.OneGNT))
		*s = newShell(t, w, key)
	}
	return p
}

// at are the flags of a realm that does not govern yet.
func (p *parliament) at(args ...string) []string {
	return append([]string{"governance", args[0], "--treasury", p.realm.Treasury.String()}, args[1:]...)
}

// change writes what a command of governance prints for the treasury.
func (p *parliament) change(args ...string) string {
	var printed json.RawMessage
	p.founder.ok(&printed, append(append([]string{"market"}, args...), "--as-vault", p.realm.Treasury.String())...)
	path := filepath.Join(p.TempDir(), "change.json")
	require.NoError(p, os.WriteFile(path, printed, 0o600))
	return path
}

// propose proposes, and returns the proposal's address.
func (p *parliament) propose(name string, changes ...string) string {
	args := []string{"propose"}
	for _, file := range changes {
		args = append(args, "--change", file)
	}
	var got struct{ Market string }
	p.large.ok(&got, p.at(append(args, name)...)...)
	return got.Market
}

func (p *parliament) state(proposal string) string {
	var got governance.HoldersView
	p.founder.ok(&got, p.at("show", proposal)...)
	require.Len(p, got.Proposals, 1)
	return got.Proposals[0].State
}

// advanced does what is due of a proposal, once it is.
func (p *parliament) advanced(proposal string, want string) {
	p.w.Until(p.w.Now() + p.after + 1)
	p.founder.ok(nil, p.at("advance", proposal)...)
	require.Equal(p, want, p.state(proposal))
}

func (p *parliament) ended() { p.w.Until(p.w.Now() + p.voting + p.after + 1) }

// Holders deposit, propose, vote and execute by commands alone: the market's authority becomes theirs, a parameter changes through the
// market's own timelock, and what they refuse is not executed.
func TestHoldersGovern(t *testing.T) {
	t.Parallel()
	p := newParliament(t)
	p.founder.fails(cli.ExitRefused, "is not the treasury of a realm", "governance", "list")

	// The founder names the treasury, and a vote accepts.
	p.founder.ok(nil, "market", "roles", "propose", "--authority", p.realm.Treasury.String())
	p.w.Until(p.w.Now() + int64(testmarket.FastParams().TimelockSecs))
	accept := p.change("roles", "apply")
	p.large.fails(cli.ExitRefused, "has deposited", p.at("propose", "--change", accept, "Too early")...)
	p.large.ok(nil, p.at("deposit", "400")...)
	p.small.ok(nil, p.at("deposit", "50")...)
	takeOver := p.propose("Take over", accept)
	p.large.ok(nil, p.at("vote", takeOver, "yes")...)
	p.founder.fails(cli.ExitRefused, "the vote is open", p.at("advance", takeOver)...)
	p.large.fails(cli.ExitRefused, "are open", p.at("withdraw")...)
	p.ended()
	p.advanced(takeOver, realm.Succeeded.String())
	p.advanced(takeOver, realm.Completed.String())
	mk, err := query.Load(t.Context(), p.w.Client, chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, p.realm.Treasury, mk.Authority)
	p.founder.fails(cli.ExitRefused, "may not do this", "market", "propose", "--set", "fee_bps=1300")

	// From here on the realm is found by the market's authority. A fee passes, another is refused.
	var seen governance.HoldersView
	p.founder.ok(&seen, "governance", "list")
	require.True(t, seen.Governs)
	require.Equal(t, "1000", seen.Weighed)
	fee := p.propose("A lower fee", p.change("propose", "--set", "fee_bps=1100"))
	p.large.ok(nil, p.at("vote", fee[:8], "yes")...)
	p.small.ok(nil, p.at("vote", fee, "no")...)
	p.ended()
	p.advanced(fee, realm.Succeeded.String())
	p.advanced(fee, realm.Completed.String())
	p.w.Until(p.w.Now() + int64(mk.Params.TimelockSecs))
	p.founder.ok(nil, "market", "apply")
	mk, err = query.Load(t.Context(), p.w.Client, chain.Confirmed)
	require.NoError(t, err)
	require.EqualValues(t, 1_100, mk.Params.FeeBps)

	greed := p.propose("A higher fee", p.change("propose", "--set", "fee_bps=1300"))
	p.large.ok(nil, p.at("vote", greed, "no")...)
	p.small.ok(nil, p.at("vote", greed, "yes")...)
	p.ended()
	p.advanced(greed, realm.Defeated.String())
	p.founder.fails(cli.ExitRefused, "nothing follows", p.at("advance", greed)...)

	// Tokens come back.
	for _, proposal := range []string{takeOver, fee, greed} {
		p.large.ok(nil, p.at("relinquish", proposal)...)
	}
	regret := p.propose("Second thoughts", p.change("propose", "--set", "fee_bps=1200"))
	p.large.fails(cli.ExitRefused, "are open", p.at("withdraw")...)
	p.small.fails(cli.ExitRefused, "of another wallet", p.at("cancel", regret)...)
	p.large.ok(nil, p.at("cancel", regret)...)
	require.Equal(t, realm.Cancelled.String(), p.state(regret))
	p.large.ok(nil, p.at("withdraw")...)
	p.founder.ok(&seen, "governance", "list")
	require.Len(t, seen.Proposals, 4)
	t.Logf("\n%s", p.founder.run(t.Context(), "governance", "show", fee).out)
}
