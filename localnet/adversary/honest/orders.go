package honest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
)

// job is how a lease's job ends when nothing goes wrong.
type job int

const (
	// finite jobs print their end, which ends the lease.
	finite job = iota
	// endless jobs run until the lease's funded end.
	endless
)

// rental is one order of a customer and what its job has printed.
type rental struct {
	Machine string
	Job     job
	// Lease is empty where the order was given to no machine.
	Lease string
	// Began and Done are what the job says; Last is the last sign of life of an endless one.
	Began, Done bool
	Last        time.Time
	// Why is why the command failed, if it did.
	Why string
}

// rentals are those of all customers.
type rentals struct {
	mu  sync.Mutex
	all []rental
}

func (r *rentals) add(x rental) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, x)
}

const (
	// deposit is what each customer puts in at the start, USDC.
	deposit = "300"
	// finiteFor is how long a finite job's lease lasts if its job does not end it, endlessFor an endless one's. Twice the
	// time that the machine's RPC node is behind is added: the machine sees the start that it has sent so much later.
	finiteFor, endlessFor = 60 * time.Second, 30 * time.Second
	// leastWork and moreWork are how long finite jobs work.
	leastWork, moreWork = 5 * time.Second, 15 * time.Second
	// rentTime is how long a command may take: both deadlines, the lease, and its end as a node that is behind sees it.
	rentTime = (awardDeadline+startDeadline)*time.Second + finiteFor + 2*mostLag + 2*time.Minute
	// freePeriods is how long a machine is free after a lease: it is measured in one whole period at least.
	freePeriods = 2.5
)

// rent places orders for one machine, one after the other, until there is no time for more.
func rent(ctx context.Context, n *network.Network, w seed.Wallet, m member, until time.Time, period time.Duration, out *rentals) error {
	if said, err := n.Gantry(ctx, w, "credits", "add", deposit); err != nil || said.Err() != nil {
		return fmt.Errorf("%s: %w", w.Name, errors.Join(err, said.Err()))
	}
	for turn := 0; time.Now().Before(until); turn++ {
		kind := finite
		if turn%3 == 2 {
			kind = endless
		}
		r := rentOnce(ctx, n, w, m, kind)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		out.add(r)
		if err := wait.For(ctx, min(time.Duration(freePeriods*float64(period)), time.Until(until))); err != nil {
			return err
		}
	}
	return nil
}

// rentOnce is one order; the customer stays until it is over.
func rentOnce(ctx context.Context, n *network.Network, w seed.Wallet, m member, kind job) rental {
	ctx, cancel := context.WithTimeout(ctx, rentTime)
	defer cancel()
	args := []string{"deploy", "--gpu", "A100", "--count", "1", "--max-price", most, "--region", region(m.name), "--allow-simulated"}
	if kind == finite {
		work := leastWork + rand.N(moreWork)
		args = append(args, "--duration", (finiteFor + 2*m.lag()).String(), "--run-to-completion", "--", "sh", "-c",
			fmt.Sprintf("echo job began; sleep %d; echo job is done", int(work.Seconds())))
	} else {
		args = append(args, "--duration", (endlessFor + 2*m.lag()).String(), "--", "sh", "-c", `echo job began; while :; do echo "job runs at $(date +%s)"; sleep 1; done`)
	}
	out, err := n.Gantry(ctx, w, args...)
	r := read(rental{Machine: m.name, Job: kind}, out)
	if err = errors.Join(err, out.Err()); err != nil {
		r.Why = reason(err.Error())
	}
	return r
}

// reason is what a command said last, in one line, without what its job has printed.
func reason(said string) string {
	if i := strings.LastIndex(said, "error:"); i >= 0 {
		said = said[i:]
	}
	return strings.Join(strings.Fields(said), " ")
}

var (
	began = regexp.MustCompile(`(?m)^job began$`)
	done  = regexp.MustCompile(`(?m)^job is done$`)
	runs  = regexp.MustCompile(`(?m)^job runs at ([0-9]+)$`)
	named = regexp.MustCompile(`lease ([1-9A-HJ-NP-Za-km-z]{32,44})`)
)

// read notes what a job has printed, and its lease.
func read(r rental, out network.Output) rental {
	text := out.Stdout + "\n" + out.Stderr
	r.Began, r.Done = began.MatchString(text), done.MatchString(text)
	for _, m := range runs.FindAllStringSubmatch(text, -1) {
		if secs, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			r.Last = time.Unix(secs, 0)
		}
	}
	var doc struct {
		Leases []struct {
			Address string `json:"address"`
		} `json:"leases"`
	}
	if out.Decode(&doc) == nil && len(doc.Leases) > 0 {
		r.Lease = doc.Leases[0].Address
	} else if m := named.FindStringSubmatch(text); m != nil {
		r.Lease = m[1]
	}
	return r
}
