//go:build e2e

package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// jobOfKills keeps a book of itself in a folder: each start and its lease, its beats with times, its end; and whether
// another run of the same purchase was alive when it began.
const jobOfKills = `cd "$BOOK" || exit 9
exec 9>>lock
flock -n 9 || echo "$GANTRY_LEASE" >>doubles
echo "$GANTRY_LEASE" >>starts
i=0
while [ $i -lt "$BEATS" ]; do date +%s.%N >>beats; sleep 0.25 9>&-; i=$((i+1)); done
date +%s.%N >>beats
echo "$GANTRY_LEASE" >over`

// purchase is what one customer bought under one name.
type purchase struct {
	name     string
	customer seed.Wallet
	book     string // folder
	stays    bool   // the customer's command stays until the job has ended
	kills    int    // of its commands
	failed   string // why it was given up
}

// command is a client that runs.
type command struct {
	mu     sync.Mutex
	cmd    *exec.Cmd
	ended  bool
	killed bool
}

func (c *command) kill() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.killed || c.cmd.Process.Kill() != nil {
		return false
	}
	c.killed = true
	return true
}

// gantry runs the client as a process that may be killed. ended is false when it was.
func (k *killRun) gantry(ctx context.Context, w seed.Wallet, args ...string) (out network.Output, ended bool, err error) {
	path, err := network.Binary("gantry")
	if err != nil {
		return out, false, err
	}
	home := filepath.Join(k.n.Dir(), "homes", w.Name)
	all := append([]string{"--json", "--yes", "--keypair", w.Path, "--url", k.n.At.RPC, "--ws", k.n.At.WS, "--state-dir", filepath.Join(home, "bought")}, args...)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path, all...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "XDG_DATA_HOME="+home, "XDG_CACHE_HOME="+home)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c := &command{cmd: cmd}
	if err := cmd.Start(); err != nil {
		return out, false, fmt.Errorf("start gantry: %w", err)
	}
	k.mu.Lock()
	k.running[w.Name] = c
	k.mu.Unlock()
	err = cmd.Wait()
	k.mu.Lock()
	delete(k.running, w.Name)
	k.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if ctx.Err() != nil {
		return out, false, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return out, false, fmt.Errorf("run gantry: %w", err)
	}
	out = network.Output{Args: args, Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
	return out, !c.killed, nil
}

// buy makes purchases of one customer, one after the other, until the killing is over.
func (k *killRun) buy(ctx context.Context, w seed.Wallet, rng *rand.Rand) error {
	for i := 1; ; i++ {
		select {
		case <-k.stop:
			return nil
		default:
		}
		p := &purchase{name: fmt.Sprintf("%s-%d", w.Name, i), customer: w, stays: rng.IntN(2) == 0}
		p.book = filepath.Join(k.n.Dir(), "books", p.name)
		if err := os.MkdirAll(p.book, 0o755); err != nil {
			return fmt.Errorf("book of %s: %w", p.name, err)
		}
		k.mu.Lock()
		k.purchases = append(k.purchases, p)
		k.mu.Unlock()
		if err := k.one(ctx, p, rng); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
}

// triesOfPurchase bounds how often a command that fails is given again; those that were killed do not count.
const triesOfPurchase = 6

// one buys: the command is repeated or resumed until it has ended by itself.
func (k *killRun) one(ctx context.Context, p *purchase, rng *rand.Rand) error {
	beats := 12 + rng.IntN(40)
	if !p.stays {
		beats = 4 * 300 // until it is stopped
	}
	args := []string{
		"deploy", "--name", p.name, "--gpu", "A100", "--max-price", "2", "--duration", "5m", "--allow-simulated",
		"--env", "BOOK=" + p.book, "--env", "BEATS=" + strconv.Itoa(beats),
	}
	if p.stays {
		args = append(args, "--run-to-completion", "--receipt-every", "1s")
	} else {
		args = append(args, "--detach")
	}
	args = append(args, "--", "sh", "-c", jobOfKills)
	for try, failures := 0, 0; ; try++ {
		do := args
		resumed := try > 0 && p.stays && rng.IntN(2) == 0 // resume always stays
		if resumed {
			do = []string{"resume", p.name}
		}
		out, ended, err := k.gantry(ctx, p.customer, do...)
		switch {
		case err != nil:
			return err
		case !ended:
			p.kills++
			continue
		case resumed && out.Code == cli.ExitUsage: // it died before it had stored anything
			continue
		case out.Code != cli.ExitDone:
			p.failed = fmt.Sprintf("code %d: %s", out.Code, out.Stderr)
			k.t.Logf("%s ended with %s", p.name, p.failed)
			if failures++; failures < triesOfPurchase && out.Code == cli.ExitNetwork {
				continue
			}
			return pause(ctx, time.Second) // judged by what is on chain
		}
		p.failed = ""
		break
	}
	if p.stays {
		return nil
	}
	if err := pause(ctx, time.Duration(2000+rng.IntN(8000))*time.Millisecond); err != nil {
		return err
	}
	return k.stopAll(ctx, p)
}

// stopAll stops what a customer has running.
func (k *killRun) stopAll(ctx context.Context, p *purchase) error {
	for tries := 0; ; tries++ {
		var running *market.Lease
		for _, l := range k.view.LeasesOfCustomer(p.customer.Address()) {
			if l.State() == market.LeaseRunning {
				running = &l
			}
		}
		if running == nil {
			return nil
		}
		out, ended, err := k.gantry(ctx, p.customer, "stop", running.Address.String())
		if err != nil {
			return err
		}
		if !ended {
			p.kills++
		} else if out.Code != cli.ExitDone && tries > triesOfPurchase {
			return out.Err()
		}
		if err := pause(ctx, 300*time.Millisecond); err != nil { // until the view has it
			return err
		}
	}
}

func (p *purchase) lines(file string) []string {
	raw, err := os.ReadFile(filepath.Join(p.book, file))
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw))
}

// over is the lease whose job has come to its end.
func (p *purchase) over() (solana.PublicKey, bool) {
	lines := p.lines("over")
	if len(lines) == 0 {
		return solana.PublicKey{}, false
	}
	lease, err := solana.PublicKeyFromBase58(lines[0])
	return lease, err == nil
}

// ran is when the job began and when it was last alive.
func (p *purchase) ran() (from, until time.Time) {
	for _, line := range p.lines("beats") {
		if secs, err := strconv.ParseFloat(line, 64); err == nil {
			until = time.UnixMicro(int64(secs * 1e6))
			if from.IsZero() {
				from = until
			}
		}
	}
	return from, until
}
