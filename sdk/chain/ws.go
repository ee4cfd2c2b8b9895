package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/gagliardetto/solana-go"
)

// WS is a WebSocket connection with JSON-RPC subscriptions. When it breaks, every subscription ends with the error; the
// caller reconnects, because only it knows how to repair the gap.
//
// solana-go's client is not used: it takes a refused subscription for an accepted one and sets aside megabytes for
// each.
type WS struct {
	conn *websocket.Conn
	done chan struct{} // closed when the reader has ended
	stop context.CancelFunc
	once sync.Once
	why  error // of the end, where the reader does not know it; set once
	err  error // valid after done

	mu      sync.Mutex
	nextID  uint64
	pending map[uint64]*call // by request id
	subs    map[uint64]*Subscription
}

type call struct {
	sub   *Subscription
	reply chan reply
}

type reply struct {
	result json.RawMessage
	err    error
}

// Subscription is one of a connection.
type Subscription struct {
	ws    *WS
	id    uint64
	unsub string
	hear  func(json.RawMessage) error
}

const (
	wsWriteWait = 10 * time.Second
	wsPing      = 5 * time.Second
	wsPongWait  = 20 * time.Second
	// wsMessage is the longest message that is read. Notifications hold no account's data, and a log has some kilobytes.
	wsMessage = 8 << 20
)

// wsClient makes the handshakes. It follows no redirection: the endpoint is the one that was configured.
var wsClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// DialWS connects to the first healthy endpoint that accepts.
// Error: ErrUnreachable.
func (c *Client) DialWS(ctx context.Context) (*WS, error) {
	var last error
	var lastNode *node
	if _, err := c.Genesis(ctx); err != nil {
		return nil, fmt.Errorf("websocket: %w", err)
	}
	c.askAgain()
	for _, n := range c.order(time.Now(), nil) {
		err := c.admit(ctx, n)
		if err != nil && ctx.Err() == nil {
			n.failed(err, c.log)
		}
		if err == nil {
			var ws *WS
			if ws, err = DialWS(ctx, n.ep.WS, c.timeout); err == nil {
				return ws, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		last, lastNode = err, n
	}
	return nil, c.unreachable("websocket", lastNode, last)
}

// DialWS connects to one WebSocket endpoint.
func DialWS(ctx context.Context, url string, timeout time.Duration) (*WS, error) {
	shake, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, _, err := websocket.Dial(shake, url, &websocket.DialOptions{HTTPClient: wsClient})
	if err != nil {
		return nil, fmt.Errorf("websocket %s: %w", url, err)
	}
	conn.SetReadLimit(wsMessage)
	live, stop := context.WithCancel(context.WithoutCancel(ctx)) // the connection outlives the call
	ws := &WS{
		conn: conn, done: make(chan struct{}), stop: stop,
		pending: map[uint64]*call{}, subs: map[uint64]*Subscription{},
	}
	go ws.read(live)
	go ws.ping(live)
	return ws, nil
}

// Close ends the connection and waits for its reader.
func (w *WS) Close() {
	w.shut(nil)
	<-w.done
}

func (w *WS) shut(why error) {
	w.once.Do(func() {
		w.why = why
		w.stop()
		_ = w.conn.CloseNow()
	})
}

// Done is closed when the connection has ended.
func (w *WS) Done() <-chan struct{} { return w.done }

// Err says why the connection has ended, after Done.
func (w *WS) Err() error { return w.closedErr() }

// Listen starts a subscription and waits for the node's acceptance. hear takes every notification, in order, from the
// goroutine that reads the connection: it must neither wait nor call the connection. Its error ends the connection.
// Errors: *RPCError, ErrClosed.
func (w *WS) Listen(ctx context.Context, method, unsubscribe string, hear func(json.RawMessage) error, params ...any) (*Subscription, error) {
	sub := &Subscription{ws: w, unsub: unsubscribe, hear: hear}
	if _, err := w.call(ctx, sub, method, params); err != nil {
		return nil, err
	}
	return sub, nil
}

func (w *WS) call(ctx context.Context, sub *Subscription, method string, params []any) (json.RawMessage, error) {
	c := &call{sub: sub, reply: make(chan reply, 1)}
	w.mu.Lock()
	w.nextID++
	id := w.nextID
	w.pending[id] = c
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.pending, id)
		w.mu.Unlock()
	}()
	if err := w.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": nonNil(params)}); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", method, ErrClosed, err)
	}
	select {
	case r := <-c.reply:
		if re := (*RPCError)(nil); errors.As(r.err, &re) {
			re.Method = method
		}
		return r.result, r.err
	case <-w.done:
		return nil, fmt.Errorf("%s: %w", method, w.closedErr())
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// write sends a message. It does not use the caller's context: a message that is cut short ends the connection of all
// callers.
func (w *WS) write(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), wsWriteWait)
	defer cancel()
	return w.conn.Write(ctx, websocket.MessageText, raw)
}

// ping ends the connection when the node does not answer a ping in time.
func (w *WS) ping(ctx context.Context) {
	t := time.NewTicker(wsPing)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		wait, cancel := context.WithTimeout(ctx, wsPongWait)
		err := w.conn.Ping(wait)
		cancel()
		if err != nil {
			w.shut(fmt.Errorf("the node does not answer pings: %w", err))
			return
		}
	}
}

func (w *WS) read(ctx context.Context) {
	defer close(w.done)
	w.err = w.follow(ctx)
	w.shut(nil)
	if w.why != nil {
		w.err = w.why
	}
}

// follow hands on what the node says, until the connection ends.
func (w *WS) follow(ctx context.Context) error {
	for {
		_, msg, err := w.conn.Read(ctx)
		if err != nil {
			return err
		}
		if err := w.dispatch(msg); err != nil {
			return err
		}
	}
}

func (w *WS) dispatch(msg []byte) error {
	var m struct {
		ID     *uint64         `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
		Params *struct {
			Subscription uint64          `json:"subscription"`
			Result       json.RawMessage `json:"result"`
		} `json:"params"`
	}
	if err := json.Unmarshal(msg, &m); err != nil {
		return fmt.Errorf("websocket message: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.ID != nil {
		c, ok := w.pending[*m.ID]
		if !ok {
			return nil
		}
		delete(w.pending, *m.ID)
		switch {
		case m.Error != nil:
			c.reply <- reply{err: &RPCError{Code: m.Error.Code, Message: m.Error.Message, Data: m.Error.Data}}
		case c.sub != nil:
			if err := json.Unmarshal(m.Result, &c.sub.id); err != nil {
				return fmt.Errorf("subscription id: %w", err)
			}
			// Registered before the next message is read, so that no notification is lost.
			w.subs[c.sub.id] = c.sub
			c.reply <- reply{result: m.Result}
		default:
			c.reply <- reply{result: m.Result}
		}
		return nil
	}
	if m.Params == nil {
		return nil
	}
	if sub, ok := w.subs[m.Params.Subscription]; ok {
		return sub.hear(m.Params.Result)
	}
	return nil
}

func (w *WS) closedErr() error {
	if w.err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, w.err)
	}
	return ErrClosed
}

// Unsubscribe ends the subscription; an error means that the connection is gone, which ends it too.
func (s *Subscription) Unsubscribe(ctx context.Context) error {
	s.ws.mu.Lock()
	delete(s.ws.subs, s.id)
	s.ws.mu.Unlock()
	_, err := s.ws.call(ctx, nil, s.unsub, []any{s.id})
	return err
}

// Announced is what a notification of programSubscribe or accountSubscribe says of an account that is not in its data.
// The endpoint of a WebSocket cannot be asked which cluster it belongs to: what an account holds must be read from the
// RPC endpoint.
type Announced struct {
	Key  solana.PublicKey // zero in notifications of accountSubscribe
	Slot uint64
}

// DecodeAnnounced reads a notification of programSubscribe or accountSubscribe.
func DecodeAnnounced(raw json.RawMessage) (Announced, error) {
	var n struct {
		Context slotContext `json:"context"`
		Value   struct {
			Pubkey solana.PublicKey `json:"pubkey"`
		} `json:"value"`
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		return Announced{}, fmt.Errorf("account notification: %w", err)
	}
	return Announced{n.Value.Pubkey, uint64(n.Context.Slot)}, nil
}
