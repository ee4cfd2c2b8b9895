package messages_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/messages"
)

// Whatever varies in length in a message has a limit.
func TestEverythingInAMessageIsLimited(t *testing.T) {
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	limited := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				if field.Tag == nil || !strings.Contains(field.Tag.Value, "cbor:") {
					continue
				}
				tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
				name := f.Name() + ": " + field.Names[0].Name
				number := func(key string) {
					_, err := strconv.Atoi(tag.Get(key))
					require.NoError(t, err, "%s needs a limit: %s", name, key)
					limited++
				}
				switch kind := field.Type.(type) {
				case *ast.ArrayType:
					if kind.Len == nil {
						number("max")
						if elem, ok := kind.Elt.(*ast.Ident); ok && elem.Name == "string" {
							number("each")
						}
					}
				case *ast.MapType:
					number("max")
					number("each")
				case *ast.Ident:
					if kind.Name == "string" {
						number("max")
					}
				}
			}
			return true
		})
	}
	require.Greater(t, limited, 30)
}

func TestLimits(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	inventory := func(gpus, name int) messages.ChallengeResponse {
		inv := &messages.Inventory{GPUs: make([]messages.GPU, gpus)}
		for i := range inv.GPUs {
			inv.GPUs[i].Name = text(name)
		}
		return messages.ChallengeResponse{Inventory: inv}
	}
	for _, c := range []struct {
		m  any
		ok bool
	}{
		{inventory(64, 128), true},
		{inventory(65, 1), false},
		{inventory(64, 129), false},
		{&messages.ChallengeResponse{Refused: text(1024)}, true},
		{&messages.ChallengeResponse{Refused: text(1025)}, false},
		{messages.ChallengeResponse{Liveness: &messages.Liveness{Leases: []messages.LeaseStatus{{}, {Detail: text(1025)}}}}, false},
		{messages.DeployRequest{Job: messages.JobSpec{Command: []string{text(128 << 10)}, Env: map[string]string{"A": text(10)}}}, true},
		{messages.DeployRequest{Job: messages.JobSpec{Command: []string{text(128<<10 + 1)}}}, false},
		{messages.DeployRequest{Job: messages.JobSpec{Env: map[string]string{"A": text(128<<10 + 1)}}}, false},
		{messages.DeployRequest{Job: messages.JobSpec{Command: make([]string, 4097)}}, false},
		{messages.Answer{}, true},
		{messages.Answer{Answer: &messages.AnswerUpload{Data: make([]byte, messages.MaxAnswer+1)}}, false},
		{messages.StatementsAnswer{Statements: []messages.SignedStatement{{Statement: make([]byte, 145)}}}, false},
	} {
		if err := messages.Check(c.m); c.ok {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, messages.ErrLimit)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	m := messages.StatementsAnswer{Statements: make([]messages.SignedStatement, 16_000)}
	for b.Loop() {
		_ = messages.Check(&m)
	}
}
