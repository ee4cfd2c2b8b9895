package browserwallet

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/txm"
	"github.com/gantry-market/gantry/web"
)

const (
	// freshFor is how old a transaction may be when the wallet is asked: the person then has most of the minute for
	// which its blockhash is good.
	freshFor = 5 * time.Second
	// signWithin is how long a person may take in all.
	signWithin = 15 * time.Minute
)

// Sentinel errors.
var (
	ErrNotConnected = errors.New("no wallet was connected")
	ErrAccount      = errors.New("another account than the wallet's that was asked for")
)

// Options of a Wallet. Chain and Announce are required.
type Options struct {
	// Chain is how wallets name the cluster.
	Chain string
	// Local offers the wallet for development too, whose key is a file.
	Local bool
	// Expect is the account that has to be connected; zero takes the first.
	Expect solana.PublicKey
	// Command is what is done, for the page.
	Command string
	// Announce gives the page's address to the person.
	Announce func(url string)
	Log      zerolog.Logger
}

// Wallet is a txm.Signer whose key is in a wallet of a browser. It is safe for concurrent use; one transaction is
// asked for at a time.
type Wallet struct {
	o       Options
	srv     *http.Server
	host    string
	code    secret
	token   secret
	files   map[string]*web.File
	served  chan struct{} // closed when the server has ended
	asking  sync.Mutex    // held by Sign
	ended   chan struct{}
	endOnce sync.Once

	mu        sync.Mutex
	account   solana.PublicKey
	connected chan struct{} // closed when there is an account
	request   *request      // that waits for the wallet; nil for none
	changed   chan struct{} // closed and replaced when request changes
	count     int
	note      string // what happened to the transaction before
}

// request is a message that waits for its signature.
type request struct {
	id      int
	message []byte
	index   int // of the account among the signers
	signers int
	effects []string
	at      time.Time
	done    chan outcome
}

type outcome struct {
	signature solana.Signature
	err       error
}

// Open serves the page and waits until a wallet is connected. The wallet works until ctx ends or Close. Errors:
// ErrNotConnected, those of the listener.
func Open(ctx context.Context, o Options) (*Wallet, error) {
	files, err := web.Signing(o.Local)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("page of the wallet: %w", err)
	}
	w := &Wallet{
		o: o, host: l.Addr().String(), files: map[string]*web.File{}, served: make(chan struct{}), ended: make(chan struct{}),
		connected: make(chan struct{}), changed: make(chan struct{}),
	}
	for _, f := range files {
		w.files[f.Path] = f
	}
	code := newSecret(&w.code)
	w.srv = &http.Server{
		Handler: w.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	go func() {
		defer close(w.served)
		if err := w.srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error().Err(err).Msg("the page of the wallet has ended")
			w.end()
		}
	}()
	stop := context.AfterFunc(ctx, w.end)
	o.Announce("http://" + w.host + "/#code=" + code)
	wait := time.NewTimer(signWithin)
	defer wait.Stop()
	select {
	case <-w.connected:
		return w, nil
	case <-w.ended:
	case <-wait.C:
	}
	stop()
	w.Close()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("%w within %s", ErrNotConnected, signWithin)
}

func (w *Wallet) end() { w.endOnce.Do(func() { close(w.ended) }) }

// Close ends the page. What waits for a signature gets none.
func (w *Wallet) Close() {
	w.end()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := w.srv.Shutdown(ctx); err != nil { // the page is told in its next question, or gets no answer
		_ = w.srv.Close()
	}
	<-w.served
}

// PublicKey is the account that was connected.
func (w *Wallet) PublicKey() solana.PublicKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.account
}

// Sign has the wallet sign a transaction's message. It waits for the person. Errors: *txm.TxError where the wallet
// refuses or nobody answers, txm.ErrStale to be asked again with a newer blockhash.
func (w *Wallet) Sign(message []byte) (solana.Signature, error) {
	w.asking.Lock()
	defer w.asking.Unlock()
	m, err := decode(message)
	if err != nil {
		return solana.Signature{}, notSigned(err.Error())
	}
	signers := int(m.Header.NumRequiredSignatures)
	index := slices.Index(m.AccountKeys[:signers], w.PublicKey())
	if index < 0 {
		return solana.Signature{}, notSigned("the transaction needs no signature of " + w.PublicKey().String())
	}
	r := &request{message: bytes.Clone(message), index: index, signers: signers, effects: describe(m), at: time.Now(), done: make(chan outcome, 1)}
	w.show(r)
	wait := time.NewTimer(signWithin)
	defer wait.Stop()
	var got outcome
	select {
	case got = <-r.done:
	case <-w.ended:
		got.err = notSigned("the command was interrupted before it was signed")
	case <-wait.C:
		got.err = notSigned(fmt.Sprintf("nobody has signed it within %s", signWithin))
	}
	note := ""
	switch {
	case got.err == nil:
		note = "Signed. The command sends it and waits for the network."
	case !errors.Is(got.err, txm.ErrStale):
		note = "Nothing was signed."
	}
	w.hide(note)
	return got.signature, got.err
}

func (w *Wallet) show(r *request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	r.id = w.count
	w.request = r
	w.wake()
}

func (w *Wallet) hide(note string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.request, w.note = nil, note
	w.wake()
}

// wake tells the page that something has changed. The caller holds mu.
func (w *Wallet) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// connect takes the account. Error: ErrAccount.
func (w *Wallet) connect(account solana.PublicKey) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	want := w.o.Expect
	if !w.account.IsZero() {
		want = w.account
	}
	if !want.IsZero() && account != want {
		return fmt.Errorf("%w: the command is for %s, the wallet gives %s", ErrAccount, want, account)
	}
	if w.account.IsZero() {
		w.account = account
		close(w.connected)
	}
	return nil
}

// unsigned is the transaction with signatures of zeros.
func (r *request) unsigned() []byte {
	return append(append([]byte{byte(r.signers)}, make([]byte, 64*r.signers)...), r.message...)
}

// signed takes what the wallet has signed. why is what is wrong, for the person; empty where nothing is.
func (r *request) signed(raw []byte, account solana.PublicKey) (solana.Signature, string) {
	head := 1 + 64*r.signers
	if len(raw) != head+len(r.message) || int(raw[0]) != r.signers || !bytes.Equal(raw[head:], r.message) {
		return solana.Signature{}, "the wallet has signed another transaction than the one that was shown; nothing was sent"
	}
	sig := solana.SignatureFromBytes(raw[1+64*r.index : 1+64*(r.index+1)])
	if !sig.Verify(account, r.message) {
		return solana.Signature{}, "the signature is not one of the account " + account.String() + "; nothing was sent"
	}
	return sig, ""
}

// notSigned is a refusal after which the transaction is not tried again.
func notSigned(why string) error { return &txm.TxError{Name: "NotSigned", Hint: why} }

// newSecret makes a random text, of which the hash is kept.
func newSecret(s *secret) string {
	var raw [24]byte
	_, _ = rand.Read(raw[:]) // it never fails
	text := base64.RawURLEncoding.EncodeToString(raw[:])
	s.set(text)
	return text
}
