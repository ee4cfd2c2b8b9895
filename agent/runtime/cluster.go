package runtime

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/gagliardetto/solana-go"
)

// Cluster is where the agent's leases come from.
type Cluster struct {
	// GenesisHash as getGenesisHash returns it (base58).
	GenesisHash string
	// Endpoints are all RPC and WebSocket URLs in use.
	Endpoints []string
}

// Genesis hashes of the public clusters.
const (
	GenesisMainnetBeta = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
	GenesisTestnet     = "4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY"
	GenesisDevnet      = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"
)

var publicClusters = map[string]string{
	GenesisMainnetBeta: "mainnet-beta",
	GenesisTestnet:     "testnet",
	GenesisDevnet:      "devnet",
}

// CheckLocal returns a [*NotLocalError] unless the cluster is a private one whose endpoints are all on this machine.
// Both are asked for: the hash alone cannot know a private but remote cluster, the address alone cannot know a tunnel
// or a proxy to a public one.
func (c Cluster) CheckLocal() error {
	hash, err := solana.HashFromBase58(c.GenesisHash)
	if err != nil {
		return &NotLocalError{Why: fmt.Sprintf("the genesis hash %q cannot be read, so the cluster is unknown", c.GenesisHash)}
	}
	if hash == (solana.Hash{}) {
		return &NotLocalError{Why: "the genesis hash is zero, so the cluster is unknown"}
	}
	if name, ok := publicClusters[hash.String()]; ok {
		return &NotLocalError{Why: "this is " + name}
	}
	if len(c.Endpoints) == 0 {
		return &NotLocalError{Why: "no RPC endpoint is named, so the cluster's place is unknown"}
	}
	for _, e := range c.Endpoints {
		if err := checkLoopback(e); err != nil {
			return err
		}
	}
	return nil
}

func checkLoopback(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return &NotLocalError{Why: fmt.Sprintf("endpoint %q is not a URL with a host", endpoint)}
	}
	host := u.Hostname()
	if strings.EqualFold(host, "localhost") {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return &NotLocalError{Why: fmt.Sprintf("endpoint host %q is not this machine", host)}
}
