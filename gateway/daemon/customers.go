package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/gateway/grants"
	"github.com/gantry-market/gantry/gateway/link"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// The gateway's side of its protocols. Whoever has a grant is a stranger until it is here.
var (
	openProtocol  = customerProtocol(messages.GatewayOpen)
	closeProtocol = customerProtocol(messages.GatewayClose)
)

func customerProtocol(id string) p2p.Protocol {
	return p2p.Protocol{
		ID: id, MaxRequest: 8 << 10, MaxResponse: 16 << 10, Timeout: openTime + 10*time.Second, Rate: 2, Burst: 20, Concurrent: 64, PerPeer: 4, Public: true,
	}
}

// openTime is how long a new grant may take to be tried.
const openTime = 20 * time.Second

func (g *Gateway) serveCustomers() {
	known := func(key solana.PublicKey) bool { return g.table.Concerns(key) }
	open, cancel := openProtocol, closeProtocol
	open.First, cancel.First = known, known
	p2p.Handle(g.net, open, g.openGrant)
	p2p.Handle(g.net, cancel, g.closeGrant)
	speaks := func(key solana.PublicKey) bool { return g.table.Speaks(key, solana.PublicKey{}) }
	account, pay := accountProtocol, payProtocol
	account.May, pay.May = speaks, speaks
	p2p.Handle(g.net, offerProtocol, g.showOffer)
	p2p.Handle(g.net, account, g.showAccount)
	p2p.Handle(g.net, pay, g.takePayment)
}

// refusal separates a refusal, which the caller may read, from an error of the gateway, which it may not.
func (g *Gateway) refusal(err error) (string, error) {
	var refused *grants.RefusedError
	var unreachable *link.UnreachableError
	switch {
	case errors.As(err, &refused):
		return printable.Text(refused.Why), nil
	case errors.As(err, &unreachable):
		return unreachable.Why, nil
	case err != nil && !errors.Is(err, context.Canceled):
		g.c.Log.Warn().Err(err).Msg("a customer's request failed")
	}
	return "", err
}

// tryGrant reaches the container of a grant. One for SSH alone is tried by who logs in.
func (g *Gateway) tryGrant(ctx context.Context, e *grants.Entry) error {
	if len(e.Signed.Grant.Ports) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	return g.links.Check(ctx, e)
}

// openGrant takes a grant that opens something.
func (g *Gateway) openGrant(ctx context.Context, _ solana.PublicKey, req messages.GatewayOpenRequest) (messages.GatewayOpenAnswer, error) {
	answer := messages.GatewayOpenAnswer{Version: messages.Version}
	grant := &req.Grant.Grant
	if len(grant.SSHKeys) > 0 && g.ssh == nil {
		answer.Refused = "this gateway has no SSH jump host; grant it ports alone"
		return answer, nil
	}
	e, err := g.table.Open(ctx, req.Grant, req.Moves)
	if answer.Refused, err = g.refusal(err); err != nil || answer.Refused != "" {
		return answer, err
	}
	g.c.Log.Info().Str("lease", grant.Lease.String()).Str("customer", e.Customer.String()).Int("ports", len(grant.Ports)).Int("ssh_keys", len(grant.SSHKeys)).Msg("grant taken")
	port := ""
	if n := publicPort(g.c.PublicTLS, g.tls); n != 443 {
		port = ":" + strconv.Itoa(n)
	}
	answer.Moves = len(req.Moves) > 0
	if answer.Terms, err = g.termsOf(e); err != nil {
		return answer, err
	}
	for _, name := range e.Names() {
		answer.URLs = append(answer.URLs, fmt.Sprintf("https://%s.%s%s/", name, g.c.Domain, port))
	}
	if len(grant.SSHKeys) > 0 {
		answer.SSHAddress = net.JoinHostPort(g.c.Domain, strconv.Itoa(publicPort(g.c.PublicSSH, g.ssh)))
		answer.SSHHostKey, answer.SSHName = g.hostKey.PublicKey().Marshal(), e.SSHName()
	}
	return answer, nil
}

func (g *Gateway) closeGrant(_ context.Context, from solana.PublicKey, req messages.GatewayCloseRequest) (messages.GatewayCloseAnswer, error) {
	why, err := g.refusal(g.table.Close(from, req.Lease))
	return messages.GatewayCloseAnswer{Version: messages.Version, Refused: why}, err
}
