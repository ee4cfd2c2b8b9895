package chain

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Well-known endpoints, as the solana command knows them.
const (
	MainnetURL   = "https://api.mainnet-beta.solana.com"
	DevnetURL    = "https://api.devnet.solana.com"
	TestnetURL   = "https://api.testnet.solana.com"
	LocalhostURL = "http://127.0.0.1:8899"
)

// DefaultConfigPath is where `solana config` keeps its settings.
const DefaultConfigPath = "~/.config/solana/cli/config.yml"

// CLIConfig holds the settings of the solana command that apply to us.
type CLIConfig struct {
	RPCURL       string
	WebsocketURL string
	KeypairPath  string
	Commitment   Commitment
	Found        bool // false when the file does not exist and defaults apply
}

// LoadCLIConfig reads the settings of `solana config`. An empty path means the default path. A missing file gives the
// solana command's defaults.
// Error: ErrConfig.
func LoadCLIConfig(path string) (CLIConfig, error) {
	cfg := CLIConfig{RPCURL: MainnetURL, KeypairPath: "~/.config/solana/id.json", Commitment: Confirmed}
	if path == "" {
		path = DefaultConfigPath
	}
	full, err := ExpandHome(path)
	if err != nil {
		return cfg, err
	}
	raw, err := os.ReadFile(full)
	if errors.Is(err, fs.ErrNotExist) {
		cfg.WebsocketURL, err = WebsocketURL(cfg.RPCURL)
		return cfg, err
	}
	if err != nil {
		return cfg, fmt.Errorf("%w: %s cannot be read: %w", ErrConfig, full, err)
	}
	var file struct {
		RPCURL       string `yaml:"json_rpc_url"`
		WebsocketURL string `yaml:"websocket_url"`
		KeypairPath  string `yaml:"keypair_path"`
		Commitment   string `yaml:"commitment"`
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		return cfg, fmt.Errorf("%w: %s is not YAML; repair it with `solana config set --url URL`", ErrConfig, full)
	}
	cfg.Found = true
	if file.RPCURL != "" {
		if cfg.RPCURL, err = ResolveURL(file.RPCURL); err != nil {
			return cfg, fmt.Errorf("%w: json_rpc_url in %s: %w", ErrConfig, full, err)
		}
	}
	if file.KeypairPath != "" {
		cfg.KeypairPath = file.KeypairPath
	}
	if file.Commitment != "" {
		if cfg.Commitment, err = ParseCommitment(file.Commitment); err != nil {
			return cfg, fmt.Errorf("%w: %s: %w", ErrConfig, full, err)
		}
	}
	cfg.WebsocketURL = file.WebsocketURL
	if cfg.WebsocketURL == "" {
		cfg.WebsocketURL, err = WebsocketURL(cfg.RPCURL)
	}
	return cfg, err
}

// PairEndpoints joins RPC URLs with WebSocket URLs: one for each, or none, where they follow from the RPC URLs. Error:
// ErrEndpoint.
func PairEndpoints(urls, ws []string) ([]Endpoint, error) {
	if len(ws) != 0 && len(ws) != len(urls) {
		return nil, fmt.Errorf("%w: %d of --url and %d of --ws; give one --ws for each --url, or none", ErrEndpoint, len(urls), len(ws))
	}
	out := make([]Endpoint, len(urls))
	for i, u := range urls {
		out[i].RPC = u
		if len(ws) > 0 {
			out[i].WS = ws[i]
		}
	}
	return out, nil
}

// ResolveURL expands the solana command's monikers (m, d, t, l and their long forms) and checks that anything else is
// an http(s) URL. Error: ErrEndpoint.
func ResolveURL(s string) (string, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "m", "mainnet", "mainnet-beta":
		return MainnetURL, nil
	case "d", "devnet":
		return DevnetURL, nil
	case "t", "testnet":
		return TestnetURL, nil
	case "l", "localhost", "local", "localnet":
		return LocalhostURL, nil
	}
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("%w: %q; give a URL such as %s or one of mainnet-beta, devnet, testnet, localhost", ErrEndpoint, s, LocalhostURL)
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// WebsocketURL derives the subscription endpoint as the solana command does: an explicit port grows by one, otherwise
// only the scheme changes.
// Error: ErrEndpoint.
func WebsocketURL(rpcURL string) (string, error) {
	u, err := url.Parse(rpcURL)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%w: %q", ErrEndpoint, rpcURL)
	}
	switch u.Scheme {
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	default:
		return "", fmt.Errorf("%w: %q is not http or https", ErrEndpoint, rpcURL)
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 65535 {
			return "", fmt.Errorf("%w: port of %q", ErrEndpoint, rpcURL)
		}
		u.Host = strings.TrimSuffix(u.Host, p) + strconv.FormatUint(n+1, 10)
	}
	return u.String(), nil
}
