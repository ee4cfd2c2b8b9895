package honest

import (
	"fmt"
	"time"

	"github.com/gantry-market/gantry/localnet/fault"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	// keepers are as many as small markets have: each sits in the committee of every machine.
	keepers = 4
	// slotTime is that of public clusters: by it, 30 s are 75 slots, and not 600 as on other local networks.
	slotTime = 400 * time.Millisecond
	// price is what honest machines ask at most, most what customers pay at most, and dear what cheats ask: nobody rents one.
	price, most, dear = market.PricePerHour(1_300_000), "1.60", market.PricePerHour(2_500_000)
)

// member is a keeper or an honest machine whose RPC node is bad.
type member struct {
	name   string
	faults fault.Faults
}

// lag is how far its RPC node is behind, in whole seconds.
func (m member) lag() time.Duration { return m.faults.Lag.Round(time.Second) }

// machines are the honest ones, each of a newcomer that joins by `gantry-agent setup`.
func (o Options) machines() []member {
	bad := fault.Faults{Empty: o.Empty, Null: o.Null, Drop: o.Drop}
	near, far := bad, bad
	near.Lag, far.Lag = o.Lag/3, o.Lag
	bad.Disagree = o.Disagree
	return []member{{"honest-1", bad}, {"honest-2", near}, {"honest-3", far}}
}

// keeper is the one whose RPC node is bad.
func (o Options) keeper() member {
	return member{fmt.Sprintf("keeper-%d", keepers), fault.Faults{Lag: o.Lag, Empty: o.Empty, Null: o.Null, Disagree: o.Disagree, Drop: o.Drop}}
}

// spoiled are all members whose RPC node is bad.
func (o Options) spoiled() []member { return append(o.machines(), o.keeper()) }

// cheat is a machine that must lose stake.
type cheat struct {
	name, does string
	// flag has its agent do so.
	flag string
}

// cheats take part in every run. They have a good RPC node.
var cheats = []cheat{
	{"cheat-wrong", "makes up the bytes of each measurement", "--simulate-wrong-work"},
	{"cheat-unopened", "opens nothing of what it has signed", "--simulate-unopened"},
}

// region steers a customer's orders to one machine.
func region(machine string) string { return "r-" + machine }

// nodes describes the machines to the network.
func (o Options) nodes() []network.NodeSpec {
	var out []network.NodeSpec
	add := func(name string, ask market.PricePerHour) {
		out = append(out, network.NodeSpec{
			Name: name, Provider: len(out), GPU: "A100", Count: 1, Region: region(name), Price: ask, Setup: true,
		})
	}
	for _, m := range o.machines() {
		add(m.name, price)
	}
	for _, c := range cheats {
		add(c.name, dear)
	}
	return out
}

// config is the network's.
func (o Options) config() network.Config {
	params := seed.Params()
	secs := uint32(o.Period / time.Second)
	params.PeriodSecs = secs
	params.ReportRetentionSecs = retained*secs + params.AppealSecs
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	params.AwardDeadlineSecs, params.StartDeadlineSecs = awardDeadline, startDeadline
	flags := map[string][]string{}
	for _, c := range cheats {
		flags[c.name] = []string{c.flag}
	}
	var spoiled []string
	for _, m := range o.spoiled() {
		spoiled = append(spoiled, m.name)
	}
	return network.Config{
		Engine: o.Engine, SlotTime: slotTime, Dir: o.Dir, Keepers: keepers, Customers: len(o.machines()), Nodes: o.nodes(),
		Params: &params, Flags: flags, Spoiled: spoiled, Log: o.Log,
	}
}

const (
	// Deadlines of a real market, in seconds: the short ones of other local networks are for demos that a person watches.
	awardDeadline, startDeadline = 60, 120
	// retained is for how many periods a report can be voted on.
	retained = 6
)

// stake is what each machine puts in.
func stake() uint64 {
	for _, m := range seed.Models() {
		if m.Id == seed.A100 {
			return m.MinStake
		}
	}
	return 0
}
