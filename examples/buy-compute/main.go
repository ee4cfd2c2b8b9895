// Command buy-compute buys compute with the SDK: it deposits credits, orders a node, hands it a job, prints the job's
// output and stops the lease.
//
//	buy-compute [--config FILE] [--gpu MODEL] [--max-price USDC] [--seconds N] -- COMMAND...
//
// It is `gantry deploy` without receipts, moves and most of the error handling: the keepers' reports pay the node
// instead. Simulated GPUs are accepted, since this is meant for a local network.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
)

func main() {
	config := flag.String("config", "", "Solana configuration `FILE`, with the customer's keypair")
	gpu := flag.String("gpu", "A100", "GPU `MODEL`, or how its name begins")
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
	maxPrice, err := market.ParsePrice(price)
	if err != nil {
		return err
	}
	b, err := connect(ctx, config)
	if err != nil {
		return err
	}
	defer b.close()

	// The job. Its digest goes into the order, so that the node can run nothing else; the salt keeps others from guessing it.
	job := messages.JobSpec{Version: messages.Version, Command: command, Salt: []byte(rand.Text())}
	digest, err := job.Digest()
	if err != nil {
		return err
	}
	order := ix.OrderCreateArgs{
		Customer: b.wallet, Nonce: uint64(time.Now().UnixNano()), MaxPrice: maxPrice, Duration: seconds, Nodes: 1, GPUsPerNode: 1,
		NoMigration: true, JobDigest: digest, Requirement: market.Requirement{AllowSimulated: 1},
	}
	for _, m := range b.view.Models() {
		if strings.HasPrefix(m.ModelName(), gpu) { // such as A100-SXM4-40GB
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
	deposit, err := ix.CreditsDeposit(ix.CreditsArgs{Customer: b.wallet, PaymentMint: b.market.PaymentMint, Amount: cost})
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
	lease, err := b.awarded(ctx, market.OrderAddress(b.wallet, order.Nonce))
	if err != nil {
		return err
	}
	fmt.Printf("awarded: lease %s at %s USDC per GPU-hour\n", lease.Address, market.PricePerHour(lease.Price))

	// 3. Hand the job to the node and print its output. Then stop, also when that failed: what was not used comes back.
	failed := b.run(ctx, lease, job)
	end, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: b.wallet, Lease: lease})
	if err == nil {
		err = b.send(ctx, "end", end)
	}
	if err == nil {
		fmt.Println("stopped: the rest of the reservation is free again")
	}
	return errors.Join(failed, err)
}
