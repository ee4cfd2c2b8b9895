package seed

import (
	"time"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// Units of the two tokens.
const (
	// USDC is one test USDC in base units (6 decimals).
	USDC = 1_000_000
	// GNT is one stake token in base units (9 decimals).
	GNT = 1_000_000_000

	usdcDecimals = 6
	gntDecimals  = 9
)

// Period is the length of a report period on a local network.
const Period = 5 * time.Second

// Bond is what each keeper of a local network bonds: the smallest allowed, so that all weigh the same.
const Bond = 1_000 * GNT

// Params are the market's parameters on a local network. Shares and slashes are those of a real market; times are short
// enough to watch a whole lease, a fault and its appeal window within a minute.
func Params() bindings.Params {
	return bindings.Params{
		MinBond:               Bond,
		WeightCap:             Bond,
		StakePrice:            USDC,
		EmissionCap:           1_000 * GNT,
		DisputeDeposit:        USDC,
		PeriodSecs:            uint32(Period / time.Second),
		AppealSecs:            8,
		ChallengeSecs:         4,
		UnstakeCooldownSecs:   58,
		KeeperActivationSecs:  1,
		KeeperExitSecs:        8,
		AwardDeadlineSecs:     20,
		StartDeadlineSecs:     15,
		MigrationGraceSecs:    2,
		NoticeSecs:            6,
		TimelockSecs:          3,
		RatingSecs:            24, // a customer on a busy machine still rates what failed a while ago
		ReportRetentionSecs:   45,
		SettleDeadlinePeriods: 2,
		FeeBps:                1_200,
		BurnBps:               2_000,
		KeeperBps:             4_000,
		TreasuryBps:           4_000,
		AwardBps:              1_000,
		QuorumBps:             6_667,
		FinderBps:             1_000,
		SlashFraudBps:         10_000,
		SlashBadWorkBps:       5_000,
		SlashWorkFailedBps:    1_000,
		SlashOfflineBps:       500,
		SlashGuaranteeBps:     1_000,
		SlashUnjustAwardBps:   2_000,
		SlashEquivocationBps:  10_000,
		AllowSimulated:        1,
	}
}

// ShortRetention is the shortest time that reports of a local network can stay: the appeal window and a margin for the
// leaves' application. It lets a network that is being watched close its last reports without a long wait.
const ShortRetention = 12 * time.Second

// Ids of the GPU models.
const (
	A100 uint16 = 1
	H100 uint16 = 2
)

// Models are the GPU models of a local network: classes of the table, with stakes and prices of their own. They
// are not calibrated: their machines are measured, and held to nothing.
func Models() []bindings.GpuModelArgs {
	return []bindings.GpuModelArgs{model(A100, "A100-SXM4-40GB", 100*GNT, 1_300_000), model(H100, "H100-SXM5-80GB", 200*GNT, 2_400_000)}
}

func model(id uint16, name string, stake, price uint64) bindings.GpuModelArgs {
	g := class.GPUs().Named(name)
	return bindings.GpuModelArgs{
		Id: id, Name: market.Text32(g.Name), VramMib: g.MemoryMiB, TflopsX10: 10 * g.Sheet.FP16TFLOPS, MinStake: stake, ReferencePrice: price,
		// Small enough for a processor: the least order, 2 MiB, and 0.4 s a GPU. Every free GPU of a local network is
		// measured at the same moment on the same few cores, and periods last seconds.
		Profile: bindings.MeasureProfile{Order: 1_024, Fold: 4, Rows: 1_024, ChainMs: 250, Resident: 2, WalkMs: 100, Lanes: 16},
	}
}

// Calibrated are the same models with what one thread of a processor reaches in the time that it has one: 5·10⁹ operations and 5·10⁷ bytes of memory a second. 0.7 of it is asked for. A
// machine that is run with --simulate-slow-factor 8 reaches 3·10⁹ operations at most, on a processor of any speed.
func Calibrated() []bindings.GpuModelArgs {
	all := Models()
	for i := range all {
		all[i].MinOperations, all[i].MinBandwidth = 5, 50
	}
	return all
}

// ModelOf is a class of real GPUs as a model of a local network, for the computer's own GPU: its thresholds are what the class
// asks for, and its profile is the class's with a chain and walks of a few seconds.
func ModelOf(g *class.GPU) bindings.GpuModelArgs {
	m := model(H100+1, g.Name, 200*GNT, 2_400_000)
	m.Profile = market.ProfileArgs(g.Profile.Format())
	m.Profile.ChainMs, m.Profile.WalkMs = 4_000, 1_000
	m.MinOperations, m.MinBandwidth = g.Thresholds()
	return m
}
