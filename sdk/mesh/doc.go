// Package mesh gives a group of machines a private network: WireGuard (wireguard-go) over the UDP ports that the
// machines' libp2p nodes use for QUIC.
//
// A machine behind a home router is reached through one hole in that router, which libp2p opens for QUIC. A second
// protocol on another port would need a second hole. So [Port] shares the socket. The first two bits of a packet
// distinguish the protocols. In QUIC at least one is set (RFC 9000 section 17). In WireGuard both are zero, since its
// first byte is a type from 1 to 4. [Port] takes WireGuard's packets out before QUIC sees them.
//
// A machine may be in several groups, with a key and a device for each. They share the sockets too. A first message
// (handshake initiation) belongs to the device whose public key matches its mac1. Each later message carries the index
// that the device chose when it sent its part of the handshake (WireGuard's paper, section 5.4). Everything else is
// counted and dropped, so strangers and other groups cannot reach a device.
package mesh
