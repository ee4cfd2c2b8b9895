package demo

import (
	"context"
	"fmt"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
)

// gantry runs the client and notes when it did not succeed.
func (d *demo) gantry(ctx context.Context, wallet seed.Wallet, args ...string) (network.Output, error) {
	out, err := d.net.Gantry(ctx, wallet, args...)
	if err != nil {
		return out, err
	}
	if err := out.Err(); err != nil {
		return out, fmt.Errorf("%s: %w", wallet.Name, err)
	}
	return out, nil
}

// deployment is what a customer asks for.
type deployment struct {
	gpu, region, maxPrice, duration string
	// attached stays until the job has ended and signs receipts meanwhile; else reports settle the lease.
	attached bool
	// sealed lets nodes bid, in windows of the shortest length.
	sealed bool
	// script is what a shell on the node runs.
	script string
}

func (o deployment) args() []string {
	args := []string{
		"deploy", "--gpu", o.gpu, "--count", "1", "--region", o.region, "--max-price", o.maxPrice,
		"--duration", o.duration, "--allow-simulated",
	}
	if o.sealed {
		args = append(args, "--sealed", "--auction-secs", "5", "--reveal-secs", "5")
	}
	if o.attached {
		args = append(args, "--run-to-completion")
	} else {
		args = append(args, "--detach")
	}
	return append(args, "--", "sh", "-c", o.script)
}
