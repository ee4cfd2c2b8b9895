package testmarket

import (
	"fmt"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func newDecoder(data []byte) *bin.Decoder { return bin.NewBinDecoder(data) }

// FastParams are the protocol's parameters with waiting times of seconds.
func FastParams() market.Params {
	p := market.DefaultParams()
	p.PeriodSecs, p.AppealSecs, p.ChallengeSecs, p.UnstakeCooldownSecs = 2, 3, 2, 9
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
func (bed *Testbed) Mints() {
	bed.T.Helper()
	bed.PaymentMint, bed.StakeMint = bed.mint(6), bed.mint(9)
}

// InitMarket creates mints, treasury, market and two GPU models.
func (bed *Testbed) InitMarket(p market.Params) {
	bed.T.Helper()
	p.UnstakeCooldownSecs = max(p.UnstakeCooldownSecs, market.LeastCooldown(&p))
	bed.Mints()
	authority := bed.Authority.PublicKey()
	treasury := bed.Give(authority, bed.PaymentMint, 0)
	domain, err := bed.Client.Domain(bed.Ctx)
	require.NoError(bed.T, err)
	sign := []solana.PrivateKey{bed.Authority}
	instruction, err := ix.MarketInit(ix.MarketInitArgs{
		Authority: authority, Guardian: authority, PaymentMint: bed.PaymentMint, StakeMint: bed.StakeMint,
		Treasury: treasury, Domain: domain, Params: p,
	})
	bed.Do("market_init", sign, instruction, err)
	models := []ix.GpuModelProposeArgs{
		{ID: A100, Name: "A100-SXM4-40GB", VRAMMiB: 40_960, TFLOPSx10: 3_120, MinStake: 100 * market.OneGNT, ReferencePrice: 1_300_000},
		{ID: H100, Name: "H100-SXM5-80GB", VRAMMiB: 81_920, TFLOPSx10: 9_890, MinStake: 200 * market.OneGNT, ReferencePrice: 2_400_000},
	}
	for _, m := range models {
		m.Authority = authority
		m.Profile = bindings.MeasureProfile{Order: 1_024, Fold: 4, Rows: 1_024, ChainMs: 250, Resident: 2, WalkMs: 100, Lanes: 16}
		instruction, err := ix.GpuModelPropose(m)
		bed.Do("gpu_model_propose", sign, instruction, err)
	}
	bed.Until(bed.Now() + int64(p.TimelockSecs))
	for _, m := range models {
		instruction, err := ix.GpuModelApply(m.ID)
		bed.Do("gpu_model_apply", sign, instruction, err)
	}
}

// Keeper bonds and activates a keeper.
func (bed *Testbed) Keeper() solana.PrivateKey {
	bed.T.Helper()
	k := Key(bed.T)
	wallet := k.PublicKey()
	bed.Fund(wallet)
	bed.Give(wallet, bed.StakeMint, 1_000*uint64(market.OneGNT))
	instruction, err := ix.KeeperRegister(ix.KeeperRegisterArgs{
		Wallet: wallet, StakeMint: bed.StakeMint, Bond: 1_000 * market.OneGNT, Multiaddr: "/ip4/127.0.0.1/tcp/4001",
	})
	bed.Do("keeper_register", []solana.PrivateKey{k}, instruction, err)
	bed.Wait("keeper registered", func(v *view.View) bool { _, ok := v.KeeperOf(wallet); return ok })
	kp, _ := bed.View.KeeperOf(wallet)
	params, _ := bed.View.Params()
	bed.Until(kp.PendingSince + int64(params.KeeperActivationSecs))
	instruction, err = ix.KeeperActivate(wallet)
	bed.Do("keeper_activate", []solana.PrivateKey{k}, instruction, err)
	return k
}

// Provider registers a provider with stake.
func (bed *Testbed) Provider(stake market.GNT) solana.PrivateKey {
	bed.T.Helper()
	k := Key(bed.T)
	wallet := k.PublicKey()
	bed.Fund(wallet)
	bed.Give(wallet, bed.PaymentMint, 0)
	bed.Give(wallet, bed.StakeMint, uint64(stake))
	instruction, err := ix.ProviderRegister(ix.ProviderRegisterArgs{Wallet: wallet, PaymentMint: bed.PaymentMint, StakeMint: bed.StakeMint})
	bed.Do("provider_register", []solana.PrivateKey{k}, instruction, err)
	instruction, err = ix.ProviderStake(ix.ProviderStakeArgs{Wallet: wallet, StakeMint: bed.StakeMint, Amount: stake})
	bed.Do("provider_stake", []solana.PrivateKey{k}, instruction, err)
	return k
}

// Node registers a simulated node of a provider and returns its key and its account.
func (bed *Testbed) Node(provider solana.PrivateKey, model uint16, gpus uint8, price market.PricePerHour) (solana.PrivateKey, market.Node) {
	bed.T.Helper()
	return bed.Isolated(provider, model, gpus, price, market.Process)
}

// Isolated is Node of a machine that keeps jobs apart in a way.
func (bed *Testbed) Isolated(provider solana.PrivateKey, model uint16, gpus uint8, price market.PricePerHour, by market.Isolation) (solana.PrivateKey, market.Node) {
	bed.T.Helper()
	k := Key(bed.T)
	bed.Fund(k.PublicKey())
	devices := make([][32]byte, gpus)
	for i := range devices {
		devices[i] = DeviceID(fmt.Sprintf("%s-%d", k.PublicKey(), i))
	}
	instruction, err := ix.NodeRegister(ix.NodeRegisterArgs{
		Wallet: provider.PublicKey(), NodeKey: k.PublicKey(), Price: price, Devices: devices,
		Spec: market.NodeSpec{
			Region: market.Text16("us-west-2"), VramMib: 40_960, CpuCores: 8, RamMib: 65_536, DiskGib: 500,
			UpMbps: 1_000, DownMbps: 1_000, Model: model, Gpus: gpus, Interconnect: uint8(market.NVLink), Isolation: uint8(by), Simulated: 1,
		},
	})
	bed.Do("node_register", []solana.PrivateKey{provider, k}, instruction, err)
	address := market.NodeAddress(market.ProviderAddress(provider.PublicKey()), k.PublicKey())
	bed.Wait("node registered", func(v *view.View) bool { _, ok := v.Node(address); return ok })
	n, _ := bed.View.Node(address)
	return k, n
}

// Customer makes a wallet with payment tokens and deposits some of them.
func (bed *Testbed) Customer(tokens, deposit market.USDC) solana.PrivateKey {
	bed.T.Helper()
	k := Key(bed.T)
	wallet := k.PublicKey()
	bed.Fund(wallet)
	bed.Give(wallet, bed.PaymentMint, uint64(tokens))
	if deposit > 0 {
		instruction, err := ix.CreditsDeposit(ix.CreditsArgs{Customer: wallet, PaymentMint: bed.PaymentMint, Amount: deposit})
		bed.Do("credits_deposit", []solana.PrivateKey{k}, instruction, err)
	}
	return k
}

// Order creates an order and waits until the view has it.
func (bed *Testbed) Order(customer solana.PrivateKey, a ix.OrderCreateArgs) market.Order {
	bed.T.Helper()
	a.Customer = customer.PublicKey()
	instruction, err := ix.OrderCreate(a)
	bed.Do("order_create", []solana.PrivateKey{customer}, instruction, err)
	address := market.OrderAddress(a.Customer, a.Nonce)
	bed.Wait("order created", func(v *view.View) bool { _, ok := v.Order(address); return ok })
	o, _ := bed.View.Order(address)
	return o
}

// Award gives an order to a node and waits until the view has the lease.
func (bed *Testbed) Award(keeper solana.PrivateKey, o market.Order, n market.Node) market.Lease {
	bed.T.Helper()
	instruction, err := ix.OrderAward(ix.OrderAwardArgs{Keeper: keeper.PublicKey(), Order: o, Node: n})
	bed.Do("order_award", []solana.PrivateKey{keeper}, instruction, err)
	return bed.Lease(market.LeaseAddress(o.Address, n.Address), func(market.Lease) bool { return true })
}

// Lease waits until the lease satisfies a condition.
func (bed *Testbed) Lease(address solana.PublicKey, cond func(market.Lease) bool) market.Lease {
	bed.T.Helper()
	var l market.Lease
	bed.Wait("lease", func(v *view.View) bool {
		got, ok := v.Lease(address)
		l = got
		return ok && cond(got)
	})
	return l
}

// Now is the chain's clock.
func (bed *Testbed) Now() int64 {
	bed.T.Helper()
	at, err := bed.Client.ClusterTime(bed.Ctx, chain.Confirmed)
	require.NoError(bed.T, err)
	return at.Unix()
}
