package txm

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/chain"
)

// RPC is what the manager needs of a cluster. *chain.Client implements it.
type RPC interface {
	LatestBlockhash(ctx context.Context, at chain.Commitment) (chain.Blockhash, error)
	Simulate(ctx context.Context, tx *solana.Transaction, o chain.SimulateOptions) (chain.Simulation, error)
	Send(ctx context.Context, raw []byte, o chain.SendOptions) error
	Statuses(ctx context.Context, sigs []solana.Signature, search bool) ([]chain.SignatureStatus, error)
	Fate(ctx context.Context, sig solana.Signature, lastValid, sinceSlot uint64) (chain.Fate, chain.SignatureStatus, error)
	PriorityFees(ctx context.Context, writable []solana.PublicKey) ([]chain.MicroLamports, error)
	Transaction(ctx context.Context, sig solana.Signature, at chain.Commitment) (chain.Landed, error)
	FeatureActive(ctx context.Context, gate solana.PublicKey) (bool, error)
	Local() bool
}

// Landed describes a transaction that reached a block, for tables of compute units and latencies.
type Landed struct {
	ID, Kind  string
	Signature solana.Signature
	Slot      uint64
	Units     uint64 // compute units consumed
	Limit     uint32
	Fee       chain.Lamports
	Logs      []string
	Err       error         // the program's refusal, nil on success
	Latency   time.Duration // from submission (or restart) to confirmation
}

// Options configure a Manager. RPC, Store and Keys are required.
type Options struct {
	RPC   RPC
	Store *Store
	Keys  Keyring
	Payer solana.PublicKey // default fee payer
	Log   zerolog.Logger

	Commitment     chain.Commitment // that Submit waits for, default Confirmed
	Fees           Fees             // bounds of what transactions cost; the zero value takes DefaultFees, without a floor on this machine
	FeePercentile  int              // of recent priority fees, default 75
	MinUnits       uint32           // floor of the compute limit, default 5,000
	Poll           time.Duration    // of statuses, default 20 ms on this machine, 500 ms elsewhere
	Rebroadcast    time.Duration    // until the blockhash is dead; default 400 ms on this machine, 2 s elsewhere
	ExpiryCheck    time.Duration    // how often an unseen transaction's fate is examined, default 16 polls
	BlockhashTTL   time.Duration    // how long a blockhash is shared, default 300 ms
	Retain         time.Duration    // of terminal intents, default 7 days
	OnLanded       func(Landed)     // called once per landed transaction while the process lives, from one goroutine at a time
	OnStateChanged func(Entry)      // called after a state is stored; must not block
}

// minUnits is the default of Options.MinUnits.
const minUnits = 5_000

func (o *Options) defaults() error {
	if o.RPC == nil || o.Store == nil || o.Keys == nil {
		return fmt.Errorf("%w: RPC, Store and Keys are required", ErrIntent)
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	if o.Commitment == "" {
		o.Commitment = chain.Confirmed
	}
	if o.Fees == (Fees{}) {
		o.Fees = DefaultFees()
		if o.RPC.Local() {
			o.Fees.Floor = 0 // no other sender competes for a local network's blocks
		}
	}
	if o.FeePercentile <= 0 || o.FeePercentile > 100 {
		o.FeePercentile = 75
	}
	if o.MinUnits == 0 {
		o.MinUnits = minUnits
	}
	if o.RPC.Local() {
		def(&o.Poll, 20*time.Millisecond)
	}
	def(&o.Poll, 500*time.Millisecond)
	if o.RPC.Local() {
		def(&o.Rebroadcast, max(20*o.Poll, 400*time.Millisecond))
	}
	def(&o.Rebroadcast, 2*time.Second)
	def(&o.ExpiryCheck, 16*o.Poll)
	def(&o.BlockhashTTL, 300*time.Millisecond)
	def(&o.Retain, 7*24*time.Hour)
	return nil
}
