package roles

import (
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

const periodSecs = 10

// keys of the market that the tests look at.
var (
	pending  = solana.PublicKey{1}
	active   = solana.PublicKey{2}
	young    = solana.PublicKey{3}
	exiting  = solana.PublicKey{4}
	slashed  = solana.PublicKey{5}
	node     = solana.PublicKey{6}
	retired  = solana.PublicKey{7}
	customer = solana.PublicKey{8}
	session  = solana.PublicKey{9}
	revoked  = solana.PublicKey{10}
	stranger = solana.PublicKey{11}
)

// directory is of a market in which every kind of key exists. Weights count from period 10 on, those of the keepers
// that left until period 20.
func directory(t *testing.T) *Directory {
	x := view.New(view.Options{})
	keeper := func(wallet solana.PublicKey, s market.KeeperStatus, change func(*market.Keeper)) {
		k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(wallet)}}
		k.Wallet, k.Keeper.Status = wallet, uint8(s)
		if change != nil {
			change(k)
		}
		x.Put(k.Address, k)
	}
	left := func(k *market.Keeper) { k.ActiveSince, k.FormerWeight, k.WeightSince = 100, 7, 200 }
	keeper(pending, market.KeeperPending, nil)
	keeper(active, market.KeeperActive, func(k *market.Keeper) { k.ActiveSince, k.Weight = 100, 5 })
	keeper(young, market.KeeperActive, func(k *market.Keeper) { k.ActiveSince, k.Weight = 300, 5 })
	keeper(exiting, market.KeeperExiting, left)
	keeper(slashed, market.KeeperSlashed, left)
	for i, key := range []solana.PublicKey{node, retired} {
		n := &market.Node{Meta: market.Meta{Address: solana.PublicKey{50, byte(i)}}}
		n.NodeKey, n.Node.Status = key, uint8(market.NodeActive)
		if key == retired {
			n.Node.Status = uint8(market.NodeRetired)
		}
		x.Put(n.Address, n)
	}
	c := &market.Credits{Meta: market.Meta{Address: solana.PublicKey{60}}}
	c.Customer = customer
	c.SessionKeys[0].Key, c.SessionKeys[0].Cap = session, 1
	c.SessionKeys[1].Key = revoked
	x.Put(c.Address, c)
	d, err := New(Options{View: x, PeriodSecs: periodSecs})
	require.NoError(t, err)
	return d
}

// Who may do what, in the words of the table in keeper/README.md.
func TestWhoMayDoWhat(t *testing.T) {
	d := directory(t)
	all := []Action{Connect, Gossip, Ask, Challenge, Agree, Sign, Propose, Acknowledge, LoseBond, Deal, Visit}
	keeperOf := slices.DeleteFunc(slices.Clone(all), func(a Action) bool { return a == Deal })
	for _, c := range []struct {
		name   string
		key    solana.PublicKey
		period records.Period
		says   string
		may    []Action
	}{
		{"active keeper", active, 15, "active keeper with weight", keeperOf},
		{"active keeper, before its weight counts", young, 15, "active keeper without weight", []Action{Connect, Ask, Challenge, Agree, Acknowledge, LoseBond, Visit}},
		{"active keeper, in a period before it was active", active, 5, "active keeper without weight", []Action{Connect, Ask, Challenge, Agree, Acknowledge, LoseBond, Visit}},
		{"pending keeper", pending, 15, "pending keeper without weight", []Action{Connect, Ask, LoseBond, Visit}},
		{"exiting keeper, in a period in which it counted", exiting, 15, "exiting keeper with weight", []Action{Connect, Gossip, Ask, Challenge, Agree, Sign, Propose, LoseBond, Visit}},
		{"exiting keeper, later", exiting, 25, "exiting keeper without weight", []Action{Connect, Ask, LoseBond, Visit}},
		{"slashed keeper, in a period in which it counted", slashed, 15, "expelled keeper with weight", []Action{Connect, Gossip, Ask, Sign, Propose}},
		{"slashed keeper, later", slashed, 25, "expelled keeper without weight", []Action{Connect, Ask}},
		{"node", node, 15, "node", []Action{Connect}},
		{"retired node", retired, 15, "stranger", nil},
		{"customer", customer, 15, "customer", []Action{Connect}},
		{"session key", session, 15, "session key", []Action{Connect}},
		{"session key without a cap", revoked, 15, "stranger", nil},
		{"stranger", stranger, 15, "stranger", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := d.Role(c.key, c.period)
			require.Equal(t, c.says, r.String())
			require.Equal(t, c.says == "stranger", r.Stranger())
			for _, a := range all {
				require.Equal(t, slices.Contains(c.may, a), r.May(a), "action %d", a)
			}
			require.False(t, r.May(Visit+1), "an action that nobody has named")
		})
	}
}

// A node answers no check of an expelled keeper, whatever weight it once had: it has no bond left to lose.
func TestExpelledKeepersOrderNoWork(t *testing.T) {
	d := directory(t)
	for _, p := range []records.Period{5, 15, 25} {
		require.False(t, d.Role(slashed, p).May(Challenge), "period %d", p)
		require.True(t, d.Role(active, p).May(Challenge), "period %d", p)
	}
}

// A wallet may be a keeper's and a customer's: what it may do is what either may.
func TestAKeyWithTwoRoles(t *testing.T) {
	d := directory(t)
	c := &market.Credits{Meta: market.Meta{Address: solana.PublicKey{61}}}
	c.Customer = pending
	d.o.View.(*view.View).Put(c.Address, c)
	r := d.Role(pending, 15)
	require.True(t, r.Customer)
	require.Equal(t, market.KeeperPending, r.Keeper)
	require.Equal(t, "pending keeper without weight, customer", r.String())
}

// A session key is one as long as any customer has named it with a cap.
func TestSessionKeysMayConnect(t *testing.T) {
	x := view.New(view.Options{})
	robot := solana.PublicKey{7}
	known := func() (ok bool) {
		x.Read(func(v *view.Accounts) { ok = Of(v, robot, 0).May(Connect) })
		return ok
	}
	for i := byte(1); i <= 2; i++ {
		c := &market.Credits{Meta: market.Meta{Address: solana.PublicKey{i}}}
		c.Customer = solana.PublicKey{i, 1}
		x.Put(c.Address, c)
		require.Equal(t, i > 1, known())
		named := *c
		named.SessionKeys[i].Key, named.SessionKeys[i].Cap = robot, 5
		x.Put(c.Address, &named)
		require.True(t, known())
	}
	x.Put(solana.PublicKey{1}, nil)
	require.True(t, known(), "the other has named it, too")
	removed := &market.Credits{Meta: market.Meta{Address: solana.PublicKey{2}}}
	removed.Customer, removed.SessionKeys[2].Key = solana.PublicKey{2, 1}, robot
	x.Put(removed.Address, removed)
	require.False(t, known(), "a cap of 0 is no key")
}

func TestMissingDependenciesAreErrors(t *testing.T) {
	options.Without(directory(t).o, nil, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
}

// A node answers keepers that may state something of it, and the customers that have business with it: a deposit alone
// is none.
func TestWhomANodeAnswers(t *testing.T) {
	m := directory(t).o.View.(*view.View)
	here, elsewhere := solana.PublicKey{50, 0}, solana.PublicKey{50, 1}
	tenant, buyer, done := solana.PublicKey{21}, solana.PublicKey{22}, solana.PublicKey{23}
	l := &market.Lease{Meta: market.Meta{Address: solana.PublicKey{70}}}
	l.Customer, l.Lease.Node = tenant, here
	m.Put(l.Address, l)
	for i, status := range []market.OrderStatus{market.OrderOpen, market.OrderLapsed} {
		o := &market.Order{Meta: market.Meta{Address: solana.PublicKey{71, byte(i)}}}
		o.Customer, o.Order.Status = []solana.PublicKey{buyer, done}[i], uint8(status)
		m.Put(o.Address, o)
	}
	of := func(address, customer, robot solana.PublicKey) {
		c := &market.Credits{Meta: market.Meta{Address: address}}
		c.Customer = customer
		c.SessionKeys[0].Key, c.SessionKeys[0].Cap = robot, 1
		m.Put(c.Address, c)
	}
	of(solana.PublicKey{72}, tenant, solana.PublicKey{31})
	of(solana.PublicKey{73}, buyer, solana.PublicKey{32})
	for _, c := range []struct {
		name            string
		key, node       solana.PublicKey
		deals, asks, in bool
	}{
		{"customer of its lease", tenant, here, true, false, true},
		{"its session key", solana.PublicKey{31}, here, true, false, true},
		{"customer of another node's lease", tenant, elsewhere, false, false, false},
		{"customer with an open order", buyer, here, true, false, true},
		{"its session key", solana.PublicKey{32}, here, true, false, true},
		{"customer of an order that is over", done, here, false, false, false},
		{"customer with credits only", customer, here, false, false, false},
		{"active keeper", active, here, false, true, true},
		{"pending keeper", pending, here, false, false, true},
		{"expelled keeper", slashed, here, false, false, false},
		{"another node", node, here, false, false, false},
		{"stranger", stranger, here, false, false, false},
	} {
		r := ForNode(m, c.node, c.key, 16*periodSecs)
		require.Equal(t, []bool{c.deals, c.asks, c.in}, []bool{r.May(Deal), r.May(Challenge), r.May(Visit)}, "%s: %s", c.name, r)
	}
}
