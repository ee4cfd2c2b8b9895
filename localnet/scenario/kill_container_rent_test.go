//go:build e2e

package scenario

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// pushUntil puts an image into a registry that may be away.
func pushUntil(ctx context.Context, r imagetest.Registry, repository string, img v1.Image) (string, error) {
	ref, err := name.ParseReference(r.Host + "/diaries/" + repository + ":v1")
	if err != nil {
		return "", err
	}
	for {
		err := remote.Write(ref, img, remote.WithContext(ctx))
		if err == nil {
			return ref.String(), nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// rent rents containers of one customer, one after the other, until the killing is over.
func (k *containerRun) rent(ctx context.Context, w seed.Wallet, rng *rand.Rand) error {
	for i := 1; ; i++ {
		select {
		case <-k.stop:
			return nil
		default:
		}
		p := &purchase{name: fmt.Sprintf("%s-%d", w.Name, i), customer: w, stays: rng.IntN(4) > 0}
		k.mu.Lock()
		k.purchases = append(k.purchases, p)
		k.mu.Unlock()
		if err := k.rentOne(ctx, p, rng); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
}

// rentOne rents one container: its command is repeated or resumed until it has ended by itself.
func (k *containerRun) rentOne(ctx context.Context, p *purchase, rng *rand.Rand) error {
	image, err := k.image(ctx, p.name, rng)
	if err != nil {
		return err
	}
	entries := 40 + rng.IntN(400) // 10 to 110 s
	if rng.IntN(3) == 0 {
		entries = 400 + rng.IntN(320) // 100 to 180 s: its machine can be lost when it has made a snapshot
	}
	args := []string{
		"deploy", "--name", p.name, "--gpu", "A100", "--max-price", "2", "--duration", "6m", "--allow-simulated", "--image", image,
		"--volume", fmt.Sprintf("data:%dMiB", diaryVolumeMiB), "--backup", "s3://" + s3test.Bucket + "/" + p.name, "--backup-endpoint", "http://" + k.toBucket.Addr(),
		"--backup-every", "1m", "--env", "DIARY=" + p.name,
	}
	if p.stays {
		args = append(args, "--run-to-completion", "--receipt-every", "1s", "--migrate") // who goes away brings nothing to another machine
	} else {
		args = append(args, "--detach")
	}
	args = append(args, "--", "/data", strconv.Itoa(entries))
	if err := k.untilDone(ctx, p, args, rng); err != nil || p.stays && p.failed == "" {
		return err
	}
	if p.failed == "" {
		if err := pause(ctx, time.Duration(5+rng.IntN(70))*time.Second); err != nil {
			return err
		}
	}
	return k.stopRented(ctx, p)
}

func (k *containerRun) untilDone(ctx context.Context, p *purchase, args []string, rng *rand.Rand) error {
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
			p.failed = fmt.Sprintf("code %d: %s", out.Code, tail(out.Stderr, 700))
			k.t.Logf("%s ended with %s", p.name, p.failed)
			if failures++; failures < triesOfPurchase && out.Code == cli.ExitNetwork {
				if err := pause(ctx, time.Second); err != nil {
					return err
				}
				continue
			}
			return pause(ctx, time.Second) // judged by what is on chain; a bucket that is away refuses at once
		}
		p.failed = ""
		return nil
	}
}

// stopRented stops what a customer has running, and aborts nothing: what does not start gives its money back by itself.
func (k *containerRun) stopRented(ctx context.Context, p *purchase) error {
	for tries := 0; ; tries++ {
		var live *market.Lease
		for _, l := range k.view.LeasesOfCustomer(p.customer.Address()) {
			if l.State() == market.LeaseRunning || l.State() == market.LeaseFailed || l.State() == market.LeaseAwarded {
				live = &l
			}
		}
		if live == nil && len(k.view.OrdersOf(p.customer.Address())) == 0 {
			return nil
		}
		if live != nil && live.State() == market.LeaseRunning {
			out, ended, err := k.gantry(ctx, p.customer, "stop", live.Address.String())
			if err != nil {
				return err
			}
			if ended && out.Code != cli.ExitDone && tries > 100 {
				return out.Err()
			}
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil { // until the view has it
			return err
		}
	}
}

func tail(s string, n int) string { return strings.TrimSpace(s[max(0, len(s)-n):]) }

// pagesSeen is what a visitor has seen of a lease through the gateway.
type pagesSeen struct {
	url    string
	name   string // whose page it is
	pages  int
	since  time.Time // when it was last reached, or first tried
	failed string
}

// visitAll opens the pages of leases that run at the gateway, and reads them, until ctx ends. A page is its own customer's.
func (k *containerRun) visitAll(ctx context.Context) error {
	for {
		for _, l := range k.view.Leases() {
			lease := l.Address.String()
			d, _ := k.of(lease)
			if l.State() != market.LeaseRunning || d.began < 0 {
				continue
			}
			k.visit(ctx, l, lease)
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

func (k *containerRun) visit(ctx context.Context, l market.Lease, lease string) {
	v := k.visited[lease]
	if v == nil {
		v = &pagesSeen{since: time.Now()}
		for _, c := range k.n.Keys.Customers {
			if c.Address() == l.Customer {
				v.name = c.Name
			}
		}
		k.acts.Lock()
		k.visited[lease] = v
		k.acts.Unlock()
	}
	if v.url == "" {
		for _, c := range k.n.Keys.Customers {
			if c.Address() != l.Customer {
				continue
			}
			out, err := k.n.Gantry(ctx, c, "gateway", "open", lease, "--via", k.gateway.Address().String(), "--port", "8080:web")
			var opened struct{ URLs map[string]string }
			if err == nil && out.Code == 0 && out.Decode(&opened) == nil {
				v.url = opened.URLs["8080"]
			} else if err == nil {
				v.failed = tail(out.Stderr, 300)
			}
		}
		return
	}
	resp, err := k.pages.Get(v.url)
	if err != nil {
		v.failed = err.Error()
		return
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil || resp.StatusCode != 200 {
		v.failed = fmt.Sprintf("%d: %s", resp.StatusCode, tail(string(raw), 200))
		return
	}
	if !strings.HasPrefix(string(raw), v.name+"-") {
		k.t.Errorf("lease %s of %s shows the page %q", lease, v.name, raw)
	}
	v.pages++
	v.since, v.failed = time.Now(), ""
}
