package sponsor

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txerr"
	"github.com/gantry-market/gantry/sdk/txm"
)

// kora imitates Kora: it signs what it is sent, unless a test says otherwise.
type kora struct {
	*httptest.Server
	key    solana.PrivateKey
	answer func(w http.ResponseWriter, method string) bool // true where it has answered
	change func(raw []byte)                                // of the transaction that it has signed
	header http.Header
	signer string // signer_key of the last request
}

func newKey(t *testing.T) solana.PrivateKey {
	k, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	return k
}

func newKora(t *testing.T) *kora {
	k := &kora{key: newKey(t)}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Method string
			Params struct {
				Transaction string
				SignerKey   string `json:"signer_key"`
				SigVerify   *bool  `json:"sig_verify"`
			}
		}
		k.header = r.Header
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || k.answer != nil && k.answer(w, in.Method) {
			return
		}
		key := k.key.PublicKey().String()
		var result any = map[string]any{"signer_address": key, "payment_address": key}
		switch in.Method {
		case "getConfig":
			result = map[string]any{"fee_payers": []string{key}, "validation_config": map[string]any{"max_allowed_lamports": 6_000_000, "allowed_programs": "All"}, "enabled_methods": map[string]bool{"sign_transaction": true}}
		case "signTransaction":
			raw, err := base64.StdEncoding.DecodeString(in.Params.Transaction)
			if err != nil || in.Params.SigVerify == nil || *in.Params.SigVerify {
				http.Error(w, "wrong", http.StatusBadRequest)
				return
			}
			k.signer = in.Params.SignerKey
			n := int(raw[0])
			sig, err := k.key.Sign(raw[1+64*n:])
			if err != nil {
				return
			}
			copy(raw[1:], sig[:])
			if k.change != nil {
				k.change(raw)
			}
			result = map[string]any{"signed_transaction": base64.StdEncoding.EncodeToString(raw), "signer_pubkey": key}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": 1, "result": result})
	}))
	t.Cleanup(k.Close)
	return k
}

func (k *kora) client(t *testing.T) *Client {
	c, err := New(k.URL, "secret")
	require.NoError(t, err)
	return c
}

// message is one that the sponsor pays for.
func message(t *testing.T, payer solana.PublicKey, wallet solana.PublicKey) []byte {
	tx, err := solana.NewTransaction([]solana.Instruction{solana.NewInstruction(market.ProgramID, solana.AccountMetaSlice{solana.Meta(wallet).WRITE().SIGNER()}, []byte("deposits"))},
		solana.Hash{1}, solana.TransactionPayer(payer))
	require.NoError(t, err)
	raw, err := tx.Message.MarshalBinary()
	require.NoError(t, err)
	return raw
}

func TestAnImitationOfKoraSigns(t *testing.T) {
	k := newKora(t)
	c := k.client(t)
	_, known := c.Signer(k.key.PublicKey())
	require.False(t, known, "nobody has asked who pays")
	payer, err := c.Payer(t.Context())
	require.NoError(t, err)
	require.Equal(t, k.key.PublicKey(), payer)
	require.Equal(t, "secret", k.header.Get("x-api-key"))
	require.Equal(t, "Bearer secret", k.header.Get("Authorization"))
	s, known := c.Signer(payer)
	require.True(t, known)
	_, known = c.Signer(newKey(t).PublicKey())
	require.False(t, known)
	raw := message(t, payer, newKey(t).PublicKey())
	sig, err := s.Sign(raw)
	require.NoError(t, err)
	require.True(t, sig.Verify(payer, raw))
	require.Equal(t, payer.String(), k.signer)
	cfg, err := c.Config(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 6_000_000, cfg.Rules.MostLamports)
	require.Equal(t, "All", cfg.Rules.Programs)
}

// What a sponsor answers is not trusted, and people learn what happened and what to do.
func TestASponsorThatDoesNotSign(t *testing.T) {
	answer := func(status int, body string) func(w http.ResponseWriter, method string) bool {
		return func(w http.ResponseWriter, method string) bool {
			if method != MethodSignTransaction {
				return false
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
			return true
		}
	}
	for _, c := range []struct {
		name         string
		answer       func(w http.ResponseWriter, method string) bool
		change       func(raw []byte)
		reason, hint string
	}{
		{name: "other bytes", change: func(raw []byte) { raw[len(raw)-1]++ }, reason: "not the transaction that it was asked to sign", hint: "SOL of your own"},
		{name: "another signature", change: func(raw []byte) { raw[1]++ }, reason: "not that of", hint: "SOL of your own"},
		{name: "Kora refuses", answer: answer(200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Total transfer amount 2113280 exceeds maximum allowed 1000000"}}`), reason: "the sponsor does not pay: Total transfer amount", hint: "SOL of your own"},
		{name: "gantry serve refuses", answer: answer(200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"ana may cost 0.02 SOL a day","data":{"rule":"limit","advice":"the limit begins anew at 2027-03-02","renews":"2027-03-02T00:00:00Z"}}}`), reason: "the sponsor does not pay (rule limit): ana may cost 0.02 SOL a day", hint: "the limit begins anew at 2027-03-02"},
		{name: "no token", answer: answer(401, `{"title":"Unauthorized","status":401,"detail":"the token is not one of this server","nextStep":"ask an owner"}`), reason: "the token is not one of this server (GANTRY_SPONSOR_TOKEN", hint: "ask an owner"},
		{name: "Kora without a key", answer: answer(401, ``), reason: "no request without a token", hint: "GANTRY_SPONSOR_TOKEN"},
		{name: "a page", answer: answer(502, `<html>`), reason: "HTTP 502", hint: "SOL of your own"},
		{name: "letters that move the cursor", answer: answer(200, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"a\u001b[2Jb"}}`), reason: "the sponsor does not pay: a", hint: "SOL of your own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newKora(t)
			k.answer, k.change = c.answer, c.change
			cl := k.client(t)
			payer, err := cl.Payer(t.Context())
			require.NoError(t, err)
			s, _ := cl.Signer(payer)
			_, err = s.Sign(message(t, payer, newKey(t).PublicKey()))
			var tx *txm.TxError
			require.ErrorAs(t, err, &tx, "an end, not something to be tried again and again")
			require.Contains(t, tx.Name, c.reason)
			require.Contains(t, tx.Hint, c.hint)
			require.NotContains(t, tx.Name, "\x1b")
		})
	}
	k := newKora(t)
	c := k.client(t)
	k.Close()
	_, err := c.Payer(t.Context())
	var f *Failure
	require.ErrorAs(t, err, &f)
	require.ErrorIs(t, err, ErrUnreachable)
	require.Contains(t, f.Reason, "does not answer")
	for _, at := range []string{"kora", "ftp://kora", "http://"} {
		_, err := New(at, "")
		require.ErrorIs(t, err, ErrURL, at)
	}
	none, err := New("", "")
	require.NoError(t, err)
	require.Nil(t, none)
}

// The token is for the server that was named.
func TestNoRedirectIsFollowed(t *testing.T) {
	other := newKora(t)
	k := newKora(t)
	k.answer = func(w http.ResponseWriter, _ string) bool {
		w.Header().Set("Location", other.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return true
	}
	_, err := k.client(t).Payer(t.Context())
	require.ErrorContains(t, err, "HTTP 307")
	require.Nil(t, other.header)
}

// A wallet lacks what it needs, and is not left with less than an account needs to live.
func TestWhatAWalletLacks(t *testing.T) {
	const alive = 890_880
	for _, c := range []struct{ has, rent, want chain.Lamports }{
		{0, 0, 0},
		{0, 3_804_920, 3_804_920},
		{1_000_000, 3_804_920, 2_804_920},
		{3_804_920, 3_804_920, 0},
		{3_804_921, 3_804_920, alive - 1},
		{3_804_920 + alive, 3_804_920, 0},
		{900_000, 100_000, 90_880},
		{10_000_000, 3_804_920, 0},
	} {
		got := missing(c.has, c.has+probe, c.has+probe-c.rent, alive)
		require.Equal(t, c.want, got, "%v", c)
		require.LessOrEqual(t, got, c.rent)
		if after := c.has + got - c.rent; after != 0 {
			require.GreaterOrEqual(t, after, chain.Lamports(alive), "%v", c)
		}
		require.LessOrEqual(t, c.has+got-c.rent, c.has, "the wallet gains nothing")
	}
	require.Zero(t, missing(5, 5+probe, 9+probe, alive), "it gets some back")
}

// world is a chain on which a wallet has some SOL, and a manager whose transactions take a rent.
type world struct {
	has, rent chain.Lamports
	err       error
	tried     txm.Intent
	entry     *txm.Entry
}

func (w *world) Balance(context.Context, solana.PublicKey, chain.Commitment) (chain.Lamports, error) {
	return w.has, nil
}

func (w *world) MinimumRent(context.Context, uint64, chain.Commitment) (chain.Lamports, error) {
	return 890_880, nil
}

func (w *world) Leaves(_ context.Context, in txm.Intent, _ solana.PublicKey) (chain.Lamports, error) {
	w.tried = in
	return w.has + probe - w.rent, w.err
}

func (w *world) Get(string) (txm.Entry, error) {
	if w.entry == nil {
		return txm.Entry{}, txm.ErrUnknownIntent
	}
	return *w.entry, nil
}

func TestASponsorPays(t *testing.T) {
	k := newKora(t)
	c, wallet := k.client(t), newKey(t).PublicKey()
	call := solana.NewInstruction(market.ProgramID, solana.AccountMetaSlice{solana.Meta(wallet).WRITE().SIGNER()}, []byte("deposits"))
	in := txm.Intent{ID: "one", Kind: "credits_deposit", Instructions: []solana.Instruction{call}}
	w := &world{rent: 3_804_920}
	paid, err := c.Pay(t.Context(), w, w, in, wallet)
	require.NoError(t, err)
	require.Equal(t, k.key.PublicKey(), paid.Payer)
	require.Len(t, paid.Instructions, 2)
	data, err := paid.Instructions[0].Data()
	require.NoError(t, err)
	want, err := system.NewTransferInstruction(3_804_920, k.key.PublicKey(), wallet).Build().Data()
	require.NoError(t, err)
	require.Equal(t, want, data)
	require.Len(t, in.Instructions, 1, "the intent itself stays")
	require.Len(t, w.tried.Instructions, 2)

	w.rent = 0
	free, err := c.Pay(t.Context(), w, w, in, wallet)
	require.NoError(t, err)
	require.Len(t, free.Instructions, 1)
	require.Equal(t, k.key.PublicKey(), free.Payer)

	_, err = c.Pay(t.Context(), w, w, in, k.key.PublicKey())
	require.ErrorContains(t, err, "your own wallet")
	for _, poor := range []error{&txm.TxError{Name: "AccountNotFound"}, &txerr.ProgramError{Program: solana.SystemProgramID, HasCode: true, Code: 1}} {
		w.err = poor
		_, err = c.Pay(t.Context(), w, w, in, wallet)
		require.ErrorContains(t, err, "has too little SOL left")
	}
	w.err = &txerr.ProgramError{Program: market.ProgramID, InstructionIndex: 1}
	_, err = c.Pay(t.Context(), w, w, in, wallet)
	require.ErrorIs(t, err, w.err)
}

// What an earlier command has stored is continued as it is, whatever the wallet has now.
func TestWhatIsBegunStays(t *testing.T) {
	k := newKora(t)
	c, wallet := k.client(t), newKey(t).PublicKey()
	call := txm.Instruction{Program: market.ProgramID, Metas: []txm.AccountMeta{{Key: wallet, Signer: true, Writable: true}}, Payload: []byte("deposits")}
	in := txm.Intent{ID: "one", Instructions: []solana.Instruction{call}}
	sent := txm.Instruction{Program: solana.SystemProgramID, Payload: []byte{2}}
	old := newKey(t).PublicKey()
	w := &world{entry: &txm.Entry{ID: "one", State: txm.StateSent, Payer: old, Instructions: []txm.Instruction{sent, call}}}
	out, begun := c.Begun(w, in)
	require.True(t, begun)
	require.Equal(t, old, out.Payer)
	require.Equal(t, []solana.Instruction{sent, call}, out.Instructions)
	_, known := c.Signer(old)
	require.True(t, known, "it is rebuilt with the same payer")
	out, begun = (*Client)(nil).Begun(w, in)
	require.True(t, begun)
	require.Equal(t, old, out.Payer)

	w.entry.State, w.entry.Failure = txm.StateFailed, &txm.Failure{Tx: &txm.TxError{Name: "x"}}
	_, begun = c.Begun(w, in)
	require.False(t, begun, "it had no effect, and is made anew")
	w.entry.Failure.Uncertain = true
	_, begun = c.Begun(w, in)
	require.True(t, begun)
	w.entry = nil
	out, begun = c.Begun(w, in)
	require.False(t, begun)
	require.Equal(t, in, out)
}
