package daemon

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txm"
)

// fakeChain holds the market in memory and executes report_vote and report_apply as the program does. Every keeper's
// index is its watcher.
type fakeChain struct {
	mu       sync.Mutex
	accounts map[solana.PublicKey]any
	indexes  map[*view.View]bool
	market   *market.Market
	applied  map[string]int // leaves, by period, node and lease
	votes    map[uint64]map[solana.PublicKey]records.Hash
	expelled []solana.PublicKey
}

func newFakeChain(secs uint32) *fakeChain {
	c := &fakeChain{
		accounts: map[solana.PublicKey]any{}, indexes: map[*view.View]bool{}, applied: map[string]int{},
		votes: map[uint64]map[solana.PublicKey]records.Hash{},
	}
	m := &market.Market{Meta: market.Meta{Address: market.MarketAddress()}}
	m.Params = bindings.Params{
		PeriodSecs: secs, ReportRetentionSecs: 20 * secs, QuorumBps: 6667, AwardDeadlineSecs: 20, StartDeadlineSecs: 15,
		MigrationGraceSecs: 1, AppealSecs: 5, SettleDeadlinePeriods: 2,
	}
	m.Domain = [8]byte{1, 2, 3}
	c.market = m
	c.put(m.Address, m)
	return c
}

// put changes an account for everybody. Callers hold mu or are alone.
func (c *fakeChain) put(key solana.PublicKey, value any) {
	c.accounts[key] = value
	for x := range c.indexes {
		x.Put(key, value)
	}
}

// follow gives an index the state and everything that comes.
func (c *fakeChain) follow(x *view.View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, value := range c.accounts {
		x.Put(key, value)
	}
	c.indexes[x] = true
}

func (c *fakeChain) addKeeper(wallet solana.PublicKey, addr string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &market.Keeper{Meta: market.Meta{Address: market.KeeperAddress(wallet)}}
	k.Wallet, k.Bond, k.Weight = wallet, 1000, 1000
	k.Keeper.Status, k.Index = uint8(market.KeeperActive), uint16(len(c.keepers()))
	copy(k.Multiaddr[:], addr)
	k.MultiaddrLen = uint8(len(addr))
	c.put(k.Address, k)
}

// addRetired adds a node that has left.
func (c *fakeChain) addRetired(address solana.PublicKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &market.Node{Meta: market.Meta{Address: address}}
	n.Node.Status = uint8(market.NodeRetired)
	c.put(address, n)
}

func (c *fakeChain) keepers() []*market.Keeper {
	var out []*market.Keeper
	for _, a := range c.accounts {
		if k, ok := a.(*market.Keeper); ok {
			out = append(out, k)
		}
	}
	return out
}

// submit executes an intent: all of its instructions or none.
func (c *fakeChain) submit(ctx context.Context, in txm.Intent) (txm.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return txm.Result{}, err
	}
	for i, ix := range in.Instructions {
		if err := c.execute(ix); err != nil {
			var code bindings.ErrorCode
			if errors.As(err, &code) {
				err = &txerr.ProgramError{InstructionIndex: i, Program: market.ProgramID, Code: uint32(code), HasCode: true, Name: "Custom"}
			}
			return txm.Result{}, err
		}
	}
	return txm.Result{ID: in.ID, State: txm.StateConfirmed}, nil
}

func (c *fakeChain) execute(ix solana.Instruction) error {
	if ix.ProgramID() != market.ProgramID {
		return nil // signatures and token accounts, which every builder checks
	}
	data, err := ix.Data()
	if err != nil {
		return err
	}
	accounts := ix.Accounts()
	switch disc, body := [8]byte(data[:8]), data[8:]; disc {
	case bindings.Instruction_ReportVote:
		return c.vote(binary.LittleEndian.Uint64(body), records.Hash(body[8:40]), accounts[0].PublicKey)
	case bindings.Instruction_ReportApply:
		return c.apply(body)
	case bindings.Instruction_ProveEquivocation:
		return c.expel(accounts[2].PublicKey)
	default:
		return fmt.Errorf("the chain in memory does not know instruction %x", disc)
	}
}

func (c *fakeChain) vote(period uint64, root records.Hash, wallet solana.PublicKey) error {
	now := time.Now().Unix()
	p := c.market.Params
	k, ok := c.accounts[market.KeeperAddress(wallet)].(*market.Keeper)
	if !ok {
		return bindings.ErrorCodeUnauthorised
	}
	if now < int64(period+1)*int64(p.PeriodSecs) {
		return bindings.ErrorCodePeriodNotEnded
	}
	r := &market.Report{Meta: market.Meta{Address: market.ReportAddress(period)}}
	if old, ok := c.accounts[r.Address].(*market.Report); ok {
		copied := *old
		r = &copied
	} else {
		r.Period, r.CreatedAt, r.Report.Status = period, now, uint8(market.ReportOpen)
		for _, k := range c.keepers() {
			r.TotalWeight += k.Weight
		}
	}
	if c.votes[period] == nil {
		c.votes[period] = map[solana.PublicKey]records.Hash{}
	}
	at, bit := r.Find(root), uint8(1)<<(k.Index%8)
	if old, voted := c.votes[period][wallet]; voted {
		from := r.Find(old)
		switch {
		case old == root:
			return nil
		case r.State() == market.ReportFinal:
			return bindings.ErrorCodeAlreadyVoted
		case at < 0 || r.Candidates[at].Weight+k.Weight <= r.Candidates[from].Weight:
			return bindings.ErrorCodeVoteNotHeavier
		}
		r.Candidates[from].Weight -= k.Weight
		r.Candidates[from].Voters[k.Index/8] &^= bit
	}
	c.votes[period][wallet] = root
	if at < 0 {
		at = int(r.CandidateCount)
		r.CandidateCount++
		r.Candidates[at].Root, r.Candidates[at].Proposer = root, wallet
	}
	r.Candidates[at].Weight += k.Weight
	r.Candidates[at].Voters[k.Index/8] |= bit
	r.Voters[k.Index/8] |= bit
	if r.State() != market.ReportFinal && r.Candidates[at].Weight*market.BPS >= r.TotalWeight*uint64(p.QuorumBps) {
		r.Root, r.Proposer, r.FinalisedAt = root, r.Candidates[at].Proposer, now
		r.Report.Status = uint8(market.ReportFinal)
	}
	c.put(r.Address, r)
	return nil
}

// expel is prove_equivocation: both statements were verified by their builder.
func (c *fakeChain) expel(keeper solana.PublicKey) error {
	k, ok := c.accounts[keeper].(*market.Keeper)
	if !ok || k.State() == market.KeeperSlashed {
		return bindings.ErrorCodeWrongKeeperStatus
	}
	gone := *k
	gone.Keeper.Status, gone.Bond = uint8(market.KeeperSlashed), 0
	gone.FormerWeight, gone.Weight, gone.WeightSince = k.Weight, 0, time.Now().Unix()
	c.put(keeper, &gone)
	c.expelled = append(c.expelled, gone.Wallet)
	return nil
}

func (c *fakeChain) apply(body []byte) error {
	raw := body[:records.LeafSize]
	path := binary.LittleEndian.Uint32(body[records.LeafSize:])
	n := int(binary.LittleEndian.Uint32(body[records.LeafSize+4:]))
	var siblings []records.Hash
	for i := range n {
		siblings = append(siblings, records.Hash(body[records.LeafSize+8+32*i:]))
	}
	leaf, err := records.DecodeLeaf(raw)
	if err != nil {
		return bindings.ErrorCodeInvalidLeaf
	}
	r, ok := c.accounts[market.ReportAddress(uint64(leaf.Period))].(*market.Report)
	if !ok || r.State() != market.ReportFinal {
		return bindings.ErrorCodeReportNotFinal
	}
	if records.RootOf(records.LeafHash(raw), path, siblings) != records.Hash(r.Root) {
		return bindings.ErrorCodeInvalidProof
	}
	node, ok := c.accounts[leaf.Node].(*market.Node)
	if !ok {
		return bindings.ErrorCodeInvalidLeaf
	}
	done := true
	if uint64(leaf.Period) > node.LastReportPeriod {
		copied := *node
		copied.LastReportPeriod = uint64(leaf.Period)
		c.put(leaf.Node, &copied)
		done = false
	}
	if l, ok := c.accounts[leaf.Lease].(*market.Lease); ok && uint64(leaf.Period) > l.LastReportPeriod {
		copied := *l
		copied.LastReportPeriod = uint64(leaf.Period)
		copied.VerifiedSecs += leaf.VerifiedSeconds
		c.put(leaf.Lease, &copied)
		done = false
	}
	if done {
		return bindings.ErrorCodeAlreadyApplied
	}
	c.applied[fmt.Sprintf("%d/%s/%s", leaf.Period, leaf.Node, leaf.Lease)]++
	return nil
}

// final lists the roots of final reports.
func (c *fakeChain) final() map[uint64]records.Hash {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[uint64]records.Hash{}
	for _, a := range c.accounts {
		if r, ok := a.(*market.Report); ok && r.State() == market.ReportFinal {
			out[r.Period] = r.Root
		}
	}
	return out
}

// voted returns a copy of who voted for what.
func (c *fakeChain) voted(period uint64) map[solana.PublicKey]records.Hash {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[solana.PublicKey]records.Hash{}
	for k, v := range c.votes[period] {
		out[k] = v
	}
	return out
}

func newWallet(t testing.TB) solana.PrivateKey {
	k, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return k
}

// identity is a GPU's identity on chain.
func identity(n byte) [32]byte { return [32]byte(bytes.Repeat([]byte{n}, 32)) }

// damage turns over bits in the middle of a file's first records.
func damage(t *testing.T, path string) {
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(raw, []byte("GANTRYS1"))
	require.Positive(t, at)
	for at >= 0 {
		raw[at+57] ^= 1 // passed becomes failed, in every copy that the file holds
		next := bytes.Index(raw[at+8:], []byte("GANTRYS1"))
		if next < 0 {
			break
		}
		at += 8 + next
	}
	require.NoError(t, os.WriteFile(path, raw, 0o600))
}
