package solanapay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/wallet"
	"github.com/gantry-market/gantry/internal/testtool"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

func TestParseBase(t *testing.T) {
	for _, bad := range []string{"", "http://gantry.example", "https://", "gantry.example", "https://a.example/?x=1", "https://u@a.example", "https://a.example/#x", "javascript:alert(1)"} {
		_, err := ParseBase(bad)
		require.ErrorIs(t, err, ErrBase, bad)
	}
	u, err := ParseBase("https://a.example:8443/gantry/")
	require.NoError(t, err)
	require.Equal(t, "solana:https://a.example:8443/gantry/pay/x", RequestLink(u.JoinPath(Prefix, "x")))
}

func TestTransferLink(t *testing.T) {
	to, mint := solana.PublicKey{1}, solana.PublicKey{2}
	require.Equal(t, "solana:"+to.String()+"?amount=12.50&label=To%20you&spl-token="+mint.String(), TransferLink(to, mint, 12_500_000, "To you"))
	require.Equal(t, "solana:"+to.String()+"?amount=10&spl-token="+mint.String(), TransferLink(to, mint, 10*market.OneUSDC, ""))
	require.Equal(t, "solana:"+to.String()+"?spl-token="+mint.String(), TransferLink(to, mint, 0, ""))
}

// Another program reads what this one draws.
func TestQR(t *testing.T) {
	link := "solana:https://credits.gantry.example/pay/AAAAAAAAAAAAAAAAAAAAAA"
	q, err := NewQR(link)
	require.NoError(t, err)
	raw, err := q.PNG(4)
	require.NoError(t, err)
	read, err := testtool.Run(t.Context(), bytes.NewReader(raw), "qr")
	require.NoError(t, err)
	require.Equal(t, link, string(read))

	// The path and the characters draw the same modules.
	grid := make([][]bool, q.Size)
	for y := range grid {
		grid[y] = make([]bool, q.Size)
	}
	for run := range strings.SplitSeq(strings.TrimSuffix(q.Path, "z"), "z") {
		var x, y, n int
		_, err := fmt.Sscanf(run, "M%d %dh%d", &x, &y, &n)
		require.NoError(t, err, run)
		for i := range n {
			grid[y][x+i] = true
		}
	}
	lines := strings.Split(strings.TrimSuffix(q.Terminal(), "\n"), "\n")
	for y := range q.Size {
		for x := range q.Size {
			require.Equal(t, q.dark(x, y), grid[y][x])
			c := string([]rune(lines[y/2])[x])
			light := c == "█" || (c == "▀" && y%2 == 0) || (c == "▄" && y%2 == 1)
			require.Equal(t, !q.dark(x, y), light)
		}
	}
	require.Contains(t, string(q.SVG()), q.Path)
	_, err = NewQR(strings.Repeat("x", 3000))
	require.Error(t, err)
}

// fake is a chain with one transaction, and what builds deposits.
type fake struct {
	now   time.Time
	built int
	err   error
	tx    *solana.Transaction
	txErr json.RawMessage
}

func (f *fake) build(context.Context, market.USDC, solana.PublicKey) (wallet.Transaction, error) {
	f.built++
	return wallet.Transaction{Bytes: []byte{1, 2, 3}}, f.err
}

func (f *fake) History(_ context.Context, _ solana.PublicKey, _ chain.Commitment, _ int) ([]chain.SignatureInfo, error) {
	if f.tx == nil {
		return nil, nil
	}
	return []chain.SignatureInfo{{Signature: solana.Signature{5}, Err: f.txErr}}, nil
}

func (f *fake) Transaction(context.Context, solana.Signature, chain.Commitment) (chain.Landed, error) {
	return chain.Landed{Tx: f.tx, Keys: f.tx.Message.AccountKeys, Err: f.txErr}, nil
}

var me = solana.PublicKey{7}

func open(t *testing.T) (*Payments, *fake) {
	t.Helper()
	base, err := ParseBase("https://gantry.example")
	require.NoError(t, err)
	f := &fake{now: time.Unix(1_700_000_000, 0)}
	return New(Options{Base: base, Customer: me, Build: f.build, Chain: f, Now: func() time.Time { return f.now }, Log: zerolog.Nop()}), f
}

func post(p *Payments, id, body string) (int, map[string]any) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, Prefix+id, strings.NewReader(body)))
	var out map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &out)
	return w.Code, out
}

func account(key solana.PublicKey) string { return `{"account":"` + key.String() + `"}` }

func TestBounds(t *testing.T) {
	p, _ := open(t)
	for _, amount := range []market.USDC{0, MaxAmount + 1} {
		_, err := p.Open(amount, MinLasts)
		require.ErrorIs(t, err, ErrAmount)
	}
	for _, lasts := range []time.Duration{0, MinLasts - 1, MaxLasts + 1, -time.Hour} {
		_, err := p.Open(1, lasts)
		require.ErrorIs(t, err, ErrLasts)
	}
	var first Payment
	for i := range most + 1 {
		x, err := p.Open(1, MinLasts+time.Duration(i)*time.Second)
		require.NoError(t, err)
		if i == 0 {
			first = x
		}
	}
	require.Len(t, p.open, most)
	_, err := p.Look(t.Context(), first.ID)
	require.ErrorIs(t, err, ErrUnknown, "the oldest has gone")
}

// Nobody but the customer gets a transaction, whatever is asked, and nothing in a request changes what it is for.
func TestFetch(t *testing.T) {
	p, f := open(t)
	x, err := p.Open(10*market.OneUSDC, MinLasts)
	require.NoError(t, err)
	for body, want := range map[string]int{
		account(solana.PublicKey{8}): http.StatusForbidden, "": http.StatusBadRequest, "[]": http.StatusBadRequest, `{"account":1}`: http.StatusBadRequest,
		`{"account":"x"}`: http.StatusBadRequest, strings.Repeat(" ", maxRequest+1): http.StatusRequestEntityTooLarge,
	} {
		code, out := post(p, x.ID, body)
		require.Equal(t, want, code, body)
		require.NotEmpty(t, out["message"])
		require.Nil(t, out["transaction"])
	}
	code, _ := post(p, "AAAAAAAAAAAAAAAAAAAAAA", account(me))
	require.Equal(t, http.StatusForbidden, code)
	require.Zero(t, f.built)
	code, out := post(p, x.ID, `{"account":"`+me.String()+`","amount":"1000000"}`)
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "AQID", out["transaction"])
	require.Contains(t, out["message"], "10.00 USDC")
	f.err = service.Refused("deposit refused: 10.00 USDC asked, the wallet holds 1.00", "")
	code, out = post(p, x.ID, account(me))
	require.Equal(t, http.StatusBadRequest, code)
	require.Contains(t, out["message"], "holds 1.00")
	f.err = errors.New("the cluster\x1b[2J is away")
	code, out = post(p, x.ID, account(me))
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.NotContains(t, out["message"], "\x1b")

	f.now = f.now.Add(MinLasts + time.Second)
	code, out = post(p, x.ID, account(me))
	require.Equal(t, http.StatusForbidden, code)
	require.Contains(t, out["message"], "ended")
}

func TestLimits(t *testing.T) {
	p, f := open(t)
	x, err := p.Open(1, MinLasts)
	require.NoError(t, err)
	codes := map[int]int{}
	for range 40 {
		code, _ := post(p, x.ID, account(me))
		codes[code]++
	}
	require.NotZero(t, codes[http.StatusTooManyRequests])
	p.posts.SetLimit(1e6)
	for range 40 {
		_, _ = post(p, x.ID, account(me))
	}
	require.Equal(t, fetches, f.built)
}

// A payment is paid by its own deposit, and by no other transaction that names its reference.
func TestPaid(t *testing.T) {
	p, f := open(t)
	x, err := p.Open(10*market.OneUSDC, MinLasts)
	require.NoError(t, err)
	look := func() State {
		f.now = f.now.Add(lookEvery)
		got, err := p.Look(t.Context(), x.ID)
		require.NoError(t, err)
		return got.State
	}
	deposit := func(by solana.PublicKey, amount market.USDC) *solana.Transaction {
		i, err := ix.CreditsDeposit(ix.CreditsArgs{Customer: by, PaymentMint: solana.PublicKey{3}, Amount: amount})
		require.NoError(t, err)
		tx, err := solana.NewTransaction([]solana.Instruction{i}, solana.Hash{1}, solana.TransactionPayer(by))
		require.NoError(t, err)
		return tx
	}
	require.Equal(t, Waiting, look())
	_, _ = post(p, x.ID, account(me))
	require.Equal(t, Fetched, look())
	f.tx = deposit(me, 9*market.OneUSDC)
	require.Equal(t, Fetched, look(), "another amount")
	f.tx = deposit(solana.PublicKey{8}, 10*market.OneUSDC)
	require.Equal(t, Fetched, look(), "another customer")
	f.tx, f.txErr = deposit(me, 10*market.OneUSDC), json.RawMessage(`{"InstructionError":[0,"Custom"]}`)
	require.Equal(t, Fetched, look(), "refused")
	f.txErr = nil
	f.now = f.now.Add(MinLasts) // it lands after the link has ended
	require.Equal(t, Paid, look())
	got, err := p.Look(t.Context(), x.ID)
	require.NoError(t, err)
	require.Equal(t, solana.Signature{5}.String(), got.Transaction)
	code, out := post(p, x.ID, account(me))
	require.Equal(t, http.StatusForbidden, code)
	require.Contains(t, out["message"], "paid")

	f.tx = nil
	y, err := p.Open(1, MinLasts)
	require.NoError(t, err)
	f.now = f.now.Add(MinLasts + time.Second)
	got, err = p.Look(t.Context(), y.ID)
	require.NoError(t, err)
	require.Equal(t, Expired, got.State)
}

func TestMethods(t *testing.T) {
	p, _ := open(t)
	for method, want := range map[string]int{http.MethodGet: 200, http.MethodOptions: 204, http.MethodPut: 405, http.MethodDelete: 405} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(method, Prefix+"x", nil))
		require.Equal(t, want, w.Code)
		require.Equal(t, "*", w.Header().Get("Access-Control-Allow-Origin"))
		if method == http.MethodGet {
			require.JSONEq(t, `{"label":"Gantry credits","icon":"https://gantry.example/pay/icon.svg"}`, w.Body.String())
		}
	}
}
