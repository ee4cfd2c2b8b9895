package contexts

import (
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/sdk/chain"
)

// Variables of the environment.
const (
	VariableContext = "GANTRY_CONTEXT"
	VariableRPC     = "GANTRY_RPC_URL"
	VariableWS      = "GANTRY_WS_URL"
	VariableKeypair = "GANTRY_KEYPAIR"
	VariableServer  = "GANTRY_SERVER"
	VariableGateway = "GANTRY_GATEWAY"
	VariableSponsor = "GANTRY_SPONSOR"

	// VariableSponsorToken is what the sponsor knows its caller by. It is of no context, so that no file has it.
	VariableSponsorToken = "GANTRY_SPONSOR_TOKEN"

	VariableBucket   = "GANTRY_BUCKET"
	VariableEndpoint = "GANTRY_BUCKET_ENDPOINT"
	VariablePrice    = "GANTRY_BUCKET_PRICE"
)

// fromEnvironment is the source of what these variables say.
const fromEnvironment = "environment"

var variables = map[string]string{
	SettingRPC: VariableRPC, SettingWS: VariableWS, SettingKeypair: VariableKeypair, SettingServer: VariableServer, SettingGateway: VariableGateway, SettingSponsor: VariableSponsor,
	SettingBucket: VariableBucket, SettingEndpoint: VariableEndpoint, SettingPrice: VariablePrice,
}

// DefaultServer is where gantry serve listens unless it is told otherwise.
const DefaultServer = "http://127.0.0.1:8484"

// Flags are what a command line says; empty for what it does not say.
type Flags struct {
	Context    string // --context
	RPC, WS    []string
	Keypair    string
	Server     string
	Sponsor    string
	Config     string // a file of `solana config`; it counts more than the environment
	Commitment string
}

// Value is a setting, and where it comes from.
type Value struct {
	Setting string   `json:"setting"`
	Values  []string `json:"values"`
	From    string   `json:"from"`
}

// Text is the setting's value; empty for none.
func (v *Value) Text() string { return strings.Join(v.Values, " ") }

// Settings are those of one run.
type Settings struct {
	Context                           Value // the name of the context that was chosen
	RPC, WS, Keypair, Server, Gateway Value // WS is empty where it follows from RPC
	Sponsor                           Value
	SponsorToken                      string
	Bucket, Endpoint, Price           Value // of the volumes that are kept
	Commitment                        Value
	Solana                            chain.CLIConfig // with the keypair and the commitment level that count
}

// All are the settings in the order in which they are shown.
func (s *Settings) All() []Value {
	return []Value{s.Context, s.RPC, s.WS, s.Keypair, s.Server, s.Gateway, s.Sponsor, s.Bucket, s.Endpoint, s.Price, s.Commitment}
}

// Resolve finds the settings of a run. A flag counts most, and with it a context that --context names and a file that --config
// names. Then the environment counts, then the chosen context, then `solana config`, then defaults. A WebSocket URL of one
// source is never used with an RPC URL of a later one. Errors: ErrFile, ErrUnknown, chain.ErrConfig, chain.ErrCommitment.
func Resolve(f *File, said *Flags, env func(string) string) (*Settings, error) {
	solana, err := chain.LoadCLIConfig(said.Config)
	if err != nil {
		return nil, err
	}
	s := &Settings{Solana: solana}
	named, chosen, err := s.choose(f, said, env)
	if err != nil {
		return nil, err
	}
	fromContext := "context " + s.Context.Text()
	fromSolana := "solana config"
	switch {
	case said.Config != "":
		fromSolana = said.Config
	case !solana.Found:
		fromSolana = "default"
	}
	file := &Context{RPC: []string{solana.RPCURL}, WS: list(solana.WebsocketURL), Keypair: solana.KeypairPath}
	sources := []source{
		{from: "flag", has: &Context{RPC: said.RPC, WS: said.WS, Keypair: said.Keypair, Server: said.Server, Sponsor: said.Sponsor}},
		{from: fromContext + " (--context)", has: named},
	}
	if said.Config != "" {
		sources = append(sources, source{fromSolana, file})
	}
	sources = append(sources,
		source{fromEnvironment, &Context{RPC: split(env(VariableRPC)), WS: split(env(VariableWS)), Keypair: env(VariableKeypair), Server: env(VariableServer), Gateway: env(VariableGateway), Sponsor: env(VariableSponsor), Bucket: env(VariableBucket), Endpoint: env(VariableEndpoint), Price: env(VariablePrice)}},
		source{fromContext, chosen},
		source{fromSolana, file},
		source{"default", &Context{Server: DefaultServer}},
	)
	s.RPC, s.WS = endpoints(sources)
	s.Keypair, s.Server, s.Gateway = first(sources, SettingKeypair), first(sources, SettingServer), first(sources, SettingGateway)
	s.Sponsor, s.SponsorToken = first(sources, SettingSponsor), env(VariableSponsorToken)
	s.Bucket, s.Endpoint, s.Price = first(sources, SettingBucket), first(sources, SettingEndpoint), first(sources, SettingPrice)
	s.Solana.KeypairPath = s.Keypair.Text()
	s.Commitment = Value{"commitment", list(string(solana.Commitment)), fromSolana}
	if said.Commitment != "" {
		if s.Solana.Commitment, err = chain.ParseCommitment(said.Commitment); err != nil {
			return nil, err
		}
		s.Commitment = Value{"commitment", list(string(s.Solana.Commitment)), "flag"}
	}
	return s, nil
}

// choose finds the context of a run: named by --context, or else chosen by the environment or the file.
func (s *Settings) choose(f *File, said *Flags, env func(string) string) (named, chosen *Context, err error) {
	named, chosen = &Context{}, &Context{}
	s.Context = Value{"context", []string{}, "default"}
	into, name := chosen, f.Current
	switch {
	case said.Context != "":
		into, name, s.Context.From = named, said.Context, "flag"
	case env(VariableContext) != "":
		name, s.Context.From = env(VariableContext), VariableContext
	case name != "":
		s.Context.From = f.path
	default:
		return named, chosen, nil
	}
	s.Context.Values = list(name)
	c, err := f.Named(name)
	if err != nil {
		return nil, nil, fmt.Errorf("%w (%s)", err, s.Context.From)
	}
	*into = c
	return named, chosen, nil
}

// source is a place that settings come from.
type source struct {
	from string
	has  *Context
}

// of names the source of a setting.
func (s *source) of(setting string) string {
	if s.from == fromEnvironment {
		return variables[setting]
	}
	return s.from
}

// first is a setting of the first source that has it.
func first(all []source, setting string) Value {
	for _, s := range all {
		if values := s.has.of(setting); len(values) > 0 {
			return Value{setting, values, s.of(setting)}
		}
	}
	return Value{setting, []string{}, "default"}
}

// endpoints are the URLs of RPC nodes and their WebSocket URLs, of the same source or of one that counts more.
func endpoints(all []source) (rpc, ws Value) {
	ws = Value{SettingWS, []string{}, "derived"}
	for _, s := range all {
		if len(ws.Values) == 0 && len(s.has.WS) > 0 {
			ws = Value{SettingWS, s.has.WS, s.of(SettingWS)}
		}
		if len(s.has.RPC) > 0 {
			return Value{SettingRPC, s.has.RPC, s.of(SettingRPC)}, ws
		}
	}
	return Value{Setting: SettingRPC}, ws
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// split reads a variable of several values with commas between them.
func split(text string) (out []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
