// Package measure is a keeper's side of measurements at the period's instant: it asks with sdk/measure, and says what
// became of it and whether the node had to answer. docs/adr/0026-measuring.md says who asks and what is judged.
//
// Every doubt that the network, a lease or this keeper may be the cause of is Unknown, and no statement follows from it.
package measure
