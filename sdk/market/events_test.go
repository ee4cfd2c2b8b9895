package market

import (
	"encoding/base64"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
)

// eventLine is an event in a log: the body is zero.
func eventLine(kind [8]byte, body ...byte) string {
	return "Program data: " + base64.StdEncoding.EncodeToString(append(kind[:], body...))
}

func invoke(program solana.PublicKey, depth string) string {
	return "Program " + program.String() + " invoke [" + depth + "]"
}

func success(program solana.PublicKey) string { return "Program " + program.String() + " success" }

func callOf(kind [8]byte) Call { return Call{Data: kind[:]} }

func TestEventsCountOnlyWhileTheProgramRuns(t *testing.T) {
	// period 7, closed: discriminator and one u64.
	line := eventLine(bindings.Event_ReportClosed, 7, 0, 0, 0, 0, 0, 0, 0)
	id, other := ProgramID, solana.TokenProgramID
	calls := Calls{List: []Call{callOf(bindings.Instruction_ReportClose)}, Whole: true}
	got, err := Events(calls, []string{
		line, // before any program
		invoke(other, "1"), line, success(other),
		invoke(id, "1"),
		"Program log: " + invoke(other, "2"), // a text that looks like an invocation
		invoke(other, "2"), line, success(other),
		line,
		"Program " + id.String() + " consumed 100 of 200 compute units", success(id),
		line, // after it
	})
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "ReportClosed", got[0].Name)
	require.Equal(t, &bindings.ReportClosed{Period: 7}, got[0].Value)
	_, err = Events(calls, []string{invoke(id, "1"), "Program data: !"})
	require.ErrorIs(t, err, ErrEvents)
	_, err = Events(calls, []string{invoke(id, "1"), "Program data: AAAAAAAAAAA="})
	require.ErrorIs(t, err, ErrEvents)
	key := solana.PublicKey{9}
	require.True(t, Event{Value: &bindings.NodeClosed{Node: key}}.Concerns(key))
	require.False(t, Event{Value: &bindings.NodeClosed{}}.Concerns(key))
}

// A log that leaves out what a call did is no proof that the call did nothing.
func TestALogThatLeavesOutACallIsNotRead(t *testing.T) {
	id, other := ProgramID, solana.TokenProgramID
	event := eventLine(bindings.Event_ReportClosed, make([]byte, 8)...)
	voted := eventLine(bindings.Event_ReportVoted, make([]byte, 80)...)
	one := []Call{callOf(bindings.Instruction_ReportClose)}
	two := []Call{one[0], one[0]}
	inner := []Call{{Data: one[0].Data, Inner: true}}
	whole := []string{invoke(id, "1"), event, success(id)}
	for name, c := range map[string]struct {
		calls Calls
		logs  []string
		read  int // events; -1 for unread
	}{
		"whole":                        {Calls{one, true}, whole, 1},
		"two calls":                    {Calls{two, true}, slices.Concat(whole, whole), 2},
		"no log":                       {Calls{one, true}, nil, -1},
		"no call of the market":        {Calls{nil, true}, []string{invoke(other, "1"), truncated}, 0},
		"cut before the call":          {Calls{one, true}, []string{invoke(other, "1"), truncated}, -1},
		"cut in the call":              {Calls{one, true}, []string{invoke(id, "1"), truncated}, -1},
		"cut before the end":           {Calls{one, true}, []string{invoke(id, "1"), event, truncated}, -1},
		"cut, with short lines behind": {Calls{one, true}, []string{invoke(id, "1"), truncated, event, success(id)}, -1},
		"cut behind the call":          {Calls{one, true}, append(slices.Clone(whole), truncated), 1},
		"cut behind the first of two":  {Calls{two, true}, append(slices.Clone(whole), truncated), -1},
		"the second call is missing":   {Calls{two, true}, whole, -1},
		"the event is missing":         {Calls{one, true}, []string{invoke(id, "1"), success(id)}, -1},
		"another event":                {Calls{one, true}, []string{invoke(id, "1"), voted, success(id)}, -1},
		"not ended":                    {Calls{one, true}, []string{invoke(id, "1"), event}, -1},
		"a call that nobody made":      {Calls{nil, true}, whole, -1},
		"a text that says truncated":   {Calls{one, true}, []string{invoke(id, "1"), "Program log: " + truncated, event, success(id)}, 1},
		"inner":                        {Calls{inner, true}, []string{invoke(other, "1"), invoke(id, "2"), event, success(id), success(other)}, 1},
		"inner, cut":                   {Calls{inner, true}, []string{invoke(other, "1"), truncated, success(other)}, -1},
		"inner, not shown by the node": {Calls{nil, false}, []string{invoke(other, "1"), invoke(id, "2"), event, success(id), success(other)}, 1},
		"inner, not shown, no event":   {Calls{nil, false}, []string{invoke(other, "1"), invoke(id, "2"), success(id), success(other)}, -1},
		"perhaps inner, cut":           {Calls{nil, false}, []string{invoke(other, "1"), truncated}, -1},
		"a vote again":                 {Calls{[]Call{callOf(bindings.Instruction_ReportVote)}, true}, []string{invoke(id, "1"), success(id)}, 0},
		"an instruction of tomorrow":   {Calls{[]Call{{Data: []byte{1, 2}}}, true}, whole, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Events(c.calls, c.logs)
			if c.read < 0 {
				require.ErrorIs(t, err, ErrEvents)
				require.Empty(t, got)
				return
			}
			require.NoError(t, err)
			require.Len(t, got, c.read)
		})
	}
}

// Every instruction of the program says which events it always emits.
func TestEveryInstructionNamesItsEvents(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../idl/bindings/discriminators.go", nil, 0)
	require.NoError(t, err)
	named := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Instruction_") {
			named++
		}
		return true
	})
	require.Positive(t, named)
	require.Len(t, emits, named)
	for kind, want := range emits {
		require.True(t, want.silent != (len(want.all)+len(want.one) > 0), "%x", kind)
	}
}
