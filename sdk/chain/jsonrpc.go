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
// pointer or an interface. Errors: ErrAnswer, jsonrpc's, those of the connection.
func (c *caller) CallForInto(ctx context.Context, out any, method string, params []any) error {
	id := strconv.FormatUint(c.last.Add(1), 10)
	a, pause, err := c.post(ctx, jsonrpc.RPCRequest{Method: method, Params: params, ID: json.RawMessage(id), JSONRPC: "2.0"}, answerLimit(ctx, method, params))
	if pause > 0 {
		return &busyError{errors.Join(err, errorOf(a)), pause}
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", method, err)
	case a.Error != nil && (string(a.ID) == id || isNull(a.ID)): // null: the endpoint could not read the question
		return a.Error
	case string(a.ID) != id:
		return wrong("it is one to another question")
	case len(a.Result) == 0:
		return wrong("it has neither a result nor an error")
	case isNull(a.Result) && !nullable(out):
		return wrong("the result is null")
	}
	if err := json.Unmarshal(a.Result, out); err != nil {
		return fmt.Errorf("%w: %w", wrong("the result has another form"), err)
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

// post reads an answer up to a limit, and the pause that the endpoint asks for.
func (c *caller) post(ctx context.Context, question jsonrpc.RPCRequest, most int64) (answer, time.Duration, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return answer{}, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return answer{}, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		var with *url.Error
		if errors.As(err, &with) {
			err = with.Err // without the URL, which may hold a secret
		}
		return answer{}, 0, err
	}
	defer res.Body.Close()
	var a answer
	text := limit(res.Body, most, longestText(question.Method, most))
	err = json.NewDecoder(text).Decode(&a)
	pause := pauseOf(res, time.Now())
	switch {
	case ctx.Err() != nil:
		return answer{}, 0, ctx.Err()
	case res.StatusCode >= http.StatusBadRequest && (err != nil || a.Error == nil):
		return answer{}, pause, jsonrpc.NewHTTPError(res.StatusCode, fmt.Errorf("HTTP status %d", res.StatusCode))
	case text.over():
		return answer{}, 0, wrong(fmt.Sprintf("it has more than %d KiB, or a text that is too long", most>>10))
	case err != nil:
		return answer{}, 0, fmt.Errorf("%w: %w", wrong("it cannot be read"), err)
	}
	return a, pause, nil
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
