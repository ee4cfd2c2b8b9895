package buy_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// Buy an hour of a GPU, run a container on it, and follow it to another machine if the first one fails.
func ExampleBuyer_Buy() {
	buyAnHour := func(ctx context.Context) error {
		settings, err := chain.LoadCLIConfig("") // of the solana command
		if err != nil {
			return err
		}
		key, err := chain.LoadKeypair(settings.KeypairPath)
		if err != nil {
			return err
		}
		client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: settings.RPCURL, WS: settings.WebsocketURL}}})
		if err != nil {
			return err
		}
		defer client.Close()
		b, err := buy.New(ctx, buy.Options{
			Client: client, Key: key,
			Output: func(market.Lease, bool) io.Writer { return os.Stdout },
			OnEvent: func(e buy.Event) {
				if e, ok := e.(buy.Awarded); ok {
					fmt.Println("lease", e.Lease.Address, "costs", market.PricePerHour(e.Lease.Price), "USDC per GPU-hour")
				}
			},
		})
		if err != nil {
			return err
		}
		_, err = b.Buy(ctx, buy.Request{
			Name:  "train-1", // repeated with it, the request buys nothing twice
			GPU:   "A100",
			Image: "pytorch/pytorch:2.9.0-cuda12.8-cudnn9-runtime", Command: []string{"python", "-c", "print(1)"},
			Seconds: 3600, MaxPrice: "2.60", RunToCompletion: true, Migrate: true,
		})
		return err
	}
	_ = buyAnHour
}
