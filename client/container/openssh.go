package container

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gagliardetto/solana-go"
)

// Option is a line of OpenSSH's configuration (ssh_config(5)).
type Option struct{ Name, Value string }

// Options are those with which OpenSSH's programs reach the container of a lease: as User, with an identity file, through a
// command that speaks to its SSH server.
func (k *Keys) Options(lease solana.PublicKey, identity, proxyCommand string) []Option {
	return []Option{
		{"ProxyCommand", proxyCommand},
		{"User", User},
		{"IdentityFile", quoteOption(identity)},
		{"IdentitiesOnly", "yes"},
		{"HostKeyAlias", Alias(lease)},
		{"UserKnownHostsFile", quoteOption(k.KnownHosts(lease))},
		{"GlobalKnownHostsFile", "/dev/null"},
		{"StrictHostKeyChecking", "yes"},
		{"CheckHostIP", "no"},
		{"UpdateHostKeys", "no"},
	}
}

// quoteOption quotes a path in OpenSSH's configuration.
func quoteOption(path string) string {
	return `"` + strings.ReplaceAll(path, "%", "%%") + `"`
}

// HostBlock is a block of OpenSSH's configuration.
type HostBlock struct {
	Host    string            `json:"host"`
	Lease   string            `json:"lease,omitempty"`
	Options map[string]string `json:"options"`
	options []Option
}

// NewHostBlock makes a block; lease is empty for one of a gateway.
func NewHostBlock(host, lease string, options []Option) HostBlock {
	b := HostBlock{Host: host, Lease: lease, Options: map[string]string{}, options: options}
	for _, o := range options {
		b.Options[o.Name] = o.Value
	}
	return b
}

// Print writes the block as ~/.ssh/config has it.
func (b HostBlock) Print(w io.Writer) {
	fmt.Fprintf(w, "Host %s\n", b.Host)
	for _, o := range b.options {
		fmt.Fprintf(w, "    %s %s\n", o.Name, o.Value)
	}
}

// JumpBlocks are the blocks by which a lease is reached through a gateway, whose SSH server at a host and port knows the container by
// a name. inner and outer are the options of the lease and of the gateway, whose proxy commands are left out.
func JumpBlocks(lease, gateway solana.PublicKey, host, port, name string, inner, outer []Option) []HostBlock {
	through := "gantry-gateway-" + gateway.String()
	direct := func(o Option) bool { return o.Name == "ProxyCommand" }
	outer = append([]Option{{"HostName", host}, {"Port", port}}, slices.DeleteFunc(outer, direct)...)
	inner = append([]Option{{"HostName", name}, {"ProxyJump", through}}, slices.DeleteFunc(inner, direct)...)
	return []HostBlock{NewHostBlock(through, "", outer), NewHostBlock(Alias(lease)+"-gateway", lease.String(), inner)}
}
