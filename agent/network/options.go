package network

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
)

var (
	// ErrOptions: the provider's settings cannot be used.
	ErrOptions = errors.New("network: settings of the leases' network cannot be used")
	// ErrUnavailable: this machine gives its containers no network; the error says why.
	ErrUnavailable = errors.New("network: this node gives containers no network")
)

// Options are a provider's settings.
type Options struct {
	// Owner tells the agents of one machine apart: the folder of its leases. Required.
	Owner string
	// Off: containers get no network.
	Off bool
	// Pool is where leases get their addresses; the zero value picks a range that the machine has no route to.
	Pool netip.Prefix
	// DNS are the resolvers that containers ask; empty takes the machine's own if they are on the internet, else public ones.
	DNS []netip.Addr
	// Deny are ranges that leases must not reach beside those that they never do.
	Deny []netip.Prefix
	// ClosedPorts are ports of TCP to which leases cannot connect; nil means [DefaultClosedPorts].
	ClosedPorts []uint16
	// Mbit is the most that one lease sends and receives, Mbit/s each; 0 does not limit it.
	Mbit uint32
}

// DefaultClosedPorts are those by which mail is handed in.
var DefaultClosedPorts = []uint16{25, 465, 587, 2525}

// publicResolvers are of two operators.
var publicResolvers = []netip.Addr{netip.MustParseAddr("1.1.1.1"), netip.MustParseAddr("9.9.9.9")}

// maxResolvers is how many a C library asks.
const maxResolvers = 3

// poolBits are the sizes that a pool may have: room for some leases, and no more than a machine needs.
const minPoolBits, maxPoolBits = 16, 28

// ownPools are tried in this order. The first two are of the range for benchmarks, which no network uses for anything else.
var ownPools = prefixes("198.19.224.0/20", "198.18.96.0/20", "172.31.224.0/20", "10.213.32.0/20")

func (o Options) check() error {
	if o.Owner == "" {
		return fmt.Errorf("%w: no owner", ErrOptions)
	}
	if p := o.Pool; p.IsValid() {
		switch {
		case !p.Addr().Is4() || p != p.Masked() || p.Bits() < minPoolBits || p.Bits() > maxPoolBits:
			return fmt.Errorf("%w: the pool %s; give a range of IPv4 of /%d to /%d, such as %s", ErrOptions, p, minPoolBits, maxPoolBits, ownPools[0])
		case Public(p.Addr()):
			return fmt.Errorf("%w: the pool %s is on the internet; give a private one, such as %s", ErrOptions, p, ownPools[0])
		}
	}
	for _, a := range o.DNS {
		if !Public(a) {
			return fmt.Errorf("%w: the resolver %s is not on the internet, and leases reach nothing else", ErrOptions, a)
		}
	}
	if len(o.DNS) > maxResolvers {
		return fmt.Errorf("%w: %d resolvers; programs ask the first %d only", ErrOptions, len(o.DNS), maxResolvers)
	}
	if slices.Contains(o.ClosedPorts, 0) {
		return fmt.Errorf("%w: there is no port 0 to close", ErrOptions)
	}
	return nil
}

// linkMark begins the name of every interface of leases on this machine, whichever agent they are of.
const linkMark = "gl"

// tableMark begins the name of every agent's table.
const tableMark = "gantry-"

// Names that tell agents and leases apart. An interface's name has at most 15 characters.
func ownerID(owner string) string { return digest(owner)[:5] }

func linkPrefix(owner string) string { return linkMark + ownerID(owner) }

func linkName(owner, lease string) string { return linkPrefix(owner) + digest(lease)[:8] }

func tableName(owner string) string { return tableMark + ownerID(owner) }

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// pool6 is a range of unique local addresses of the agent's own.
func pool6(owner string) netip.Prefix {
	sum := sha256.Sum256([]byte(owner))
	a := [16]byte{0: 0xfd}
	copy(a[1:6], sum[:])
	return netip.PrefixFrom(netip.AddrFrom16(a), 64)
}

// hostResolvers are the machine's own resolvers that leases can reach.
func hostResolvers(path string) []netip.Addr {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []netip.Addr
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "nameserver" || len(out) == maxResolvers {
			continue
		}
		if a, err := netip.ParseAddr(fields[1]); err == nil && Public(a) {
			out = append(out, a)
		}
	}
	return out
}
