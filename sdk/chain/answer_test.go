package chain_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

var asked = solana.PublicKey{7}

// questions are the readers of a Client by their methods.
var questions = map[string]func(context.Context, *chain.Client) (any, error){
	"getSlot":    func(ctx context.Context, c *chain.Client) (any, error) { return c.Slot(ctx, chain.Confirmed) },
	"getBalance": func(ctx context.Context, c *chain.Client) (any, error) { return c.Balance(ctx, asked, chain.Confirmed) },
	"getMinimumBalanceForRentExemption": func(ctx context.Context, c *chain.Client) (any, error) {
		return c.MinimumRent(ctx, 1, chain.Confirmed)
	},
	"getLatestBlockhash": func(ctx context.Context, c *chain.Client) (any, error) {
		return c.LatestBlockhash(ctx, chain.Confirmed)
	},
	"getAccountInfo": func(ctx context.Context, c *chain.Client) (any, error) { return c.Account(ctx, asked, chain.Confirmed) },
	"getMultipleAccounts": func(ctx context.Context, c *chain.Client) (any, error) {
		return c.Accounts(ctx, []solana.PublicKey{asked}, chain.Confirmed)
	},
	"getProgramAccounts": func(ctx context.Context, c *chain.Client) (any, error) {
		got, _, err := c.ProgramAccounts(ctx, asked, chain.Confirmed, chain.Filter{})
		return got, err
	},
	"getRecentPrioritizationFees": func(ctx context.Context, c *chain.Client) (any, error) { return c.PriorityFees(ctx, nil) },
	"getSignaturesForAddress": func(ctx context.Context, c *chain.Client) (any, error) {
		return c.History(ctx, asked, chain.Confirmed, 1)
	},
	"getSignatureStatuses": func(ctx context.Context, c *chain.Client) (any, error) {
		return c.Statuses(ctx, []solana.Signature{{1}}, false)
	},
}

// What no node answers is an error and never a fact: no SOL, no account, slot 0.
func TestAnswersThatNoNodeGives(t *testing.T) {
	const hash = `"GantryTestC1usterxxxxxxxxxxxxxxxxxxxxxxxxxx1"`
	bad := map[string][]string{
		"getSlot":                           {`null`, `0`, `18446744073709551616`, `18446744073709551617`, `-1`, `"5"`, `1.5`, `{}`},
		"getBalance":                        {`null`, `{}`, `{"context":{"slot":5}}`, `{"context":{"slot":5},"value":null}`, `{"value":7}`, `{"context":{"slot":0},"value":7}`, `{"context":{"slot":5},"value":18446744073709551617}`},
		"getMinimumBalanceForRentExemption": {`null`, `0`},
		"getLatestBlockhash": {
			`null`, `{}`, `{"context":{"slot":5},"value":null}`, `{"context":{"slot":5},"value":{"blockhash":"11111111111111111111111111111111","lastValidBlockHeight":9}}`,
			`{"context":{"slot":5},"value":{"blockhash":` + hash + `,"lastValidBlockHeight":0}}`, `{"context":{"slot":0},"value":{"blockhash":` + hash + `,"lastValidBlockHeight":9}}`,
		},
		"getAccountInfo":              {`null`, `{}`, `{"context":{"slot":5}}`, `{"value":null}`, `{"context":{"slot":0},"value":null}`, `{"context":null,"value":null}`, `{"context":{"slot":5},"value":{"data":null}}`},
		"getMultipleAccounts":         {`null`, `{}`, `{"context":{"slot":5},"value":null}`, `{"context":{"slot":5},"value":[]}`, `{"context":{"slot":5},"value":[null,null]}`, `{"context":{"slot":0},"value":[null]}`, `{"value":[null]}`},
		"getProgramAccounts":          {`null`, `{}`, `[]`, `{"context":{"slot":5}}`, `{"context":{"slot":5},"value":null}`, `{"context":{"slot":0},"value":[]}`, `{"context":null,"value":[]}`, `{"value":[]}`, `{"context":{"slot":18446744073709551616},"value":[]}`, `{"context":{"slot":5},"value":[{"pubkey":` + hash + `,"account":null}]}`},
		"getRecentPrioritizationFees": {`null`},
		"getSignaturesForAddress":     {`null`},
		"getSignatureStatuses":        {`null`, `{}`, `{"context":{"slot":5},"value":null}`, `{"context":{"slot":5},"value":[]}`},
	}
	for method, question := range questions {
		bodies := map[string]string{
			"an id of another question": `{"jsonrpc":"2.0","id":987654,"result":` + good[method] + `}`,
			"no id":                     `{"jsonrpc":"2.0","result":` + good[method] + `}`,
			"neither result nor error":  `{"jsonrpc":"2.0","id":$id}`,
			"an error of null alone":    `{"jsonrpc":"2.0","id":$id,"error":null}`,
			"null":                      `null`,
			"no JSON":                   `<html>`,
		}
		for _, result := range bad[method] {
			bodies["result "+result] = `{"jsonrpc":"2.0","id":$id,"result":` + result + `}`
		}
		for name, body := range bodies {
			t.Run(method+"/"+name, func(t *testing.T) {
				t.Parallel()
				ill, well := fakerpc.New(t), fakerpc.New(t)
				ill.Verbatim(method, body)
				_, err := question(ctxFor(t), client(t, ill))
				require.ErrorIs(t, err, chain.ErrAnswer)
				require.True(t, chain.Transient(err), "it may be asked again: %v", err)

				well.Verbatim(method, `{"jsonrpc":"2.0","id":$id,"result":`+good[method]+`}`)
				_, err = question(ctxFor(t), client(t, ill, well))
				require.NoError(t, err, "another endpoint answers")
			})
		}
	}
}

// good are results as nodes give them.
var good = map[string]string{
	"getSlot": `5`, "getMinimumBalanceForRentExemption": `890880`, "getRecentPrioritizationFees": `[]`, "getSignaturesForAddress": `[]`,
	"getBalance":           `{"context":{"slot":5},"value":0}`,
	"getLatestBlockhash":   `{"context":{"slot":5},"value":{"blockhash":"GantryTestC1usterxxxxxxxxxxxxxxxxxxxxxxxxxx1","lastValidBlockHeight":9}}`,
	"getAccountInfo":       `{"context":{"slot":5},"value":{"lamports":1,"owner":"11111111111111111111111111111111","executable":false,"data":["","base64"]}}`,
	"getMultipleAccounts":  `{"context":{"slot":5},"value":[null]}`,
	"getProgramAccounts":   `{"context":{"slot":5},"value":[]}`,
	"getSignatureStatuses": `{"context":{"slot":5},"value":[null]}`,
}

// Providers add fields of their own.
func TestAnAnswerMayHaveMoreFields(t *testing.T) {
	for method, question := range questions {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			s := fakerpc.New(t)
			result := good[method]
			if inner, ok := strings.CutPrefix(result, "{"); ok {
				result = `{"more":{"a":[1]},` + inner
			}
			s.Verbatim(method, `{"jsonrpc":"2.0","usage":{"credits":10},"id":$id,"result":`+result+`,"error":null}`)
			_, err := question(ctxFor(t), client(t, s))
			require.NoError(t, err)
		})
	}
}

// An absent account is said by a value of null, beside a slot.
func TestAnAccountThatIsNotThere(t *testing.T) {
	s := fakerpc.New(t)
	s.Verbatim("getAccountInfo", `{"jsonrpc":"2.0","id":$id,"result":{"context":{"slot":5},"value":null}}`)
	_, err := client(t, s).Account(ctxFor(t), asked, chain.Confirmed)
	require.ErrorIs(t, err, chain.ErrAccountNotFound)
	require.False(t, chain.Transient(err))
}

// An error that comes with no id is one all the same: the endpoint could not read the question.
func TestAnErrorWithoutID(t *testing.T) {
	s := fakerpc.New(t)
	s.Verbatim("getSlot", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
	_, err := client(t, s).Slot(ctxFor(t), chain.Confirmed)
	require.True(t, chain.IsCode(err, -32700), err)
}

// Messages name an endpoint without the key that its URL may hold.
func TestNamesOfEndpointsHoldNoSecrets(t *testing.T) {
	for url, want := range map[string]string{
		"https://rpc.example.com/v2/secret":         "https://rpc.example.com/…",
		"https://rpc.example.com/?api-key=secret":   "https://rpc.example.com/…",
		"https://user:secret@rpc.example.com:8899/": "https://rpc.example.com:8899",
		"http://127.0.0.1:8899":                     "http://127.0.0.1:8899",
		"secret":                                    "the RPC endpoint",
	} {
		require.Equal(t, want, chain.Endpoint{RPC: url}.Name())
	}
}

// node answers about one account of a program.
func node(t *testing.T, slot uint64, there bool) *fakerpc.Server {
	s := fakerpc.New(t)
	s.Handle("getMultipleAccounts", func(p []json.RawMessage) (any, *fakerpc.Error) {
		var conf struct {
			Min uint64 `json:"minContextSlot"`
		}
		_ = json.Unmarshal(p[1], &conf)
		if conf.Min > slot {
			return nil, &fakerpc.Error{Code: chain.CodeSlotNotReached, Message: "Minimum context slot has not been reached"}
		}
		var account any
		if there {
			account = map[string]any{"lamports": 1, "owner": program, "executable": false, "data": []string{"", "base64"}}
		}
		return map[string]any{"context": map[string]any{"slot": slot}, "value": []any{account}}, nil
	})
	return s
}

var program = solana.PublicKey{9}

// An account is gone when two answers say so, of two endpoints where there are two, and none from before it was seen.
func TestGone(t *testing.T) {
	for name, c := range map[string]struct {
		nodes    func(t *testing.T) []*fakerpc.Server
		by       int // which of them has said it before; -1 for none
		gone, ok bool
		calls    []int
	}{
		"one endpoint":                     {func(t *testing.T) []*fakerpc.Server { return []*fakerpc.Server{node(t, 50, false)} }, -1, true, true, []int{2}},
		"two endpoints":                    {func(t *testing.T) []*fakerpc.Server { return []*fakerpc.Server{node(t, 50, false), node(t, 51, false)} }, -1, true, true, []int{1, 1}},
		"the second has it":                {func(t *testing.T) []*fakerpc.Server { return []*fakerpc.Server{node(t, 50, false), node(t, 51, true)} }, -1, false, true, []int{1, 1}},
		"the first has it":                 {func(t *testing.T) []*fakerpc.Server { return []*fakerpc.Server{node(t, 50, true), node(t, 51, false)} }, -1, false, true, []int{1, 0}},
		"said before, the other is asked":  {func(t *testing.T) []*fakerpc.Server { return []*fakerpc.Server{node(t, 50, false), node(t, 51, true)} }, 0, false, true, []int{0, 1}},
		"one that is behind says nothing":  {func(t *testing.T) []*fakerpc.Server { return []*fakerpc.Server{node(t, 20, false)} }, -1, false, false, nil},
		"the other is behind, the same is": {func(t *testing.T) []*fakerpc.Server { return []*fakerpc.Server{node(t, 50, false), node(t, 20, true)} }, -1, true, true, nil},
		"the other has it, and has not reached the first one's slot": {
			func(t *testing.T) []*fakerpc.Server { return []*fakerpc.Server{node(t, 70, false), node(t, 51, true)} }, -1, false, false, nil,
		},
		"the other is away": {func(t *testing.T) []*fakerpc.Server {
			away := node(t, 60, true)
			away.Down(true)
			return []*fakerpc.Server{node(t, 50, false), away}
		}, -1, true, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := c.nodes(t)
			by := ""
			if c.by >= 0 {
				by = nodes[c.by].URL()
			}
			got, err := client(t, nodes...).Gone(ctxFor(t), []solana.PublicKey{asked}, program, chain.Confirmed, 40, by)
			if !c.ok {
				require.True(t, chain.IsCode(err, chain.CodeSlotNotReached), err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.gone, got.Accounts[0] == nil)
			require.GreaterOrEqual(t, got.Slot, uint64(40))
			for i, want := range c.calls {
				require.Equal(t, want, nodes[i].Calls("getMultipleAccounts"), "endpoint %d", i)
			}
		})
	}
}

// An account of another program is not there; one without lamports neither.
func TestGoneToAnotherProgram(t *testing.T) {
	s := fakerpc.New(t)
	s.Verbatim("getMultipleAccounts", `{"jsonrpc":"2.0","id":$id,"result":{"context":{"slot":50},"value":[{"lamports":1,"owner":"11111111111111111111111111111111","executable":false,"data":["","base64"]}]}}`)
	got, err := client(t, s).Gone(ctxFor(t), []solana.PublicKey{asked}, program, chain.Confirmed, 40, "")
	require.NoError(t, err)
	require.Nil(t, got.Accounts[0])
	require.Equal(t, 2, s.Calls("getMultipleAccounts"))
}

// An empty list is asked for once more, of another endpoint where there is one.
func TestAnEmptyListIsAskedForTwice(t *testing.T) {
	empty, full := fakerpc.New(t), fakerpc.New(t)
	empty.Verbatim("getProgramAccounts", `{"jsonrpc":"2.0","id":$id,"result":{"context":{"slot":5},"value":[]}}`)
	full.Answer("getProgramAccounts", map[string]any{"context": map[string]any{"slot": 6}, "value": []any{
		map[string]any{"pubkey": asked, "account": map[string]any{"lamports": 1, "owner": program, "executable": false, "data": []string{"", "base64"}}},
	}})
	l, err := client(t, empty, full).List(ctxFor(t), program, chain.Confirmed, chain.Filter{}, nil)
	require.NoError(t, err)
	require.Len(t, l.Accounts, 1)
	require.Equal(t, full.URL(), l.By)

	l, err = client(t, empty).List(ctxFor(t), program, chain.Confirmed, chain.Filter{}, nil)
	require.NoError(t, err)
	require.Empty(t, l.Accounts)
	require.Equal(t, 3, empty.Calls("getProgramAccounts"))
}

// Of an account that an endpoint does not show another one is asked.
func TestAnAccountThatOneEndpointLacks(t *testing.T) {
	without, with := node(t, 50, false), node(t, 50, true)
	without.Verbatim("getAccountInfo", `{"jsonrpc":"2.0","id":$id,"result":{"context":{"slot":5},"value":null}}`)
	with.Verbatim("getAccountInfo", `{"jsonrpc":"2.0","id":$id,"result":`+good["getAccountInfo"]+`}`)
	c := client(t, without, with)
	_, err := c.Account(ctxFor(t), asked, chain.Confirmed)
	require.NoError(t, err)
	all, err := c.Accounts(ctxFor(t), []solana.PublicKey{asked}, chain.Confirmed)
	require.NoError(t, err)
	require.NotNil(t, all[0])
}
