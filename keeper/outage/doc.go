// Package outage finds nodes that are away, so that their leases move before the report of their period.
//
// A Watch asks every node that has a running lease which may move, every few seconds. A node that has not answered for
// 8 s is one to vote about (outage_vote), when
//
//   - the last questions had no answer, over a new connection each. A question that was lost on an open connection says
//     nothing (check.ErrTransport), and a refusal is an answer: whoever refuses is there;
//   - more than half of the other nodes that answered this keeper a short time ago still do, those left out that were found to be
//     away before. Otherwise it is the keeper whose network is away.
//
// An answer ends it. What votes come to, and who moves the leases then, is keeper/crank's.
package outage
