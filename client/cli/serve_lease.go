package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// Use implements serve.Machines.
func (b *buyer) Use(ctx context.Context, lease solana.PublicKey, take func(service.Use) error) error {
	if _, err := b.s.service.Lease(ctx, b.s.actsFor, lease); err != nil {
		return err
	}
	ss := b.s.fork(ctx)
	defer ss.close()
	v, l, err := ss.ownLease(ss.live, lease.String(), query.Kind(market.KindKeeper))
	if err != nil {
		return err
	}
	r, err := ss.dial(v)
	if err != nil {
		return err
	}
	return ss.watchUse(v, r, l, topEvery, take)
}

// Terminal implements serve.Machines.
func (b *buyer) Terminal(ctx context.Context, lease solana.PublicKey, t serve.Terminal) error {
	if _, err := b.s.service.Lease(ctx, b.s.actsFor, lease); err != nil {
		return err
	}
	s := b.s.fork(ctx)
	defer s.close()
	c, err := s.container(lease.String())
	if err != nil {
		return err
	}
	client, err := c.login()
	if err != nil {
		return err
	}
	ss, err := client.NewSession()
	if err != nil {
		return network("the container opens no session: "+err.Error(), sessionHint, err)
	}
	defer func() { _ = ss.Close() }()
	if err := ss.RequestPty("xterm-256color", t.Size.Rows, t.Size.Columns, ssh.TerminalModes{}); err != nil {
		return network("the container gives no terminal: "+err.Error(), sessionHint, err)
	}
	ss.Stdin, ss.Stdout, ss.Stderr = t.In, t.Out, t.Out
	if err := ss.Shell(); err != nil {
		return network("the container starts nothing: "+err.Error(), sessionHint, err)
	}
	done := make(chan error, 1)
	go func() { done <- ss.Wait() }() // ends with the session, at the latest when it is closed above
	for {
		select {
		case size := <-t.Resized:
			if err := ss.WindowChange(size.Rows, size.Columns); err != nil {
				return network("the container does not take the size of the screen: "+err.Error(), sessionHint, err)
			}
		case err := <-done:
			var exit *ssh.ExitError
			if errors.As(err, &exit) {
				return nil // the status of a shell is its last command's
			}
			return remoteExit(err)
		case <-ctx.Done(): // the shell gets SIGHUP when the connection is closed
			return ctx.Err()
		}
	}
}

// Complain implements serve.Machines.
func (b *buyer) Complain(ctx context.Context, lease solana.PublicKey, text []byte) (reached, all int, err error) {
	if _, err := b.s.service.Lease(ctx, b.s.actsFor, lease); err != nil {
		return 0, 0, err
	}
	ss := b.s.fork(ctx)
	defer ss.close()
	d, err := query.Fetch[market.Dispute](ctx, ss.client, market.DisputeAddress(lease), ss.waitLevel())
	if err != nil {
		return 0, 0, refused(fmt.Sprintf("lease %s is not disputed, or its dispute is closed", lease), "open one first")
	}
	if hash := sha256.Sum256(text); d.EvidenceHash != hash {
		return 0, 0, refused(fmt.Sprintf("the dispute names a complaint with sha256 %x, this text has %x", d.EvidenceHash, hash), "give the text with which it was opened")
	}
	v, err := ss.snapshot(only(market.KindKeeper))
	if err != nil {
		return 0, 0, err
	}
	reached, err = ss.sendComplaint(v, lease, text)
	return reached, len(v.Keepers()), err
}
