package daemon

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// ErrConfig: the settings do not fit together.
var ErrConfig = errors.New("wrong settings")

// Config of a gateway.
type Config struct {
	Client *chain.Client
	// Key is the gateway's identity, which grants name.
	Key  solana.PrivateKey
	Data string // folder
	// Domain below which the names of leases are; *.Domain must lead here.
	Domain string
	// TLS and SSH are the addresses to listen on; SSH may be empty.
	TLS, SSH string
	// PublicTLS and PublicSSH are the ports at which others reach them; 0: those that are listened on.
	PublicTLS, PublicSSH int
	// Certificate and CertificateKey are PEM files for *.Domain. They are read again when they change. Empty with ACME.
	Certificate, CertificateKey string
	ACME                        ACME
	// Listen and Announce are multiaddresses of the market's network.
	Listen, Announce string
	// Figures is an address; empty for none. It is on loopback, unless WebConfig has TLS and users; see figures.Options.
	Figures, WebConfig string
	// Service is the service manager that is told how the gateway does; the zero value is none.
	Service service.Manager
	// Customers that are served; empty for all.
	Customers []solana.PublicKey
	Price     Price
	Limits    Limits
	Log       zerolog.Logger
}

// ACME has the gateway get a certificate for each granted name, or one for *.Domain.
type ACME struct {
	// Directory is the URL of the server's directory; empty for certificates as files.
	Directory string
	// CA is a PEM file with what the server's own certificate is checked against; empty for the system's.
	CA string
	// Email that the server may write to; may be empty.
	Email string
	// DNS is the primary server of Domain's zone, which takes updates (RFC 2136); empty for a certificate for each name.
	// DNSKey is the file of the key that signs them. DNSResolvers are asked for the zone and its records; empty for the
	// system's, and for the zone's own servers.
	DNS, DNSKey  string
	DNSResolvers []string
	// PerWeek bounds the new names in a week, PerCustomer those of one customer.
	PerWeek, PerCustomer int
}

// Price of relaying.
type Price struct {
	// PerGiB both ways together; 0 relays for free.
	PerGiB market.USDC
	// Free bytes of each lease.
	Free uint64
	// Payee is the wallet that is paid; zero for the gateway's own.
	Payee solana.PublicKey
}

// Limits of a gateway.
type Limits struct {
	// Connections at once: of TLS and of SSH each, of one address, of one lease.
	Connections, PerAddress, PerLease int
	// NewPerSecond is how many connections one address may begin in a second, five times as many at once.
	NewPerSecond float64
	// Rate is how many bytes a second one lease may have relayed, both ways together.
	Rate int
	// Memory bounds what waits in the gateway for who does not read, bytes.
	Memory int
	// Leases, and of one customer.
	Leases, PerCustomer int
	// Idle is how long a connection may carry nothing, IdleSSH one of SSH.
	Idle, IdleSSH time.Duration
}

// DefaultLimits suit a machine with 2 GiB of memory.
func DefaultLimits() Limits {
	return Limits{
		Connections: 2048, PerAddress: 128, PerLease: 256, NewPerSecond: 40, Rate: 32 << 20, Memory: 512 << 20,
		Leases: 1024, PerCustomer: 64, Idle: 5 * time.Minute, IdleSSH: 2 * time.Hour,
	}
}

// check completes the settings.
func (c *Config) check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...)
	}
	c.Domain = strings.ToLower(strings.Trim(c.Domain, "."))
	switch {
	case c.Client == nil || len(c.Key) == 0 || c.Data == "":
		return wrong("a way to the chain, a key and a data folder are required")
	case c.Domain == "" || len(c.Domain) > 180 || strings.ContainsAny(c.Domain, "*/: "):
		return wrong("--domain %q is not a domain; give one such as gw.example.org, of which all names (*.gw.example.org) lead here", c.Domain)
	case c.Price.PerGiB == 0 && c.Price != Price{}:
		return wrong("--free and --payee need a --price")
	case c.TLS == "":
		return wrong("an address to listen on for TLS is required, such as :443")
	case c.ACME.Directory != "" && c.Certificate+c.CertificateKey != "":
		return wrong("give either --acme, or --cert and --cert-key")
	case c.ACME.Directory == "" && (c.Certificate == "" || c.CertificateKey == ""):
		return wrong("a certificate is required: --cert and --cert-key for *.%s, or --acme", c.Domain)
	case c.ACME.Directory != "" && (c.ACME.PerWeek <= 0 || c.ACME.PerCustomer <= 0):
		return wrong("the limits of new names in a week must be above 0")
	case c.ACME.Directory != "" && !strings.HasPrefix(c.ACME.Directory, "https://"):
		return wrong("--acme %q is neither the URL of an ACME server's directory, letsencrypt nor letsencrypt-staging", c.ACME.Directory)
	case c.ACME.Directory == "" && (c.ACME.DNS != "" || c.ACME.DNSKey != "" || len(c.ACME.DNSResolvers) > 0):
		return wrong("--acme-dns, --acme-dns-key and --acme-dns-resolver need --acme")
	case c.ACME.DNS == "" && (c.ACME.DNSKey != "" || len(c.ACME.DNSResolvers) > 0):
		return wrong("--acme-dns-key and --acme-dns-resolver need --acme-dns, the server that takes updates of the zone")
	case c.ACME.DNS != "" && c.ACME.DNSKey == "":
		return wrong("--acme-dns needs --acme-dns-key, the file of the key that signs updates; make one with: tsig-keygen gantry")
	}
	l := c.Limits
	for name, n := range map[string]int{
		"connections": l.Connections, "connections of one address": l.PerAddress, "connections of one lease": l.PerLease, "bytes a second": l.Rate,
		"memory": l.Memory, "leases": l.Leases, "leases of one customer": l.PerCustomer, "idle time": int(l.Idle), "idle time of SSH": int(l.IdleSSH),
	} {
		if n <= 0 {
			return wrong("the limit of %s is %d; it must be above 0", name, n)
		}
	}
	if l.NewPerSecond <= 0 {
		return wrong("the limit of new connections a second must be above 0")
	}
	return nil
}

// publicPort is the port that others use.
func publicPort(asked int, l net.Listener) int {
	if asked > 0 {
		return asked
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok {
		return at.Port
	}
	return 0
}
