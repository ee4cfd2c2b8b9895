package chain

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// errLong is the error of a JSON value that is longer than the most that is kept of one.
var errLong = errors.New("a value is too long")

// scanner reads a JSON text value by value, and keeps one of them at a time. It finds where values end; whoever decodes them checks
// their form.
type scanner struct {
	r     *bufio.Reader
	kept  []byte // the value that was read last
	spent int    // bytes of values since it was set to 0
}

func newScanner(r io.Reader) *scanner { return &scanner{r: bufio.NewReaderSize(r, 32<<10)} }

// next returns the first byte that is not white space and leaves it in the text.
func (s *scanner) next() (byte, error) {
	for {
		b, err := s.r.ReadByte()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		if b == ' ' || b == '\n' || b == '\t' || b == '\r' {
			continue
		}
		return b, s.r.UnreadByte()
	}
}

// skip takes a byte that must come next.
func (s *scanner) skip(want byte) error {
	got, err := s.next()
	if err != nil {
		return err
	}
	if got != want {
		return wrong("it is not JSON")
	}
	_, err = s.r.ReadByte()
	return err
}

// value reads one value of at most so many bytes. It is valid until the next one is read.
func (s *scanner) value(most int) ([]byte, error) {
	s.kept = s.kept[:0]
	for depth := 0; ; {
		b, err := s.next()
		if err != nil {
			return nil, err
		}
		if n := len(s.kept); n > 0 && !strings.ContainsRune(",:}]", rune(b)) && !strings.ContainsRune(",:{[", rune(s.kept[n-1])) {
			return nil, wrong("it is not JSON") // two values without a comma: white space is not kept
		}
		switch b {
		case '"':
			err = s.text(most)
		case '{', '[':
			depth++
			err = s.keep(most)
		case '}', ']':
			if depth--; depth < 0 {
				return nil, wrong("it is not JSON")
			}
			err = s.keep(most)
		case ',', ':':
			if depth == 0 {
				return nil, wrong("it is not JSON")
			}
			err = s.keep(most)
		default:
			err = s.word(most)
		}
		if err != nil {
			return nil, err
		}
		if depth == 0 {
			s.spent += len(s.kept)
			return s.kept, nil
		}
	}
}

// keep takes one byte.
func (s *scanner) keep(most int) error {
	if len(s.kept) >= most {
		return errLong
	}
	b, err := s.r.ReadByte()
	s.kept = append(s.kept, b)
	return err
}

// word takes a number, true, false or null. Its first byte is there.
func (s *scanner) word(most int) error {
	for {
		_, err := s.r.Peek(1)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		part, err := s.r.Peek(s.r.Buffered())
		if err != nil {
			return err
		}
		n := bytes.IndexAny(part, wordEnds)
		ended := n >= 0
		if !ended {
			n = len(part)
		}
		if n > most-len(s.kept) {
			return errLong
		}
		s.kept = append(s.kept, part[:n]...)
		if _, err := s.r.Discard(n); err != nil || ended {
			return err
		}
	}
}

// wordEnds are the bytes before which a word ends.
const wordEnds = " \n\t\r,:\"{}[]"

// text takes a string, with both of its quotation marks.
func (s *scanner) text(most int) error {
	if err := s.keep(most); err != nil {
		return err
	}
	begin := len(s.kept)
	for {
		part, err := s.r.ReadSlice('"')
		if len(part) > most-len(s.kept) {
			return errLong
		}
		s.kept = append(s.kept, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
		body := s.kept[begin : len(s.kept)-1]
		if escapes := len(body) - len(bytes.TrimRight(body, `\`)); escapes%2 == 0 {
			return nil
		}
	}
}

// object reads an object. For each of its fields it calls field, which reads the field's value.
func (s *scanner) object(field func(name string) error) error {
	return s.members('{', '}', func() error {
		raw, err := s.value(maxName)
		if err != nil {
			return err
		}
		name, err := nameOf(raw)
		if err != nil {
			return err
		}
		if err := s.skip(':'); err != nil {
			return err
		}
		return field(name)
	})
}

// nameOf is the name of a field. Those of accounts are set aside once.
func nameOf(raw []byte) (string, error) {
	switch string(raw) {
	case `"pubkey"`:
		return "pubkey", nil
	case `"account"`:
		return "account", nil
	case `"data"`:
		return "data", nil
	case `"owner"`:
		return "owner", nil
	case `"lamports"`:
		return "lamports", nil
	case `"executable"`:
		return "executable", nil
	case `"rentEpoch"`:
		return "rentEpoch", nil
	case `"space"`:
		return "space", nil
	}
	return textOf(raw)
}

// textOf is the text that a JSON string stands for.
func textOf(raw []byte) (text string, err error) {
	if len(raw) >= 2 && raw[0] == '"' && !bytes.ContainsRune(raw, '\\') {
		return string(raw[1 : len(raw)-1]), nil
	}
	if json.Unmarshal(raw, &text) != nil {
		err = wrong("it is not JSON")
	}
	return text, err
}

// maxName is the longest name of a field in an answer that is read value by value.
const maxName = 1 << 10

// members reads what stands between two brackets and is divided by commas. It calls member for each.
func (s *scanner) members(open, shut byte, member func() error) error {
	if err := s.skip(open); err != nil {
		return err
	}
	for first := true; ; first = false {
		b, err := s.next()
		if err != nil {
			return err
		}
		if b == shut {
			return s.skip(shut)
		}
		if !first {
			if err := s.skip(','); err != nil {
				return err
			}
		}
		if err := member(); err != nil {
			return err
		}
	}
}
