package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
)

// An endpoint may send what it likes, compressed to a thousandth. An answer is read up to what its method may need. Lists of a program's
// accounts have a Bound.
const (
	smallAnswer   = 64 << 10  // a number, a hash, the time of a block, the fees of 150 slots
	statusAnswer  = 512 << 10 // of 256 signatures
	logAnswer     = 2 << 20   // one transaction or simulation with its logs; a page of 1,000 signatures
	accountAnswer = 4 << 20   // a hundred accounts of the market, which have some kilobytes
	codeAnswer    = 16 << 20  // an account with the code of a program: at most 10 MiB, in base64 a third more
)

// forCode marks questions for accounts that hold the code of a program.
type forCode struct{}

// answerLimit is the most bytes of an answer to a question.
func answerLimit(ctx context.Context, method string) int64 {
	switch method {
	case "getAccountInfo", "getMultipleAccounts":
		if ctx.Value(forCode{}) != nil {
			return codeAnswer
		}
		return accountAnswer
	case "getSignatureStatuses":
		return statusAnswer
	case "getTransaction", "getSignaturesForAddress", "simulateTransaction", "sendTransaction":
		return logAnswer
	}
	return smallAnswer
}

// longestText is how long a text within an answer may be: a decoder would set aside the whole of one that continues for ever.
func longestText(most int64) int64 {
	if most == accountAnswer {
		return maxElement
	}
	return most
}

// limited is a reader that ends after a limit, or within a text that is too long, and knows that there was more.
type limited struct {
	r             io.Reader
	left          int64
	text, longest int64 // bytes since the last quotation mark, and at most
}

func limit(r io.Reader, n, longest int64) *limited { return &limited{r: r, left: n, longest: longest} }

// Read implements io.Reader.
func (l *limited) Read(b []byte) (int, error) {
	if l.over() {
		return 0, io.ErrUnexpectedEOF
	}
	if int64(len(b)) > l.left+1 {
		b = b[:l.left+1]
	}
	n, err := l.r.Read(b)
	l.left -= int64(n)
	if i := bytes.LastIndexByte(b[:n], '"'); i >= 0 {
		l.text = int64(n - i)
	} else {
		l.text += int64(n)
	}
	return n, err
}

func (l *limited) over() bool { return l.left < 0 || l.text > l.longest }

// list reads an array element by element and stops at the first that no node sends. Decoding all of an array like
// [{},{},…] first would take many times its bytes.
type list[T interface{ fault() string }] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *list[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	if isNull(b) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return wrong("it is not a list")
	}
	out := list[T]{}
	for d.More() {
		var v T
		if err := d.Decode(&v); err != nil {
			return err
		}
		if f := v.fault(); f != "" {
			return wrong(f)
		}
		out = append(out, v)
	}
	*l = out
	return nil
}

// leastData is the shortest form of an account's data: none, in base64.
const leastData = len(`["","base64"]`)

func (a *accountJSON) fault() string {
	if a != nil && len(a.Data) < leastData {
		return "an account of the list has no data"
	}
	return ""
}

func (s SignatureInfo) fault() string {
	if s.Signature.IsZero() {
		return "an element of the list has no signature"
	}
	return ""
}
