package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gorilla/websocket"
)

// WS is a WebSocket connection with JSON-RPC subscriptions. When it breaks, every subscription ends with the error; the
// caller reconnects, because only it knows how to repair the gap.
//
// solana-go's client is not used: it takes a refused subscription for an accepted one and sets aside megabytes for
// each.
type WS struct {
	conn *websocket.Conn
	done chan struct{} // closed when the reader has ended
	stop chan struct{}
	once sync.Once
	err  error // valid after done

	writeMu sync.Mutex

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
	wsReadWait  = 20 * time.Second
	// wsMessage is the longest message that is read. Notifications hold no account's data, and a log has some kilobytes.
	wsMessage = 8 << 20
)

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
	d := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: timeout}
	conn, resp, err := d.DialContext(ctx, url, nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("websocket %s: %w", url, err)
	}
	conn.SetReadLimit(wsMessage)
	ws := &WS{
		conn: conn, done: make(chan struct{}), stop: make(chan struct{}),
		pending: map[uint64]*call{}, subs: map[uint64]*Subscription{},
	}
	go ws.read()
	go ws.ping()
	return ws, nil
}

// Close ends the connection and waits for its reader.
func (w *WS) Close() {
	w.shut()
	<-w.done
}

func (w *WS) shut() {
	w.once.Do(func() {
		close(w.stop)
		_ = w.conn.Close()
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

func (w *WS) write(v any) error {
	w.writeMu.Lock()
	defer w.writeMu.Unlock()
	if err := w.conn.SetWriteDeadline(time.Now().Add(wsWriteWait)); err != nil {
		return err
	}
	return w.conn.WriteJSON(v)
}

func (w *WS) ping() {
	t := time.NewTicker(wsPing)
	defer t.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-t.C:
			w.writeMu.Lock()
			err := w.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(wsWriteWait))
			w.writeMu.Unlock()
			if err != nil {
				w.shut()
				return
			}
		}
	}
}

func (w *WS) read() {
	defer close(w.done)
	defer w.shut()
	w.conn.SetPongHandler(func(string) error { return w.conn.SetReadDeadline(time.Now().Add(wsReadWait)) })
	for {
		if err := w.conn.SetReadDeadline(time.Now().Add(wsReadWait)); err != nil {
			w.err = err
			return
		}
		_, msg, err := w.conn.ReadMessage()
		if err != nil {
			w.err = err
			return
		}
		if err := w.dispatch(msg); err != nil {
			w.err = err
			return
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
