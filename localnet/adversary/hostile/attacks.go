package hostile

import (
	"github.com/gantry-market/gantry/sdk/messages"
)

// keeperKeys are those of keepers of every state.
var keeperKeys = []Role{Waiting, Active, Leaving, Expelled}

// attacks lists all of them. One file for each.
func attacks() []attack {
	return []attack{
		{"half-open connections", "TCP connections that say nothing", []Role{Stranger}, true, true, true, false, halfOpen},
		{"connections", "a connection a key, as many keys as there is time for", []Role{Stranger}, true, true, true, false, connections},
		{"addresses of one /64", "a key for each of 128 addresses of one IPv6 /64, each place taken anew as soon as it is free", []Role{Crowd}, true, true, false, false, addressesOfOne},
		{"idle streams", "streams that are opened and say nothing", nil, true, true, true, false, idleStreams},
		{"unfinished requests", "requests whose length is said and whose content does not come", nil, true, true, true, false, unfinished},
		{"junk", "random bytes in place of a handshake, of a frame, of a message", nil, true, true, true, false, junkBytes},
		{"oversize", "2 GiB are announced; megabytes are sent", nil, true, true, true, false, oversize},
		{"wrong versions", "messages and protocols of versions that do not exist", nil, true, true, true, false, wrongVersions},
		{"replays", "one request again and again, byte by byte", nil, true, true, true, false, replays},
		{"slow readers", "large answers are asked for and not read", nil, true, true, false, false, slowReaders},
		{"requests", "well-formed requests of every protocol, as fast as they are taken", nil, true, true, true, false, requests},
		{"gossip flood", "signed junk, invented message ids, topics and grafts, one message many times", nil, true, false, false, false, gossipFlood},
		{"false statements", "of honest machines, of invented ones, in the name of others, with wrong signatures", keeperKeys, true, false, false, false, falseStatements},
		{"false proposals", "manifests and proposals of reports that do not exist", keeperKeys, true, false, false, false, falseProposals},
		{"false checks", "work is asked for with signatures that do not fit, evidence of other clusters", keeperKeys, false, true, false, false, falseChecks},
		{"line transfers", "machines are to move bytes for checks of their lines, by invented blocks that draw them", nil, false, true, false, false, lineTransfers},
		{"lying machine", "wrong nonces and signatures, answers without end, none", []Role{Machine}, true, false, false, true, lyingMachine},
		{"lying keeper", "the largest set of statements there may be, announced and handed out; answers without end", keeperKeys, true, false, false, true, lyingKeeper},
		{"reflection", "a victim's address is announced, and keepers are asked to dial it", nil, true, false, false, false, reflection},
		{"public silence", "connections to a gateway's public ports that say nothing, or stop within their first message", nil, false, false, true, false, publicSilence},
		{"public junk", "random bytes, halves of handshakes and of requests at a gateway's public ports", nil, false, false, true, false, publicJunk},
		{"public requests", "requests for names that are not there, whose answers are not read; headers that do not end; logins with keys that nobody named", nil, false, false, true, false, publicRequests},
		{"slow bodies", "requests over HTTP/2 whose bodies come by the byte, 52 at once over each of five connections", []Role{Stranger}, false, false, true, false, publicSlowBodies},
		{"relaying", "reservations, and connections through them", nil, true, false, false, false, relaying},
	}
}

// kind is what an honest daemon is.
type kind int

const (
	aKeeper kind = iota
	aMachine
	aGateway
)

// ofKeepers, ofMachines and ofGateways are the protocols that they answer.
var (
	ofKeepers = []string{
		messages.Statements, messages.ManifestsOf, messages.Blobs, messages.ProposalOf, messages.BidCommit, messages.BidReveal, messages.BidOutcome,
		messages.BidSet, messages.ComplaintPut, messages.ComplaintGet, messages.AnswerPut, messages.AnswerGet, messages.Restart, messages.Boots, messages.Lookup,
		messages.Gateways,
	}
	ofMachines = []string{
		messages.Challenge, messages.Deploy, messages.Status, messages.Logs, messages.LeaseUse, messages.ReceiptOffer, messages.ReceiptSigned,
		messages.Shell, messages.Ports, messages.Guest, messages.Revoke, messages.Suspend, messages.LeaseMeasure, messages.LeaseMeasureOpen, messages.LeaseAttest, messages.Measure, messages.MeasureOpen, messages.Line, messages.Boot,
		messages.GroupHello, messages.GroupVisit, messages.Starts,
	}
	ofGateways = []string{messages.GatewayOpen, messages.GatewayClose, messages.GatewayAccount, messages.GatewayPay, messages.GatewayOffer}
)

// protocols are those that a target answers.
func (t target) protocols() []string {
	return [][]string{aKeeper: ofKeepers, aMachine: ofMachines, aGateway: ofGateways}[t.kind]
}
