// Package rehearsal does in some minutes what operators of a market do in a year. On a market under steady load:
//   - it hands governance over;
//   - it upgrades keepers and machines, one after the other;
//   - it changes a parameter behind the timelock;
//   - it pauses the market;
//   - it replaces a lost key;
//   - it replaces the program and returns to the old one;
//   - it gives another key to a keeper whose machine was stolen;
//   - it migrates models to another layout.
//
// Each step checks its outcome on chain. At the end no report may be missing, no lease lost and no bond touched.
package rehearsal
