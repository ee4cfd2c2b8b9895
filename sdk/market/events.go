package market

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
)

// Event is one event of the market; Value is a pointer to an event type of the bindings (idl/bindings).
type Event struct {
	Name  string // such as LeaseSettled
	Value any
}

// Concerns reports whether the event names the account.
func (e Event) Concerns(key solana.PublicKey) bool {
	v := reflect.Indirect(reflect.ValueOf(e.Value))
	for i := range v.NumField() {
		if k, ok := v.Field(i).Interface().(solana.PublicKey); ok && k == key {
			return true
		}
	}
	return false
}

// Events reads the market's events from a transaction's log, in order. Lines of other programs are left out: a program
// can write anything into the log, so only lines while the market's program is running count.
// Error: for a line of the market's that does not decode, with the events before it.
func Events(logs []string) ([]Event, error) {
	var out []Event
	var stack []string
	id := ProgramID.String()
	for n, line := range logs {
		word := strings.Fields(line)
		switch {
		case len(word) >= 3 && word[0] == "Program" && word[2] == "invoke":
			stack = append(stack, word[1])
		case len(word) >= 3 && word[0] == "Program" && (word[2] == "success" || strings.HasPrefix(word[2], "failed")) &&
			len(stack) > 0 && stack[len(stack)-1] == word[1]:
			stack = stack[:len(stack)-1]
		case len(word) >= 3 && word[0] == "Program" && word[1] == "data:" && len(stack) > 0 && stack[len(stack)-1] == id:
			data, err := base64.StdEncoding.DecodeString(word[2])
			if err != nil {
				return out, fmt.Errorf("event in log line %d: %w", n, err)
			}
			value, err := bindings.ParseAnyEvent(data)
			if err != nil {
				return out, fmt.Errorf("event in log line %d: %w", n, err)
			}
			out = append(out, Event{Name: reflect.TypeOf(value).Elem().Name(), Value: value})
		}
	}
	return out, nil
}
