package demo

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// containerWait bounds waits for containers, whose image is fetched first.
const containerWait = 3 * time.Minute

// The web server's page, and the port where it is.
const (
	page     = "a page from inside the container"
	pagePort = "8080"
)

// volumeMiB is the size of the container's volume, which is where the page is, if the computer can have encrypted ones.
const volumeMiB = 64

// serverScript serves the page until the lease is ended.
const serverScript = `mkdir -p /www; echo '` + page + `' >/www/index.html; exec httpd -f -p ` + pagePort + ` -h /www`

// containers shows containers on machines of namespaces of their own: one that is visited, a hostile one, and one that moves.
func (d *demo) containers(ctx context.Context) error {
	if d.noContainers != "" {
		close(d.contained)
		return nil
	}
	image, size, err := pushImage(ctx, d.net)
	if err != nil {
		return err
	}
	var waiting atomic.Int32
	visited := make(chan struct{})
	unneeded := sync.OnceFunc(func() {
		close(d.unneeded[sandboxes])
		close(d.unneeded[otherSandbox])
	})
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range []func(ordered func()) error{
		func(ordered func()) error {
			defer close(visited)
			return d.visits(ctx, image, size, ordered)
		},
		func(ordered func()) error { return d.movedLease(ctx, image, ordered, visited, unneeded) },
	} {
		waiting.Add(1)
		ordered := sync.OnceFunc(func() {
			if waiting.Add(-1) == 0 {
				close(d.contained)
			}
		})
		defer ordered()
		group.Go(func() error { return part(ordered) })
	}
	err = group.Wait()
	unneeded()
	return err
}

// visits rents two containers of an image on one machine: one is visited, the other is hostile.
func (d *demo) visits(ctx context.Context, image string, size int64, ordered func()) error {
	customer := d.net.Keys.Customers[0]
	group, ctx := errgroup.WithContext(ctx)
	var said string
	over := make(chan struct{}) // said has what the hostile container has printed
	group.Go(func() (err error) {
		if said, err = d.runHostile(ctx, customer, image); err == nil {
			close(over)
		}
		return err
	})
	group.Go(func() error { return d.visitBoth(ctx, customer, image, size, &said, over, ordered) })
	return group.Wait()
}

// visitBoth follows both containers, from the order of the first to the close of their leases.
func (d *demo) visitBoth(ctx context.Context, customer seed.Wallet, image string, size int64, said *string, over <-chan struct{}, ordered func()) (err error) {
	story := d.story.track()
	defer func() { story.end(ctx, err) }()
	story.begin(containerVisited)
	node, err := d.net.Machine(sandboxes)
	if err != nil {
		return err
	}
	step := d.out.begin(customer.Name+" deploys a container of "+image, fmt.Sprintf("%.1f MB, from a registry on loopback", float64(size)/1e6))
	args := containerArgs(image, "--detach")
	noVolume := runtime.CheckVolumes()
	if noVolume == nil {
		args = append(args, "--volume", fmt.Sprintf("data:%dMiB:/www", volumeMiB))
	}
	lease, err := d.rentOne(ctx, customer, append(args, "--", "sh", "-c", serverScript)...)
	if err != nil {
		return err
	}
	d.audits.add(audited{command: []string{"audit", lease.Address.String()}, customer: customer, what: "the container"})
	if err := d.describeAward(ctx, step, lease, node); err != nil {
		return err
	}
	hostile, err := d.hostileLease(ctx, node, lease)
	if err != nil {
		return err
	}
	ordered()
	d.audits.add(audited{command: []string{"audit", hostile.Address.String()}, customer: customer, what: "the hostile container"})
	together, togetherCtx := errgroup.WithContext(ctx)
	together.Go(func() error {
		err := d.visit(togetherCtx, step, customer, lease.Address.String())
		if err == nil {
			err = d.showVolume(togetherCtx, step, customer, lease.Address.String(), noVolume)
		}
		story.end(togetherCtx, err)
		return err
	})
	var hostileStep int
	together.Go(func() error {
		return d.story.during(togetherCtx, hostileContained, func() (err error) {
			hostileStep, err = d.attack(togetherCtx, customer, node, hostile, lease, said, over)
			return err
		})
	})
	if err := together.Wait(); err != nil {
		return err
	}
	story.begin(containersEnd)
	if _, err := d.gantry(ctx, customer, "stop", lease.Address.String()); err != nil {
		return err
	}
	// A lease that is rated is closed at once; else keepers wait until the time to rate it is over.
	rated, ratedCtx := errgroup.WithContext(ctx)
	rated.Go(func() error { return d.overAndRated(ratedCtx, step, customer, &lease, 5) })
	rated.Go(func() error { return d.overAndRated(ratedCtx, hostileStep, customer, &hostile, 3) })
	if err := rated.Wait(); err != nil {
		return err
	}
	for _, of := range []struct {
		step  int
		lease market.Lease
	}{{step, lease}, {hostileStep, hostile}} {
		if err := d.closed(ctx, of.step, of.lease); err != nil {
			return err
		}
		if err := d.groupsAreGone(ctx, of.lease.Address); err != nil {
			return err
		}
	}
	return nil
}

// rentOne rents one machine with a command that does not stay, and waits until the lease runs.
func (d *demo) rentOne(ctx context.Context, customer seed.Wallet, args ...string) (market.Lease, error) {
	out, err := d.gantry(ctx, customer, args...)
	if err != nil {
		return market.Lease{}, err
	}
	var deployed struct {
		Leases []struct{ Address solana.PublicKey }
	}
	if err := out.Decode(&deployed); err != nil {
		return market.Lease{}, err
	}
	if len(deployed.Leases) != 1 {
		return market.Lease{}, fmt.Errorf("%d leases for one container: %s", len(deployed.Leases), out.Stdout)
	}
	return d.leaseWhere(ctx, containerWait, deployed.Leases[0].Address, "to run", func(l market.Lease, _ bool) bool { return l.State() == market.LeaseRunning })
}

// containerArgs order a container on the machine that runs them.
func containerArgs(image string, more ...string) []string {
	return append([]string{
		"deploy", "--gpu", "A100", "--count", "1", "--region", "af-south-1", "--max-price", "1.30", "--duration", "10m", "--allow-simulated", "--image", image,
	}, more...)
}

// visit reaches a container in every way that needs no program of others.
func (d *demo) visit(ctx context.Context, step int, customer seed.Wallet, lease string) error {
	// The container starts once its image is there.
	kernel, err := d.inside(ctx, customer, "ssh", lease, "cat /proc/version; nproc; ls /www")
	if err != nil {
		return err
	}
	d.expect.that(strings.Contains(kernel, "gvisor") || strings.Contains(kernel, "gVisor"), "the container runs on gVisor's kernel", "it says %q", kernel)
	d.out.note(step, "gantry ssh "+lease[:shortKey]+"… 'cat /proc/version; nproc; ls /www'", indent(kernel, "  "))
	files, err := d.inside(ctx, customer, "exec", lease, "ls", "/")
	if err != nil {
		return err
	}
	d.expect.that(slices.Contains(strings.Fields(files), "www"), "the container has the files that its job has made", "it has %q", files)
	hidden, err := d.net.GantryText(ctx, customer, "exec", lease, "--", "ls", d.net.Dir())
	if err != nil {
		return err
	}
	d.expect.that(hidden.Code == 1, "the container does not see the folder of the demo", "exit code %d: %s%s", hidden.Code, hidden.Stdout, hidden.Stderr)
	d.out.note(step, "gantry exec "+lease[:shortKey]+"… ls /: "+strings.Join(strings.Fields(files), " ")+"; nothing of this computer")
	at, stop, err := d.net.Forward(ctx, customer, lease, pagePort)
	if err != nil {
		return err
	}
	text, err := get(ctx, "http://"+at)
	if err != nil {
		_ = stop()
		return err
	}
	equal(d.expect, strings.TrimSpace(text), page, "the container's port is answered")
	d.out.note(step, "gantry port "+lease[:shortKey]+"… "+pagePort+": http://"+at+" shows: "+strings.TrimSpace(text))
	return stop()
}

// showVolume shows that the volume is as large as ordered, or says why there is none.
func (d *demo) showVolume(ctx context.Context, step int, customer seed.Wallet, lease string, none error) error {
	if none != nil {
		d.out.note(step, fmt.Sprintf("no volume: %v", none))
		return nil
	}
	shown, err := d.inside(ctx, customer, "exec", lease, "df", "-k", "-P", "/www")
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(shown), "\n")
	fields := strings.Fields(lines[len(lines)-1])
	if len(fields) < 2 {
		return fmt.Errorf("df of the volume shows %q", shown)
	}
	size, err := strconv.Atoi(fields[1])
	d.expect.that(err == nil && size > volumeMiB<<10/2 && size <= volumeMiB<<10, "the volume is as large as ordered", "df shows %q", shown)
	d.out.note(step, fmt.Sprintf("gantry exec %s… df /www: an encrypted volume of its own, %d MiB ordered, %d KiB for files", lease[:shortKey], volumeMiB, size))
	return nil
}

// inside runs a command in a container, which may not have started yet, and returns what it printed.
func (d *demo) inside(ctx context.Context, customer seed.Wallet, how, lease string, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, containerWait)
	defer cancel()
	for {
		out, err := d.net.GantryText(ctx, customer, append([]string{how, lease, "--"}, command...)...)
		if err != nil {
			return "", err
		}
		if out.Code == 0 {
			return out.Stdout, nil
		}
		if wait.For(ctx, 200*time.Millisecond) != nil {
			return "", fmt.Errorf("%w, at last: %w", ctx.Err(), out.Err())
		}
	}
}

func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	return string(raw), err
}

// groupsAreGone waits until the container's control groups, all that it has on this computer outside of the demo's folder and
// namespaces, are removed.
func (d *demo) groupsAreGone(ctx context.Context, lease solana.PublicKey) error {
	ctx, cancel := context.WithTimeout(ctx, containerWait)
	defer cancel()
	for {
		var left []string
		for _, pattern := range []string{"/sys/fs/cgroup/*/gantry-", "/sys/fs/cgroup/*/gantry/", "/sys/fs/cgroup/gantry/"} {
			found, err := filepath.Glob(pattern + lease.String())
			if err != nil {
				return err
			}
			left = append(left, found...)
		}
		if len(left) == 0 {
			d.expect.that(true, "nothing of the container is left")
			return nil
		}
		if wait.For(ctx, 100*time.Millisecond) != nil {
			d.expect.that(false, "nothing of the container is left", "%v", left)
			return nil
		}
	}
}
