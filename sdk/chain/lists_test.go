package chain_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// listed is an element of a list as a node writes it: an account with this number and so many bytes.
func listed(n uint32, data int) string {
	var key solana.PublicKey
	binary.BigEndian.PutUint32(key[:], n+1)
	raw := make([]byte, data)
	if data >= 4 {
		binary.BigEndian.PutUint32(raw, n)
	}
	return fmt.Sprintf(`{"account":{"data":[%q,"base64"],"executable":false,"lamports":5000000,"owner":%q,"rentEpoch":18446744073709551615,"space":%d},"pubkey":%q}`,
		base64.StdEncoding.EncodeToString(raw), program, data, key)
}

// listOf answers with a list of so many accounts; none ends it when count is negative.
func listOf(count, data int) func(io.Writer, string) error {
	element := strings.Split(listed(0, data), solana.PublicKey{0, 0, 0, 1}.String())
	return func(to io.Writer, id string) error {
		w := bufio.NewWriter(to)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","result":{"context":{"apiVersion":"4.0.0","slot":5},"value":[`)
		for n := 0; n != count; n++ {
			if n > 0 {
				_ = w.WriteByte(',')
			}
			var key solana.PublicKey
			binary.BigEndian.PutUint32(key[:], uint32(n)+1)
			_, _ = io.WriteString(w, element[0]+key.String())
			if _, err := io.WriteString(w, element[1]); err != nil {
				return err
			}
		}
		_, _ = io.WriteString(w, `]},"id":`+id+"}\n")
		return w.Flush()
	}
}

// peak runs f, which calls look now and then, and returns memory above that at its start. held is what was in use at each call of the
// second half: what a collection meets while somebody allocates still counts, and the server of the test allocates as well. all is the
// most that was in use at a call, with what nobody had collected yet.
func peak(f func(look func())) (held, all uint64) {
	var m runtime.MemStats
	read := func() uint64 {
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	runtime.GC() // and what the first one left to finalizers
	begin, after := read(), []uint64(nil)
	look := func() {
		all = max(all, max(read(), begin)-begin)
		runtime.GC() // the server of the test still writes: this collection counts what it drops meanwhile
		runtime.GC()
		after = append(after, max(read(), begin)-begin)
	}
	f(look)
	return slices.Min(append(after[len(after)/2:], math.MaxUint64)), all
}

// A long list is read element by element: what it takes does not depend on its length.
func TestALongListTakesLittleMemory(t *testing.T) {
	const accounts, data = 200_000, 120
	s := fakerpc.New(t)
	s.Stream("getProgramAccounts", listOf(accounts, data))
	c := patientClient(t, s, chain.Bound{})
	text := uint64(accounts * len(listed(0, data)))
	require.Greater(t, text, uint64(72<<20))
	var seen, bytes, wrong int
	held, all := peak(func(look func()) {
		got, err := c.Each(longCtx(t), program, chain.Confirmed, chain.Lists{}, func() { seen, bytes = 0, 0 }, func(a chain.Account) {
			if a.Slot != 5 || a.Owner != program || a.Key != (solana.PublicKey{byte((seen + 1) >> 24), byte((seen + 1) >> 16), byte((seen + 1) >> 8), byte(seen + 1)}) {
				wrong++
			}
			if bytes += len(a.Data); seen%5_000 == 0 {
				look()
			}
			seen++
		})
		require.NoError(t, err)
		require.Equal(t, chain.Listed{Accounts: accounts, Slot: 5, By: s.URL()}, got)
	})
	require.Equal(t, []int{accounts, accounts * data, 0}, []int{seen, bytes, wrong})
	require.Less(t, held, uint64(2<<20), "of a text of %d MiB", text>>20)
	require.Less(t, all, text/2)
	t.Logf("%d MiB of text, at most %d KiB held, %d KiB with garbage", text>>20, held>>10, all>>10)
}

// List keeps the accounts in memory, but not the text of the answer.
func TestAListThatIsKept(t *testing.T) {
	const accounts, data = 10_000, 3_000
	s := fakerpc.New(t)
	s.Stream("getProgramAccounts", listOf(accounts, data))
	c := patientClient(t, s, chain.Bound{})
	bound, text := uint64(accounts*(data+chain.AccountOverhead)), uint64(accounts*len(listed(0, data)))
	var l chain.List
	held, _ := peak(func(look func()) {
		var err error
		l, err = c.List(longCtx(t), program, chain.Confirmed, chain.Filter{}, nil)
		require.NoError(t, err)
		look()
	})
	require.Len(t, l.Accounts, accounts)
	require.Less(t, held, bound*5/4, "the accounts have %d MiB, the text %d MiB", bound>>20, text>>20)
}

// An endpoint that never ends its list is left when the bound is reached, and another one answers.
func TestAListWithoutAnEnd(t *testing.T) {
	for name, c := range map[string]struct {
		most chain.Bound
		data int
	}{
		"too many": {chain.Bound{Accounts: 1_000}, 100},
		"too much": {chain.Bound{Bytes: 4 << 20}, 10_000},
		"empty":    {chain.Bound{Bytes: 1 << 20}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := fakerpc.New(t)
			s.Stream("getProgramAccounts", listOf(-1, c.data))
			cl, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.URL()}}, Lists: c.most})
			require.NoError(t, err)
			t.Cleanup(cl.Close)
			_, all := peak(func(look func()) {
				_, err = cl.List(ctxFor(t), program, chain.Confirmed, chain.Filter{}, nil)
				look()
			})
			require.ErrorIs(t, err, chain.ErrTooLarge)
			require.ErrorIs(t, err, chain.ErrAnswer)
			require.ErrorContains(t, err, "--max-list-mib")
			require.Less(t, all, uint64(32<<20))

			well := fakerpc.New(t)
			well.Stream("getProgramAccounts", listOf(3, c.data))
			cl, err = chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.URL()}, {RPC: well.URL()}}, Lists: c.most})
			require.NoError(t, err)
			t.Cleanup(cl.Close)
			l, err := cl.List(ctxFor(t), program, chain.Confirmed, chain.Filter{}, nil)
			require.NoError(t, err)
			require.Len(t, l.Accounts, 3, "what the first endpoint sent counts for nothing")
		})
	}
}

// The caller's own bound counts before the client's.
func TestABoundOfTheCaller(t *testing.T) {
	s := fakerpc.New(t)
	s.Stream("getProgramAccounts", listOf(100, 10))
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.URL()}}, Lists: chain.Bound{Accounts: 50}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	each := func(most chain.Bound) error {
		_, err := c.Each(ctxFor(t), program, chain.Confirmed, chain.Lists{Most: most}, func() {}, func(chain.Account) {})
		return err
	}
	require.ErrorIs(t, each(chain.Bound{}), chain.ErrTooLarge)
	require.NoError(t, each(chain.Bound{Accounts: 100}))
	require.ErrorIs(t, each(chain.Bound{Accounts: 99}), chain.ErrTooLarge)
	require.ErrorIs(t, each(chain.Bound{Accounts: 100, Bytes: 100 * (10 + chain.AccountOverhead - 1)}), chain.ErrTooLarge)
	require.NoError(t, each(chain.Bound{Accounts: 100, Bytes: 100 * (10 + chain.AccountOverhead)}))
}

// An answer that no node sends is refused before much of it is read.
func TestListsThatNoNodeSends(t *testing.T) {
	endless := func(head, part string) func(io.Writer, string) error {
		return func(w io.Writer, _ string) error {
			_, err := io.WriteString(w, `{"jsonrpc":"2.0","result":{"context":{"slot":5},"value":[`+head)
			for some := strings.Repeat(part, 4_096/len(part)); err == nil; {
				_, err = io.WriteString(w, some)
			}
			return err
		}
	}
	for name, stream := range map[string]func(io.Writer, string) error{
		"an account without an end":   endless(`{"account":{"data":["`, "A"),
		"an account of quotation":     endless(`{"account":{"data":["`, `\"`),
		"brackets":                    endless("", "["),
		"white space":                 endless("", " "),
		"nothing between commas":      endless(listed(1, 0), ","),
		"fields without an end":       endless(`{"account":{`, `"a":1,`),
		"a number without an end":     endless(`{"account":{"lamports":`, "1"),
		"a name without an end":       endless(`{"`, "a"),
		"a field beside the accounts": endless(`]},"more":"`, "a"),
	} {
		t.Run(name, func(t *testing.T) {
			s := fakerpc.New(t)
			s.Stream("getProgramAccounts", stream)
			c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.URL()}}, Lists: chain.Bound{Bytes: 16 << 20}})
			require.NoError(t, err)
			t.Cleanup(c.Close)
			_, all := peak(func(look func()) {
				_, err = c.List(ctxFor(t), program, chain.Confirmed, chain.Filter{}, nil)
				look()
			})
			require.ErrorIs(t, err, chain.ErrAnswer)
			require.Less(t, all, uint64(16<<20))
		})
	}
}

// A list that is bad at its end leaves nothing to its reader.
func TestAListThatIsBadAtItsEnd(t *testing.T) {
	head := `{"jsonrpc":"2.0","id":$id,"result":{"context":{"slot":5},"value":[` + listed(1, 8)
	for name, body := range map[string]string{
		"cut off":                 head,
		"cut off after the list":  head + `]`,
		"a comma":                 head + `,]}}`,
		"no comma":                head + listed(2, 8) + `]}}`,
		"another bracket":         head + `}}}`,
		"two lists":               head + `],"value":[]` + `}` + `,"result":{"context":{"slot":6},"value":[]}}`,
		"an error":                head + `]},"error":{"code":-32005,"message":"behind"}}`,
		"a word too much":         head + `,nul]}}`,
		"two values in a field":   head + `,{"pubkey":1 2}]}}`,
		"the slot after the list": `{"jsonrpc":"2.0","id":$id,"result":{"value":[` + listed(1, 8) + `],"context":{"slot":5}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fakerpc.New(t)
			s.Verbatim("getProgramAccounts", body)
			l, err := client(t, s).List(ctxFor(t), program, chain.Confirmed, chain.Filter{}, nil)
			require.Error(t, err)
			require.Empty(t, l.Accounts)
		})
	}
}

// Any way to write the same JSON is read.
func TestAListIsReadHoweverItIsWritten(t *testing.T) {
	var key, owner solana.PublicKey
	key[0], owner[0] = 200, 100
	for name, body := range map[string]string{
		"spaces": "{ \"result\" :\n{ \"more\" : { \"a\" : [ 1 , {} , \"\\\\\" ] } , \"context\" : { \"slot\" : 5 } , \"value\" : [ { \"account\" : { \"data\" : [ \"AQI=\" ,\t\"base64\" ] , \"owner\" : \"" +
			owner.String() + "\" , \"lamports\" : 7 } , \"pubkey\" : \"" + key.String() + "\" } ] } , \"id\" : $id }",
		"escapes": `{"resul\u0074":{"context":{"slot":5},"value":[{"pubkey":"` + key.String() + `","account":{"lamports":7,"a":"\"\\","owner":"` +
			owner.String() + `","data":["AQI\u003d","base64"]}}]},"id":$id}`,
	} {
		s := fakerpc.New(t)
		s.Verbatim("getProgramAccounts", body)
		l, err := client(t, s).List(ctxFor(t), program, chain.Confirmed, chain.Filter{}, nil)
		require.NoError(t, err, name)
		require.Equal(t, []chain.Account{{Key: key, Owner: owner, Lamports: 7, Data: []byte{1, 2}, Slot: 5}}, l.Accounts, name)
	}
}

// A list may take longer than other answers as long as it comes, and not when it stands still.
func TestTheTimeOfAList(t *testing.T) {
	s := fakerpc.New(t)
	element := listed(1, 600<<10)
	slow := func(parts int) func(io.Writer, string) error {
		return func(w io.Writer, id string) error {
			_, err := io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"context":{"slot":5},"value":[`+element)
			for range parts {
				time.Sleep(150 * time.Millisecond)
				if _, err = io.WriteString(w, ","+element); err == nil {
					w.(http.Flusher).Flush()
				}
			}
			if parts == 0 {
				w.(http.Flusher).Flush()
				time.Sleep(3 * time.Second)
			}
			_, _ = io.WriteString(w, `]}}`)
			return err
		}
	}
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.URL()}}, Timeout: 1500 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s.Stream("getProgramAccounts", slow(14))
	l, err := c.List(ctxFor(t), program, chain.Confirmed, chain.Filter{}, nil)
	require.NoError(t, err)
	require.Len(t, l.Accounts, 15)

	s.Stream("getProgramAccounts", slow(0))
	began := time.Now()
	_, err = c.List(ctxFor(t), program, chain.Confirmed, chain.Filter{}, nil)
	require.ErrorIs(t, err, chain.ErrUnreachable)
	require.ErrorContains(t, err, "timed out")
	require.Less(t, time.Since(began), 2900*time.Millisecond)

	ctx, cancel := context.WithCancel(ctxFor(t))
	time.AfterFunc(200*time.Millisecond, cancel)
	_, err = c.List(ctx, program, chain.Confirmed, chain.Filter{}, nil)
	require.ErrorIs(t, err, context.Canceled)
}

// patientClient waits for answers as long as lists take on a busy computer with the race detector.
func patientClient(t testing.TB, s *fakerpc.Server, most chain.Bound) *chain.Client {
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.URL()}}, Timeout: 2 * time.Minute, Lists: most})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// longCtx is for lists of a hundred MiB on a busy computer with the race detector.
func longCtx(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// BenchmarkList reads lists of the size of nodes' accounts, beside which the server takes nearly nothing.
func BenchmarkList(b *testing.B) {
	for _, accounts := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(accounts), func(b *testing.B) {
			var text strings.Builder
			_ = listOf(accounts, 700)(&text, "$id")
			before, after, _ := strings.Cut(text.String(), "$id")
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var q struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
				}
				_ = json.NewDecoder(r.Body).Decode(&q)
				w.Header().Set("Content-Type", "application/json")
				if q.Method == "getGenesisHash" {
					_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":"` + fakerpc.Genesis + `"}`))
					return
				}
				_, _ = io.WriteString(w, before+string(q.ID)+after)
			}))
			b.Cleanup(srv.Close)
			c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: srv.URL}}})
			require.NoError(b, err)
			b.Cleanup(c.Close)
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				l, err := c.List(longCtx(b), program, chain.Confirmed, chain.Filter{}, nil)
				if err != nil || len(l.Accounts) != accounts {
					b.Fatal(err, len(l.Accounts))
				}
			}
		})
	}
}
