package market

import (
	"encoding/base64"
	"errors"
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

// ErrEvents is the error of a log that does not say all that the market's program did.
var ErrEvents = errors.New("the log does not show all events of the market")

// Call is an instruction of the market's program.
type Call struct {
	Data  []byte
	Inner bool // another program made it
}

// Calls are the instructions of the market's program in a transaction that succeeded, in the order in which they ran.
type Calls struct {
	List []Call
	// Whole says that the list has inner calls too. Not every node shows them.
	Whole bool
}

// truncated is the line that a node writes in place of those that it leaves out. Shorter lines may follow it.
const truncated = "Log truncated"

// Events reads the market's events from the log of a transaction that succeeded, in order. It holds the log against the
// calls: each must be there from its start to its end, with the events that its instruction always emits. Lines of other
// programs are left out: a program can write anything into the log, so only lines while the market's program is running
// count. Error: ErrEvents, and then no events.
func Events(calls Calls, logs []string) ([]Event, error) {
	r := logReader{calls: calls}
	for n, line := range logs {
		if line == truncated {
			r.cut = true
			break
		}
		if err := r.line(line); err != nil {
			return nil, fmt.Errorf("%w: log line %d: %w", ErrEvents, n, err)
		}
	}
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEvents, err)
	}
	return r.events, nil
}

// frame is a program that is running.
type frame struct {
	program string
	call    *Call // of the market, where it is known
	kinds   map[[8]byte]bool
}

// logReader reads the log of a transaction line by line.
type logReader struct {
	calls  Calls
	next   int // the first call that the log has not shown yet
	stack  []*frame
	events []Event
	cut    bool
}

func (r *logReader) line(line string) error {
	word := strings.Fields(line)
	if len(word) < 3 || word[0] != "Program" {
		return nil
	}
	var top *frame
	if len(r.stack) > 0 {
		top = r.stack[len(r.stack)-1]
	}
	switch {
	case word[2] == "invoke":
		return r.begin(word[1])
	case (word[2] == "success" || strings.HasPrefix(word[2], "failed")) && top != nil && top.program == word[1]:
		r.stack = r.stack[:len(r.stack)-1]
		return top.complete()
	case word[1] == "data:" && top != nil && top.program == ProgramID.String():
		data, err := base64.StdEncoding.DecodeString(word[2])
		if err != nil {
			return fmt.Errorf("event: %w", err)
		}
		value, err := bindings.ParseAnyEvent(data)
		if err != nil {
			return fmt.Errorf("event: %w", err)
		}
		top.kinds[[8]byte(data[:8])] = true
		r.events = append(r.events, Event{Name: reflect.TypeOf(value).Elem().Name(), Value: value})
	}
	return nil
}

// begin notes that a program begins to run.
func (r *logReader) begin(program string) error {
	f := &frame{program: program, kinds: map[[8]byte]bool{}}
	inner := len(r.stack) > 0
	r.stack = append(r.stack, f)
	if program != ProgramID.String() {
		return nil
	}
	if r.next < len(r.calls.List) && r.calls.List[r.next].Inner == inner {
		f.call = &r.calls.List[r.next]
		r.next++
		return nil
	}
	if inner && !r.calls.Whole {
		return nil
	}
	return errors.New("it shows a call that the transaction does not have there")
}

// end says what is missing at the end of the log.
func (r *logReader) end() error {
	shown := r.next
	for _, f := range r.stack {
		if f.call != nil {
			shown-- // it began, and its end is not shown
		}
	}
	why := "the node does not show it"
	if r.cut {
		why = "the node cut it (Log truncated)"
	}
	switch {
	case shown < len(r.calls.List):
		return fmt.Errorf("of %d calls it shows %d whole: %s", len(r.calls.List), shown, why)
	case r.cut && !r.calls.Whole:
		return fmt.Errorf("other programs may have called the market after its end: %s", why)
	case len(r.stack) > 0 && !r.cut:
		return errors.New("it ends before its programs do")
	}
	return nil
}

// complete requires the events that the frame's instruction always emits.
func (f *frame) complete() error {
	if f.program != ProgramID.String() {
		return nil
	}
	want := always{one: nil}
	if f.call != nil && len(f.call.Data) >= 8 {
		want = emits[[8]byte(f.call.Data[:8])]
	}
	if want.silent {
		return nil
	}
	if len(f.kinds) == 0 {
		return errors.New("an instruction of the market ends without an event")
	}
	for _, kind := range want.all {
		if !f.kinds[kind] {
			return errors.New("an instruction of the market ends without an event that it always emits")
		}
	}
	for _, kind := range want.one {
		if f.kinds[kind] {
			return nil
		}
	}
	if len(want.one) > 0 {
		return errors.New("an instruction of the market ends without any of the events that it emits")
	}
	return nil
}
