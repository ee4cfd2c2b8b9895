// Package rehearsal plays what operators of a market do in a year, in some minutes: on a market under steady load it hands
// governance over, upgrades keepers and machines one after the other, changes a parameter behind the timelock, pauses,
// replaces a lost key, replaces the program and goes back, gives a keeper whose machine was stolen another key, and migrates
// models to another layout. Each step looks at its outcome on chain; in the end no report may be missing, no lease lost and no
// bond touched.
package rehearsal
