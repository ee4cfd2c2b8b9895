package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/localnet/machine"
)

const (
	bridge  = "gantry0"
	ownAddr = "11.0.0.1"
)

// withPrefix is an address as `ip addr add` takes it: all of them are reached on the bridge.
func withPrefix(addr string) []string {
	if isIPv6(addr) {
		return []string{addr + "/32", "nodad"}
	}
	return []string{addr + "/16"}
}

// missing says what this machine lacks.
func missing() string {
	if os.Geteuid() != 0 {
		return "it needs root, to make network namespaces (sudo make hostile-network)"
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return "ip is missing: apt-get install iproute2"
	}
	return ""
}

// Enter runs this program again with other arguments, as the first process of namespaces of its own, and waits for it.
// Error: ErrUnavailable.
func Enter(ctx context.Context, args []string) error {
	if why := missing(); why != "" {
		return fmt.Errorf("%w: %s", ErrUnavailable, why)
	}
	return machine.Again(ctx, unix.CLONE_NEWNET|unix.CLONE_NEWNS|unix.CLONE_NEWPID, args)
}

func run(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// furnish makes the market's side of the network, and the mounts that belong to its namespaces. It refuses to touch those
// of the machine.
func furnish(ctx context.Context, addrs []string) error {
	if os.Getpid() != 1 {
		return errors.New("not in namespaces of its own; use Enter")
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts of its own: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	// Names of namespaces are mounts below /run.
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("/run: %w", err)
	}
	commands := [][]string{
		{"ip", "link", "set", "lo", "up"},
		{"ip", "link", "add", bridge, "type", "bridge", "forward_delay", "0"},
		{"ip", "link", "set", bridge, "up"},
	}
	for _, a := range append([]string{ownAddr}, addrs...) {
		commands = append(commands, append([]string{"ip", "addr", "add", "dev", bridge}, withPrefix(a)...))
	}
	for _, c := range commands {
		if err := run(ctx, c...); err != nil {
			return err
		}
	}
	return nil
}

// addMachine makes a machine on the bridge, with addresses of its own.
func addMachine(ctx context.Context, index int, name string, addrs []string) error {
	port := fmt.Sprintf("port%d", index)
	commands := [][]string{
		{"ip", "netns", "add", name},
		{"ip", "-n", name, "link", "set", "lo", "up"},
		{"ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name},
		{"ip", "link", "set", port, "master", bridge, "up"},
		{"ip", "-n", name, "link", "set", "eth0", "up"},
	}
	for _, a := range addrs {
		commands = append(commands, append([]string{"ip", "-n", name, "addr", "add", "dev", "eth0"}, withPrefix(a)...))
	}
	for _, c := range commands {
		if err := run(ctx, c...); err != nil {
			return err
		}
	}
	return nil
}
