package chain

import (
	"net/url"
	"strings"

	"github.com/gagliardetto/solana-go"
)

// Genesis hashes of the public clusters.
const (
	MainnetGenesis = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
	DevnetGenesis  = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"
	TestnetGenesis = "4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY"
)

// Cluster names a cluster by its genesis hash.
type Cluster string

// The clusters; everything that is not public counts as local.
const (
	ClusterMainnet Cluster = "mainnet-beta"
	ClusterDevnet  Cluster = "devnet"
	ClusterTestnet Cluster = "testnet"
	ClusterLocal   Cluster = "localnet"
)

// ClusterOf identifies the cluster with this genesis hash.
func ClusterOf(genesis solana.Hash) Cluster {
	switch genesis.String() {
	case MainnetGenesis:
		return ClusterMainnet
	case DevnetGenesis:
		return ClusterDevnet
	case TestnetGenesis:
		return ClusterTestnet
	}
	return ClusterLocal
}

// WalletStandard is the cluster's name in the Wallet Standard of browsers.
func (c Cluster) WalletStandard() string {
	if c == ClusterMainnet {
		return "solana:mainnet"
	}
	return "solana:" + string(c)
}

// Explorer builds links to explorer.solana.com, which runs in the reader's browser and so can show a local network as
// well.
type Explorer struct {
	Cluster Cluster
	RPCURL  string // used for local clusters only
}

// Tx links to a transaction.
func (e Explorer) Tx(sig solana.Signature) string { return e.link("tx/" + sig.String()) }

// Address links to an account.
func (e Explorer) Address(key solana.PublicKey) string { return e.link("address/" + key.String()) }

// Template is a link in which {path} stands for what is looked up, such as address/KEY or tx/SIGNATURE.
func (e Explorer) Template() string {
	return strings.Replace(e.link("-path-"), "-path-", "{path}", 1)
}

func (e Explorer) link(path string) string {
	u := url.URL{Scheme: "https", Host: "explorer.solana.com", Path: "/" + path}
	q := url.Values{}
	switch e.Cluster {
	case ClusterMainnet:
	case ClusterDevnet, ClusterTestnet:
		q.Set("cluster", string(e.Cluster))
	default:
		q.Set("cluster", "custom")
		q.Set("customUrl", e.RPCURL)
	}
	u.RawQuery = q.Encode()
	return u.String()
}
