// Package boltstore opens the bbolt files in which keepers, agents and the transaction manager keep what they must not
// forget. All three write first and act second, so all three must notice when a file is not what was written: a program
// that has forgotten what it signed signs it again, differently.
//
//   - Open locks the file, then looks at every page, then verifies every entry, then opens it. A file that is damaged, of
//     another owner or of another schema does not open.
//   - A new file is complete before it has its name, so an empty or half-written file is always damage.
//   - An entry begins with a checksum over its bucket, its key and its value: it cannot be taken for another.
//   - bbolt answers damage with panics and page faults; they become ErrCorrupt.
//
// A file has one schema number, and a program reads one schema. docs/adr says how a released schema would be migrated.
package boltstore
