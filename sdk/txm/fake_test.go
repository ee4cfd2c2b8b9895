package txm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txform"
)

// fakeChain is a cluster in memory: blocks, expiring blockhashes, a pool of transactions that land late or never, and a
// count of effects. The data of an intent's first instruction names its effect; "fail:N" fails with custom code N,
// "late:N" fails only in a block, "burn" runs out of compute under 20,000.
type fakeChain struct {
	left []*chain.AccountAfter // what simulations show

	mu       sync.Mutex
	height   uint64
	hashes   map[solana.Hash]uint64 // last valid height
	landed   map[solana.Signature]fakeLanded
	pool     []fakeTx
	effects  map[string]int
	validFor uint64

	drop      func(sends int) bool // whether a send is lost
	delay     func() uint64        // blocks until a send lands
	sends     int
	sims      int
	inCalls   int
	maxCalls  int
	forget    bool // the node has lost its memory of signatures
	uncertain bool // and keeps no ledger
	sendErr   error
	stale     int   // sends to refuse with BlockhashNotFound
	one       bool  // version 1 is active
	oneErr    error // or cannot be asked for
	fork      func(height uint64) forked
	forks     int // transactions that a fork took back
	latency   time.Duration
}

type fakeTx struct {
	tx *solana.Transaction
	at uint64
}

// forked is what becomes of the newest block and of its transactions.
type forked struct {
	off  bool // another block takes its place
	lost bool // its transactions are not known to the other fork
	late uint64
}

type fakeLanded struct {
	tx     *solana.Transaction
	height uint64
	err    json.RawMessage
	units  uint64
}

func newFakeChain() *fakeChain {
	return &fakeChain{
		height: 100, hashes: map[solana.Hash]uint64{}, landed: map[solana.Signature]fakeLanded{},
		effects: map[string]int{}, validFor: 12,
	}
}

// step makes one block.
func (c *fakeChain) step() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeBack()
	c.height++
	var rest []fakeTx
	for _, p := range c.pool {
		switch {
		case p.at > c.height:
			rest = append(rest, p)
		case c.hashes[p.tx.Message.RecentBlockhash] >= c.height:
			c.land(p.tx)
		}
	}
	c.pool = rest
}

func (c *fakeChain) setFork(f func(height uint64) forked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fork = f
}

// takeBack drops the newest block when the fork that it is on loses. What nobody voted for can only be a processed one.
func (c *fakeChain) takeBack() {
	if c.fork == nil {
		return
	}
	f := c.fork(c.height)
	if !f.off {
		return
	}
	for sig, l := range c.landed {
		if l.height != c.height {
			continue
		}
		delete(c.landed, sig)
		c.forks++
		if l.err == nil {
			c.effects[string(l.tx.Message.Instructions[0].Data)]--
		}
		if !f.lost {
			c.pool = append(c.pool, fakeTx{l.tx, c.height + 1 + f.late})
		}
	}
}

func (c *fakeChain) land(tx *solana.Transaction) {
	sig := tx.Signatures[0]
	if _, twice := c.landed[sig]; twice {
		return // as a real cluster: one signature, one effect
	}
	name := string(tx.Message.Instructions[0].Data)
	l := fakeLanded{tx: tx, height: c.height, units: 450}
	if code, ok := strings.CutPrefix(name, "late:"); ok {
		l.err = json.RawMessage(`{"InstructionError":[0,{"Custom":` + code + `}]}`)
	} else if name == "burn" && unitLimitOf(tx) < 20_000 {
		l.err = json.RawMessage(`{"InstructionError":[0,"ComputationalBudgetExceeded"]}`)
	} else {
		c.effects[name]++
	}
	c.landed[sig] = l
}

func unitLimitOf(tx *solana.Transaction) uint32 {
	if limit := tx.Message.TransactionConfig.ComputeUnitLimit; limit != nil {
		return *limit
	}
	for _, ix := range tx.Message.Instructions {
		if len(ix.Data) == 5 && ix.Data[0] == 2 {
			return uint32(ix.Data[1]) | uint32(ix.Data[2])<<8 | uint32(ix.Data[3])<<16
		}
	}
	return 0
}

// run makes blocks until ctx ends.
func (c *fakeChain) run(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			c.step()
		}
	}
}

func (c *fakeChain) enter() func() {
	c.mu.Lock()
	c.inCalls++
	c.maxCalls = max(c.maxCalls, c.inCalls)
	lat := c.latency
	c.mu.Unlock()
	if lat > 0 {
		time.Sleep(lat)
	}
	c.mu.Lock()
	return func() { c.inCalls--; c.mu.Unlock() }
}

// most is how many calls there were at the same time so far.
func (c *fakeChain) most() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.maxCalls
}

func (c *fakeChain) Local() bool { return true }

func (c *fakeChain) FeatureActive(_ context.Context, gate solana.PublicKey) (bool, error) {
	defer c.enter()()
	return c.one && gate == txform.Gate, c.oneErr
}

func (c *fakeChain) LatestBlockhash(context.Context, chain.Commitment) (chain.Blockhash, error) {
	defer c.enter()()
	var h solana.Hash
	copy(h[:], fmt.Sprintf("block %026d", c.height))
	last := c.height + c.validFor
	c.hashes[h] = last
	return chain.Blockhash{Hash: h, LastValidBlockHeight: last, Slot: c.height}, nil
}

func (c *fakeChain) Simulate(_ context.Context, tx *solana.Transaction, _ chain.SimulateOptions) (chain.Simulation, error) {
	defer c.enter()()
	c.sims++
	name := string(tx.Message.Instructions[0].Data)
	if code, ok := strings.CutPrefix(name, "fail:"); ok {
		return chain.Simulation{
			Err:  json.RawMessage(`{"InstructionError":[0,{"Custom":` + code + `}]}`),
			Logs: []string{"Program log: AnchorError occurred. Error Code: X. Error Number: " + code + ". Error Message: it is forbidden."},
		}, nil
	}
	if name == "poor" {
		return chain.Simulation{Err: json.RawMessage(`"AccountNotFound"`)}, nil
	}
	return chain.Simulation{Units: 450, Logs: []string{"ok"}, Accounts: c.left}, nil
}

func (c *fakeChain) Send(_ context.Context, raw []byte, _ chain.SendOptions) error {
	defer c.enter()()
	tx, err := solana.TransactionFromBytes(raw)
	if err != nil {
		return err
	}
	if limit := chain.MaxTransactionBytes(tx.Message.GetVersion()); len(raw) > limit || !c.one && tx.Message.IsVersioned() {
		return &chain.RPCError{Method: "sendTransaction", Code: chain.CodeInvalidParams, Message: "no cluster takes it"}
	}
	if err := tx.VerifySignatures(); err != nil {
		return &chain.RPCError{Method: "sendTransaction", Code: chain.CodeBadSignature, Message: err.Error()}
	}
	c.sends++
	if c.stale > 0 {
		c.stale--
		return &chain.RPCError{Code: chain.CodeSimulationFailed, Message: "stale", Data: json.RawMessage(`{"err":"BlockhashNotFound"}`)}
	}
	if c.drop != nil && c.drop(c.sends) {
		return c.sendErr
	}
	at := c.height + 1
	if c.delay != nil {
		at += c.delay()
	}
	c.pool = append(c.pool, fakeTx{tx, at})
	return c.sendErr
}

func (c *fakeChain) status(sig solana.Signature) chain.SignatureStatus {
	l, ok := c.landed[sig]
	if !ok || c.forget {
		return chain.SignatureStatus{}
	}
	st := chain.SignatureStatus{Found: true, Slot: l.height, Err: l.err, Commitment: chain.Processed}
	switch depth := c.height - l.height; {
	case depth >= 4:
		st.Commitment = chain.Finalized
	case depth >= 1:
		st.Commitment = chain.Confirmed
	}
	return st
}

func (c *fakeChain) Statuses(_ context.Context, sigs []solana.Signature, _ bool) ([]chain.SignatureStatus, error) {
	defer c.enter()()
	out := make([]chain.SignatureStatus, len(sigs))
	for i, s := range sigs {
		out[i] = c.status(s)
	}
	return out, nil
}

func (c *fakeChain) Fate(_ context.Context, sig solana.Signature, lastValid, _ uint64) (chain.Fate, chain.SignatureStatus, error) {
	defer c.enter()()
	st := c.status(sig)
	switch {
	case st.Found:
		return chain.FateLanded, st, nil
	case c.height < lastValid+5: // the finalised height lags by four
		return chain.FateOpen, st, nil
	case c.uncertain || c.forget:
		return chain.FateUncertain, st, nil
	}
	return chain.FateDead, st, nil
}

func (c *fakeChain) PriorityFees(context.Context, []solana.PublicKey) ([]chain.MicroLamports, error) {
	defer c.enter()()
	return []chain.MicroLamports{0, 10, 500_000, 20}, nil
}

func (c *fakeChain) Transaction(_ context.Context, sig solana.Signature, _ chain.Commitment) (chain.Landed, error) {
	defer c.enter()()
	l, ok := c.landed[sig]
	if !ok {
		return chain.Landed{}, chain.ErrNotFound
	}
	return chain.Landed{Signature: sig, Slot: l.height, Err: l.err, Units: l.units, Fee: 5000, Logs: []string{"log of a block"}}, nil
}

func (c *fakeChain) effect(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.effects[name]
}

// errKilled is what everything answers after a process was killed.
var errKilled = errors.New("killed")

// mortal is an RPC that dies with its process: at a given call, before or after it took effect.
type mortal struct {
	*fakeChain
	mu     sync.Mutex
	calls  int
	at     int  // die at this call; 0 for never
	after  bool // after the call took effect
	dead   bool
	onDead func()
}

func (m *mortal) gate(f func() error) error {
	m.mu.Lock()
	m.calls++
	if m.dead {
		m.mu.Unlock()
		return errKilled
	}
	die := m.calls == m.at
	if die {
		m.dead = true
		m.onDead()
	}
	m.mu.Unlock()
	if die && !m.after {
		return errKilled
	}
	err := f()
	if die {
		return errKilled
	}
	return err
}

func (m *mortal) LatestBlockhash(ctx context.Context, at chain.Commitment) (h chain.Blockhash, err error) {
	err = m.gate(func() (err error) { h, err = m.fakeChain.LatestBlockhash(ctx, at); return err })
	return h, err
}

func (m *mortal) Simulate(ctx context.Context, tx *solana.Transaction, o chain.SimulateOptions) (s chain.Simulation, err error) {
	err = m.gate(func() (err error) { s, err = m.fakeChain.Simulate(ctx, tx, o); return err })
	return s, err
}

func (m *mortal) Send(ctx context.Context, raw []byte, o chain.SendOptions) error {
	return m.gate(func() error { return m.fakeChain.Send(ctx, raw, o) })
}

func (m *mortal) Statuses(ctx context.Context, sigs []solana.Signature, search bool) (s []chain.SignatureStatus, err error) {
	err = m.gate(func() (err error) { s, err = m.fakeChain.Statuses(ctx, sigs, search); return err })
	return s, err
}

func (m *mortal) Fate(ctx context.Context, sig solana.Signature, last, since uint64) (f chain.Fate, s chain.SignatureStatus, err error) {
	err = m.gate(func() (err error) { f, s, err = m.fakeChain.Fate(ctx, sig, last, since); return err })
	return f, s, err
}
