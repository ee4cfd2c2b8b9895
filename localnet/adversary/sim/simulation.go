package sim

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/localnet/adversary/sim/chain"
	"github.com/gantry-market/gantry/localnet/adversary/sim/vtime"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

var domain = records.Domain{'s', 'i', 'm'}

// retentionPeriods is for how many periods a report may be voted on and applied.
const retentionPeriods = 10

const (
	// mostExtra is for how many periods a run goes on at most after its last one, so that all reports can become final.
	mostExtra = 6
	// leastExtra is for how many it goes on at least, so that what they say is paid and slashed.
	leastExtra = 1
)

// slot is the chain's: transactions that came in during one are executed at its end.
const slot = 400 * time.Millisecond

type leafSet = report.Set

// change is one account as a block left it.
type change struct {
	key     solana.PublicKey
	account any
}

// simulation is everything of one run.
type simulation struct {
	o     Options
	loop  *vtime.Loop
	start time.Time // beginning of the first period
	first records.Period
	net   *network
	chain *chain.Chain
	plan  *plan
	sizes *sizes

	keepers  []*keeper
	byWallet map[solana.PublicKey]*keeper
	machines []*machine
	byKey    map[solana.PublicKey]*machine
	byNode   map[solana.PublicKey]*machine
	orders   orders

	pending []transaction
	blocked bool // an end of a slot is scheduled
	block   []change
	past    map[solana.PublicKey][]state // of nodes, the last ones

	truth     *truth
	verified  map[records.Period]map[[32]byte]bool // statements whose signature was checked
	opposites map[solana.Signature]bool            // second statements of equivocating keepers
	trace     hash.Hash
	result    *Result
	err       error
}

// epoch is when every run begins: some period of 2027.
var epoch = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

func newSimulation(o Options) (*simulation, error) {
	secs := int64(o.Period / time.Second)
	start := time.Unix((epoch.Unix()/secs+1)*secs, 0)
	sim := &simulation{
		o: o, start: start, first: records.Period(start.Unix() / secs), loop: vtime.NewLoop(start.Add(-time.Second)), sizes: newSizes(),
		byWallet: map[solana.PublicKey]*keeper{}, byKey: map[solana.PublicKey]*machine{}, byNode: map[solana.PublicKey]*machine{},
		past:     map[solana.PublicKey][]state{},
		verified: map[records.Period]map[[32]byte]bool{}, opposites: map[solana.Signature]bool{}, trace: sha256.New(), result: newResult(o),
	}
	sim.net = newNetwork(sim.loop, newRNG(o.Seed, "net"), o.Loss, o.Keepers, o.Nodes)
	sim.net.note = func(from, to place, bytes int) { sim.traceEvent('m', uint64(from), uint64(to), uint64(bytes)) }
	sim.truth = newTruth(sim)
	sim.buildChain()
	if err := sim.buildKeepers(); err != nil {
		return nil, err
	}
	sim.buildMachines()
	sim.plan = newPlan(sim)
	sim.net.cut = sim.plan.cut
	sim.orders = newOrders(sim)
	return sim, nil
}

func (sim *simulation) secs() uint32 { return uint32(sim.o.Period / time.Second) }

// period is the one that contains a moment.
func (sim *simulation) period(t time.Time) records.Period {
	return records.Period(t.Unix() / int64(sim.secs()))
}

// begins is when a period does.
func (sim *simulation) begins(p records.Period) time.Time {
	return time.Unix(int64(p)*int64(sim.secs()), 0)
}

// traceEvent adds to the trace.
func (sim *simulation) traceEvent(what byte, numbers ...uint64) {
	b := append(make([]byte, 0, 64), what)
	b = binary.LittleEndian.AppendUint64(b, uint64(sim.loop.Now().UnixNano()))
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	sim.trace.Write(b)
}

// fail ends the run: something happened that no option explains.
func (sim *simulation) fail(err error) {
	if sim.err == nil {
		sim.err = fmt.Errorf("%s: %w", sim.loop.Now().Format(time.RFC3339Nano), err)
	}
}

func (sim *simulation) buildChain() {
	secs := sim.secs()
	m := &market.Market{Meta: market.Meta{Address: market.MarketAddress()}}
	m.Domain = domain
	m.Params = bindings.Params{
		MinBond: bond, WeightCap: bond, StakePrice: 1_000_000, PeriodSecs: secs, AppealSecs: secs, ChallengeSecs: secs,
		AwardDeadlineSecs: 2 * secs, StartDeadlineSecs: secs, MigrationGraceSecs: secs / 6, NoticeSecs: secs,
		ReportRetentionSecs: retentionPeriods * secs, SettleDeadlinePeriods: 4, KeeperExitSecs: 2 * secs,
		FeeBps: 1_200, QuorumBps: 6_667, FinderBps: 1_000, SlashFraudBps: 10_000, SlashBadWorkBps: 5_000,
		SlashWorkFailedBps: 1_000, SlashOfflineBps: 500, SlashEquivocationBps: 10_000,
	}
	sim.chain = chain.New(m)
	sim.chain.Now = func() int64 { return sim.loop.Now().Unix() }
	sim.chain.Changed = func(key solana.PublicKey, account any) { sim.block = append(sim.block, change{key, account}) }
	sim.chain.Happened = sim.happened
	model := &market.Model{Meta: market.Meta{Address: market.ModelAddress(modelID)}}
	model.Id, model.Name, model.VramMib, model.TflopsX10 = modelID, market.Text32(modelName), vramMiB, 3_120
	model.ReferencePrice = 10_000_000
	model.MinStake, model.MinOperations, model.MinBandwidth = stake, minOperations, minBandwidth
	model.Since = sim.start.Unix() - 86_400
	sim.chain.Put(model.Address, model)
}

const (
	bond  = 1_000_000_000_000
	stake = 100_000_000_000
)

func (sim *simulation) buildKeepers() error {
	for i := range sim.o.Keepers {
		signer, err := records.NewSigner(key(sim.o.Seed, fmt.Sprintf("keeper/%d", i)))
		if err != nil {
			return err
		}
		k := &keeper{
			sim: sim, place: place(i), key: signer, rng: newRNG(sim.o.Seed, fmt.Sprintf("keeper/%d", i)),
			store: newMemStore(0),
		}
		k.endpoint = newEndpoint(sim, k.place)
		k.skew = k.rng.between(-300*time.Millisecond, 300*time.Millisecond)
		sim.keepers = append(sim.keepers, k)
		sim.byWallet[k.wallet()] = k
		a := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(k.wallet())}}
		a.Wallet, a.Bond, a.Weight, a.Keeper.Status, a.Index = k.wallet(), bond, bond, uint8(market.KeeperActive), uint16(i)
		sim.chain.Put(a.Address, a)
	}
	return nil
}

func (sim *simulation) buildMachines() {
	d := newRNG(sim.o.Seed, "machines")
	f := Faultless(sim.o.Keepers)
	for i := range sim.o.Nodes {
		name := fmt.Sprintf("node/%d", i)
		m := &machine{
			place: place(sim.o.Keepers + i), key: key(sim.o.Seed, name), rng: newRNG(sim.o.Seed, name), conduct: steady,
			ignores: map[place]bool{}, leases: map[solana.PublicKey]leaseTruth{},
		}
		roll := d.IntN(100)
		for _, c := range conducts {
			if roll -= c.percent; roll < 0 {
				m.conduct = c.conduct
				break
			}
		}
		m.from = sim.start.Add(d.between(0, time.Duration(sim.o.Periods)*sim.o.Period*3/4))
		if m.conduct == selective {
			for _, k := range d.some(f, sim.o.Keepers) {
				m.ignores[place(k)] = true
			}
		}
		wallet := key(sim.o.Seed, "provider/"+name).PublicKey()
		p := &market.Provider{Meta: market.Meta{Address: market.ProviderAddress(wallet)}}
		p.Wallet, p.Payout, p.Stake, p.LockedStake, p.NodeCount = wallet, wallet, 2*stake, stake, 1
		sim.chain.Put(p.Address, p)
		n := &market.Node{Meta: market.Meta{Address: market.NodeAddress(p.Address, m.key.PublicKey())}}
		n.MinOperations, n.MinBandwidth = minOperations, minBandwidth
		n.Node.Provider, n.NodeKey, n.Spec, n.RequiredStake = p.Address, m.key.PublicKey(), m.spec(), stake
		n.Stake = stake
		n.Price, n.UptimeBps, n.Tier, n.Node.Status = uint64(1_000_000+d.IntN(500_000)), 9_000, 1, uint8(market.NodeActive)
		n.RegisteredAt = sim.start.Unix() - 86_400
		n.AvailableSince, n.AskSince, n.RecordSince, n.TermsAt = n.RegisteredAt, n.RegisteredAt, n.RegisteredAt, n.RegisteredAt
		n.StartAvailability(n.RegisteredAt)
		n.GoodSince = n.RegisteredAt
		n.LastReportPeriod, n.ReportWindow = uint64(sim.first)-1, ^uint32(0)
		sim.chain.Put(n.Address, n)
		m.account = n.Address
		for g := range gpusPerNode {
			id := sha256.Sum256(fmt.Appendf(nil, "%s/gpu/%d", name, g))
			m.devices = append(m.devices, id)
			sim.chain.Put(solana.PublicKey(id), &market.Device{Node: n.Address, Identity: id, Tier: 1})
		}
		m.endpoint = newEndpoint(sim, m.place)
		sim.past[n.Address] = []state{{sim.loop.Now(), n}}
		sim.machines = append(sim.machines, m)
		sim.byKey[n.NodeKey], sim.byNode[n.Address] = m, m
		sim.live(m)
	}
}

// live lets a machine come and go as it does.
func (sim *simulation) live(m *machine) {
	switch m.conduct {
	case vanishing:
		sim.loop.At(m.from, func() { m.leave(sim.loop.Now()) })
	case flaky:
		var leave func()
		leave = func() {
			m.leave(sim.loop.Now())
			sim.loop.After(sim.o.Period/10+m.rng.exponential(sim.o.Period*3/2), func() {
				m.comeBack(sim.loop.Now())
				sim.loop.After(sim.o.Period/2+m.rng.exponential(5*sim.o.Period), leave)
			})
		}
		sim.loop.At(sim.start.Add(m.rng.exponential(4*sim.o.Period)), leave)
	}
}

// transaction is what waits for the end of the slot.
type transaction struct {
	signer solana.PublicKey
	ixs    []solana.Instruction
	done   func(error)
}

// enqueue hands a transaction to the chain; done hears of its outcome at the end of the slot.
func (sim *simulation) enqueue(signer solana.PublicKey, ixs []solana.Instruction, done func(error)) {
	sim.pending = append(sim.pending, transaction{signer, ixs, done})
	sim.endSlot()
}

// endSlot schedules the end of the running slot, once.
func (sim *simulation) endSlot() {
	if sim.blocked {
		return
	}
	sim.blocked = true
	end := sim.loop.Now().Truncate(slot).Add(slot)
	sim.loop.At(end, func() {
		sim.blocked = false
		batch := sim.pending
		sim.pending = nil
		for _, t := range batch {
			err := sim.chain.Execute(t.signer, t.ixs)
			sim.traceEvent('t', uint64(len(t.ixs)), uint64(boolInt(err == nil)))
			sim.result.Transactions++
			t.done(err)
		}
		sim.publishBlock()
	})
}

// publishBlock lets everybody see what the block has changed.
func (sim *simulation) publishBlock() {
	block := sim.block
	sim.block = nil
	if len(block) == 0 {
		return
	}
	for _, c := range block {
		sim.traceEvent('c', binary.LittleEndian.Uint64(c.key[:]))
	}
	sim.keepPast(block)
	for _, k := range sim.keepers {
		k.see(block)
	}
	sim.orders.see(block)
}

// signed hears of every statement that a keeper signs.
func (sim *simulation) signed(k *keeper, s statement.Signed) {
	p := s.Statement.Period
	if sim.verified[p] == nil {
		sim.verified[p] = map[[32]byte]bool{}
		delete(sim.verified, p-retentionPeriods-2)
	}
	sim.verified[p][digest(s)] = true
	sim.result.Statements++
	sim.traceEvent('s', uint64(k.place), uint64(s.Statement.Kind), uint64(boolInt(s.Statement.Passed)), binary.LittleEndian.Uint64(s.Statement.Node[:]))
	sim.truth.signed(k, s.Statement)
}

func digest(s statement.Signed) [32]byte {
	enc := s.Statement.Encode()
	return sha256.Sum256(append(append(s.Keeper[:], enc[:]...), s.Signature[:]...))
}

// genuine reports whether a statement's signature is its keeper's. Each is verified once for all keepers: those that a
// keeper of this simulation made were by making them.
func (sim *simulation) genuine(s statement.Signed) bool {
	if sim.verified[s.Statement.Period][digest(s)] {
		return true
	}
	return s.Verify(domain, records.Wallets) == nil
}

func (sim *simulation) allFinal() bool {
	for i := range sim.o.Periods {
		if _, ok := sim.truth.final[sim.first+records.Period(i)]; !ok {
			return false
		}
	}
	return true
}

// run lets the market live for all its periods, and as long again as its last reports may take.
func (sim *simulation) run(ctx context.Context) error {
	for _, k := range sim.keepers {
		if err := k.start(); err != nil {
			return err
		}
	}
	sim.orders.begin()
	sim.plan.begin()
	end := sim.begins(sim.first + records.Period(sim.o.Periods))
	if sim.plan.splitAt.to.After(end) {
		end = sim.begins(sim.period(sim.plan.splitAt.to) + 1)
	}
	n := 0
	stop := func() bool {
		n++
		return sim.err != nil || n%4096 == 0 && ctx.Err() != nil
	}
	sim.loop.Run(end, stop)
	sim.orders.over = true
	for i := range time.Duration(mostExtra) {
		sim.loop.Run(end.Add((i+1)*sim.o.Period), stop)
		if i >= leastExtra && sim.allFinal() {
			break
		}
	}
	for _, k := range sim.keepers {
		k.crash()
	}
	return errors.Join(sim.err, ctx.Err())
}
