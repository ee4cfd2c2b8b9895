package desk

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/sponsor"
)

// Answer answers a request of JSON-RPC, in the form of Kora.
func (d *Desk) Answer(ctx context.Context, who Caller, body []byte) []byte {
	var r sponsor.Request
	out := sponsor.Response{Version: "2.0", ID: json.RawMessage("null")}
	if err := json.Unmarshal(body, &r); err != nil || r.Version != "2.0" || r.Method == "" {
		out.Error = &sponsor.Error{Code: sponsor.CodeParse, Message: "this is no request of JSON-RPC 2.0"}
	} else {
		if len(r.ID) > 0 {
			out.ID = r.ID
		}
		out.Result, out.Error = d.call(ctx, who, &r)
	}
	raw, err := json.Marshal(out)
	if err != nil { // nothing in it can fail
		d.o.Log.Error().Err(err).Msg("an answer of the sponsor cannot be written")
	}
	return raw
}

func (d *Desk) call(ctx context.Context, who Caller, r *sponsor.Request) (json.RawMessage, *sponsor.Error) {
	switch r.Method {
	case sponsor.MethodLiveness:
		return json.RawMessage("null"), nil
	case sponsor.MethodPayerSigner:
		return result(sponsor.Payer{Signer: d.key.String(), Payment: d.key.String()})
	case sponsor.MethodConfig:
		return result(d.config())
	case sponsor.MethodSignTransaction:
		return d.sign(ctx, who, r.Params)
	}
	return nil, &sponsor.Error{Code: sponsor.CodeMethod, Message: "there is no method " + r.Method + " here: " + sponsor.MethodConfig + " names those that there are"}
}

func result(v any) (json.RawMessage, *sponsor.Error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, &sponsor.Error{Code: sponsor.CodeFault, Message: err.Error()}
	}
	return raw, nil
}

// config is what is signed, as Kora says it.
func (d *Desk) config() sponsor.Config {
	names := []string{solana.SystemProgramID.String()}
	for _, p := range programs {
		names = append(names, p.String())
	}
	return sponsor.Config{
		Payers: []string{d.key.String()},
		Rules: sponsor.Validation{
			MostLamports: uint64(d.o.Limits.Caller), MostSigners: maxSigners, Programs: names, Tokens: []string{}, PaidTokens: []string{}, OtherAccounts: []string{},
			Price: map[string]string{"type": "free"},
		},
		Has: map[string]bool{"liveness": true, "get_config": true, "get_payer_signer": true, "sign_transaction": true},
	}
}

func (d *Desk) sign(ctx context.Context, who Caller, params json.RawMessage) (json.RawMessage, *sponsor.Error) {
	var in sponsor.Sign
	if one := bytes.TrimSpace(params); len(one) > 0 && one[0] == '[' { // parameters by position: the same object alone
		all := []json.RawMessage{}
		if json.Unmarshal(one, &all) == nil && len(all) == 1 {
			params = all[0]
		}
	}
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, &sponsor.Error{Code: sponsor.CodeParams, Message: "the parameters have another form: {transaction, signer_key?}"}
	}
	raw, err := base64.StdEncoding.DecodeString(in.Transaction)
	if err != nil {
		return nil, &sponsor.Error{Code: sponsor.CodeParams, Message: "the transaction is not base64"}
	}
	if in.Signer != "" && in.Signer != d.key.String() {
		return nil, &sponsor.Error{Code: sponsor.CodeParams, Message: "the sponsor has no key " + in.Signer + ": it signs with " + d.key.String()}
	}
	signed, err := d.Sign(ctx, who, raw)
	if err == nil {
		return result(sponsor.Signed{Transaction: base64.StdEncoding.EncodeToString(signed), Signer: d.key.String()})
	}
	if why := refusal(err); why != nil {
		data, _ := result(why)
		return nil, &sponsor.Error{Code: sponsor.CodeRefused, Message: why.Reason, Data: data}
	}
	d.o.Log.Warn().Err(err).Msg("the sponsor cannot decide about a transaction")
	return nil, &sponsor.Error{Code: sponsor.CodeFault, Message: "the sponsor cannot decide about the transaction now: " + err.Error()}
}
