package operate_test

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

const addr = "/ip4/127.0.0.1/tcp/4001"

// desk is a desk with the key that sends.
type desk struct {
	*operate.Desk
	t   *testing.T
	w   *testmarket.Testbed
	key solana.PrivateKey
}

func open(t *testing.T, w *testmarket.Testbed, key solana.PrivateKey) *desk {
	t.Helper()
	s := service.New(w.Client, zerolog.Nop())
	mk, err := s.Load(w.Ctx)
	require.NoError(t, err)
	return &desk{&operate.Desk{Client: w.Client, Service: s, Market: mk, Key: key.PublicKey()}, t, w, key}
}

// do sends an action, which the program must take.
func (d *desk) do(a operate.Action, err error) operate.Action {
	d.t.Helper()
	require.NoError(d.t, err)
	_, err = d.w.Try(a.Kind, []solana.PrivateKey{d.key}, a.Instructions...)
	require.NoError(d.t, err, a.Kind)
	return a
}

// refused is for what no transaction is built for.
func (d *desk) refused(why string) func(operate.Action, error) {
	return func(a operate.Action, err error) {
		d.t.Helper()
		require.ErrorContains(d.t, err, why)
		require.Equal(d.t, service.CodeRefused, service.Classify(err).Code)
		require.NotEmpty(d.t, service.Classify(err).Advice, "it says what to do")
		require.Empty(d.t, a.Instructions)
	}
}

func (d *desk) keeper() market.Keeper {
	d.t.Helper()
	k, err := d.Keeper(d.w.Ctx, d.Key)
	require.NoError(d.t, err)
	return k
}

func (d *desk) provider() market.Provider {
	d.t.Helper()
	p, err := d.Provider(d.w.Ctx, d.Key)
	require.NoError(d.t, err)
	return p
}

// A keeper bonds, is activated, moves, leaves and takes its bond. What the program would refuse is refused before it is
// sent.
func TestAKeeperComesAndGoes(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	key := testmarket.Key(t)
	w.Fund(key.PublicKey())
	d := open(t, w, key)
	bond := 1_000 * market.OneGNT

	d.refused("the smallest bond is")(d.RegisterKeeper(w.Ctx, market.OneGNT, addr))
	d.refused("the wallet " + key.PublicKey().String() + " holds 0")(d.RegisterKeeper(w.Ctx, bond, addr))
	d.refused("is not a keeper")(d.ActivateKeeper(w.Ctx))
	d.refused("is not a keeper")(d.ExitKeeper(w.Ctx))
	account := w.Give(key.PublicKey(), w.StakeMint, uint64(bond))
	a := d.do(d.RegisterKeeper(w.Ctx, bond, addr))
	require.Contains(t, a.Asks, "1000 GNT of the wallet; it can be slashed")
	require.Equal(t, key.PublicKey(), a.Of)
	require.Zero(t, w.Tokens(account))

	w.Until(d.keeper().PendingSince + int64(d.Market.Params.KeeperActivationSecs))
	a = d.do(d.ActivateKeeper(w.Ctx))
	require.Empty(t, a.Asks, "it moves no money")
	require.Equal(t, market.KeeperActive, pointer(d.keeper()).State())
	d.refused("is active")(d.ActivateKeeper(w.Ctx))
	d.do(d.MoveKeeper(w.Ctx, "/ip4/127.0.0.1/tcp/4002"))
	require.Equal(t, "/ip4/127.0.0.1/tcp/4002", pointer(d.keeper()).Addr())
	_, err := d.MoveKeeper(w.Ctx, "localhost")
	require.Error(t, err)

	d.refused("is active")(d.WithdrawBond(w.Ctx))
	d.do(d.ExitKeeper(w.Ctx))
	if k := d.keeper(); w.Now() < k.ExitAt-1 {
		d.refused("the bond is free at")(d.WithdrawBond(w.Ctx))
	}
	w.Until(d.keeper().ExitAt)
	d.do(d.WithdrawBond(w.Ctx))
	require.EqualValues(t, bond, w.Tokens(account))
	d.refused("is not a keeper")(d.WithdrawBond(w.Ctx))
}

// A provider stakes, sets where its earnings go, takes free stake out and leaves; its node is priced, retired and closed
// by its owner alone.
func TestAProviderComesAndGoes(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	key := testmarket.Key(t)
	w.Fund(key.PublicKey())
	d := open(t, w, key)
	d.refused("is not a provider")(d.AddStake(w.Ctx, market.OneGNT))
	d.refused("is not a provider")(d.Unstake(w.Ctx, market.OneGNT))
	d.do(d.RegisterProvider(w.Ctx))
	d.refused("is a provider already")(d.RegisterProvider(w.Ctx))
	d.refused("100 GNT asked")(d.AddStake(w.Ctx, 100*market.OneGNT))
	stake := w.Give(key.PublicKey(), w.StakeMint, uint64(150*market.OneGNT))
	a := d.do(d.AddStake(w.Ctx, 150*market.OneGNT))
	require.Contains(t, a.Asks, "they can be slashed")
	other := w.Give(key.PublicKey(), w.PaymentMint, 0)
	d.do(d.SetPayout(w.Ctx, other))

	_, n := w.Node(key, testmarket.A100, 1, 1_260_000)
	require.NoError(t, d.Owns(&n))
	stranger := open(t, w, testmarket.Key(t))
	require.ErrorContains(t, stranger.Owns(&n), "does not belong to your wallet")
	price := market.PricePerHour(1_310_000)
	d.do(d.SetNode(&n, operate.Terms{Price: &price}))
	n = d.node(n.Address)
	require.Equal(t, price, n.Ask())
	require.Equal(t, market.NodeActive, n.State(), "what is not named stays")
	draining := market.NodeDraining
	d.do(d.SetNode(&n, operate.Terms{Status: &draining}))
	n = d.node(n.Address)
	require.Equal(t, []any{price, draining}, []any{n.Ask(), n.State()})

	d.refused("60 GNT asked, 50 not needed")(d.Unstake(w.Ctx, 60*market.OneGNT))
	d.refused("nothing is on its way out")(d.WithdrawStake(w.Ctx))
	d.do(d.Unstake(w.Ctx, 50*market.OneGNT))
	d.refused("the cooldown runs until")(d.WithdrawStake(w.Ctx))

	serving := n
	serving.LiveLeases = 2
	d.refused("serves 2 leases")(d.RetireNode(&serving))
	d.do(d.RetireNode(&n))
	w.Until(d.provider().UnstakeAt)
	d.do(d.WithdrawStake(w.Ctx))
	require.EqualValues(t, 50*market.OneGNT, w.Tokens(stake))

	n = d.node(n.Address)
	w.Until(n.RetiredAt + int64(d.Market.Params.UnstakeCooldownSecs))
	d.do(d.CloseNode(w.Ctx, &n))
	d.do(d.Unstake(w.Ctx, 100*market.OneGNT))
	w.Until(d.provider().UnstakeAt)
	d.do(d.WithdrawStake(w.Ctx))
	d.do(d.CloseProvider(w.Ctx))
	_, exists, err := d.FindProvider(w.Ctx, d.Key)
	require.NoError(t, err)
	require.False(t, exists)
	d.refused("is not a provider")(d.CloseProvider(w.Ctx))
}

func (d *desk) node(address solana.PublicKey) market.Node {
	d.t.Helper()
	n, err := query.Fetch[market.Node](d.w.Ctx, d.w.Client, address, chain.Confirmed)
	require.NoError(d.t, err)
	return n
}

// A keeper's key that is not its wallet signs for it, and the wallet's own no more.
func TestTheKeyThatSignsForAKeeper(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	keeper := w.Keeper()
	own := open(t, w, keeper)
	k, err := own.SignedFor(w.Ctx)
	require.NoError(t, err)
	require.Equal(t, keeper.PublicKey(), k.Wallet)
	w.Wait("keeper", func(v *view.View) bool { _, ok := v.KeeperOf(keeper.PublicKey()); return ok })

	stranger := open(t, w, testmarket.Key(t))
	_, err = stranger.SignedFor(w.Ctx)
	require.ErrorContains(t, err, "is not a keeper")
	require.Equal(t, service.CodeRefused, service.Classify(err).Code)

	signs := func(key solana.PublicKey) func(solana.PublicKey) error {
		return func(tried solana.PublicKey) error {
			if tried != key {
				return service.Refused("another key", "")
			}
			return nil
		}
	}
	// Another key agrees to sign: from now on it acts for the keeper, and the wallet alone no more.
	other := testmarket.Key(t)
	until := time.Unix(w.Now()+int64(own.Market.Params.KeeperExitSecs), 0).UTC()
	consented := records.Consent{Domain: own.Market.Domain, Wallet: keeper.PublicKey(), Until: until}
	message := consented.Encode()
	consent, err := other.Sign(message[:])
	require.NoError(t, err)
	agreed, err := ix.SignerConsent(consented, other.PublicKey(), consent)
	require.NoError(t, err)
	set, err := ix.KeeperSetSigner(keeper.PublicKey(), other.PublicKey())
	require.NoError(t, err)
	_, err = w.Try("keeper_set_signer", []solana.PrivateKey{keeper}, agreed, set)
	require.NoError(t, err)
	k, err = open(t, w, other).SignedFor(w.Ctx)
	require.NoError(t, err)
	require.Equal(t, keeper.PublicKey(), k.Wallet)
	_, err = own.SignedFor(w.Ctx)
	require.ErrorContains(t, err, "is signed for by "+other.PublicKey().String())

	got, err := own.SignerOf(w.Ctx, keeper.PublicKey(), signs(keeper.PublicKey()))
	require.NoError(t, err)
	require.Equal(t, keeper.PublicKey(), got, "the bond answers for what the former key has signed")
	for _, c := range [][2]solana.PublicKey{{keeper.PublicKey(), stranger.Key}, {stranger.Key, stranger.Key}} {
		got, err = own.SignerOf(w.Ctx, c[0], signs(c[1]))
		require.NoError(t, err)
		require.True(t, got.IsZero())
	}
}

func pointer[T any](x T) *T { return &x }

// A customer deposits, withdraws what is free, takes an order back and closes what is over. What is in use stays.
func TestACustomersMoney(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.AwardDeadlineSecs = 600
	w.InitMarket(params)
	key := w.Customer(100*market.OneUSDC, 0)
	d := open(t, w, key)
	d.refused("this wallet has no credits")(d.Withdraw(w.Ctx, market.OneUSDC, false))
	d.refused("this wallet has no credits")(d.Withdraw(w.Ctx, 0, true))
	d.refused("no credits account")(d.CloseCredits(w.Ctx))
	d.refused("101.00 USDC asked, the wallet " + d.Key.String() + " holds 100.00")(d.Deposit(w.Ctx, 101*market.OneUSDC))
	_, err := d.Deposit(w.Ctx, 0)
	require.Equal(t, service.CodeUsage, service.Classify(err).Code)
	a := d.do(d.Deposit(w.Ctx, 60*market.OneUSDC))
	require.Equal(t, "deposit  60.00 USDC of the wallet into its credits", a.Asks)

	o := w.Order(key, ix.OrderCreateArgs{
		Nonce: 1, MaxPrice: 3_600_000_000, Duration: 10, Nodes: 1, GPUsPerNode: 1, Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	})
	c, exists, err := d.Credits(w.Ctx)
	require.NoError(t, err)
	require.True(t, exists)
	require.Positive(t, c.Credits.Reserved)
	d.refused("reserved by 1 open order")(d.Withdraw(w.Ctx, 60*market.OneUSDC, false))
	d.refused("credits are in use")(d.CloseCredits(w.Ctx))
	d.refused("is open")(d.ReopenOrder(&o))
	a = d.do(d.Withdraw(w.Ctx, 0, true))
	require.Equal(t, "withdrew "+c.Free().String()+" USDC", a.Did)
	_, err = d.Withdraw(w.Ctx, 0, true)
	require.Equal(t, service.CodeUsage, service.Classify(err).Code, "nothing is free")

	taken := o
	taken.Status, taken.LiveLeases, taken.NodesAwarded = uint8(market.OrderAwarded), 1, 1
	d.refused("is awarded and has leases")(d.CancelOrder(w.Ctx, &taken))
	d.do(d.CancelOrder(w.Ctx, &o))
	d.do(d.CloseCredits(w.Ctx))
	require.EqualValues(t, 100*market.OneUSDC, w.Tokens(market.TokenAddress(d.Key, w.PaymentMint)))
}
