package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/txm"
)

// buyer is a customer's connection to the chain and to a live copy of the market.
type buyer struct {
	client *chain.Client
	market market.Market
	view   *view.View
	key    solana.PrivateKey
	wallet solana.PublicKey
	close  func()
}

// connect reads the settings, the key and the market, and follows the market until close is called.
func connect(ctx context.Context, config string) (*buyer, error) {
	settings, err := chain.LoadCLIConfig(config)
	if err != nil {
		return nil, err
	}
	b := &buyer{view: view.New(view.Options{})}
	if b.key, err = chain.LoadKeypair(settings.KeypairPath); err != nil {
		return nil, err
	}
	b.wallet = b.key.PublicKey()
	b.client, err = chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: settings.RPCURL, WS: settings.WebsocketURL}}})
	if err != nil {
		return nil, err
	}
	// Load makes sure that the program is there and that this version understands its accounts.
	if b.market, err = query.Load(ctx, b.client, chain.Confirmed); err != nil {
		b.client.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	following := make(chan error, 1)
	go func() { following <- b.view.Run(ctx, view.Source{Client: b.client, Commitment: chain.Confirmed}) }()
	b.close = func() { cancel(); <-following; b.client.Close() }
	if err := b.view.Ready(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// send submits one transaction and waits until it is confirmed. The manager stores it first: a program that keeps the
// store can be killed and go on without sending twice. This one throws the store away.
func (b *buyer) send(ctx context.Context, kind string, instructions ...solana.Instruction) error {
	genesis, err := b.client.Genesis(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "buy-compute-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store, err := txm.OpenStore(filepath.Join(dir, "transactions.db"), genesis)
	if err != nil {
		return err
	}
	defer store.Close()
	manager, err := txm.New(txm.Options{RPC: b.client, Store: store, Keys: txm.NewKeys(b.key), Payer: b.wallet, Commitment: chain.Confirmed})
	if err != nil {
		return err
	}
	defer manager.Close()
	_, err = manager.Submit(ctx, txm.Intent{ID: kind, Kind: kind, Instructions: instructions})
	return err
}

// awarded waits for the order's lease.
func (b *buyer) awarded(ctx context.Context, order solana.PublicKey) (lease market.Lease, err error) {
	ctx, cancel := context.WithTimeout(ctx, market.Seconds(b.market.Params.AwardDeadlineSecs))
	defer cancel()
	err = b.view.WaitFor(ctx, func(v *view.View) bool {
		leases := v.LeasesOfOrder(order)
		if len(leases) == 1 {
			lease = leases[0]
		}
		return len(leases) == 1
	})
	if err != nil {
		return lease, fmt.Errorf("no keeper awarded the order in time; its money is free again after its deadline: %w", err)
	}
	return lease, nil
}

// run hands the job to the node and prints its output until the job ends.
func (b *buyer) run(ctx context.Context, lease market.Lease, job messages.JobSpec) error {
	// The customer's key is its identity in the network. Keepers, whose addresses are on chain, know where nodes are.
	network, err := p2p.New(p2p.Options{Key: b.key, UserAgent: "buy-compute"}.ForCustomer(b.client.Local()))
	if err != nil {
		return err
	}
	defer network.Close()
	network.Know(roles.Names{View: b.view})
	var keepers []solana.PublicKey
	for _, k := range b.view.Keepers() {
		if network.Remember(p2p.Peer{Key: k.Wallet, Addrs: []string{k.Addr()}}) == nil {
			keepers = append(keepers, k.Wallet)
		}
	}

	// The node may see the lease a moment later than we do: ask again until it takes the job or the start deadline is
	// over.
	start, cancel := context.WithTimeout(ctx, market.Seconds(b.market.Params.StartDeadlineSecs))
	defer cancel()
	deploy := p2p.Protocol{ID: messages.Deploy}
	request := messages.DeployRequest{Version: messages.Version, Lease: lease.Address, Job: job}
	err = retry(start, func() (done bool, err error) {
		if err := network.Find(start, lease.NodeKey, keepers); err != nil {
			return false, err
		}
		answer, err := p2p.Call[messages.DeployRequest, messages.LeaseAnswer](start, network, lease.NodeKey, deploy, request)
		if err == nil && answer.Refused != "" {
			return !answer.Unknown, fmt.Errorf("the node refuses the job: %s", answer.Refused)
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}

	// The log is a stream of chunks; Follow keeps it open until the job ends. A connection that breaks is made again.
	logs := p2p.Protocol{ID: messages.Logs, Timeout: time.Hour}
	var offset uint64
	return retry(ctx, func() (ended bool, err error) {
		request := messages.LogsRequest{Version: messages.Version, Lease: lease.Address, Offset: offset, Follow: true}
		err = p2p.CallStream(ctx, network, lease.NodeKey, logs, request, func(c messages.LogChunk) error {
			offset, ended = c.Offset+uint64(len(c.Data)), c.End
			_, err := os.Stdout.Write(c.Data)
			return err
		})
		return ended, err
	})
}

// retry calls f until it is done, and returns its last error when it is or when ctx ends.
func retry(ctx context.Context, f func() (done bool, err error)) error {
	for {
		done, err := f()
		if done {
			return err
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return err
		case <-time.After(500 * time.Millisecond):
		}
	}
}
