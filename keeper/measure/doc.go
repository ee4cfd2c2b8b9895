// Package measure is a keeper's side of measurements: it asks a node at the period's instant, notes by its own clock when
// roots and commitment come, draws what is opened, and says what became of it. docs/adr/0026-measuring.md says who asks and
// what is judged, docs/protocol/measurement.md what is computed.
//
// The outcome is one of four. Every doubt that the network, a lease or this keeper may be the cause of is Unknown, and
// no statement follows from it.
package measure
