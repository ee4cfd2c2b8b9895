// Command buy-compute buys compute with the SDK: it deposits credits, orders a node, hands it a job, prints the job's output and
// stops the lease.
//
//	buy-compute [--config FILE] [--gpu MODEL] [--max-price USDC] [--seconds N] -- COMMAND...
//
// It is `gantry deploy` without receipts, moves and most of the error handling: the keepers' reports pay the node instead.
// Simulated GPUs are accepted, since this is meant for a local network.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/query"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/txm"
)

func main() {
	config := flag.String("config", "", "Solana configuration `FILE`, with the customer's keypair")
	gpu := flag.String("gpu", "A100", "GPU `MODEL`")
	price := flag.String("max-price", "2.00", "`USDC` per GPU-hour at most")
	seconds := flag.Uint("seconds", 600, "time to reserve")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := buy(ctx, *config, *gpu, *price, uint32(*seconds), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "buy-compute:", market.Explain(err)) // adds what to do about an error of the program
		os.Exit(1)
	}
}

func buy(ctx context.Context, config, gpu, price string, seconds uint32, command []string) error {
	settings, err := chain.LoadCLIConfig(config)
	if err != nil {
		return err
	}
	customer, err := chain.LoadKeypair(settings.KeypairPath)
	if err != nil {
		return err
	}
	maxPrice, err := market.ParsePrice(price)
	if err != nil {
		return err
	}
	client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: settings.RPCURL, WS: settings.WebsocketURL}}})
	if err != nil {
		return err
	}
	defer client.Close()
	mk, err := query.Load(ctx, client, chain.Confirmed)
	if err != nil {
		return err
	}

	// The live copy of the market: orders and leases are awaited in it.
	ctx, cancel := context.WithCancel(ctx)
	following := make(chan error, 1)
	v := view.New(view.Options{})
	go func() { following <- v.Run(ctx, view.Source{Client: client, Commitment: chain.Confirmed}) }()
	defer func() { cancel(); <-following }()
	if err := v.Ready(ctx); err != nil {
		return err
	}
	b := &buyer{client: client, view: v, key: customer, wallet: customer.PublicKey()}

	// The job. Its digest goes into the order, so that the node can run nothing else.
	job := messages.JobSpec{Version: messages.Version, Command: command}
	digest, err := job.Digest()
	if err != nil {
		return err
	}
	order := ix.OrderCreateArgs{
		Customer: b.wallet, Nonce: uint64(time.Now().UnixNano()), MaxPrice: maxPrice, Duration: seconds, Nodes: 1, GPUsPerNode: 1,
		NoMigration: true, JobDigest: digest, Requirement: market.Requirement{AllowSimulated: 1},
	}
	for _, m := range v.Models() {
		if m.ModelName() == gpu {
			order.Requirement.Model = m.Id
		}
	}
	if order.Requirement.Model == 0 {
		return fmt.Errorf("the market has no GPU model %q", gpu)
	}

	// 1. Deposit what the order reserves, and place the order: two instructions, one transaction, all or nothing.
	cost, err := market.OrderCost(maxPrice, 1, seconds, 1)
	if err != nil {
		return err
	}
	deposit, err := ix.CreditsDeposit(ix.CreditsArgs{Customer: b.wallet, PaymentMint: mk.PaymentMint, Amount: cost})
	if err != nil {
		return err
	}
	create, err := ix.OrderCreate(order)
	if err != nil {
		return err
	}
	if err := b.send(ctx, "order", deposit, create); err != nil {
		return err
	}
	fmt.Printf("ordered: %s USDC reserved\n", cost)

	// 2. Wait for a keeper's award.
	lease, err := b.awarded(ctx, market.OrderAddress(b.wallet, order.Nonce), market.Seconds(mk.Params.AwardDeadlineSecs))
	if err != nil {
		return err
	}
	fmt.Printf("awarded: lease %s at %s USDC per GPU-hour\n", lease.Address, market.PricePerHour(lease.Price))

	// 3. Hand the job over and print its output. Then stop, also when that failed: what was not used comes back.
	failed := b.run(ctx, lease, job, market.Seconds(mk.Params.StartDeadlineSecs))
	end, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: b.wallet, Lease: lease})
	if err == nil {
		err = b.send(ctx, "end", end)
	}
	fmt.Println("stopped:", err == nil)
	return errors.Join(failed, err)
}

// buyer is what the steps share.
type buyer struct {
	client *chain.Client
	view   *view.View
	key    solana.PrivateKey
	wallet solana.PublicKey
}

// send submits one transaction and waits until it is confirmed. The manager stores it first: a program that keeps the store can be
// killed and go on without sending twice. This one throws the store away.
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
func (b *buyer) awarded(ctx context.Context, order solana.PublicKey, deadline time.Duration) (lease market.Lease, err error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
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

// run brings the job to the node and prints its output until the job ends.
func (b *buyer) run(ctx context.Context, lease market.Lease, job messages.JobSpec, deadline time.Duration) error {
	// The customer's key is its identity in the network; keepers know where nodes are.
	node, err := p2p.New(p2p.Config{Key: b.key, UserAgent: "buy-compute"}.ForCustomer(b.client.Local()))
	if err != nil {
		return err
	}
	defer node.Close()
	var keepers []solana.PublicKey
	for _, k := range b.view.Keepers() {
		if node.Remember(p2p.Peer{Key: k.Wallet, Addrs: []string{k.Addr()}}) == nil {
			keepers = append(keepers, k.Wallet)
		}
	}
	if err := node.Find(ctx, lease.NodeKey, keepers); err != nil {
		return err
	}

	// The node may see the lease a moment later than we do, so ask again until the start deadline.
	deploy := p2p.Protocol{ID: messages.Deploy, Version: messages.Version}
	request := messages.DeployRequest{Version: messages.Version, Lease: lease.Address, Job: job}
	for began := time.Now(); ; time.Sleep(500 * time.Millisecond) {
		answer, err := p2p.Call[messages.DeployRequest, messages.LeaseAnswer](ctx, node, lease.NodeKey, deploy, request)
		if err == nil && answer.Refused == "" {
			break
		}
		if err == nil && !answer.Unknown || time.Since(began) > deadline || ctx.Err() != nil {
			return fmt.Errorf("the node did not take the job: %s %w", answer.Refused, err)
		}
	}

	// The log is a stream of chunks; Follow keeps it open until the job ends.
	logs := p2p.Protocol{ID: messages.Logs, Version: messages.Version, Timeout: time.Hour}
	for offset, ended := uint64(0), false; !ended; time.Sleep(200 * time.Millisecond) {
		request := messages.LogsRequest{Version: messages.Version, Lease: lease.Address, Offset: offset, Follow: true}
		err := p2p.CallStream(ctx, node, lease.NodeKey, logs, request, func(c messages.LogChunk) error {
			offset, ended = c.Offset+uint64(len(c.Data)), c.End
			_, err := os.Stdout.Write(c.Data)
			return err
		})
		if err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}
