package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/guest/container"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/messages"
)

// reserve is the memory that a container leaves to the guest's own program and to the kernel, bytes.
const reserve = 96 << 20

// ErrMemory: the machine is too small for the job.
var ErrMemory = errors.New("the machine's memory is too small for this job")

// Run is the guest's Runner: it sets up the network card, fetches the image and runs the container.
func Run(ctx context.Context, d messages.DeployRequest, network *control.Network, phase func(string) error, output io.Writer) (int, error) {
	if err := phase(control.PhasePull); err != nil {
		return 0, err
	}
	if network != nil {
		if err := setUp(ctx, *network); err != nil {
			return 0, fmt.Errorf("network of the guest: %w", err)
		}
	}
	pulled, store, err := pull(ctx, d)
	if err != nil {
		return 0, err
	}
	spec, memory, err := specOf(d.Job, pulled, store)
	if err != nil {
		return 0, err
	}
	group, err := container.NewGroup(groupsDir, memory, d.Job.CPUs)
	if err != nil {
		return 0, err
	}
	defer group.Close()
	if err := phase(control.PhaseRun); err != nil {
		return 0, err
	}
	return container.Run(ctx, spec, group, output)
}

// pull fetches the image into the guest's memory.
func pull(ctx context.Context, d messages.DeployRequest) (i image.Image, store string, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs("/", &st); err != nil {
		return i, "", fmt.Errorf("size of the guest's memory: %w", err)
	}
	limit := int64(st.Blocks) * st.Bsize
	// The host has the network anyway: no address of it is closed to the customer. A digest names the image's content.
	s, err := image.Open(imagesDir, image.Options{Limit: limit, LocalRegistries: true})
	if err != nil {
		return i, "", err
	}
	r, err := image.Parse(d.Job.Image)
	if err != nil {
		return i, "", err
	}
	o := image.PullOptions{Limit: limit}
	if c := d.Registry; c != nil {
		o.Credential = image.Credential{Token: c.Token, User: c.User, Password: c.Password}
	}
	i, err = s.Pull(ctx, r, o)
	return i, s.Layers(), err
}

// specOf is the container, and how much memory it may use: what the job says, at most what is there.
func specOf(job messages.JobSpec, i image.Image, store string) (s container.Spec, memory uint64, err error) {
	free, err := available()
	if err != nil {
		return s, 0, err
	}
	if free < 2*reserve || job.MemoryMiB<<20 > free-reserve {
		return s, 0, fmt.Errorf("%w: %d MiB are free with its image in memory, of which the guest needs %d, and the job asks for %d", ErrMemory,
			free>>20, uint64(reserve)>>20, job.MemoryMiB)
	}
	memory = free - reserve
	if job.MemoryMiB > 0 {
		memory = job.MemoryMiB << 20
	}
	resolv, err := os.ReadFile(resolvFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, 0, err
	}
	shared := memory / 2
	if job.ShmMiB > 0 {
		shared = min(job.ShmMiB<<20, memory)
	}
	return container.Spec{
		Store: store, Layers: i.Layers, Dir: workDir, Config: i.Config, Job: job, Resolv: string(resolv), DiskBytes: job.DiskMiB << 20, SharedBytes: shared,
		Env: map[string]string{"GANTRY_MEMORY_MIB": strconv.FormatUint(memory>>20, 10), "NVIDIA_VISIBLE_DEVICES": "void"},
	}, memory, nil
}

// available is the memory that can be had, bytes.
func available() (uint64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("memory of the machine: %w", err)
	}
	const name = "MemAvailable:"
	_, rest, _ := bytes.Cut(text, []byte(name))
	var kib uint64
	if _, err := fmt.Fscan(bytes.NewReader(rest), &kib); err != nil {
		return 0, fmt.Errorf("memory of the machine: %s: %w", name, err)
	}
	return kib << 10, nil
}

// cardFor is how long the network card may be missing.
const cardFor = 30 * time.Second

// setUp gives the only network card its address, and writes down who knows names.
func setUp(ctx context.Context, n control.Network) error {
	address, err := netlink.ParseAddr(n.Address)
	if err != nil {
		return fmt.Errorf("address %.64q of the host: %w", n.Address, err)
	}
	gateway, dns := net.ParseIP(n.Gateway), net.ParseIP(n.DNS)
	if gateway == nil || dns == nil {
		return fmt.Errorf("gateway %.64q or server of names %.64q of the host: not an address", n.Gateway, n.DNS)
	}
	card, err := findCard(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"lo", card.Attrs().Name} {
		link, err := netlink.LinkByName(name)
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := netlink.AddrReplace(card, address); err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	if err := netlink.RouteReplace(&netlink.Route{LinkIndex: card.Attrs().Index, Gw: gateway}); err != nil {
		return fmt.Errorf("route by %s: %w", gateway, err)
	}
	return os.WriteFile(resolvFile, []byte("nameserver "+dns.String()+"\n"), 0o644)
}

// findCard waits for the network card.
func findCard(ctx context.Context) (netlink.Link, error) {
	ctx, cancel := context.WithTimeout(ctx, cardFor)
	defer cancel()
	for {
		links, err := netlink.LinkList()
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			if l.Type() == "device" && l.Attrs().Flags&net.FlagLoopback == 0 {
				return l, nil
			}
		}
		if err := wait.For(ctx, portPause); err != nil {
			return nil, fmt.Errorf("the machine has no network card: %w", err)
		}
	}
}
