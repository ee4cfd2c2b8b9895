package signing

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/records"
)

// ClientOptions of a Client; all but Log are required.
type ClientOptions struct {
	Dial Dialer
	// Seen is the file in which the keeper notes how much of the signer's store it has seen: an older copy of the store
	// is not believed.
	Seen string
	// Timeout of a request.
	Timeout time.Duration
	// Turn is called before each request of Acquire, for a watchdog; nil for none.
	Turn func()
	Log  zerolog.Logger
}

// Client is a keeper's end of a signer: a Key whose store is there. It is safe for concurrent use.
type Client struct {
	o    ClientOptions
	http *http.Client
	id   Holder
	seen *watermark

	first   atomic.Uint64
	ttl     atomic.Int64 // nanoseconds
	answers atomic.Bool
	waits   atomic.Pointer[error]

	mu     sync.Mutex
	key    solana.PublicKey // zero before the first answer
	domain records.Domain
	had    bool
}

// NewClient makes the client of a new run of a keeper. It asks nothing yet. Error: options.ErrMissing.
func NewClient(o ClientOptions) (*Client, error) {
	if err := options.Complete("client of the signer", o, "Turn", "Log"); err != nil {
		return nil, err
	}
	c := &Client{o: o, seen: &watermark{path: o.Seen}, http: &http.Client{Timeout: o.Timeout, Transport: o.Dial.transport()}}
	if _, err := rand.Read(c.id[:]); err != nil {
		return nil, err
	}
	return c, c.seen.load()
}

// call asks the signer. Errors: those of codes, those of the connection.
func (c *Client) call(path string, in, out any) error {
	resp, err := c.post(path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("answer of the signer to %s: %w", path, err)
	}
	return nil
}

// post returns an answer that is no failure, whose body the caller closes.
func (c *Client) post(path string, in any) (*http.Response, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("request to the signer: %w", err)
	}
	req, err := http.NewRequest(http.MethodPost, "http://signer/"+Version+"/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(holderHeader, c.id.String())
	// Every request may be made twice: package http then repeats one whose connection was closed by a signer that was
	// started again. An empty value is not sent.
	req.Header["Idempotency-Key"] = []string{}
	resp, err := c.http.Do(req)
	c.answers.Store(err == nil)
	if err != nil {
		return nil, fmt.Errorf("the signer at %s cannot be reached: %w", c.o.Dial, errors.Unwrap(err))
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	var f failure
	if json.NewDecoder(resp.Body).Decode(&f) != nil || f.Code == "" {
		return nil, fmt.Errorf("%w: %s answers %s with %s; is it a signer of this version?", errSigner, c.o.Dial, path, resp.Status)
	}
	return nil, f.err()
}

// Hold asks for the hold, or renews it. Errors: ErrHold when another keeper has it; store.ErrFrozen when the signer's
// store is an older copy of one that this keeper has seen, which then signs nothing more.
func (c *Client) Hold() error {
	c.mu.Lock()
	had := c.had
	c.mu.Unlock()
	var a holdAnswer
	if err := c.call("hold", holdRequest{Had: had}, &a); err != nil {
		return err
	}
	key, err := bytes32(a.Key)
	if err != nil || len(a.Domain) != len(records.Domain{}) || len(a.File) != len(store.Position{}.File) || a.TTL <= 0 {
		return fmt.Errorf("%w: %s says nothing sound of its key", errSigner, c.o.Dial)
	}
	c.first.Store(uint64(a.First))
	c.ttl.Store(a.TTL * int64(time.Millisecond))
	c.mu.Lock()
	c.domain = records.Domain(a.Domain)
	if c.key.IsZero() {
		c.key = key
	}
	same := c.key == key
	c.had = a.Granted
	c.mu.Unlock()
	switch {
	case !same:
		return fmt.Errorf("%w: %s has another key than before", errSigner, c.o.Dial)
	case !a.Granted:
		return fmt.Errorf("%w: it is not given to this one", ErrHold)
	}
	old, err := c.seen.note(store.Position{File: [16]byte(a.File), Sequence: a.Sequence})
	if err != nil {
		return err
	}
	if old {
		why := "its file is an older copy of one that this keeper has seen"
		return errors.Join(c.Freeze(why), fmt.Errorf("%w: the signer's: %s", store.ErrFrozen, why))
	}
	return nil
}

// Answers reports whether the signer answered the last request.
func (c *Client) Answers() bool { return c.answers.Load() }

// Waits is why Acquire waits; nil while it does not.
func (c *Client) Waits() error {
	if why := c.waits.Load(); why != nil {
		return *why
	}
	return nil
}

// Acquire waits until this keeper has the hold. Errors: of ctx, and those of Hold that waiting does not mend.
func (c *Client) Acquire(ctx context.Context) error {
	defer c.waits.Store(nil)
	for waits := false; ; {
		if c.o.Turn != nil {
			c.o.Turn()
		}
		err := c.Hold()
		c.waits.Store(&err)
		switch {
		case err == nil:
			return nil
		case store.IsDamage(err), c.sameKeyLost(err):
			return err
		case !waits:
			waits = true
			c.o.Log.Info().Err(err).Stringer("signer", c.o.Dial).Msg("keeper stands by until it has the signer's hold")
		default:
			c.o.Log.Debug().Err(err).Msg("keeper still stands by")
		}
		if err := wait.For(ctx, c.pause()); err != nil {
			return err
		}
	}
}

func (c *Client) sameKeyLost(err error) bool {
	return errors.Is(err, errSigner) && !c.PublicKey().IsZero()
}

// pause is the time between two requests for the hold.
func (c *Client) pause() time.Duration {
	return min(max(time.Duration(c.ttl.Load())/4, 100*time.Millisecond), 2*time.Second)
}

// Keep renews the hold until ctx ends. It returns when another keeper has it, or the store signs no more; while the signer
// does not answer, it asks again.
func (c *Client) Keep(ctx context.Context) error {
	for {
		if err := wait.For(ctx, c.pause()); err != nil {
			return err
		}
		switch err := c.Hold(); {
		case err == nil:
		case errors.Is(err, ErrHold):
			return fmt.Errorf("%w; this keeper ends, and stands by when it is started again", err)
		case store.IsDamage(err):
			return err
		default:
			c.o.Log.Warn().Err(err).Msg("the signer does not answer; until then nothing is signed")
		}
	}
}

// PublicKey implements records.Signer; zero before the first answer.
func (c *Client) PublicKey() solana.PublicKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.key
}

// Domain of the cluster for which the signer signs.
func (c *Client) Domain() records.Domain {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.domain
}

// Close gives the hold back, so that another keeper need not wait.
func (c *Client) Close() error {
	defer c.http.CloseIdleConnections()
	c.mu.Lock()
	had := c.had
	c.had = false
	c.mu.Unlock()
	if !had {
		return nil
	}
	if err := c.call("release", empty{}, &empty{}); err != nil {
		c.o.Log.Debug().Err(err).Msg("the hold was not given back; it lapses")
	}
	return nil
}
