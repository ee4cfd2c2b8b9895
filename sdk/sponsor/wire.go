package sponsor

import (
	"encoding/json"
	"fmt"
	"time"
)

// Methods of Kora's JSON-RPC that are spoken here.
const (
	MethodLiveness        = "liveness"
	MethodConfig          = "getConfig"
	MethodPayerSigner     = "getPayerSigner"
	MethodSignTransaction = "signTransaction"
)

// Codes of JSON-RPC.
const (
	CodeParse   = -32700
	CodeMethod  = -32601
	CodeParams  = -32602
	CodeFault   = -32603
	CodeRefused = -32000
)

// Request is a request of JSON-RPC.
type Request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// Response is an answer of JSON-RPC.
type Response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// Error is why a request is refused.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Refusal is why a transaction is not signed. It stands in Data of an error.
type Refusal struct {
	Rule   string    `json:"rule"`
	Reason string    `json:"-"` // the message of the error
	Advice string    `json:"advice,omitempty"`
	Renews time.Time `json:"renews,omitzero"` // when a limit begins anew
}

func (r *Refusal) Error() string {
	if r.Advice == "" {
		return r.Reason
	}
	return r.Reason + "; " + r.Advice
}

// Refused is a refusal by a rule.
func Refused(rule, advice, reason string, args ...any) *Refusal {
	return &Refusal{Rule: rule, Advice: advice, Reason: fmt.Sprintf(reason, args...)}
}

// Payer names who pays.
type Payer struct {
	Signer  string `json:"signer_address"`
	Payment string `json:"payment_address"`
}

// Sign asks for a signature.
type Sign struct {
	Transaction string `json:"transaction"` // base64
	Signer      string `json:"signer_key,omitempty"`
	Verify      bool   `json:"sig_verify"`
}

// Signed is the transaction with the sponsor's signature.
type Signed struct {
	Transaction string `json:"signed_transaction"` // base64
	Signer      string `json:"signer_pubkey"`
}

// Config says what a sponsor signs.
type Config struct {
	Payers []string        `json:"fee_payers"`
	Rules  Validation      `json:"validation_config"`
	Has    map[string]bool `json:"enabled_methods"`
}

// Validation are a sponsor's rules in Kora's terms. Kora writes "All" in place of a list of programs.
type Validation struct {
	MostLamports  uint64            `json:"max_allowed_lamports"`
	MostSigners   uint64            `json:"max_signatures"`
	Programs      any               `json:"allowed_programs"`
	Tokens        []string          `json:"allowed_tokens"`
	PaidTokens    any               `json:"allowed_spl_paid_tokens"`
	OtherAccounts []string          `json:"disallowed_accounts"`
	Price         map[string]string `json:"price,omitempty"`
}
