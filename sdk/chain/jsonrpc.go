package chain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go/rpc/jsonrpc"
	"github.com/goccy/go-json"
)

// caller calls the methods of one endpoint. solana-go's client is not used for that: it refuses an answer with a field
// that it does not know, and accepts one without a result, or one to another question.
type caller struct {
	jsonrpc.RPCClient // for batches, which this package does not send
	url               string
	http              *http.Client
	last              atomic.Uint64 // id of a question
}

func newCaller(to string, client *http.Client) *caller {
	return &caller{RPCClient: jsonrpc.NewClientWithOpts(to, &jsonrpc.RPCClientOpts{HTTPClient: client}), url: to, http: client}
}

// answer is the envelope of a result or an error. Fields that are not here are left alone.
type answer struct {
	ID     json.RawMessage   `json:"id"`
	Result json.RawMessage   `json:"result"`
	Error  *jsonrpc.RPCError `json:"error"`
}

// CallForInto asks one question and decodes the result. A result of null is an answer only where out points to a
// pointer or an interface. A listing reads the answer while it comes. Errors: ErrAnswer, jsonrpc's, those of the connection.
func (c *caller) CallForInto(ctx context.Context, out any, method string, params []any) error {
	if l, ok := out.(*listing); ok {
		return c.list(ctx, l, method, params)
	}
	q := c.question(method, params)
	res, err := c.send(ctx, q)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	defer res.Body.Close()
	most := answerLimit(ctx, method)
	a, err := readAnswer(ctx, res, most, longestText(most))
	if err := a.check(q, pauseOf(res, time.Now()), err); err != nil {
		return err
	}
	if isNull(a.Result) && !nullable(out) {
		return wrong("the result is null")
	}
	if err := json.Unmarshal(a.Result, out); err != nil {
		return fmt.Errorf("%w: %w", wrong("the result has another form"), err)
	}
	return nil
}

// question is the next question.
func (c *caller) question(method string, params []any) jsonrpc.RPCRequest {
	id := strconv.FormatUint(c.last.Add(1), 10)
	return jsonrpc.RPCRequest{Method: method, Params: params, ID: json.RawMessage(id), JSONRPC: "2.0"}
}

// check reports why an answer to a question, or the error in its place, holds no result. pause is what the endpoint asks for.
func (a answer) check(q jsonrpc.RPCRequest, pause time.Duration, err error) error {
	id := string(q.ID.(json.RawMessage))
	switch {
	case pause > 0:
		return &busyError{errors.Join(err, errorOf(a)), pause}
	case err != nil:
		return fmt.Errorf("%s: %w", q.Method, err)
	case a.Error != nil && (string(a.ID) == id || isNull(a.ID)): // null: the endpoint could not read the question
		return a.Error
	case string(a.ID) != id:
		return wrong("it is one to another question")
	case len(a.Result) == 0:
		return wrong("it has neither a result nor an error")
	}
	return nil
}

// errorOf is the error that an answer holds, nil for none.
func errorOf(a answer) error {
	if a.Error == nil {
		return nil
	}
	return a.Error
}

// send sends a question. The caller closes the answer's body.
func (c *caller) send(ctx context.Context, question jsonrpc.RPCRequest) (*http.Response, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if with := (*url.Error)(nil); errors.As(err, &with) {
		err = with.Err // without the URL, which may hold a secret
	}
	return res, err
}

// readAnswer reads an answer up to a limit, with no text in it that is longer than longest.
func readAnswer(ctx context.Context, res *http.Response, most, longest int64) (a answer, err error) {
	text := limit(res.Body, most, longest)
	err = json.NewDecoder(text).Decode(&a)
	switch {
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case res.StatusCode >= http.StatusBadRequest && (err != nil || a.Error == nil):
		return answer{}, jsonrpc.NewHTTPError(res.StatusCode, fmt.Errorf("HTTP status %d", res.StatusCode))
	case text.over():
		return answer{}, wrong(fmt.Sprintf("it has more than %d KiB, or a text that is too long", most>>10))
	case err != nil:
		return answer{}, fmt.Errorf("%w: %w", wrong("it cannot be read"), err)
	}
	return a, nil
}

func isNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// nullable reports whether out tells null from anything else.
func nullable(out any) bool {
	t := reflect.TypeOf(out)
	if t.Kind() != reflect.Pointer {
		return false
	}
	return t.Elem().Kind() == reflect.Pointer || t.Elem().Kind() == reflect.Interface
}

// wrong is an ErrAnswer that says what is wrong.
func wrong(what string) error { return fmt.Errorf("%w: %s", ErrAnswer, what) }

// unsigned is a number of an answer. Decoders may take one that does not fit for a small one.
type unsigned uint64

// UnmarshalJSON implements json.Unmarshaler.
func (u *unsigned) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not an unsigned number of 64 bits", b)
	}
	*u = unsigned(n)
	return nil
}
