package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/libp2p/go-yamux/v5"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/attest/tpm"
)

// config: a guest may compute for a minute before it answers, so that no side asks whether the other is there.
func config() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false
	c.ConnectionWriteTimeout = time.Minute
	c.MeasureRTTInterval = time.Hour
	c.LogOutput = io.Discard
	return c
}

// Client asks a guest. It is safe for concurrent use.
type Client struct{ mux *yamux.Session }

// maxNoise is how much a firmware may write on the port before the guest's greeting, bytes.
const maxNoise = 1 << 20

// NewClient waits for the guest's greeting on the host's end of the port, and begins a session, which closes the port at its end.
// Error: the port's, the context's.
func NewClient(ctx context.Context, port net.Conn) (*Client, error) {
	stop := context.AfterFunc(ctx, func() { _ = port.SetReadDeadline(time.Unix(1, 0)) })
	err := awaitGreeting(port)
	if !stop() && err == nil {
		err = ctx.Err() // the deadline is set, or will be
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wait for the guest: %w", cmp.Or(ctx.Err(), err)), port.Close())
	}
	mux, err := yamux.Client(port, config(), nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("session with the guest: %w", err), port.Close())
	}
	return &Client{mux}, nil
}

// awaitGreeting reads up to the greeting and not a byte more, since the session follows.
func awaitGreeting(port io.Reader) error {
	var last []byte
	one := make([]byte, 1)
	for range maxNoise {
		if _, err := io.ReadFull(port, one); err != nil {
			return err
		}
		last = append(last, one[0])
		last = last[max(0, len(last)-len(Greeting)):]
		if string(last) == Greeting {
			return nil
		}
	}
	return fmt.Errorf("%d bytes, and no greeting among them", maxNoise)
}

// Close ends the session. The guest switches itself off then.
func (c *Client) Close() error { return c.mux.Close() }

// Closed is closed when the session is over.
func (c *Client) Closed() <-chan struct{} { return c.mux.CloseChan() }

// Keys returns the keys of the guest's TPM. Error: ErrRefused where it has none.
func (c *Client) Keys(ctx context.Context) (tpm.Request, error) {
	a, err := c.ask(ctx, Question{Keys: &KeysQuestion{}})
	if err != nil {
		return tpm.Request{}, err
	}
	if a.Keys == nil {
		return tpm.Request{}, fmt.Errorf("keys: %w", errEmpty)
	}
	return tpm.Request{AK: a.Keys.AK, EK: a.Keys.EK, Chain: a.Keys.Chain}, nil
}

// Activate has the TPM open a credential. Error: ErrRefused.
func (c *Client) Activate(ctx context.Context, credential tpm.Credential) ([]byte, error) {
	a, err := c.ask(ctx, Question{Activate: &ActivateQuestion{credential.IDObject, credential.EncryptedSeed}})
	return a.Secret, err
}

// Evidence answers a challenge. The bundle names a key for the subject. It lacks the time and the node's signature, which the
// caller adds. Error: ErrRefused, attest.ErrMalformed.
func (c *Client) Evidence(ctx context.Context, challenge attest.Challenge, of seal.Subject) (*bundle.Bundle, []string, error) {
	a, err := c.ask(ctx, Question{Evidence: &EvidenceQuestion{
		Genesis: challenge.GenesisHash, Program: challenge.Program, ID: challenge.ID, Node: challenge.Node, NodeKey: challenge.NodeKey,
		SlotHash: challenge.SlotHash, Expiry: challenge.Expiry, Lease: of.Lease, Job: of.Job,
	}})
	if err != nil {
		return nil, nil, err
	}
	b, err := bundle.Parse(a.Bundle)
	if err != nil {
		return nil, a.Findings, fmt.Errorf("evidence of the guest: %w", err)
	}
	if b.Challenge != challenge {
		return nil, a.Findings, fmt.Errorf("evidence of the guest answers another challenge: %w", attest.ErrMalformed)
	}
	return b, a.Findings, nil
}

// Deploy brings the job that the customer has sealed to a key. The guest has opened it when this returns, and runs it. Error: ErrRefused.
func (c *Client) Deploy(ctx context.Context, q DeployQuestion) (Receipt, error) {
	a, err := c.ask(ctx, Question{Deploy: &q})
	if err != nil {
		return Receipt{}, err
	}
	if a.Receipt == nil {
		return Receipt{}, fmt.Errorf("receipt: %w", errEmpty)
	}
	return *a.Receipt, nil
}

// Output returns the sealed records of the job from a number on, and waits for one. Error: ErrRefused.
func (c *Client) Output(ctx context.Context, from uint64) (OutputAnswer, error) {
	a, err := c.ask(ctx, Question{Output: &OutputQuestion{from}})
	if err != nil {
		return OutputAnswer{}, err
	}
	if a.Output == nil {
		return OutputAnswer{}, fmt.Errorf("output: %w", errEmpty)
	}
	return *a.Output, nil
}

// Off has the guest switch itself off.
func (c *Client) Off(ctx context.Context) error {
	_, err := c.ask(ctx, Question{Off: &OffQuestion{}})
	return err
}

var errEmpty = errors.New("the guest's answer lacks what was asked for")

func (c *Client) ask(ctx context.Context, q Question) (Answer, error) {
	var a Answer
	stream, err := c.mux.OpenStream(ctx)
	if err != nil {
		return a, fmt.Errorf("ask the guest: %w", cmp.Or(ctx.Err(), err))
	}
	stop := context.AfterFunc(ctx, func() { _ = stream.Reset() })
	defer stop()
	defer stream.Close()
	q.Version = Version
	if err = write(stream, q); err == nil {
		if err = stream.CloseWrite(); err == nil {
			err = read(stream, &a)
		}
	}
	if ctx.Err() != nil {
		err = ctx.Err() // that the stream was reset says less
	}
	switch {
	case err != nil:
		return a, fmt.Errorf("ask the guest: %w", err)
	case a.Version != Version:
		return a, fmt.Errorf("ask the guest: it speaks version %d, and this is %d", a.Version, Version)
	case a.Refused != "":
		return a, fmt.Errorf("%w: %s", ErrRefused, a.Refused)
	}
	return a, nil
}
