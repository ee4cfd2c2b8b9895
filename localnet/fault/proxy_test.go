package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/stretchr/testify/require"
)

// node is a Solana node that answers everything with its count of requests.
func node(t *testing.T) (url string, requests *atomic.Int64) {
	requests = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := requests.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{"blockhash": n}})
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

func proxy(t *testing.T) (*Proxy, *atomic.Int64) {
	url, requests := node(t)
	p, err := StartProxy(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p, requests
}

func ask(ctx context.Context, p *Proxy, method string, params ...any) (int, string, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.Addr(), bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

func TestProxyWithoutFaults(t *testing.T) {
	p, requests := proxy(t)
	code, text, err := ask(t.Context(), p, "getSlot")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"blockhash":1}}`, text)
	require.EqualValues(t, 1, requests.Load())
	require.Equal(t, Counts{Requests: 1}, p.Counts())
}

func TestFaults(t *testing.T) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	tx, err := solana.NewTransaction([]solana.Instruction{
		system.NewTransferInstruction(1, key.PublicKey(), solana.PublicKey{1}).Build(),
	}, solana.Hash{1}, solana.TransactionPayer(key.PublicKey()))
	require.NoError(t, err)
	_, err = tx.Sign(func(solana.PublicKey) *solana.PrivateKey { return &key })
	require.NoError(t, err)

	t.Run("refuse", func(t *testing.T) {
		p, requests := proxy(t)
		p.Set(Faults{Refuse: 1})
		code, _, err := ask(t.Context(), p, "getSlot")
		require.NoError(t, err)
		require.Contains(t, []int{429, 503}, code)
		require.Zero(t, requests.Load())
		require.EqualValues(t, 1, p.Counts().Refused)
	})
	t.Run("hang", func(t *testing.T) {
		p, _ := proxy(t)
		p.Set(Faults{Hang: 1})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, _, err := ask(ctx, p, "getSlot")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("cut", func(t *testing.T) {
		p, requests := proxy(t)
		p.Set(Faults{Cut: 1})
		_, _, err := ask(t.Context(), p, "getSlot")
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.EqualValues(t, 1, requests.Load(), "the node did what was asked")
	})
	t.Run("lose", func(t *testing.T) {
		p, requests := proxy(t)
		p.Set(Faults{Lose: 1})
		_, text, err := ask(t.Context(), p, "sendTransaction", tx.MustToBase64(), map[string]string{"encoding": "base64"})
		require.NoError(t, err)
		require.JSONEq(t, `{"jsonrpc":"2.0","id":7,"result":"`+tx.Signatures[0].String()+`"}`, text)
		require.Zero(t, requests.Load())
		code, _, err := ask(t.Context(), p, "sendTransaction", "junk")
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, code)
	})
	t.Run("old", func(t *testing.T) {
		p, _ := proxy(t)
		_, first, err := ask(t.Context(), p, "getLatestBlockhash")
		require.NoError(t, err)
		require.Contains(t, first, `"blockhash":1`)
		p.Set(Faults{Old: 1})
		_, again, err := ask(t.Context(), p, "getLatestBlockhash")
		require.NoError(t, err)
		require.Contains(t, again, `"blockhash":1`)
	})
	t.Run("empty", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":7,"result":{"context":{"slot":9},"value":[{"pubkey":"x"}]}}`)
		}))
		t.Cleanup(s.Close)
		p, err := StartProxy(t.Context(), s.URL)
		require.NoError(t, err)
		t.Cleanup(p.Close)
		p.Set(Faults{Empty: 1})
		seen := map[string]bool{}
		for range 500 {
			_, text, err := ask(t.Context(), p, "getProgramAccounts", "x")
			require.NoError(t, err)
			seen[strings.TrimSpace(text)] = true
		}
		require.Equal(t, map[string]bool{
			`{"id":7,"jsonrpc":"2.0","result":{"context":{"slot":9},"value":[]}}`: true, `{"id":7,"jsonrpc":"2.0","result":null}`: true,
		}, seen)
		_, text, err := ask(t.Context(), p, "getMultipleAccounts", "x")
		require.NoError(t, err)
		require.Contains(t, text, "pubkey")
		require.EqualValues(t, 500, p.Counts().Empty)
	})
	t.Run("fees", func(t *testing.T) {
		p, _ := proxy(t)
		p.Set(Faults{Fee: 12345})
		_, text, err := ask(t.Context(), p, "getRecentPrioritizationFees")
		require.NoError(t, err)
		require.Contains(t, text, `"prioritizationFee":12345`)
	})
}
