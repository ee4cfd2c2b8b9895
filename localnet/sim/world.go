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

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/report"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/localnet/sim/chain"
	"github.com/gantry-market/gantry/localnet/sim/vtime"
)

var domain = records.Domain{'s', 'i', 'm'}

// retentionPeriods is for how many periods a report may be voted on and applied.
const retentionPeriods = 10

const (
	// drain is for how many periods a run goes on at most after its last one, so that all reports can become final.
	drain = 6
	// settle is for how many it goes on at least, so that what they say is paid and slashed.
	settle = 1
)

// slot is the chain's: transactions that came in during one are executed at its end.
const slot = 400 * time.Millisecond

type setType = report.Set

// change is one account as a block left it.
type change struct {
	key     solana.PublicKey
	account any
}

// world is everything of one run.
type world struct {
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

	truth     *truth
	verified  map[records.Period]map[[32]byte]bool // statements whose signature was checked
	opposites map[solana.Signature]bool            // second statements of those who contradict themselves
	trace     hash.Hash
	result    *Result
	err       error
}

// epoch is when every run begins: some period of 2027.
var epoch = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

func newWorld(o Options) (*world, error) {
	secs := int64(o.Period / time.Second)
	start := time.Unix((epoch.Unix()/secs+1)*secs, 0)
	w := &world{
		o: o, start: start, first: records.Period(start.Unix() / secs), loop: vtime.NewLoop(start.Add(-time.Second)), sizes: newSizes(),
		byWallet: map[solana.PublicKey]*keeper{}, byKey: map[solana.PublicKey]*machine{}, byNode: map[solana.PublicKey]*machine{},
		verified: map[records.Period]map[[32]byte]bool{}, opposites: map[solana.Signature]bool{}, trace: sha256.New(), result: newResult(o),
	}
	w.net = newNetwork(w.loop, newDice(o.Seed, "net"), o.Loss, o.Keepers, o.Nodes)
	w.net.note = func(from, to place, bytes int) { w.tell('m', uint64(from), uint64(to), uint64(bytes)) }
	w.truth = newTruth(w)
	w.buildChain()
	if err := w.buildKeepers(); err != nil {
		return nil, err
	}
	w.buildMachines()
	w.plan = newPlan(w)
	w.net.cut = w.plan.cut
	w.orders = newOrders(w)
	return w, nil
}

func (w *world) secs() uint32 { return uint32(w.o.Period / time.Second) }

// period is the one that contains a moment.
func (w *world) period(t time.Time) records.Period { return records.Period(t.Unix() / int64(w.secs())) }

// begins is when a period does.
func (w *world) begins(p records.Period) time.Time { return time.Unix(int64(p)*int64(w.secs()), 0) }

// tell adds to the trace.
func (w *world) tell(what byte, numbers ...uint64) {
	b := append(make([]byte, 0, 64), what)
	b = binary.LittleEndian.AppendUint64(b, uint64(w.loop.Now().UnixNano()))
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	w.trace.Write(b)
}

// fail ends the run: something happened that no option explains.
func (w *world) fail(err error) {
	if w.err == nil {
		w.err = fmt.Errorf("%s: %w", w.loop.Now().Format(time.RFC3339Nano), err)
	}
}

func (w *world) buildChain() {
	secs := w.secs()
	m := &market.Market{Meta: market.Meta{Address: market.MarketAddress()}}
	m.Domain = domain
	m.Params = bindings.Params{
		MinBond: bond, WeightCap: bond, StakePrice: 1_000_000, PeriodSecs: secs, AppealSecs: secs, ChallengeSecs: secs,
		AwardDeadlineSecs: 2 * secs, StartDeadlineSecs: secs, MigrationGraceSecs: secs / 6, NoticeSecs: secs,
		ReportRetentionSecs: retentionPeriods * secs, SettleDeadlinePeriods: 4, KeeperExitSecs: 2 * secs,
		FeeBps: 1_200, QuorumBps: 6_667, FinderBps: 1_000, SlashFraudBps: 10_000, SlashBadWorkBps: 5_000,
		SlashWorkFailedBps: 1_000, SlashOfflineBps: 500, SlashEquivocationBps: 10_000,
	}
	w.chain = chain.New(m)
	w.chain.Now = func() int64 { return w.loop.Now().Unix() }
	w.chain.Changed = func(key solana.PublicKey, account any) { w.block = append(w.block, change{key, account}) }
	w.chain.Happened = w.happened
	model := &market.Model{Meta: market.Meta{Address: market.ModelAddress(modelID)}}
	model.Id, model.Name, model.VramMib, model.TflopsX10 = modelID, market.Text32(modelName), vramMiB, 3_120
	model.MinStake, model.WorkSize, model.WorkBoundMs = stake, workOrder, uint32(workBound/time.Millisecond)
	w.chain.Put(model.Address, model)
}

const (
	bond  = 1_000_000_000_000
	stake = 100_000_000_000
)

func (w *world) buildKeepers() error {
	for i := range w.o.Keepers {
		signer, err := records.NewSigner(key(w.o.Seed, fmt.Sprintf("keeper/%d", i)))
		if err != nil {
			return err
		}
		k := &keeper{
			w: w, place: place(i), key: signer, dice: newDice(w.o.Seed, fmt.Sprintf("keeper/%d", i)),
			book: newBook(0),
		}
		k.lag = k.dice.between(200*time.Millisecond, 1200*time.Millisecond)
		k.skew = k.dice.between(-300*time.Millisecond, 300*time.Millisecond)
		w.keepers = append(w.keepers, k)
		w.byWallet[k.wallet()] = k
		a := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(k.wallet())}}
		a.Wallet, a.Bond, a.Weight, a.Keeper.Status, a.Index = k.wallet(), bond, bond, uint8(market.KeeperActive), uint16(i)
		w.chain.Put(a.Address, a)
	}
	return nil
}

func (w *world) buildMachines() {
	d := newDice(w.o.Seed, "machines")
	f := Faultless(w.o.Keepers)
	for i := range w.o.Nodes {
		name := fmt.Sprintf("node/%d", i)
		m := &machine{
			place: place(w.o.Keepers + i), key: key(w.o.Seed, name), dice: newDice(w.o.Seed, name), conduct: steady,
			deaf: map[place]bool{}, leases: map[solana.PublicKey]leaseTruth{},
		}
		roll := d.IntN(100)
		for _, c := range conducts {
			if roll -= c.percent; roll < 0 {
				m.conduct = c.conduct
				break
			}
		}
		m.from = w.start.Add(d.between(0, time.Duration(w.o.Periods)*w.o.Period*3/4))
		if m.conduct == choosy {
			for _, k := range d.some(f, w.o.Keepers) {
				m.deaf[place(k)] = true
			}
		}
		wallet := key(w.o.Seed, "provider/"+name).PublicKey()
		p := &market.Provider{Meta: market.Meta{Address: market.ProviderAddress(wallet)}}
		p.Wallet, p.Payout, p.Stake, p.LockedStake, p.NodeCount = wallet, wallet, 2*stake, stake, 1
		w.chain.Put(p.Address, p)
		n := &market.Node{Meta: market.Meta{Address: market.NodeAddress(p.Address, m.key.PublicKey())}}
		n.Node.Provider, n.NodeKey, n.Spec, n.RequiredStake = p.Address, m.key.PublicKey(), m.spec(), stake
		n.Price, n.UptimeBps, n.Tier, n.Node.Status = uint64(1_000_000+d.IntN(500_000)), 9_000, 1, uint8(market.NodeActive)
		n.RegisteredAt = w.start.Unix() - 86_400
		n.AvailableSince, n.AskSince, n.RecordSince = n.RegisteredAt, n.RegisteredAt, n.RegisteredAt
		n.LastReportPeriod, n.ReportWindow = uint64(w.first)-1, ^uint32(0)
		w.chain.Put(n.Address, n)
		m.account = n.Address
		for g := range gpusPerNode {
			id := sha256.Sum256(fmt.Appendf(nil, "%s/gpu/%d", name, g))
			m.devices = append(m.devices, id)
			w.chain.Put(solana.PublicKey(id), &market.Device{Node: n.Address, Identity: id, Tier: 1})
		}
		w.machines = append(w.machines, m)
		w.byKey[n.NodeKey], w.byNode[n.Address] = m, m
		w.live(m)
	}
}

// live lets a machine come and go as it does.
func (w *world) live(m *machine) {
	switch m.conduct {
	case vanishing:
		w.loop.At(m.from, func() { m.leave(w.loop.Now()) })
	case flaky:
		var leave func()
		leave = func() {
			m.leave(w.loop.Now())
			w.loop.After(w.o.Period/10+m.dice.exponential(w.o.Period*3/2), func() {
				m.comeBack(w.loop.Now())
				w.loop.After(w.o.Period/2+m.dice.exponential(5*w.o.Period), leave)
			})
		}
		w.loop.At(w.start.Add(m.dice.exponential(4*w.o.Period)), leave)
	}
}

// transaction is what waits for the end of the slot.
type transaction struct {
	signer solana.PublicKey
	ixs    []solana.Instruction
	done   func(error)
}

// enqueue hands a transaction to the chain; done hears of its outcome at the end of the slot.
func (w *world) enqueue(signer solana.PublicKey, ixs []solana.Instruction, done func(error)) {
	w.pending = append(w.pending, transaction{signer, ixs, done})
	w.endSlot()
}

// endSlot schedules the end of the running slot, once.
func (w *world) endSlot() {
	if w.blocked {
		return
	}
	w.blocked = true
	end := w.loop.Now().Truncate(slot).Add(slot)
	w.loop.At(end, func() {
		w.blocked = false
		batch := w.pending
		w.pending = nil
		for _, t := range batch {
			err := w.chain.Execute(t.signer, t.ixs)
			w.tell('t', uint64(len(t.ixs)), uint64(boolInt(err == nil)))
			w.result.Transactions++
			t.done(err)
		}
		w.publishBlock()
	})
}

// publishBlock lets everybody see what the block has changed.
func (w *world) publishBlock() {
	block := w.block
	w.block = nil
	if len(block) == 0 {
		return
	}
	for _, c := range block {
		w.tell('c', binary.LittleEndian.Uint64(c.key[:]))
	}
	for _, k := range w.keepers {
		k.see(block)
	}
	w.orders.see(block)
}

// signed hears of every statement that a keeper signs.
func (w *world) signed(k *keeper, s statement.Signed) {
	p := s.Statement.Period
	if w.verified[p] == nil {
		w.verified[p] = map[[32]byte]bool{}
		delete(w.verified, p-retentionPeriods-2)
	}
	w.verified[p][digest(s)] = true
	w.result.Statements++
	w.tell('s', uint64(k.place), uint64(s.Statement.Kind), uint64(boolInt(s.Statement.Passed)), binary.LittleEndian.Uint64(s.Statement.Node[:]))
	w.truth.signed(k, s.Statement)
}

func digest(s statement.Signed) [32]byte {
	enc := s.Statement.Encode()
	return sha256.Sum256(append(append(s.Keeper[:], enc[:]...), s.Signature[:]...))
}

// genuine reports whether a statement's signature is its keeper's. Each is verified once for all keepers: those that a
// keeper of this world made were by making them.
func (w *world) genuine(s statement.Signed) bool {
	if w.verified[s.Statement.Period][digest(s)] {
		return true
	}
	return s.Verify(domain) == nil
}

func (w *world) allFinal() bool {
	for i := range w.o.Periods {
		if _, ok := w.truth.final[w.first+records.Period(i)]; !ok {
			return false
		}
	}
	return true
}

// run lets the market live for all its periods, and as long again as its last reports may take.
func (w *world) run(ctx context.Context) error {
	for _, k := range w.keepers {
		if err := k.start(); err != nil {
			return err
		}
	}
	w.orders.begin()
	w.plan.begin()
	end := w.begins(w.first + records.Period(w.o.Periods))
	if w.plan.splitAt.to.After(end) {
		end = w.begins(w.period(w.plan.splitAt.to) + 1)
	}
	n := 0
	stop := func() bool {
		n++
		return w.err != nil || n%4096 == 0 && ctx.Err() != nil
	}
	w.loop.Run(end, stop)
	w.orders.over = true
	for i := range time.Duration(drain) {
		w.loop.Run(end.Add((i+1)*w.o.Period), stop)
		if i >= settle && w.allFinal() {
			break
		}
	}
	for _, k := range w.keepers {
		k.crash()
	}
	return errors.Join(w.err, ctx.Err())
}
