package expose

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

var (
	openProtocol  = p2p.Protocol{ID: messages.GatewayOpen, MaxRequest: 8 << 10, MaxResponse: 16 << 10, Timeout: connectTime}
	closeProtocol = p2p.Protocol{ID: messages.GatewayClose, MaxRequest: 8 << 10, MaxResponse: 16 << 10}
)

// Opened is what a gateway has answered to a grant.
type Opened struct {
	Lease   string            `json:"lease"`
	Gateway string            `json:"gateway"`
	Until   int64             `json:"until,omitempty"` // unix seconds; with the lease if missing
	URLs    map[uint16]string `json:"urls,omitempty"`  // by port
	// Stays says that the names lead to the next machine if the lease moves.
	Stays bool `json:"stays,omitempty"`
	// Terms of a gateway that asks a price.
	Terms *Terms `json:"terms,omitempty"`
	// Jump leads to the container's SSH server; nil where no SSH key was granted.
	Jump *Jump `json:"-"`
}

// Jump is a gateway's SSH server, by which that of a container is reached.
type Jump struct {
	Host, Port string
	HostKey    ssh.PublicKey
	// Container is the name by which the gateway knows the container.
	Container string
}

// Open grants the gateway what a request says, in place of what was granted to it of the lease before, and stores the
// names that it gives.
func (g *Gateway) Open(ctx context.Context, l market.Lease, r Request) (*Opened, error) {
	signed, err := g.sign(ctx, l, r)
	if err != nil {
		return nil, err
	}
	grant := signed.Grant.Grant
	answer, err := p2p.Call[messages.GatewayOpenRequest, messages.GatewayOpenAnswer](ctx, g.e.o.Net, g.key, openProtocol, signed)
	switch {
	case errors.Is(err, p2p.ErrProtocol):
		return nil, service.Refused(fmt.Sprintf("%s is not a gateway", g.key), "look at the key or address after --via")
	case err != nil:
		return nil, service.Network(err.Error(), "try again", err)
	case answer.Refused != "":
		why := &RefusedError{Why: answer.Refused}
		return nil, &service.Failure{Code: service.CodeRefused, Reason: why.Error(), Cause: why}
	case len(answer.URLs) != len(grant.Ports), slices.ContainsFunc(answer.URLs, func(u string) bool { return !plainURL(u) }), len(grant.SSHKeys) > 0 && answer.SSHAddress == "":
		return nil, service.Network("the gateway's answer does not fit what was granted", "choose another gateway", nil)
	}
	out := &Opened{
		Lease: l.Address.String(), Gateway: g.key.String(), Until: until(grant), URLs: map[uint16]string{},
		Stays: answer.Moves, Terms: newTerms(answer.Terms),
	}
	for i, p := range grant.Ports {
		out.URLs[p.Port] = answer.URLs[i]
	}
	f, err := g.e.folder(ctx, l.Customer)
	if err != nil {
		return nil, err
	}
	if err := f.Publish(l.Order, purchase.Names{Gateway: g.key, Issued: grant.IssuedAt, Until: grant.Expiry, URLs: out.URLs}); err != nil {
		return nil, err
	}
	if len(grant.SSHKeys) > 0 {
		if out.Jump, err = newJump(answer); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// RefusedError is why a gateway takes no grant.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return "the gateway refuses: " + e.Why }

// passes are what a gateway says, in its own words or in the machine's, as long as a lease starts.
var passes = []string{messages.JobMissing, messages.ContainerStarts, "does not run: it is awarded", "no such lease", "try again in a moment"}

// startedAgain is the time between tries to have a lease made public whose container has not begun yet.
const startedAgain = time.Second

// OpenStarting is Open for a lease that has just begun to run: its container begins a moment later, and the gateway may
// see the chain a moment later too.
func (g *Gateway) OpenStarting(ctx context.Context, l market.Lease, r Request) (*Opened, error) {
	var (
		out *Opened
		err error
	)
	_ = wait.Again(ctx, service.StartTime, startedAgain, func() bool { // what the gateway said last counts, also when ctx has ended
		out, err = g.Open(ctx, l, r)
		var no *RefusedError
		return errors.As(err, &no) && slices.ContainsFunc(passes, func(part string) bool { return strings.Contains(no.Why, part) })
	})
	return out, err
}

// Forget has the gateway forget a lease, so that its names end at once.
func (g *Gateway) Forget(ctx context.Context, lease solana.PublicKey) error {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	told, err := p2p.Call[messages.GatewayCloseRequest, messages.GatewayCloseAnswer](ctx, g.e.o.Net, g.key, closeProtocol,
		messages.GatewayCloseRequest{Version: messages.Version, Lease: lease})
	if err == nil && told.Refused != "" {
		err = errors.New(told.Refused)
	}
	return err
}

// newJump reads where a gateway's SSH server is.
func newJump(a messages.GatewayOpenAnswer) (*Jump, error) {
	host, port, err := net.SplitHostPort(a.SSHAddress)
	_, perr := strconv.ParseUint(port, 10, 16)
	if errors.Join(err, perr) != nil || !plainHost(host) || !plainHost(a.SSHName) {
		return nil, service.Network("the gateway's SSH address cannot be read", "choose another gateway", errors.Join(err, perr))
	}
	key, err := ssh.ParsePublicKey(a.SSHHostKey)
	if err != nil {
		return nil, service.Network("the gateway names a host key that cannot be read", "choose another gateway", err)
	}
	return &Jump{Host: host, Port: port, HostKey: key, Container: a.SSHName}, nil
}

// plainHost reports whether a text is a host name or an IP address, and nothing that ssh or a shell would obey.
func plainHost(text string) bool {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.'
	}
	return net.ParseIP(text) != nil || text != "" && text[0] != '-' && strings.IndexFunc(text, odd) < 0
}

// plainURL reports whether a text is the address of a host that speaks HTTPS.
func plainURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && plainHost(u.Hostname()) && u.Path == "/" && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}
