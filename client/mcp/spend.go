package mcp

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	// deployWait is how long deploy waits for its lease before it is answered that the purchase goes on: less than clients
	// wait for an answer.
	deployWait = 45 * time.Second
	// defaultExec and maxExec bound the time of a command, seconds.
	defaultExec, maxExec = 60, 600
	// MaxExecOutput is how much of each output of a command is answered, bytes: the last ones.
	MaxExecOutput = 32 << 10
	// maxWords and maxWordBytes bound a command.
	maxWords, maxWordBytes = 256, 64 << 10
)

var keyPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// ExecRequest is a command for a container.
type ExecRequest struct {
	Command []string
	User    string // empty for that of the container's program
	Seconds int    // the most that it may run
	Most    int    // bytes of each output that are kept, the last ones
}

// ExecResult is how a command ended.
type ExecResult struct {
	ExitCode      int    `json:"exitCode" jsonschema:"128 and the signal's number if a signal ended it"`
	TimedOut      bool   `json:"timedOut,omitempty" jsonschema:"it ran for longer than it may, and was hung up"`
	Stdout        string `json:"stdout"`
	Stderr        string `json:"stderr"`
	StdoutOmitted uint64 `json:"stdoutOmittedBytes,omitempty" jsonschema:"bytes before those that are shown"`
	StderrOmitted uint64 `json:"stderrOmittedBytes,omitempty" jsonschema:"bytes before those that are shown"`
}

// Money is what is spent and what is left, USDC.
type Money struct {
	Budget string `json:"budget" jsonschema:"the most that purchases of this server may reserve in all"`
	Spent  string `json:"budgetSpent"`
	Left   string `json:"budgetLeft"`
}

func (b *Budget) money() (Money, error) {
	sum, err := b.Spent()
	return Money{b.most.String(), sum.String(), (b.most - min(b.most, sum)).String()}, err
}

type deployInput struct {
	Key string `json:"idempotencyKey" jsonschema:"names the purchase: letters, digits, dots, dashes. Calling again with the same key and request never buys twice; it goes on, and answers with the same lease"`
	serve.OrderRequest
}

// Deployed is a purchase, and what is left of the budget.
type Deployed struct {
	Purchase serve.Order `json:"purchase"`
	Money    Money       `json:"spending"`
}

func (t *tools) deploy(ctx context.Context, in deployInput) (Deployed, error) {
	if err := checkKey(in.Key); err != nil {
		return Deployed{}, err
	}
	return t.buy(ctx, in.Key, in.OrderRequest)
}

func checkKey(key string) error {
	if !keyPattern.MatchString(key) {
		return service.Usage(fmt.Sprintf("%q is not an idempotencyKey", key), "choose one of up to 64 letters, digits, dots and dashes, such as train-1")
	}
	return nil
}

// buy buys within the budget.
func (t *tools) buy(ctx context.Context, key string, r serve.OrderRequest) (Deployed, error) {
	if len(r.Command) > maxWords {
		return Deployed{}, service.Usage(fmt.Sprintf("the command has %d words", len(r.Command)), fmt.Sprintf("give %d at most", maxWords))
	}
	order, err := t.o.Purchases.Buy(ctx, key, r, deployWait)
	if err != nil {
		return Deployed{}, err
	}
	money, err := t.o.Budget.money()
	return Deployed{order, money}, err
}

type leaseInput struct {
	Lease string `json:"lease" jsonschema:"address of the lease"`
}

// mine is a lease that this server has bought: a model ends and enters no others of the customer.
func (t *tools) mine(ctx context.Context, text string) (solana.PublicKey, service.Lease, error) {
	id, err := address(text)
	if err != nil {
		return id, service.Lease{}, err
	}
	l, err := t.o.Market.Lease(ctx, t.o.Customer, id)
	if err != nil {
		return id, l, err
	}
	order, err := solana.PublicKeyFromBase58(l.Order)
	if err != nil {
		return id, l, fmt.Errorf("order of lease %s: %w", text, err)
	}
	bought, err := t.o.Buyer.Bought(order)
	if err == nil && !bought {
		err = service.Refused(fmt.Sprintf("lease %s was not bought by this server", text), "it is the customer's: ask them to stop it with gantry stop, or to enter it with gantry exec")
	}
	return id, l, err
}

func (t *tools) stop(ctx context.Context, in leaseInput) (service.Lease, error) {
	id, l, err := t.mine(ctx, in.Lease)
	if err != nil || l.Status == market.LeaseEnded.String() {
		return l, err
	}
	return t.o.Buyer.Stop(ctx, id)
}

type execInput struct {
	Lease   string   `json:"lease" jsonschema:"address of the lease; it must be of an image"`
	Command []string `json:"command" jsonschema:"program and arguments, without a shell; such as sh, -c, 'nvidia-smi | head' for one"`
	User    string   `json:"user,omitempty" jsonschema:"user of the container that runs it, such as root; that of the container's program by default. sudo does not work there"`
	Seconds int      `json:"seconds,omitempty" jsonschema:"the most that it may run, seconds; 60 by default, 600 at most"`
}

func (t *tools) exec(ctx context.Context, in execInput) (ExecResult, error) {
	if in.Seconds == 0 {
		in.Seconds = defaultExec
	}
	bytes := 0
	for _, word := range in.Command {
		bytes += len(word)
	}
	switch {
	case len(in.Command) == 0 || len(in.Command) > maxWords || bytes > maxWordBytes:
		return ExecResult{}, service.Usage(fmt.Sprintf("the command has %d words of %d bytes", len(in.Command), bytes),
			fmt.Sprintf("give 1 to %d words of at most %d bytes; longer programs go into a file first", maxWords, maxWordBytes))
	case in.Seconds < 0 || in.Seconds > maxExec:
		return ExecResult{}, service.Usage(fmt.Sprintf("%d seconds are not between 1 and %d", in.Seconds, maxExec), "start what runs for longer with nohup or setsid, and look at it later")
	}
	id, _, err := t.mine(ctx, in.Lease)
	if err != nil {
		return ExecResult{}, err
	}
	return t.o.Buyer.Exec(ctx, id, ExecRequest{Command: in.Command, User: in.User, Seconds: in.Seconds, Most: MaxExecOutput})
}
