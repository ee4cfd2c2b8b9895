package chain_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// squeezed is text compressed to about a thousandth, as one member of a gzip stream.
func squeezed(t *testing.T, text func(w io.Writer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	require.NoError(t, err)
	require.NoError(t, text(w))
	require.NoError(t, w.Close())
	return out.Bytes()
}

func says(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// An endpoint cannot fill the memory: no answer is read beyond what its method may need, compressed or not.
func TestAnswersAreRead(t *testing.T) {
	const size = 64 << 20
	filler := squeezed(t, says(strings.Repeat("x", size)))
	require.Less(t, len(filler), size/50)
	for _, method := range []string{"getSlot", "getBalance", "getLatestBlockhash", "getRecentPrioritizationFees", "getSignaturesForAddress", "getSignatureStatuses", "getMultipleAccounts", "getAccountInfo"} {
		t.Run(method, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var q struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
				}
				require.NoError(t, json.NewDecoder(r.Body).Decode(&q))
				if q.Method == "getGenesisHash" {
					_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":"` + fakerpc.Genesis + `"}`))
					return
				}
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(squeezed(t, says(`{"jsonrpc":"2.0","more":"`)))
				_, _ = w.Write(filler)
				_, _ = w.Write(squeezed(t, says(`","id":`+string(q.ID)+`,"result":`+good[method]+`}`)))
			}))
			defer srv.Close()
			c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: srv.URL}}, Timeout: 20 * time.Second})
			require.NoError(t, err)
			defer c.Close()
			_, err = c.Genesis(ctxFor(t))
			require.NoError(t, err)

			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = questions[method](ctxFor(t), c)
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, chain.ErrAnswer)
			require.ErrorContains(t, err, "more than")
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size), "what was sent is not set aside")
		})
	}
}

// A list of many elements in few bytes is refused at the first that no node sends.
func TestListsOfNothing(t *testing.T) {
	for method, head := range map[string]string{
		"getProgramAccounts":      `{"context":{"slot":5},"value":[`,
		"getMultipleAccounts":     `{"context":{"slot":5},"value":[`,
		"getSignaturesForAddress": `[`,
	} {
		t.Run(method, func(t *testing.T) {
			const elements = 1 << 19
			s := fakerpc.New(t)
			result := head + strings.Repeat(`{},`, elements) + `{}]`
			if head != "[" {
				result += "}"
			}
			s.Verbatim(method, `{"jsonrpc":"2.0","id":$id,"result":`+result+`}`)
			c := client(t, s)
			_, err := c.Genesis(ctxFor(t))
			require.NoError(t, err)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = questions[method](ctxFor(t), c)
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, chain.ErrAnswer)
			// About ten times the bytes, of which half are the server's: not the fifty of a list of large elements.
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20*len(result)))
		})
	}
}

// A WebSocket message beyond the limit ends the connection.
func TestMessagesOfAWebSocketAreLimited(t *testing.T) {
	s := fakerpc.New(t)
	ws, err := client(t, s).DialWS(ctxFor(t))
	require.NoError(t, err)
	defer ws.Close()
	heard := make(chan int, 1)
	_, err = ws.Listen(ctxFor(t), "slotSubscribe", "slotUnsubscribe", func(raw json.RawMessage) error {
		heard <- len(raw)
		return nil
	})
	require.NoError(t, err)
	s.Notify("slotSubscribe", strings.Repeat("x", 1<<20))
	require.Equal(t, 1<<20+2, <-heard)
	s.Notify("slotSubscribe", strings.Repeat("x", 9<<20))
	select {
	case <-ws.Done():
		require.ErrorContains(t, ws.Err(), "limit")
	case n := <-heard:
		t.Fatalf("a message of %d bytes was read", n)
	case <-ctxFor(t).Done():
		t.Fatal("the connection goes on")
	}
}

// The code of a program is longer than any account of the market, and is read all the same.
func TestALargeProgramIsRead(t *testing.T) {
	s := fakerpc.New(t)
	code := make([]byte, 10<<20)
	code[0] = 1 // a buffer
	s.Answer("getMultipleAccounts", map[string]any{"context": map[string]any{"slot": 5}, "value": []any{map[string]any{
		"lamports": 1, "owner": solana.BPFLoaderUpgradeableProgramID, "executable": false, "data": []string{base64.StdEncoding.EncodeToString(code), "base64"},
	}}})
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.URL()}}})
	require.NoError(t, err)
	defer c.Close()
	got, err := c.Code(ctxFor(t), asked, chain.Confirmed)
	require.NoError(t, err)
	require.Len(t, got.Bytes, len(code)-37)
	_, err = c.Accounts(ctxFor(t), []solana.PublicKey{asked}, chain.Confirmed)
	require.ErrorIs(t, err, chain.ErrAnswer)
}
