package hostile

import (
	"github.com/gantry-market/gantry/client/messages"
)

// keeperKeys are those of keepers of every state.
var keeperKeys = []Role{Waiting, Active, Leaving, Expelled}

// attacks lists all of them. One file for each.
func attacks() []attack {
	return []attack{
		{"half-open connections", "TCP connections that say nothing", []Role{Stranger}, true, true, false, halfOpen},
		{"connections", "a connection a key, as many keys as there is time for", []Role{Stranger}, true, true, false, connections},
		{"idle streams", "streams that are opened and say nothing", nil, true, true, false, idleStreams},
		{"unfinished requests", "requests whose length is said and whose content does not come", nil, true, true, false, unfinished},
		{"junk", "random bytes in place of a handshake, of a frame, of a message", nil, true, true, false, junkBytes},
		{"oversize", "2 GiB are announced; megabytes are sent", nil, true, true, false, oversize},
		{"wrong versions", "messages and protocols of versions that do not exist", nil, true, true, false, wrongVersions},
		{"replays", "one request again and again, byte by byte", nil, true, true, false, replays},
		{"slow readers", "large answers are asked for and not read", nil, true, true, false, slowReaders},
		{"requests", "well-formed requests of every protocol, as fast as they are taken", nil, true, true, false, requests},
		{"gossip flood", "signed junk, invented message ids, topics and grafts, one message many times", nil, true, false, false, gossipFlood},
		{"false statements", "of honest machines, of invented ones, in the name of others, with wrong signatures", keeperKeys, true, false, false, falseStatements},
		{"false proposals", "manifests and proposals of reports that do not exist", keeperKeys, true, false, false, falseProposals},
		{"false checks", "work is asked for with signatures that do not fit, evidence of other clusters", keeperKeys, false, true, false, falseChecks},
		{"lying machine", "wrong nonces and signatures, answers without end, none", []Role{Machine}, true, false, true, lyingMachine},
		{"lying keeper", "the largest set of statements there may be, announced and handed out; answers without end", keeperKeys, true, false, true, lyingKeeper},
		{"reflection", "a victim's address is announced, and keepers are asked to dial it", nil, true, false, false, reflection},
		{"relaying", "reservations, and connections through them", nil, true, false, false, relaying},
	}
}

// ofKeepers and ofMachines are the protocols that they answer.
var (
	ofKeepers = []string{
		messages.Statements, messages.ManifestsOf, messages.Blobs, messages.ProposalOf, messages.BidCommit, messages.BidReveal, messages.BidOutcome,
		messages.BidSet, messages.ComplaintPut, messages.ComplaintGet, messages.AnswerPut, messages.AnswerGet, messages.Lookup,
	}
	ofMachines = []string{
		messages.Challenge, messages.Deploy, messages.Status, messages.Logs, messages.ReceiptOffer, messages.ReceiptSigned,
	}
)

// protocols are those that a target answers.
func (t target) protocols() []string {
	if t.keeper {
		return ofKeepers
	}
	return ofMachines
}
