package sponsor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/txform"
	"github.com/gantry-market/gantry/sdk/txm"
)

const (
	// answerWithin is how long a sponsor may take, which simulates before it signs.
	answerWithin = 20 * time.Second
	// maxAnswer is how long an answer may be, bytes.
	maxAnswer = 256 << 10
	// ownWay advises who cannot be sponsored.
	ownWay = "try again later, or pay fees and rent with SOL of your own: leave --sponsor and GANTRY_SPONSOR out"
)

// Client asks a sponsor. It is safe for concurrent use.
type Client struct {
	url   string
	token string
	http  *http.Client

	mu    sync.Mutex
	payer solana.PublicKey          // the one that the sponsor has named
	known map[solana.PublicKey]bool // those that have paid for transactions of ours
}

// New is a client of the sponsor at a URL, and nil for an empty one; nothing is asked yet. The token is sent as Kora's x-api-key and
// as a bearer token; empty for none. Error: ErrURL.
func New(at, token string) (*Client, error) {
	if at == "" {
		return nil, nil
	}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("%w: %q; give one such as https://gantry.example/sponsor", ErrURL, at)
	}
	return &Client{
		url: u.String(), token: token, known: map[solana.PublicKey]bool{},
		http: &http.Client{
			Timeout:       answerWithin,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for this server
		},
	}, nil
}

// Payer is the key that pays, as the sponsor names it; it is asked once. Error: *Failure.
func (c *Client) Payer(ctx context.Context) (solana.PublicKey, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.payer.IsZero() {
		return c.payer, nil
	}
	var out Payer
	if err := c.ask(ctx, MethodPayerSigner, nil, &out); err != nil {
		return solana.PublicKey{}, failure(err)
	}
	key, err := solana.PublicKeyFromBase58(out.Signer)
	if err != nil || key.IsZero() {
		return key, &Failure{Reason: fmt.Sprintf("the sponsor %s names %q as the key that pays", c.url, printable.Text(out.Signer)), Advice: "look at --sponsor: it is Kora's URL, or that of gantry serve with /sponsor", Cause: ErrUnreachable}
	}
	c.payer, c.known[key] = key, true
	return key, nil
}

// Config says what the sponsor signs. Error: *Failure.
func (c *Client) Config(ctx context.Context) (Config, error) {
	var out Config
	err := c.ask(ctx, MethodConfig, nil, &out)
	return out, failure(err)
}

// paid remembers who pays for a transaction that an earlier command has begun.
func (c *Client) paid(key solana.PublicKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[key] = true
}

// Signer implements txm.Keyring, with the keys of the sponsor.
func (c *Client) Signer(key solana.PublicKey) (txm.Signer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return signer{c, key}, c.known[key]
}

// signer is a key of the sponsor.
type signer struct {
	c   *Client
	key solana.PublicKey
}

func (s signer) PublicKey() solana.PublicKey { return s.key }

// Sign implements txm.Signer. Its errors are final: a refusal stays one, and a server that does not answer is asked again by the
// person, who may prefer to pay. Nothing of this transaction was sent then.
func (s signer) Sign(message []byte) (solana.Signature, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	sig, err := s.c.sign(ctx, s.key, message)
	if err == nil {
		return sig, nil
	}
	f := failed(err)
	return sig, &txm.TxError{Name: f.Reason, Hint: f.Advice}
}

// errAnswer: what came back is not what was asked for.
var errAnswer = errors.New("the sponsor's answer is not the transaction that it was asked to sign")

func (c *Client) sign(ctx context.Context, key solana.PublicKey, message []byte) (solana.Signature, error) {
	m, err := txform.Message(message)
	if err != nil {
		return solana.Signature{}, err
	}
	if m.GetVersion() == solana.MessageVersionV1 {
		return solana.Signature{}, Refused("form", "split it, or leave --sponsor out", "the transaction is too large for the legacy form, and sponsors sign no other")
	}
	n := int(m.Header.NumRequiredSignatures)
	raw := append(append([]byte{byte(n)}, make([]byte, 64*n)...), message...)
	var out Signed
	if err := c.ask(ctx, MethodSignTransaction, Sign{Transaction: base64.StdEncoding.EncodeToString(raw), Signer: key.String()}, &out); err != nil {
		return solana.Signature{}, err
	}
	got, err := base64.StdEncoding.DecodeString(out.Transaction)
	if err != nil || len(got) != len(raw) || got[0] != raw[0] || !bytes.Equal(got[1+64*n:], message) {
		return solana.Signature{}, fmt.Errorf("%s: %w", c.url, errAnswer)
	}
	sig := solana.SignatureFromBytes(got[1:65])
	if m.AccountKeys[0] != key || !sig.Verify(key, message) {
		return solana.Signature{}, fmt.Errorf("%s: %w: the signature is not that of %s", c.url, errAnswer, key)
	}
	return sig, nil
}

// Errors that callers tell apart.
var (
	// ErrURL: this cannot be the address of a sponsor.
	ErrURL = errors.New("the sponsor's address is not a URL that begins with https:// or http://")
	// ErrUnreachable: the sponsor gives no answer of JSON-RPC.
	ErrUnreachable = errors.New("the sponsor does not answer")
)

// Failure is an error for people.
type Failure struct {
	Reason, Advice string
	Cause          error // *Refusal or ErrUnreachable
}

func (f *Failure) Error() string { return f.Reason + "; " + f.Advice }

func (f *Failure) Unwrap() error { return f.Cause }

// failure is failed for an error that may be none.
func failure(err error) error {
	if err == nil {
		return nil
	}
	return failed(err)
}

// failed is an error of the sponsor for people.
func failed(err error) *Failure {
	var r *Refusal
	var rpc *rpcError
	switch {
	case errors.As(err, &r):
		return &Failure{Reason: fmt.Sprintf("the sponsor does not pay (rule %s): %s", r.Rule, r.Reason), Advice: cmp.Or(r.Advice, ownWay), Cause: err}
	case errors.As(err, &rpc):
		return &Failure{Reason: "the sponsor does not pay: " + rpc.text, Advice: ownWay, Cause: err}
	}
	return &Failure{Reason: err.Error(), Advice: ownWay, Cause: err}
}

// unreachable is a sponsor that gives no answer of JSON-RPC.
func (c *Client) unreachable(why string) error {
	return fmt.Errorf("%w: %s: %s", ErrUnreachable, c.url, why)
}

// rpcError is a refusal without a rule, as Kora's are.
type rpcError struct{ text string }

func (e *rpcError) Error() string { return e.text }

// ask sends a request. Errors: *Refusal, *rpcError, ErrUnreachable.
func (c *Client) ask(ctx context.Context, method string, params, into any) error {
	body := Request{Version: "2.0", ID: json.RawMessage("1"), Method: method}
	if params != nil {
		raw, err := json.Marshal(params)
		if err != nil {
			return fmt.Errorf("request to the sponsor: %w", err)
		}
		body.Params = raw
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("request to the sponsor: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("request to the sponsor: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
		r.Header.Set("X-Api-Key", c.token)
	}
	res, err := c.http.Do(r)
	if err != nil {
		return c.unreachable(err.Error())
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return c.unreachable(err.Error())
	}
	return c.read(res.StatusCode, text, into)
}

// read reads an answer.
func (c *Client) read(status int, text []byte, into any) error {
	var out Response
	if err := json.Unmarshal(text, &out); err != nil || out.Error == nil && out.Result == nil {
		var p struct{ Detail, NextStep string } // of gantry serve, where no token is right
		if json.Unmarshal(text, &p) == nil && p.Detail != "" {
			return Refused("token", p.NextStep, "%s (GANTRY_SPONSOR_TOKEN holds the token)", printable.Text(p.Detail))
		}
		if status == http.StatusUnauthorized || status == http.StatusForbidden {
			return Refused("token", "set GANTRY_SPONSOR_TOKEN to a token that this sponsor has given you", "it takes no request without a token that it knows")
		}
		return c.unreachable(fmt.Sprintf("HTTP %d, and no answer of JSON-RPC", status))
	}
	if out.Error != nil {
		why := &Refusal{}
		if json.Unmarshal(out.Error.Data, why) == nil && why.Rule != "" {
			why.Rule, why.Reason, why.Advice = printable.Text(why.Rule), printable.Text(out.Error.Message), printable.Text(why.Advice)
			return why
		}
		return &rpcError{printable.Text(out.Error.Message)}
	}
	if err := json.Unmarshal(out.Result, into); err != nil {
		return c.unreachable("its answer has another form: " + err.Error())
	}
	return nil
}
