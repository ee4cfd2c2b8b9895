package p2p

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/gantry-market/gantry/sdk/messages"
)

// Version is a version of the messages between peers.
type Version struct{ Major, Minor uint }

// String returns MAJOR.MINOR.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// MessagesVersion is what this program speaks.
func MessagesVersion() Version { return Version{messages.Version, messages.Minor} }

// WireID is the libp2p id of one version of a protocol.
func WireID(name string, v Version) protocol.ID { return protocol.ID(name + "/" + v.String()) }

// offers are the versions of a protocol that a node of this version speaks, the newest first: the first that both sides
// have is used.
func (p Protocol) offers(v Version) []protocol.ID {
	var out []protocol.ID
	for minor := int64(v.Minor); minor >= int64(p.Since); minor-- {
		out = append(out, WireID(p.ID, Version{v.Major, uint(minor)}))
	}
	return out
}

// versionIn returns the newest version among the protocols of a peer, of this major version if the peer has any of it.
func versionIn(ids []protocol.ID, major uint) (newest Version, ok bool) {
	rank := func(v Version) []uint {
		if v.Major == major {
			return []uint{1, v.Major, v.Minor}
		}
		return []uint{0, v.Major, v.Minor}
	}
	for _, id := range ids {
		text := string(id[strings.LastIndexByte(string(id), '/')+1:])
		var v Version
		_, err := fmt.Sscanf(text, "%d.%d", &v.Major, &v.Minor)
		if !strings.HasPrefix(string(id), "/gantry/") || err != nil || v.String() != text {
			continue
		}
		if !ok || slices.Compare(rank(newest), rank(v)) < 0 {
			newest, ok = v, true
		}
	}
	return newest, ok
}

// unsupported says why a peer does not speak a protocol.
func (n *Node) unsupported(p Protocol, to solana.PublicKey) error {
	id, err := n.id(to)
	if err != nil {
		return err
	}
	ids, err := n.host.Peerstore().GetProtocols(id)
	theirs, known := versionIn(ids, n.version.Major)
	switch {
	case err == nil && known && theirs.Major != n.version.Major:
		return fmt.Errorf("%w: %s", ErrVersion, advice(n.version, theirs))
	case err == nil && known && theirs.Minor < p.Since:
		return fmt.Errorf("%w: it came with version %s of the messages; the peer speaks %s and needs an update", ErrProtocol, Version{n.version.Major, p.Since}, theirs)
	}
	return fmt.Errorf("%w: one of you needs an update, or the peer has not started to answer yet", ErrProtocol)
}

// advice says who should update.
func advice(ours, theirs Version) string {
	who := "the peer needs an update, or you a program of its version"
	if theirs.Major > ours.Major {
		who = "update this program"
	}
	return fmt.Sprintf("the peer says that it speaks version %s of the messages, this program speaks %s; %s", theirs, ours, who)
}

// startVersions logs peers of another major version. Their gossip has other topics, so that nothing else would show them.
func (n *Node) startVersions() error {
	sub, err := n.host.EventBus().Subscribe(new(event.EvtPeerIdentificationCompleted))
	if err != nil {
		return fmt.Errorf("watch versions of peers: %w", err)
	}
	started := n.spawn(func() {
		defer func() { _ = sub.Close() }() // it only unsubscribes
		for {
			select {
			case <-n.ctx.Done():
				return
			case e := <-sub.Out():
				if id, ok := e.(event.EvtPeerIdentificationCompleted); ok {
					n.noteVersion(id.Peer, id.Protocols)
				}
			}
		}
	})
	if !started {
		_ = sub.Close()
		return ErrClosed
	}
	return nil
}

func (n *Node) noteVersion(id peer.ID, ids []protocol.ID) {
	theirs, ok := versionIn(ids, n.version.Major)
	if !ok || theirs.Major == n.version.Major || !n.gate.knows(id) || !n.counts.mayWarn("version", id) {
		return
	}
	n.log.Warn().Str("peer", id.String()).Stringer("theirs", theirs).Stringer("ours", n.version).Msg("peer has another major version and is not understood: " + advice(n.version, theirs))
}
