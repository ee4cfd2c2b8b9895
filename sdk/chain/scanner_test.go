package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// Of a JSON text the scanner takes the same value as the decoder does, without its white space. It takes more than JSON only where
// whoever decodes the value refuses it.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{
		`null`, `[]`, `{}`, ` { "a" : [ 1 , -2.5e3 , "x\"\\" , true , { } ] } `, `"\\\\"`, `"\\\""`, `[[[[]]]]`, `{"a":{"b":"]}"}}`, `"` + strings.Repeat("x", 40_000) + `"`,
		`[1 2]`, `{"a" "b"}`, `]`, `,`, `[}`, `"`, `"\"`, `nul`, `[1,]`, `:`, `"a"1`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		const most = 1 << 16
		got, err := newScanner(iotest.OneByteReader(bytes.NewReader(text))).value(most)
		if err == nil && len(got) > most {
			t.Fatalf("%d bytes were kept", len(got))
		}
		if !json.Valid(text) || len(text) > most {
			return
		}
		var want bytes.Buffer
		if json.Compact(&want, text) != nil || err != nil || !bytes.Equal(want.Bytes(), got) {
			t.Fatalf("%q: %q, %v", text, got, err)
		}
	})
}

func TestValuesThatAreTooLong(t *testing.T) {
	for _, text := range []string{`"` + strings.Repeat("x", 200) + `"`, strings.Repeat("[", 200), strings.Repeat("1", 200), `[` + strings.Repeat("1,", 100)} {
		_, err := newScanner(strings.NewReader(text)).value(100)
		require.ErrorIs(t, err, errLong, text)
	}
	got, err := newScanner(strings.NewReader(`"12345678"`)).value(10)
	require.NoError(t, err)
	require.Equal(t, `"12345678"`, string(got))
	_, err = newScanner(strings.NewReader(`"123456789"`)).value(10)
	require.ErrorIs(t, err, errLong)
}

// An error of the connection is that, and not one of the answer's form.
func TestErrorsOfTheReader(t *testing.T) {
	broken := errors.New("broken")
	for _, head := range []string{"", `"a`, `[1,`, `{"a":`, `12`} {
		s := newScanner(iotest.DataErrReader(&failing{strings.NewReader(head), broken}))
		_, err := s.value(100)
		require.ErrorIs(t, err, broken, head)
	}
}

// failing ends with an error of its own.
type failing struct {
	r   *strings.Reader
	err error
}

func (f *failing) Read(b []byte) (int, error) {
	if n, _ := f.r.Read(b); n > 0 {
		return n, nil
	}
	return 0, f.err
}
