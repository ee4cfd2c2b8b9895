package expose

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Request is what a customer grants a gateway of a lease's container.
type Request struct {
	// Ports that visitors reach by a name.
	Ports []records.GrantedPort
	// SSHKeys may pass to the SSH server, a line of authorized_keys each; none for no SSH.
	SSHKeys []string
	// For is the time after which the grant ends; 0 for with the lease.
	For time.Duration
}

// ParsePort reads PORT[:NAME]. The name is the number where none is given. tls says that the container speaks TLS there.
func ParsePort(text string, tls bool) (p records.GrantedPort, err error) {
	flag := "--port"
	if tls {
		flag = "--tls-port"
	}
	number, name, named := strings.Cut(text, ":")
	if !named {
		name = number
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 {
		return p, service.Usage(fmt.Sprintf("%s: %q is not a port", flag, number), "write PORT or PORT:NAME, such as 8888:notebook")
	}
	if !records.ValidGrantedName(name) {
		return p, service.Usage(fmt.Sprintf("%s: %q cannot be part of a host name", flag, name),
			fmt.Sprintf("use lower-case letters, digits and hyphens between them (not two at the third place), at most %d", records.MaxGrantedName))
	}
	return records.GrantedPort{Port: uint16(n), Name: name, TLS: tls}, nil
}

// Check says what is wrong with a request, before a lease is there. Error: a [service.Failure].
func (r *Request) Check() error {
	g, err := r.grant()
	if err != nil {
		return err
	}
	// What only a lease and its gateway bring is filled with anything that is valid.
	g.Domain, g.Lease, g.Gateway, g.IssuedAt, g.Expiry = records.Domain{1}, solana.PublicKey{1}, solana.PublicKey{1}, 1, forever
	if err := g.Check(); err != nil {
		return service.Usage(err.Error(), "")
	}
	return nil
}

// grant is what is granted, without whom and for which lease.
func (r *Request) grant() (g records.Grant, err error) {
	g.Ports = slices.SortedFunc(slices.Values(r.Ports), func(a, b records.GrantedPort) int { return int(a.Port) - int(b.Port) })
	for _, line := range r.SSHKeys {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return g, service.Usage(fmt.Sprintf("%.40q is not a public SSH key: %v", line, err), "write a line of authorized_keys")
		}
		g.SSHKeys = append(g.SSHKeys, sha256.Sum256(key.Marshal()))
	}
	slices.SortFunc(g.SSHKeys, func(a, b records.Hash) int { return bytes.Compare(a[:], b[:]) })
	g.SSHKeys = slices.Compact(g.SSHKeys)
	if len(g.Ports) == 0 && len(g.SSHKeys) == 0 {
		return g, service.Usage("nothing is granted", "name a port (--port 8888), or --ssh")
	}
	return g, nil
}

// sign signs a grant for a lease and, where the lease may move, for those that go on for it.
func (g *Gateway) sign(ctx context.Context, l market.Lease, r Request) (out messages.GatewayOpenRequest, err error) {
	grant, err := r.grant()
	if err != nil {
		return out, err
	}
	if grant.Domain, err = g.e.o.Client.Domain(ctx); err != nil {
		return out, err
	}
	grant.Lease, grant.Gateway = l.Address, g.key
	f, err := g.e.folder(ctx, l.Customer)
	if err != nil {
		return out, err
	}
	if grant.IssuedAt, grant.Expiry, err = g.e.grantTimes(ctx, f, l, r.For); err != nil {
		return out, err
	}
	sig, err := grant.Sign(g.e.o.Key)
	if err != nil {
		return out, service.Usage(err.Error(), "")
	}
	moves, err := g.e.signMoves(ctx, grant, l)
	return messages.GatewayOpenRequest{
		Version: messages.Version, Moves: moves,
		Grant: messages.SignedGrant{Grant: grant, Signer: g.e.o.Key.PublicKey(), Signature: sig},
	}, err
}

// signMoves grants the same to the leases that go on for a failed one, so that the names stay when its customer is away;
// nil where none can, or where several leases of the order could.
func (e *Exposer) signMoves(ctx context.Context, grant records.Grant, l market.Lease) ([]byte, error) {
	if l.MayMigrate == 0 {
		return nil, nil
	}
	order, err := query.Fetch[market.Order](ctx, e.o.Client, l.Order, e.o.Client.Commitment())
	if err != nil {
		return nil, err
	}
	if order.NodesWanted != 1 {
		return nil, nil
	}
	grant.Lease = l.Order
	sig, err := grant.Sign(e.o.Key)
	return sig[:], err
}
