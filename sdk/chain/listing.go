package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gagliardetto/solana-go"
)

// methodList is the method that lists a program's accounts.
const methodList = "getProgramAccounts"

// listing reads an answer of getProgramAccounts. No more of its text than one element is in memory at a time.
type listing struct {
	bound Bound
	begin func() // before the first account of an endpoint: what was taken before counts for nothing
	take  func(Account)
	bare  bool // addresses alone are wanted, of any slot
	wait  patience

	count int
	held  int64
	slot  uint64
	found bool // there is a list

	owner     solana.PublicKey // of the account before
	ownerText []byte
}

// list asks for a list and reads the answer as it comes.
func (c *caller) list(ctx context.Context, l *listing, method string, params []any) error {
	l.begin()
	l.count, l.held, l.slot, l.found = 0, 0, 0, false
	q := c.question(method, params)
	res, err := c.send(ctx, q)
	if err != nil {
		return fmt.Errorf("%s: %w", method, cause(ctx, err))
	}
	defer res.Body.Close()
	var a answer
	if res.StatusCode >= http.StatusBadRequest {
		a, err = readAnswer(ctx, res, smallAnswer, smallAnswer)
	} else {
		a, err = l.answer(ctx, res.Body)
	}
	switch err := a.check(q, pauseOf(res, time.Now()), err); {
	case err != nil:
		return err
	case !l.found:
		return wrong("the result is null")
	case l.slot == 0 && !l.bare:
		return wrong("it names no slot")
	}
	return nil
}

// answer reads an answer up to the list's bound, and says what is wrong with it. Errors: ErrAnswer, ErrTooLarge, the context's.
func (l *listing) answer(ctx context.Context, body io.Reader) (answer, error) {
	text := limit(l.wait.reader(body), l.bound.text(), maxElement)
	a, err := l.envelope(newScanner(text))
	switch {
	case err == nil || errors.Is(err, ErrTooLarge):
		return a, err
	case ctx.Err() != nil:
		return a, cause(ctx, ctx.Err())
	case text.left < 0:
		return a, l.tooLarge()
	case text.over(), errors.Is(err, errLong):
		return a, wrong(fmt.Sprintf("an account of the list has more than %d KiB", maxElement>>10))
	case errors.Is(err, ErrAnswer):
		return a, err
	}
	return a, fmt.Errorf("%w: %w", wrong("it cannot be read"), err)
}

// envelope reads the answer's fields, and hands the accounts over on the way.
func (l *listing) envelope(s *scanner) (a answer, err error) {
	err = s.object(func(name string) error {
		if name == "result" {
			return l.result(s, &a)
		}
		raw, err := s.value(smallAnswer)
		if err != nil {
			return err
		}
		switch name {
		case "id":
			a.ID = bytes.Clone(raw)
		case "error":
			return json.Unmarshal(raw, &a.Error)
		}
		return nil
	})
	return a, err
}

// result reads the field result: the slot, and the list of accounts.
func (l *listing) result(s *scanner, a *answer) error {
	if a.Result != nil {
		return wrong("it has two results")
	}
	b, err := s.next()
	if err != nil {
		return err
	}
	if b != '{' {
		raw, err := s.value(smallAnswer)
		a.Result = bytes.Clone(raw)
		if err == nil && !isNull(raw) {
			err = wrong("the result has another form")
		}
		return err
	}
	a.Result = json.RawMessage("{}") // it is read here
	return s.object(func(name string) error {
		if name == "value" && !l.found {
			l.found = true
			return l.accounts(s)
		}
		raw, err := s.value(smallAnswer)
		if err != nil || name != "context" || l.found { // accounts have the slot that stands before them
			return err
		}
		var at slotContext
		err = json.Unmarshal(raw, &at)
		l.slot = uint64(at.Slot)
		return err
	})
}

// accounts reads the elements of the list.
func (l *listing) accounts(s *scanner) error {
	b, err := s.next()
	if err != nil {
		return err
	}
	if b != '[' {
		return wrong("the list is null")
	}
	return s.members('[', ']', func() error {
		a, err := l.element(s)
		if err != nil {
			return err
		}
		l.count++
		l.held += int64(len(a.Data)) + AccountOverhead
		if l.count > l.bound.Accounts || l.held > l.bound.Bytes {
			return l.tooLarge()
		}
		l.take(a)
		return nil
	})
}

// element reads one account of the list with its address.
func (l *listing) element(s *scanner) (Account, error) {
	a, there := Account{Slot: l.slot}, false
	s.spent = 0
	err := s.object(func(name string) (err error) {
		switch name {
		case "pubkey":
			var raw []byte
			if raw, err = s.value(maxName); err == nil {
				a.Key, err = keyOf(raw)
			}
		case "account":
			there, err = l.account(s, &a)
		default:
			_, err = s.value(maxElement)
		}
		return within(s, err)
	})
	switch {
	case err != nil:
		return a, err
	case a.Key.IsZero():
		return a, wrong("an element of the list has no address")
	case l.bare:
		return Account{Key: a.Key, Slot: a.Slot}, nil
	case !there:
		return a, wrong("an account of the list is null, or has no data")
	}
	return a, nil
}

// within adds the bound of an element to an error: it may have many values.
func within(s *scanner, err error) error {
	if err == nil && s.spent > maxElement {
		return errLong
	}
	return err
}

// account reads an account, and reports whether it has data. Other fields are skipped.
func (l *listing) account(s *scanner, a *Account) (there bool, err error) {
	if b, err := s.next(); err != nil || b != '{' {
		_, err = s.value(maxName)
		return false, err
	}
	err = s.object(func(name string) error {
		if name == "owner" {
			return l.owned(s, a)
		}
		raw, err := s.value(maxElement)
		if err = within(s, err); err != nil {
			return err
		}
		switch name {
		case "data":
			if a.Data, there = base64Of(raw); !there {
				return wrong("the data of an account is not base64")
			}
		case "lamports":
			var n unsigned
			err = n.UnmarshalJSON(raw)
			a.Lamports = Lamports(n)
		case "executable":
			if a.Executable = string(raw) == "true"; !a.Executable && string(raw) != "false" {
				err = json.Unmarshal(raw, &a.Executable)
			}
		}
		return err
	})
	return there, err
}

// owned reads the owner of an account, which all of a list have in common.
func (l *listing) owned(s *scanner, a *Account) error {
	raw, err := s.value(maxName)
	if err != nil {
		return err
	}
	if bytes.Equal(raw, l.ownerText) {
		a.Owner = l.owner
		return nil
	}
	l.owner, err = keyOf(raw)
	l.ownerText, a.Owner = append(l.ownerText[:0], raw...), l.owner
	return err
}

// keyOf is an address in an answer. Error: ErrAnswer.
func keyOf(raw []byte) (key solana.PublicKey, err error) {
	text, err := textOf(raw)
	if err == nil {
		key, err = solana.PublicKeyFromBase58(text)
	}
	if err != nil {
		return key, fmt.Errorf("%w: %w", wrong("an address of the list has another form"), err)
	}
	return key, nil
}

func (l *listing) tooLarge() error {
	return fmt.Errorf("%w: %w: at most %d accounts and %d MiB are read. If the market has grown, raise --max-list-mib", wrong("the list of accounts is too long"), ErrTooLarge,
		l.bound.Accounts, l.bound.Bytes>>20)
}

// leastRate is how many bytes of a list must come in a second: a longer list takes longer than other answers.
const leastRate = 2 << 20

// patience is the time that a list may take: as long as any answer, and a second more for each leastRate bytes that came. One goroutine
// uses it.
type patience struct {
	until time.Time
	timer *time.Timer
}

// start returns a context that ends when the time is over, with context.DeadlineExceeded as its cause.
func (p *patience) start(ctx context.Context, first time.Duration) (context.Context, context.CancelFunc) {
	timed, cancel := context.WithCancelCause(ctx)
	p.until = time.Now().Add(first)
	p.timer = time.AfterFunc(first, func() { cancel(context.DeadlineExceeded) })
	return timed, func() {
		p.timer.Stop()
		cancel(context.Canceled)
	}
}

// reader reads from r and waits longer the more has come.
func (p *patience) reader(r io.Reader) io.Reader { return &patientReader{r: r, p: p} }

type patientReader struct {
	r    io.Reader
	p    *patience
	came int64 // since time was added
}

// Read implements io.Reader.
func (r *patientReader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if r.came += int64(n); r.came >= leastRate && r.p.timer != nil {
		r.came -= leastRate
		r.p.until = r.p.until.Add(time.Second)
		r.p.timer.Reset(time.Until(r.p.until))
	}
	return n, err
}

// patient marks the context of a list with its patience.
type patient struct{}

// timed is the context of one call of a method to one endpoint. Calls that a list needs before it have the time of any other.
func (c *Client) timed(ctx context.Context, method string) (context.Context, context.CancelFunc) {
	if p, ok := ctx.Value(patient{}).(*patience); ok && method == methodList {
		return p.start(ctx, c.timeout)
	}
	return context.WithTimeout(ctx, c.timeout)
}

// cause is why a context ended, where it has, else the error.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	return err
}
