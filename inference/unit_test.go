package inference

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(raw)
}

func TestDecide(t *testing.T) {
	at := time.Unix(1000, 0)
	base := facts{now: at, max: 4, concurrency: 10, idle: time.Minute}
	for what, c := range map[string]struct {
		s      scale
		change func(*facts)
		target int
		want   decision
	}{
		"nothing to do":           {scale{}, func(*facts) {}, 0, decision{replaced: true}},
		"at least":                {scale{}, func(f *facts) { f.min = 2 }, 2, decision{start: 2}},
		"the first request":       {scale{since: at}, func(f *facts) { f.waiting = 1 }, 1, decision{start: 1}},
		"as requests fill":        {scale{target: 1, since: at}, func(f *facts) { f.active, f.waiting, f.serving = 10, 11, 1 }, 3, decision{start: 2}},
		"before requests wait":    {scale{target: 1, since: at}, func(f *facts) { f.active, f.serving = 9, 1 }, 2, decision{start: 1}},
		"at most":                 {scale{}, func(f *facts) { f.waiting = 1000 }, 4, decision{start: 4}},
		"those that come count":   {scale{target: 3, since: at}, func(f *facts) { f.active, f.waiting, f.serving, f.coming = 10, 11, 1, 2 }, 3, decision{}},
		"kept while idle":         {scale{target: 3, since: at.Add(-59 * time.Second)}, func(f *facts) { f.serving = 3 }, 3, decision{replaced: true}},
		"what was needed is kept": {scale{target: 3, low: 2, since: at.Add(-time.Minute)}, func(f *facts) { f.serving = 3 }, 2, decision{drain: 1, replaced: true}},
		"to zero":                 {scale{target: 1, since: at.Add(-time.Minute)}, func(f *facts) { f.serving = 1 }, 0, decision{drain: 1, replaced: true}},
		"after failures":          {scale{}, func(f *facts) { f.min, f.notBefore = 2, at.Add(time.Second) }, 2, decision{}},
		"one expires":             {scale{target: 1, since: at}, func(f *facts) { f.min, f.expiring = 1, 1 }, 1, decision{start: 1}},
		"one has expired":         {scale{target: 1, since: at}, func(f *facts) { f.min, f.expiring, f.serving = 1, 1, 1 }, 1, decision{replaced: true}},
		"deleted":                 {scale{target: 3, since: at}, func(f *facts) { f.deleting, f.active, f.serving, f.coming = true, 30, 2, 1 }, 0, decision{drain: 3, replaced: true}},
	} {
		f := base
		c.change(&f)
		s, d := decide(c.s, f)
		require.Equal(t, c.target, s.target, what)
		require.Equal(t, c.want, d, what)
	}
}

const tokenEvent = `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n"

// streamOf reads a whole stream in small pieces.
func streamOf(t *testing.T, speaks *dialect, from io.Reader, asked bool) (out string, used tokens, whole bool, primed error) {
	t.Helper()
	s := newStream(io.NopCloser(from), &request{operation: operation{dialect: speaks}, asked: asked, promptBytes: 9}, func(u tokens, w bool) { used, whole = u, w })
	primed = s.prime()
	raw, err := io.ReadAll(iotest.OneByteReader(s))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	return string(raw), used, whole, primed
}

func TestStream(t *testing.T) {
	usage := `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}` + "\n\n"
	finished := `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	long := `data: {"choices":[{"text":"` + strings.Repeat("x", 20_000) + `"}]}` + "\n\n"
	for what, c := range map[string]struct {
		text   string
		asked  bool
		out    string // "" for the text
		used   tokens
		whole  bool
		failed bool
	}{
		"usage":               {tokenEvent + usage + "data: [DONE]\n\n", false, tokenEvent + "data: [DONE]\n\n", tokens{3, 4, false}, true, false},
		"usage that is asked": {tokenEvent + usage + "data: [DONE]\n\n", true, "", tokens{3, 4, false}, true, false},
		"none":                {tokenEvent + tokenEvent + "data: [DONE]\n\n", false, "", tokens{3, 2, true}, true, false},
		"lines of Windows":    {strings.ReplaceAll(tokenEvent+"data: [DONE]\n\n", "\n", "\r\n"), false, "", tokens{3, 1, true}, true, false},
		"comments":            {": ping\n\n" + tokenEvent + ": ping\n\ndata: [DONE]\n\n", false, "", tokens{3, 1, true}, true, false},
		"a long line":         {long + "data: [DONE]\n\n", false, "", tokens{3, 1, true}, true, false},
		"no empty line":       {tokenEvent + "data: [DONE]", false, "", tokens{3, 1, true}, true, false},
		"a reason":            {tokenEvent + finished, false, tokenEvent + finished + "data: [DONE]\n\n", tokens{3, 1, true}, true, false},
		"a tool":              {`data: {"choices":[{"delta":{"tool_calls":[{"id":"a"}]}}]}` + "\n\ndata: [DONE]\n\n", false, "", tokens{3, 1, true}, true, false},
		"its own error":       {`data: {"error":{"message":"no"}}` + "\n\n", false, "", tokens{3, 0, true}, true, false},
		"nothing":             {"", false, "x", tokens{3, 0, true}, false, true},
		"only a role":         {`data: {"choices":[{"delta":{"role":"assistant","content":""}}]}` + "\n\n", false, "x", tokens{3, 0, true}, false, true},
	} {
		out, used, whole, primed := streamOf(t, &chat, strings.NewReader(c.text), c.asked)
		require.Equal(t, c.failed, primed != nil, what)
		if c.failed {
			continue
		}
		if c.out == "" {
			c.out = c.text
		}
		require.Equal(t, c.out, out, what)
		require.Equal(t, c.used, used, what)
		require.Equal(t, c.whole, whole, what)
	}
	broken := io.MultiReader(strings.NewReader(tokenEvent+`data: {"choi`), iotest.ErrReader(errors.New("reset")))
	out, used, whole, primed := streamOf(t, &chat, broken, false)
	require.NoError(t, primed)
	require.True(t, strings.HasPrefix(out, tokenEvent+`data: {"error":`), out)
	require.False(t, whole)
	require.Equal(t, tokens{3, 1, true}, used)

	late := io.MultiReader(strings.NewReader(tokenEvent+finished), iotest.ErrReader(errors.New("reset")))
	out, _, whole, primed = streamOf(t, &chat, late, false)
	require.NoError(t, primed)
	require.Equal(t, tokenEvent+finished+"data: [DONE]\n\n", out, "the replica was lost behind the whole answer")
	require.True(t, whole)

	endless := io.MultiReader(strings.NewReader(tokenEvent), strings.NewReader(strings.Repeat("x", maxEvent+10)))
	out, _, whole, primed = streamOf(t, &chat, endless, false)
	require.NoError(t, primed)
	require.Contains(t, out, "replica_lost")
	require.False(t, whole)
}

func FuzzStream(f *testing.F) {
	f.Add(tokenEvent+"data: [DONE]\n\n", false)
	f.Add("data: {}\r\n\r\n: x\n\n", true)
	f.Fuzz(func(t *testing.T, text string, asked bool) {
		s := newStream(io.NopCloser(strings.NewReader(text)), &request{operation: operation{dialect: &chat}, asked: asked}, func(tokens, bool) {})
		_ = s.prime()
		raw, err := io.ReadAll(s)
		require.NoError(t, err)
		require.LessOrEqual(t, len(raw), len(text)+200)
	})
}
