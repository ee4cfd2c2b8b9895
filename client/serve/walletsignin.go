package serve

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/team"
)

const (
	// challengeLasts is how long a wallet has to sign.
	challengeLasts = 5 * time.Minute
	challengePath  = "/page/challenge"
	walletPath     = "/page/session/wallet"
	statement      = "Sign in to gantry serve. This signs no transaction and costs nothing."
)

// challenges makes texts that the customer's wallet signs to sign a browser in, and takes each once. It stores nothing
// before a signature is valid: a text carries the proof that this server has made it, in its nonce.
type challenges struct {
	now func() time.Time
	key [32]byte

	mu   sync.Mutex
	used map[string]time.Time // nonces, and when they end
}

func newChallenges(now func() time.Time) *challenges {
	c := &challenges{now: now, used: map[string]time.Time{}}
	_, _ = rand.Read(c.key[:]) // it never fails
	return c
}

// Challenge is the input of a wallet's sign-in (Sign In With Solana), and the text that it makes of it.
type Challenge struct {
	Domain     string `json:"domain"`
	Address    string `json:"address"`
	Statement  string `json:"statement"`
	Version    string `json:"version"`
	ChainID    string `json:"chainId"`
	Nonce      string `json:"nonce"`
	IssuedAt   string `json:"issuedAt"`
	Expiration string `json:"expirationTime"`
	Message    string `json:"message"`
}

// at is the challenge of these figures.
func (c *challenges) at(domain, address, chain, nonce string, issued time.Time) Challenge {
	out := Challenge{
		Domain: domain, Address: address, Statement: statement, Version: "1", ChainID: chain, Nonce: nonce,
		IssuedAt: issued.UTC().Format(time.RFC3339), Expiration: issued.Add(challengeLasts).UTC().Format(time.RFC3339),
	}
	out.Message = fmt.Sprintf("%s wants you to sign in with your Solana account:\n%s\n\n%s\n\nVersion: %s\nChain ID: %s\nNonce: %s\nIssued At: %s\nExpiration Time: %s",
		out.Domain, out.Address, out.Statement, out.Version, out.ChainID, out.Nonce, out.IssuedAt, out.Expiration)
	return out
}

// proof shows that this server has made a nonce for these figures.
func (c *challenges) proof(random, domain, address, chain string, issued time.Time) string {
	m := hmac.New(sha256.New, c.key[:])
	fmt.Fprintf(m, "%s\n%s\n%s\n%s\n%d", random, domain, address, chain, issued.Unix())
	return hex.EncodeToString(m.Sum(nil)[:16])
}

// offer makes a challenge.
func (c *challenges) offer(domain, address, chain string) Challenge {
	var raw [12]byte
	_, _ = rand.Read(raw[:])
	random, issued := hex.EncodeToString(raw[:]), c.now().Truncate(time.Second)
	return c.at(domain, address, chain, random+c.proof(random, domain, address, chain, issued), issued)
}

// take checks a signature, and takes its challenge: it is good once. why says what is wrong; empty where nothing is.
func (c *challenges) take(domain, chain string, wallet solana.PublicKey, nonce, issuedAt string, message []byte, signature solana.Signature) (why string) {
	issued, err := time.Parse(time.RFC3339, issuedAt)
	if err != nil || len(nonce) != 56 {
		return "the text is not one that this server has made"
	}
	random := nonce[:24]
	if !hmac.Equal([]byte(nonce[24:]), []byte(c.proof(random, domain, wallet.String(), chain, issued))) {
		return "the text is not one that this server has made since it began, for this address"
	}
	now := c.now()
	switch want := c.at(domain, wallet.String(), chain, nonce, issued); {
	case !now.Before(issued.Add(challengeLasts)):
		return fmt.Sprintf("the text is older than %s", challengeLasts)
	case want.Message != string(message):
		return "the wallet has signed another text than the one that this server has made"
	case !signature.Verify(wallet, message):
		return "the signature is not one of the wallet"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, until := range c.used {
		if !now.Before(until) {
			delete(c.used, n)
		}
	}
	if _, twice := c.used[nonce]; twice {
		return "the text was signed in with already"
	}
	c.used[nonce] = issued.Add(challengeLasts)
	return ""
}

// hosted is an input that knows by which name the server was called; the guard has let it pass.
type hosted struct{ host string }

// Resolve implements huma.Resolver.
func (h *hosted) Resolve(ctx huma.Context) []error {
	h.host = strings.ToLower(ctx.Host())
	return nil
}

type challengeInput struct {
	hosted
	Body struct {
		Account string `json:"account" minLength:"32" maxLength:"44" doc:"The wallet that is connected"`
	}
}

type walletSignInInput struct {
	hosted
	Body struct {
		Account   string `json:"account,omitempty" maxLength:"44" doc:"The wallet; the customer's by default"`
		Nonce     string `json:"nonce" maxLength:"56"`
		IssuedAt  string `json:"issuedAt" maxLength:"32"`
		Message   []byte `json:"message" doc:"What the wallet has signed"`
		Signature []byte `json:"signature"`
	}
}

// walletOf is the member whose wallet it is.
func (s *Server) walletOf(account string) (member string, p *Problem) {
	if account == s.o.Customer.String() {
		return team.MemberCustomer, nil
	}
	if s.o.Team != nil {
		member, err := s.o.Team.ByWallet(account)
		switch {
		case err == nil:
			return member, nil
		case !errors.Is(err, team.ErrUnknown):
			return "", problem(http.StatusInternalServerError, err.Error(), "look at the server's log")
		}
	}
	return "", problem(http.StatusForbidden, "this server acts for another wallet than "+account,
		"connect the wallet that it was started for or one of its team, or start one for this wallet: gantry serve --customer "+account)
}

// registerWalletSignIn adds the operations that sign a browser in by its wallet; they need no token.
func (s *Server) registerWalletSignIn(api huma.API) {
	ask := huma.Operation{OperationID: "sign-in-challenge", Method: http.MethodPost, Path: challengePath, Hidden: true}
	huma.Register(api, ask, func(ctx context.Context, in *challengeInput) (*reply[Challenge], error) {
		if _, p := s.walletOf(in.Body.Account); p != nil {
			return nil, p
		}
		chain, err := s.o.Wallet.Chain(ctx)
		if err != nil {
			return nil, failed(err)
		}
		return &reply[Challenge]{s.challenges.offer(in.host, in.Body.Account, chain)}, nil
	})
	answer := huma.Operation{OperationID: "sign-in-wallet", Method: http.MethodPost, Path: walletPath, Hidden: true}
	huma.Register(api, answer, func(ctx context.Context, in *walletSignInInput) (*reply[signInReply], error) {
		chain, err := s.o.Wallet.Chain(ctx)
		if err != nil {
			return nil, failed(err)
		}
		account := in.Body.Account
		if account == "" {
			account = s.o.Customer.String()
		}
		member, p := s.walletOf(account)
		if p != nil {
			return nil, p
		}
		key, err := solana.PublicKeyFromBase58(account)
		if err != nil {
			return nil, problem(http.StatusUnauthorized, account+" is not a wallet", "sign in again")
		}
		why := "the signature has not 64 bytes"
		if len(in.Body.Signature) == 64 {
			why = s.challenges.take(in.host, chain, key, in.Body.Nonce, in.Body.IssuedAt, in.Body.Message, solana.SignatureFromBytes(in.Body.Signature))
		}
		if why != "" {
			return nil, problem(http.StatusUnauthorized, why, "sign in again")
		}
		if err := s.signedIn(member); err != nil {
			return nil, failed(err)
		}
		token, until, err := s.signIns.admit(member)
		if err != nil {
			return nil, failed(err)
		}
		return &reply[signInReply]{signInReply{Token: token, Until: until.Unix()}}, nil
	})
}
