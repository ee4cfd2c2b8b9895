package testmarket

import (
	"fmt"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/view"
)

func newDecoder(data []byte) *bin.Decoder { return bin.NewBinDecoder(data) }

// FastParams are the protocol's parameters with waiting times of seconds.
func FastParams() market.Params {
	p := market.DefaultParams()
	p.PeriodSecs, p.AppealSecs, p.ChallengeSecs, p.UnstakeCooldownSecs = 2, 3, 2, 3
	p.KeeperActivationSecs, p.KeeperExitSecs = 1, 2
	p.AwardDeadlineSecs, p.StartDeadlineSecs, p.MigrationGraceSecs, p.NoticeSecs = 4, 3, 1, 2
	p.TimelockSecs, p.RatingSecs, p.ReportRetentionSecs, p.SettleDeadlinePeriods = 1, 2, 4, 2
	p.WeightCap = 1_000 * uint64(market.OneGNT)
	p.AllowSimulated = 1
	return p
}

// Model ids that InitMarket sets.
const (
	A100 uint16 = 1
	H100 uint16 = 2
)

// Mints creates the payment and the stake mint.
func (w *World) Mints() {
	w.T.Helper()
	w.PaymentMint, w.StakeMint = w.mint(6), w.mint(9)
}

// InitMarket creates mints, treasury, market and two GPU models.
func (w *World) InitMarket(p market.Params) {
	w.T.Helper()
	w.Mints()
	authority := w.Authority.PublicKey()
	treasury := w.Give(authority, w.PaymentMint, 0)
	domain, err := w.Client.Domain(w.Ctx)
	require.NoError(w.T, err)
	sign := []solana.PrivateKey{w.Authority}
	instruction, err := ix.MarketInit(ix.MarketInitArgs{
		Authority: authority, Guardian: authority, PaymentMint: w.PaymentMint, StakeMint: w.StakeMint,
		Treasury: treasury, Domain: domain, Params: p,
	})
	w.Do("market_init", sign, instruction, err)
	for _, m := range []ix.GpuModelSetArgs{
		{ID: A100, Name: "A100-SXM4-40GB", VRAMMiB: 40_960, TFLOPSx10: 3_120, MinStake: 100 * market.OneGNT, ReferencePrice: 1_300_000},
		{ID: H100, Name: "H100-SXM5-80GB", VRAMMiB: 81_920, TFLOPSx10: 9_890, MinStake: 200 * market.OneGNT, ReferencePrice: 2_400_000},
	} {
		m.Authority, m.WorkSize, m.WorkBoundMS = authority, 256, 2_000
		instruction, err := ix.GpuModelSet(m)
		w.Do("gpu_model_set", sign, instruction, err)
	}
}

// Keeper bonds and activates a keeper.
func (w *World) Keeper() solana.PrivateKey {
	w.T.Helper()
	k := Key(w.T)
	wallet := k.PublicKey()
	w.Fund(wallet)
	w.Give(wallet, w.StakeMint, 1_000*uint64(market.OneGNT))
	instruction, err := ix.KeeperRegister(ix.KeeperRegisterArgs{
		Wallet: wallet, StakeMint: w.StakeMint, Bond: 1_000 * market.OneGNT, Multiaddr: "/ip4/127.0.0.1/tcp/4001",
	})
	w.Do("keeper_register", []solana.PrivateKey{k}, instruction, err)
	w.Wait("keeper registered", func(v *view.View) bool { _, ok := v.KeeperOf(wallet); return ok })
	kp, _ := w.View.KeeperOf(wallet)
	params, _ := w.View.Params()
	w.Until(kp.RegisteredAt + int64(params.KeeperActivationSecs))
	instruction, err = ix.KeeperActivate(wallet)
	w.Do("keeper_activate", []solana.PrivateKey{k}, instruction, err)
	return k
}

// Provider registers a provider with stake.
func (w *World) Provider(stake market.GNT) solana.PrivateKey {
	w.T.Helper()
	k := Key(w.T)
	wallet := k.PublicKey()
	w.Fund(wallet)
	w.Give(wallet, w.PaymentMint, 0)
	w.Give(wallet, w.StakeMint, uint64(stake))
	instruction, err := ix.ProviderRegister(ix.ProviderRegisterArgs{Wallet: wallet, PaymentMint: w.PaymentMint, StakeMint: w.StakeMint})
	w.Do("provider_register", []solana.PrivateKey{k}, instruction, err)
	instruction, err = ix.ProviderStake(ix.ProviderStakeArgs{Wallet: wallet, StakeMint: w.StakeMint, Amount: stake})
	w.Do("provider_stake", []solana.PrivateKey{k}, instruction, err)
	return k
}

// Node registers a simulated node of a provider and returns its key and its account.
func (w *World) Node(provider solana.PrivateKey, model uint16, gpus uint8, price market.PricePerHour) (solana.PrivateKey, market.Node) {
	w.T.Helper()
	k := Key(w.T)
	w.Fund(k.PublicKey())
	devices := make([][32]byte, gpus)
	for i := range devices {
		devices[i] = DeviceID(fmt.Sprintf("%s-%d", k.PublicKey(), i))
	}
	instruction, err := ix.NodeRegister(ix.NodeRegisterArgs{
		Wallet: provider.PublicKey(), NodeKey: k.PublicKey(), Price: price, Devices: devices,
		Spec: market.NodeSpec{
			Region: market.Text16("us-west-2"), VramMib: 40_960, CpuCores: 8, RamMib: 65_536, DiskGib: 500,
			UpMbps: 1_000, DownMbps: 1_000, Model: model, Gpus: gpus, Interconnect: uint8(market.NVLink), Simulated: 1,
		},
	})
	w.Do("node_register", []solana.PrivateKey{provider, k}, instruction, err)
	address := market.NodeAddress(market.ProviderAddress(provider.PublicKey()), k.PublicKey())
	w.Wait("node registered", func(v *view.View) bool { _, ok := v.Node(address); return ok })
	n, _ := w.View.Node(address)
	return k, n
}

// Customer makes a wallet with payment tokens and deposits some of them.
func (w *World) Customer(tokens, deposit market.USDC) solana.PrivateKey {
	w.T.Helper()
	k := Key(w.T)
	wallet := k.PublicKey()
	w.Fund(wallet)
	w.Give(wallet, w.PaymentMint, uint64(tokens))
	if deposit > 0 {
		instruction, err := ix.CreditsDeposit(ix.CreditsArgs{Customer: wallet, PaymentMint: w.PaymentMint, Amount: deposit})
		w.Do("credits_deposit", []solana.PrivateKey{k}, instruction, err)
	}
	return k
}

// Order creates an order and waits until the view has it.
func (w *World) Order(customer solana.PrivateKey, a ix.OrderCreateArgs) market.Order {
	w.T.Helper()
	a.Customer = customer.PublicKey()
	instruction, err := ix.OrderCreate(a)
	w.Do("order_create", []solana.PrivateKey{customer}, instruction, err)
	address := market.OrderAddress(a.Customer, a.Nonce)
	w.Wait("order created", func(v *view.View) bool { _, ok := v.Order(address); return ok })
	o, _ := w.View.Order(address)
	return o
}

// Award gives an order to a node and waits until the view has the lease.
func (w *World) Award(keeper solana.PrivateKey, o market.Order, n market.Node) market.Lease {
	w.T.Helper()
	instruction, err := ix.OrderAward(ix.OrderAwardArgs{Keeper: keeper.PublicKey(), Order: o, Node: n})
	w.Do("order_award", []solana.PrivateKey{keeper}, instruction, err)
	return w.Lease(market.LeaseAddress(o.Address, n.Address), func(market.Lease) bool { return true })
}

// Lease waits until the lease satisfies a condition.
func (w *World) Lease(address solana.PublicKey, cond func(market.Lease) bool) market.Lease {
	w.T.Helper()
	var l market.Lease
	w.Wait("lease", func(v *view.View) bool {
		got, ok := v.Lease(address)
		l = got
		return ok && cond(got)
	})
	return l
}

// Now is the chain's clock.
func (w *World) Now() int64 {
	w.T.Helper()
	at, err := w.Client.ClusterTime(w.Ctx, chain.Confirmed)
	require.NoError(w.T, err)
	return at.Unix()
}
