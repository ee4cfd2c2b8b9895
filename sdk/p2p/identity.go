package p2p

import (
	"bytes"
	stded25519 "crypto/ed25519"
	"crypto/rand"
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/crypto/pb"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/gantry-market/gantry/sdk/records"
)

// PeerID returns the peer id of a Solana key. Error: ErrIdentity.
func PeerID(key solana.PublicKey) (peer.ID, error) {
	if key.IsZero() {
		return "", fmt.Errorf("zero key: %w", ErrIdentity)
	}
	pub, err := crypto.UnmarshalEd25519PublicKey(key[:])
	if err != nil {
		return "", fmt.Errorf("key %s: %w: %w", key, ErrIdentity, err)
	}
	id, err := peer.IDFromPublicKey(pub)
	if err != nil {
		return "", fmt.Errorf("key %s: %w: %w", key, ErrIdentity, err)
	}
	return id, nil
}

// PublicKey returns the Solana key of a peer id. Error: ErrIdentity for ids of other key types.
func PublicKey(id peer.ID) (solana.PublicKey, error) {
	var key solana.PublicKey
	pub, err := id.ExtractPublicKey()
	if err != nil {
		return key, fmt.Errorf("peer %s: %w: %w", id, ErrIdentity, err)
	}
	if pub.Type() != crypto.Ed25519 {
		return key, fmt.Errorf("peer %s has a key of type %s: %w", id, pub.Type(), ErrIdentity)
	}
	raw, err := pub.Raw()
	if err != nil || len(raw) != len(key) {
		return key, fmt.Errorf("peer %s: %w", id, ErrIdentity)
	}
	copy(key[:], raw)
	return key, nil
}

func libp2pKey(key records.Signer) (crypto.PrivKey, error) {
	private, ok := key.(solana.PrivateKey)
	switch {
	case key == nil:
		return nil, fmt.Errorf("no key: %w", ErrIdentity)
	case !ok:
		return newSignerKey(key)
	case len(private) != stded25519.PrivateKeySize:
		return nil, fmt.Errorf("private key of %d bytes: %w", len(private), ErrIdentity)
	}
	k, err := crypto.UnmarshalEd25519PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIdentity, err)
	}
	return k, nil
}

// signerKey is the identity of a peer whose private key is elsewhere.
type signerKey struct {
	signer records.Signer
	public crypto.PubKey
	secret [stded25519.PrivateKeySize]byte
}

func newSignerKey(s records.Signer) (crypto.PrivKey, error) {
	key := s.PublicKey()
	public, err := crypto.UnmarshalEd25519PublicKey(key[:])
	if err != nil || key.IsZero() {
		return nil, fmt.Errorf("key %s: %w", key, ErrIdentity)
	}
	k := &signerKey{signer: s, public: public}
	if _, err := rand.Read(k.secret[:]); err != nil {
		return nil, err
	}
	return k, nil
}

// Sign implements crypto.PrivKey.
func (k *signerKey) Sign(message []byte) ([]byte, error) {
	sig, err := k.signer.Sign(message)
	if err != nil {
		return nil, fmt.Errorf("sign as a peer: %w", err)
	}
	return sig[:], nil
}

// GetPublic implements crypto.PrivKey.
func (k *signerKey) GetPublic() crypto.PubKey { return k.public }

// Type implements crypto.Key.
func (k *signerKey) Type() pb.KeyType { return pb.KeyType_Ed25519 }

// Raw implements crypto.Key. It is not the private key, which nothing here has: libp2p derives secrets of this process
// from it, such as those of QUIC's stateless resets, for which any secret serves.
func (k *signerKey) Raw() ([]byte, error) { return bytes.Clone(k.secret[:]), nil }

// Equals implements crypto.Key.
func (k *signerKey) Equals(o crypto.Key) bool {
	other, ok := o.(*signerKey)
	return ok && k.public.Equals(other.public)
}

// Peer is a peer with the addresses at which it may be reached.
type Peer struct {
	Key   solana.PublicKey
	As    solana.PublicKey // its key as a peer, where the caller knows that; zero: see Names
	Addrs []string         // multiaddresses, with or without the trailing /p2p/ID
}

// ParsePeer reads a full address: /ip4/…/tcp/…/p2p/ID. Error: ErrAddress.
func ParsePeer(addr string) (Peer, error) {
	info, err := peer.AddrInfoFromString(addr)
	if err != nil {
		return Peer{}, fmt.Errorf("%w: %q; expected /ip4/1.2.3.4/tcp/4001/p2p/12D3…", ErrAddress, addr)
	}
	key, err := PublicKey(info.ID)
	if err != nil {
		return Peer{}, err
	}
	return Peer{Key: key, Addrs: []string{addr}}, nil
}

// info converts to libp2p's form and refuses an address of another peer.
func (p Peer) info() (peer.AddrInfo, error) {
	id, err := PeerID(p.Key)
	if err != nil {
		return peer.AddrInfo{}, err
	}
	out := peer.AddrInfo{ID: id}
	for _, a := range p.Addrs {
		m, err := ma.NewMultiaddr(a)
		if err != nil {
			return out, fmt.Errorf("%w: %q: %w", ErrAddress, a, err)
		}
		transport, last := peer.SplitAddr(m)
		if last != "" && last != id {
			return out, fmt.Errorf("%w: %q is not of peer %s", ErrAddress, a, p.Key)
		}
		if transport != nil {
			if err := checkDialable(transport); err != nil {
				return out, err
			}
			out.Addrs = append(out.Addrs, withQUIC(transport)...)
		}
	}
	return out, nil
}
